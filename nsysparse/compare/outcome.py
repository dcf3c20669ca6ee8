"""The one answer of a comparison, in a sentence: what got worse or better, where, and by how much."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from nsysparse.compare.of_parts import title_of
from nsysparse.compare.wording import amount, both, called, percent, relative
from nsysparse.comparison import (
    IMPROVED,
    MIXED,
    NOT_COMPARABLE,
    REGRESSED,
    UNCHANGED,
    Change,
    Outcome,
)
from nsysparse.units import counted

_MOST = 3


def outcome(
    run: Sequence[Change],
    links: Sequence[Change],
    layers: Sequence[Change],
    requests: Sequence[Change],
    *,
    is_same: bool,
) -> Outcome:
    """The verdict over all changes that decide.

    Args:
        run: Of the whole run.
        links: Of links, all of them.
        layers: Of layers, all of them.
        requests: Of requests or classes of prompt lengths, all of them.
        is_same: Whether both sides are one and the same analysis.
    """
    deciding = [each for each in (*run, *links, *layers, *requests) if each.decides]
    counts = Counter(each.verdict for each in deciding)
    state = _state(counts)
    return Outcome(
        state,
        _text(state, run, links, layers, requests, counts, is_same=is_same),
        counts[IMPROVED],
        counts[REGRESSED],
        counts[UNCHANGED],
        counts[NOT_COMPARABLE],
    )


def _state(counts: Counter[str]) -> str:
    if counts[IMPROVED] and counts[REGRESSED]:
        return MIXED
    return next((each for each in (REGRESSED, IMPROVED, UNCHANGED) if counts[each]), NOT_COMPARABLE)


def _text(
    state: str,
    run: Sequence[Change],
    links: Sequence[Change],
    layers: Sequence[Change],
    requests: Sequence[Change],
    counts: Counter[str],
    *,
    is_same: bool,
) -> str:
    if state == NOT_COMPARABLE:
        what = "Both sides are the same analysis, and nothing in it can be" if is_same else "The runs cannot be"
        return f"{what} compared: {_why(run)}."
    if is_same:
        return "Nothing changed: both sides are the same analysis."
    if state == UNCHANGED:
        rest = f"; {counts[NOT_COMPARABLE]:,} more could not be compared" if counts[NOT_COMPARABLE] else ""
        return f"No change beyond noise in {counted(counts[UNCHANGED], 'deciding value')}{rest}."
    worse, better = (
        "; ".join(_clauses(verdict, run, links, layers, requests)[:_MOST]) for verdict in (REGRESSED, IMPROVED)
    )
    lost = counts[NOT_COMPARABLE]
    more = f" {counted(lost, 'deciding value')} could not be compared." if lost > sum(counts.values()) / 2 else ""
    gap = _gap(run)
    if state == MIXED:
        return f"Transfer got worse in part ({worse}) and better in part ({better}).{gap}{more}"
    return f"Transfer {state}: {worse or better}.{gap}{more}"


def _why(run: Sequence[Change]) -> str:
    """Why the first value that would decide does not, in its shortest words; its row has all of them."""
    first = next((each for each in run if each.decides and each.reason), None)
    return "nothing was measured in both" if first is None else f"{_named(first)} {first.reason.partition(': ')[0]}"


def _gap(run: Sequence[Change]) -> str:
    """What users feel of it, where that stayed: a slower wire may hide in slack today."""
    gap = next((each for each in run if each.metric == "kv_gap_ms.p50"), None)
    is_known = gap is not None and gap.verdict == UNCHANGED and not gap.reason
    return "" if gap is None or not is_known else f" The KV gap did not move: {amount(gap.candidate, gap.unit)}."


def _clauses(
    verdict: str,
    run: Sequence[Change],
    links: Sequence[Change],
    layers: Sequence[Change],
    requests: Sequence[Change],
) -> list[str]:
    """What has the verdict, what says most first: the run's values, then layers and links."""

    def those(changes: Sequence[Change]) -> list[Change]:
        return [each for each in changes if each.decides and each.verdict == verdict]

    of_run = [f"{_named(each)} {_moved(each)}" for each in those(run)]
    of_layers = _layers(those(layers))
    of_links, of_requests = (
        [f"{_named(each)} of {called(each.subject)} {_moved(each)}" for each in those(changes)]
        for changes in (links, requests)
    )
    return [*of_run[:1], *of_layers, *of_run[1:], *of_links, *of_requests]


def _moved(change: Change) -> str:
    by = percent(relative(change.base, change.candidate))
    arrow = both(change.base, change.candidate, change.unit)
    return f"{arrow} ({by})" if by else arrow


def _named(change: Change) -> str:
    """The metric's title within a sentence: an abbreviation keeps its capitals, a statistic stands without a comma."""
    plain = re.sub(r", (?=p\d+$)", " ", title_of(change.metric, of_run=not change.subject))
    return plain if plain[1:2].isupper() else f"{plain[:1].lower()}{plain[1:]}"


def _layers(changes: Sequence[Change]) -> list[str]:
    """Layers as ranges, with the least and the most that they changed by."""
    if not changes:
        return []
    by = [relative(each.base, each.candidate) or 0.0 for each in changes]
    ends = dict.fromkeys(percent(most(by, key=abs)) for most in (min, max))
    numbers = sorted(int(each.subject) for each in changes)
    noun = "layer" if len(numbers) == 1 else "layers"
    return [f"wire rate of {noun} {ranges(numbers)} by {' to '.join(ends)}"]


def ranges(numbers: Sequence[int]) -> str:
    """Sorted whole numbers as ranges: `3, 10-20`, with en dashes."""
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}\u2013{run[-1]}" for run in runs)
