"""The offset of two traces from their bounds: a bracket at either end of the run, and the line through its middle."""

import math
from dataclasses import dataclass

import numpy as np

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.clocks.bounds import STEEPEST, Bounds, Origin, causal, coincident, origin
from nsysparse.clocks.feasible import Points, Spread, spread
from nsysparse.clocks.offset import ESTIMATED, UTC_UNVERIFIED, Offset
from nsysparse.clocks.pairs import Pairs
from nsysparse.intervals import Ints

Run = tuple[int, int]
"""First and last instant of a trace, on its own clock."""


@dataclass(frozen=True, slots=True)
class Link:
    """Two traces, and what their transfers say of their clocks.

    Attributes:
        there: What `base` sent to `other`.
        back: What `other` sent to `base`.
        zero: From where the points count.
        ends: First and last instant of the run of both, from `zero`.
        bounds: What holds of the transfers without assumption.
    """

    base: str
    other: str
    there: Pairs
    back: Pairs
    zero: Origin
    ends: tuple[float, float]
    bounds: Bounds

    @property
    def pair_count(self) -> int:
        """Pairs in both directions."""
        return len(self.there) + len(self.back)

    @property
    def is_one_sided(self) -> bool:
        """Whether all transfers go one way."""
        return not len(self.there) or not len(self.back)


def link(base: str, other: str, pairs: tuple[Pairs, Pairs], runs: tuple[Run | None, Run | None]) -> Link:
    """What is known of two traces that exchanged something.

    Args:
        base: A trace.
        other: Another one.
        pairs: What `base` sent to `other`, and the other way.
        runs: From when to when either lasts; None: from the first to the last of their transfers.
    """
    there, back = pairs
    zero = origin(there, back)
    ours = runs[0] or _run(there.send_start, there.send_end, back.recv_start, back.recv_end)
    theirs = runs[1] or _run(there.recv_start, there.recv_end, back.send_start, back.send_end)
    # On the clock of `base`; near enough, as only the run's ends depend on it.
    first, last = min(ours[0], theirs[0] - zero.offset_ns), max(ours[1], theirs[1] - zero.offset_ns)
    ends = (float(first - zero.at_ns), float(last - zero.at_ns))
    return Link(base, other, there, back, zero, ends, causal(there, back, zero))


def _run(*times: Ints) -> Run:
    known = np.concatenate(times)
    return int(known.min()), int(known.max())


def agrees(known: Link, offset_ns: int, uncertainty_ns: int) -> bool:
    """Whether the transfers allow a constant offset that is known so well."""
    within = _around(known, offset_ns, uncertainty_ns)
    return spread(*_both(known.bounds.and_also(within)), 0.0, known.ends) is not None


def fits(known: Link) -> bool:
    """Whether the transfers allow any offset and drift at all."""
    return spread(*_both(known.bounds), STEEPEST, known.ends) is not None


def estimate(known: Link) -> Offset | None:
    """The offset from transfers alone; None where they bound it on one side only, or contradict each other."""
    sure = spread(*_both(known.bounds), STEEPEST, known.ends)
    if sure is None:
        return None
    # Where the assumption contradicts what is sure it is not made.
    assumed = known.bounds.and_also(coincident(known.there, known.back, known.zero)) if known.is_one_sided else None
    found = (assumed and spread(*_both(assumed), STEEPEST, known.ends)) or sure
    return _line(known, found, ESTIMATED, known.is_one_sided)


def within_utc(known: Link, offset_ns: int, uncertainty_ns: int) -> Offset | None:
    """The offset by UTC as far as transfers allow it; None where they do not."""
    bounds = known.bounds.and_also(_around(known, offset_ns, uncertainty_ns))
    found = spread(*_both(bounds), STEEPEST, known.ends)
    return None if found is None else _line(known, found, UTC_UNVERIFIED, known.is_one_sided)


def _both(bounds: Bounds) -> tuple[Points, Points]:
    return bounds.upper, bounds.lower


def _around(known: Link, offset_ns: int, uncertainty_ns: int) -> Bounds:
    """The offset is this at either end of the run, give or take."""
    ends = np.asarray(known.ends)
    middle = np.full(2, float(offset_ns - known.zero.offset_ns))
    return Bounds(Points(ends, middle + uncertainty_ns), Points(ends, middle - uncertainty_ns))


def _line(known: Link, found: Spread, method: str, one_sided: bool) -> Offset | None:  # noqa: FBT001
    """Through the middle of the bracket at both ends; as the offset is a line, no error between them is greater."""
    low, high, (first, last) = found.low, found.high, known.ends
    if not all(map(math.isfinite, (*low, *high))):
        return None
    # UTC of two hosts says nothing of drift, and over a short run drift is less than what clocks are off anyway.
    is_constant = method == UTC_UNVERIFIED or (last - first) * STEEPEST <= CLOCK_SLACK_NS
    if is_constant:
        low, high = (min(low),) * 2, (max(high),) * 2
    middles = [(below + above) / 2 for below, above in zip(low, high, strict=True)]
    half = max(above - below for below, above in zip(low, high, strict=True)) / 2
    return Offset(
        base=known.base,
        other=known.other,
        at_ns=known.zero.at_ns + round((first + last) / 2),
        offset_ns=known.zero.offset_ns + round(sum(middles) / 2),
        slope=0.0 if is_constant else (middles[1] - middles[0]) / (last - first),
        uncertainty_ns=math.ceil(half) + 1,  # what rounding to whole ns takes
        method=method,
        one_sided=one_sided,
        pair_count=known.pair_count,
        knows_drift=not is_constant,
    )
