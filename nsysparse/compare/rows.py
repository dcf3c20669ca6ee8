"""Changes of links, layers and requests: each subject of either run, by every metric that it has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from nsysparse.analysis import Analysis, Layer, Link
from nsysparse.compare.judging import Rules, judge
from nsysparse.compare.matching import BY_ID, BY_LENGTH, Ends, Partners, RequestMatch, link_labels
from nsysparse.compare.measures import Measure
from nsysparse.compare.of_parts import LAYERS, LENGTHS, LINKS, REQUESTS, Bucket
from nsysparse.compare.of_run import BUSIEST, LISTED, RUN
from nsysparse.compare.prompts import prompt_lengths_apart
from nsysparse.compare.readings import Reading, unknown
from nsysparse.comparison import NOT_COMPARABLE, UNCHANGED, Change

Subject = TypeVar("Subject")


def of_run(
    bases: Sequence[Analysis],
    candidate: Analysis,
    rules: Rules,
    names: Iterable[str] = LISTED,
    *,
    other_busiest: str = "",
) -> list[Change]:
    """Changes of the whole run, by the metrics' names (`nsysparse.compare.measures.RUN`).

    Args:
        bases: The base runs.
        candidate: The candidate.
        rules: What counts as a change.
        names: Which metrics.
        other_busiest: In words, that the busiest link is another one: the rates of two links are no change of either.
    """
    measures = [RUN[name] for name in names]
    found = [judge("", each, [each.read(base) for base in bases], each.read(candidate), rules) for each in measures]
    return [_of_other_links(each, other_busiest) if each.metric in BUSIEST else each for each in found]


def _of_other_links(change: Change, why: str) -> Change:
    return change if not why or change.verdict == NOT_COMPARABLE else replace(
        change, verdict=NOT_COMPARABLE, reason=f"of other links: {why}"
    )  # fmt: skip


def of_links(
    bases: Sequence[Partners], candidate: Mapping[Ends, Link], rules: Rules, *, every_metric: bool = False
) -> list[Change]:
    """Changes of links, each of the candidate's and those of which only base runs know.

    Args:
        bases: The candidate's links matched with those of each base run.
        candidate: Its links.
        rules: What counts as a change.
        every_metric: Of links of one run alone, too, as gates ask.
    """
    found: list[Change] = []
    for ends, label in link_labels(bases, candidate).items():
        before = [base.pairs[ends][0] if ends in base.pairs else base.only_base.get(ends) for base in bases]
        found += _rows(label, LINKS, before, candidate.get(ends), rules, every_metric=every_metric)
    return found


def of_layers(
    bases: Sequence[Analysis], candidate: Analysis, rules: Rules, *, every_metric: bool = False
) -> list[Change]:
    """Changes of layers, by their numbers; `every_metric` as for links."""
    before = [_by_number(base.layers) for base in bases]
    after = _by_number(candidate.layers)
    found: list[Change] = []
    for number in sorted({*after, *(number for base in before for number in base)}):
        ours = [base.get(number) for base in before]
        found += _rows(str(number), LAYERS, ours, after.get(number), rules, every_metric=every_metric)
    return found


def _by_number(layers: Iterable[Layer]) -> dict[int, Layer]:
    return {layer.layer: layer for layer in layers}


def of_requests(match: RequestMatch, bases: Sequence[Analysis], candidate: Analysis, rules: Rules) -> list[Change]:
    """Changes of requests that all runs know, or of classes of prompts of similar length."""
    found: list[Change] = []
    if match.by == BY_ID:
        before = [{each.request_id: each for each in base.requests} for base in bases]
        after = {each.request_id: each for each in candidate.requests}
        for name in match.ids:
            found += _rows(name, REQUESTS, [base[name] for base in before], after[name], rules)
    elif match.by == BY_LENGTH:
        classes = [_by_class(base) for base in bases]
        ours = _by_class(candidate)
        for low in sorted({*ours, *(low for each in classes for low in each)}):
            known = ours.get(low) or next(each[low] for each in classes if low in each)
            label = f"{known[1].low:,}\u2013{known[1].high - 1:,} tokens"
            rows = _rows(label, LENGTHS, [each.get(low) for each in classes], ours.get(low), rules)
            # A class reaches to twice its least length: within it, too, prompts of one run may be the longer ones.
            if any(prompt_lengths_apart(base, candidate, rules.noise, known[1]) for base in bases):
                rows = [replace(each, decides=False) for each in rows]
            found += rows
    return found


def _by_class(analysis: Analysis) -> dict[int, Bucket]:
    return {bucket.low: (analysis, bucket) for bucket in analysis.prompts or ()}


def _rows(
    label: str,
    measures: Sequence[Measure[Subject]],
    bases: Sequence[Subject | None],
    candidate: Subject | None,
    rules: Rules,
    *,
    every_metric: bool = False,
) -> list[Change]:
    """Every metric of one subject; where a run lacks the subject, the first that the other knows says so."""
    sole = [each for each in (*bases, candidate) if each is not None]
    if not every_metric and (candidate is None or all(base is None for base in bases)):
        known = [measure for measure in measures if any(measure.read(each).value is not None for each in sole)]
        measures = (known or measures)[:1]
    found = []
    for measure in measures:
        before = [_read(measure, base) for base in bases]
        found.append(judge(label, measure, before, _read(measure, candidate), rules))
    return found


def _read(measure: Measure[Subject], subject: Subject | None) -> Reading:
    return unknown("there is none") if subject is None else measure.read(subject)


def moved(changes: Iterable[Change], noise: float) -> tuple[Change, ...]:
    """Those that changed, and those that cannot be compared but seem to have; what moved most first."""
    shown = [
        each for each in changes if each.verdict != UNCHANGED and not is_unknown(each) and not _stayed(each, noise)
    ]
    return tuple(sorted(shown, key=_most))


def _stayed(change: Change, noise: float) -> bool:
    """Whether what cannot be compared has nearly the same value in both runs: there is nothing to look at."""
    if change.base is None or change.candidate is None or change.verdict != NOT_COMPARABLE:
        return False
    within = max(noise * max(abs(change.base), abs(change.candidate)), change.floor or 0.0)
    return abs(change.candidate - change.base) <= within


def is_unknown(change: Change) -> bool:
    """Whether neither run knows the value: there is nothing to compare."""
    return change.base is None and change.candidate is None


def _most(change: Change) -> tuple[bool, bool, float, str, str]:
    """What counts before what cannot be compared, what decides before the rest, then by share of the larger value."""
    larger = max(abs(change.base or 0.0), abs(change.candidate or 0.0))
    by = abs(change.delta or 0.0) / larger if larger else 0.0
    return change.verdict == NOT_COMPARABLE, not change.decides, -by, change.subject, change.metric
