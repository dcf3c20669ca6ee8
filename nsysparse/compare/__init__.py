"""Two runs held against each other: what changed, by how much, and whether that is more than noise.

measures   what can be compared: of_run, of_parts; taking: how it is read from an analysis
matching   which file, link and request of one run is which of the other
judging    whether a change counts
rows       changes of links, layers and requests; axes: what is drawn of both
notes      what differs beside the transfers
prompts    whether both were asked for the like, alike: whether both moved it
gates      conditions under which the comparison fails
outcome    the one answer
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nsysparse import __version__
from nsysparse.analysis import Analysis
from nsysparse.compare import axes
from nsysparse.compare.alike import rates_are_of_the_like
from nsysparse.compare.gates import Condition, answer, parse
from nsysparse.compare.judging import Rules
from nsysparse.compare.matching import busiest_differ, links_of, match_links, match_requests, match_traces
from nsysparse.compare.measures import RATE
from nsysparse.compare.notes import remarks, uneven
from nsysparse.compare.of_run import RUN, SHORTER
from nsysparse.compare.outcome import outcome
from nsysparse.compare.prompts import prompt_lengths_apart
from nsysparse.compare.rows import is_unknown, moved, of_layers, of_links, of_requests, of_run
from nsysparse.comparison import NOT_COMPARABLE, Change, Compared, Comparison, Requests, Side

__all__ = ["Condition", "Rules", "compare", "parse"]


def compare(
    bases: Sequence[Analysis],
    candidate: Analysis,
    rules: Rules | None = None,
    conditions: Sequence[Condition] = (),
) -> Comparison:
    """Hold a candidate against one or several base runs.

    Args:
        bases: At least one; of several each value is the median, and their spread is noise.
        candidate: What is judged.
        rules: What counts as a change.
        conditions: Gates, from `parse`.
    """
    rules = rules or Rules()
    first = bases[0]
    traces = [match_traces(base, candidate) for base in bases]
    is_sole = len(candidate.traces) == 1
    names = {trace.trace_id: "" if is_sole else trace.trace_id for trace in candidate.traces}
    ours = [_common(each.names, names) for each in traces]
    theirs = links_of(candidate, names)
    partners = [match_links(links_of(base, each), theirs) for base, each in zip(bases, ours, strict=True)]
    match = match_requests(bases, candidate)
    links, layers = of_links(partners, theirs, rules), of_layers(bases, candidate, rules)
    requests = of_requests(match, bases, candidate, rules)
    busiest = busiest_differ(bases, candidate, partners, theirs)
    run = of_run(bases, candidate, rules, other_busiest=busiest)
    if any(prompt_lengths_apart(base, candidate, rules.noise) for base in bases):
        run = [replace(each, decides=each.decides and not RUN[each.metric].of_requests) for each in run]
    if no_rate_is_known(run):
        run = [replace(each, decides=each.decides or each.metric == SHORTER) for each in run]
    if not rates_are_of_the_like(bases, candidate, partners):
        run, links, layers = (_undecided(rows) for rows in (run, links, layers))
    found = outcome(run, links, layers, requests, is_same=all(base == candidate for base in bases))
    named = dict.fromkeys(each.metric for each in conditions if each.scope == "run")
    scopes = {each.scope for each in conditions}
    asked = _by_metric(
        {
            "run": of_run(bases, candidate, rules, named, other_busiest=busiest),
            "link": of_links(partners, theirs, rules, every_metric=True) if "link" in scopes else [],
            "layer": of_layers(bases, candidate, rules, every_metric=True) if "layer" in scopes else [],
        }
    )
    asked["verdict", ""] = [each for each in run if each.decides]
    return Comparison(
        nsysparse=__version__,
        verdict=found,
        base=_side(bases),
        candidate=_side([candidate]),
        base_run_count=len(bases),
        noise=rules.noise,
        min_samples=rules.min_samples,
        comparability=remarks(bases, candidate, traces[0], partners[0], match, rules.noise),
        gates=tuple(
            answer(each, asked.get((each.scope, each.metric), ()), found, rules, uneven(bases, candidate))
            for each in conditions
        ),
        metrics=tuple(run),
        links=moved(links, rules.noise),
        layers=moved(layers, rules.noise),
        requests=Requests(
            match.by,
            match.note,
            len(first.requests),
            len(candidate.requests),
            len(match.ids),
            moved(requests, rules.noise),
        ),
        compared=Compared(*(_compared(rows) for rows in (run, links, layers, requests))),
        spreads=axes.spreads(first, candidate),
        link_pairs=axes.link_pairs(partners, theirs),
        layer_curves=axes.layer_curves(first, candidate),
        cells=axes.cells(first, candidate, match),
    )


def no_rate_is_known(run: Sequence[Change]) -> bool:
    """Whether neither run has a rate, as where no size was recorded: then how long kernels ran is all there is."""
    return all(is_unknown(each) for each in run if each.unit == RATE)


def _undecided(changes: Sequence[Change]) -> list[Change]:
    """The same changes, of which no rate decides: something else alone would explain it."""
    return [replace(each, decides=each.decides and each.unit != RATE) for each in changes]


def _compared(changes: Sequence[Change]) -> int:
    return sum(each.verdict != NOT_COMPARABLE for each in changes)


def _common(matched: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {ours: names[theirs] for ours, theirs in matched.items()}


def _by_metric(rows: Mapping[str, Sequence[Change]]) -> dict[tuple[str, str], list[Change]]:
    """What gates ask for, by scope and metric; sorted once, as there may be many gates and many layers."""
    found: dict[tuple[str, str], list[Change]] = {}
    for scope, changes in rows.items():
        for change in changes:
            found.setdefault((scope, change.metric), []).append(change)
    return found


def _side(runs: Sequence[Analysis]) -> Side:
    first = runs[0]
    return Side(
        files=tuple(tuple(trace.file for trace in run.traces) for run in runs),
        nsysparse=first.nsysparse,
        state=first.verdict.state,
        value=first.verdict.value,
        text=first.verdict.text,
        settings=first.settings,
        notice=first.notice,
    )
