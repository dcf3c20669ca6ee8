"""Whether a metric changed by more than noise: the one rule for runs, links, layers and requests.

A change counts where it exceeds the relative threshold, as a share of the larger value so that swapping the runs
mirrors it, and the floor: the metric's own, the spread of several base runs, or what clocks leave open, whichever is
most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from nsysparse.compare.measures import HIGHER, NEITHER, Measure
from nsysparse.compare.readings import Reading
from nsysparse.compare.wording import quoted
from nsysparse.comparison import (
    CHANGED,
    DEFAULT_NOISE,
    DEFAULT_SAMPLES,
    IMPROVED,
    NOT_COMPARABLE,
    REGRESSED,
    UNCHANGED,
    Change,
)
from nsysparse.units import counted, significant

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as a change.

    Attributes:
        noise: Share of the larger of both values that they must differ by.
        min_samples: So many observations a distribution needs in each run.
    """

    noise: float = DEFAULT_NOISE
    min_samples: int = DEFAULT_SAMPLES


def judge(
    subject: str, measure: Measure[Subject], bases: Sequence[Reading], candidate: Reading, rules: Rules
) -> Change:
    """One change, with its verdict.

    Args:
        subject: Whose it is; empty for the whole run.
        measure: Of what.
        bases: In each base run; at least one.
        candidate: In the candidate.
        rules: What counts.
    """
    base = _middle(bases)
    spread = _spread(bases)
    doubt = base.doubt + candidate.doubt
    floor, basis = max((measure.floor, "metric"), (spread, "base-runs"), (doubt, "clocks"), key=lambda each: each[0])
    delta = None if base.value is None or candidate.value is None else candidate.value - base.value
    why = _not_comparable(bases, base, candidate, rules)
    if delta is None or why:
        verdict, reason = NOT_COMPARABLE, why
    else:
        verdict, is_small = _verdict(measure, base.value or 0.0, candidate.value or 0.0, rules.noise, floor)
        reason = _too_small(measure, floor, basis, len(bases)) if is_small else ""
    return Change(
        subject=subject,
        metric=measure.name,
        unit=measure.unit,
        better=measure.better,
        base=base.value,
        candidate=candidate.value,
        delta=delta,
        ratio=candidate.value / base.value if base.value and candidate.value is not None else None,
        verdict=verdict,
        reason=reason,
        floor=floor,
        floor_basis=basis,
        base_doubt=base.doubt,
        candidate_doubt=candidate.doubt,
        base_count=base.count,
        candidate_count=candidate.count,
        decides=measure.decides,
    )


def _middle(bases: Sequence[Reading]) -> Reading:
    """The median of the base runs that know the value, resting on the fewest observations of any of them."""
    known = [each for each in bases if each.value is not None]
    if not known:
        return bases[0]
    counts = [each.count for each in known if each.count is not None]
    return Reading(
        median(each.value for each in known if each.value is not None),
        min(counts, default=None),
        max(each.doubt for each in known),
        known[0].like,
    )


def _spread(bases: Sequence[Reading]) -> float:
    values = [each.value for each in bases if each.value is not None]
    return max(values) - min(values) if values else 0.0


def _not_comparable(bases: Sequence[Reading], base: Reading, candidate: Reading, rules: Rules) -> str:
    """Why two values cannot be held against each other; empty where they can."""
    if base.value is None and candidate.value is None:
        return f"unknown in both: {quoted(candidate.why or base.why)}"
    if base.value is None or candidate.value is None:
        where, why = ("base", base.why) if base.value is None else ("the candidate", candidate.why)
        return f"unknown in {where}: {quoted(why)}"
    likes = sorted({each.like for each in bases if each.value is not None})
    if likes != [candidate.like]:
        said = " and ".join(quoted(each) or "not told" for each in likes)
        return f"not of the same kind: {said} in base, {quoted(candidate.like) or 'not told'} in the candidate"
    return too_few({"base": base.count, "the candidate": candidate.count}, rules.min_samples)


def too_few(counts: Mapping[str, int | None], least: int) -> str:
    """Which runs have too few observations, in words; empty where none has. Sums have no count: they are no sample."""
    few = [f"{count:,} in {where}" for where, count in counts.items() if count is not None and count < least]
    return f"too few observations ({', '.join(few)}; --min-samples {least})" if few else ""


def _verdict(measure: Measure[Subject], base: float, candidate: float, noise: float, floor: float) -> tuple[str, bool]:
    """The verdict, and whether it is unchanged only because of the floor."""
    size = abs(candidate - base)
    if size <= noise * max(abs(base), abs(candidate)):
        return UNCHANGED, False
    if size <= floor:
        return UNCHANGED, True
    if measure.better == NEITHER:
        return CHANGED, False
    return (IMPROVED if (candidate > base) == (measure.better == HIGHER) else REGRESSED), False


_FLOORS = {"metric": "the floor of this metric", "clocks": "what clocks leave open"}


def _too_small(measure: Measure[Subject], floor: float, basis: str, runs: int) -> str:
    what = _FLOORS.get(basis, f"the spread of {counted(runs, 'base run')}")
    shown = f"{significant(floor * 100)} points" if measure.unit == "share" else f"{significant(floor)} {measure.unit}"
    return f"within {what}, {shown.strip()}"
