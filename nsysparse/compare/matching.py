"""What of one run is what of the other: traces by name or role, links by their ends, requests by id or length.

All names are those of the candidate; ids of communicators, which every run makes anew, are left out where there is
only one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nsysparse.analysis import Analysis, Link, TraceFacts
from nsysparse.headline import busiest
from nsysparse.kinds import HOST
from nsysparse.units import UNKNOWN

_COMMUNICATOR = re.compile(r"(\d+):(\d+)")
_NO_DEVICES = (UNKNOWN, HOST)
BY_ID, BY_LENGTH, BY_NOTHING = "id", "prompt-length", "none"
_MOST_LOST = 0.5
"""Ids persist where more than this share of the larger run's are in both."""


@dataclass(frozen=True, slots=True)
class Traces:
    """Trace ids of a base run → those of the candidate, and what said so: name, only, role or nothing."""

    names: Mapping[str, str]
    how: str


def match_traces(base: Analysis, candidate: Analysis) -> Traces:
    """Which file of one run is which of the other."""
    ours, theirs = ([trace.trace_id for trace in each.traces] for each in (base, candidate))
    if len(ours) == len(theirs) == 1:
        return Traces({ours[0]: theirs[0]}, "name" if ours == theirs else "only")
    if set(ours) == set(theirs):
        return Traces({name: name for name in ours}, "name")
    by_role = [_by_role(each.traces) for each in (base, candidate)]
    if None not in by_role[0] and {role: len(ids) for role, ids in by_role[0].items()} == {
        role: len(ids) for role, ids in by_role[1].items()
    }:
        pairs = {
            name: other for role, ids in by_role[0].items() for name, other in zip(ids, by_role[1][role], strict=True)
        }
        return Traces(pairs, "role")
    return Traces({name: name for name in ours if name in theirs}, "nothing")


def _by_role(traces: Sequence[TraceFacts]) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    for trace in traces:
        found.setdefault(trace.role, []).append(trace.trace_id)
    return {role: sorted(ids) for role, ids in found.items()}


@dataclass(frozen=True, slots=True)
class Ends:
    """A link as both runs can name it: its ends without what every run names anew, and its transport."""

    src: str
    dst: str
    transport: str

    @property
    def label(self) -> str:
        """The ends as people read them."""
        return f"{self.src}->{self.dst}"


def links_of(analysis: Analysis, names: Mapping[str, str]) -> dict[Ends, Link]:
    """A run's links by what both runs can call them.

    Args:
        analysis: The run.
        names: Its trace ids → common ones; empty ones are left out, as of runs of one trace each.
    """
    foreign = [end for link in analysis.links for end in (link.src, link.dst) if _trace_of(end, names) is None]
    hashes = {told[1] for end in foreign if (told := _COMMUNICATOR.fullmatch(end))}
    one = len(hashes) == 1
    known: dict[Ends, Link] = {}
    for link in analysis.links:
        ends = Ends(_end(link.src, names, one=one), _end(link.dst, names, one=one), link.transport)
        # A trace may bear the name of what is left out; then a link keeps its own.
        known[Ends(link.src, link.dst, link.transport) if ends in known else ends] = link
    return known


def _trace_of(end: str, names: Mapping[str, str]) -> str | None:
    """The trace that an end belongs to; the longest, since ids may contain a colon."""
    return max((name for name in names if end.startswith(f"{name}:")), key=len, default=None)


def _end(end: str, names: Mapping[str, str], *, one: bool) -> str:
    trace = _trace_of(end, names)
    if trace is not None:
        rest = end.removeprefix(f"{trace}:")
        return f"{names[trace]}:{rest}" if names[trace] else rest
    found = _COMMUNICATOR.fullmatch(end)
    return f"communicator:{found[2]}" if found and one else end


@dataclass(frozen=True, slots=True)
class Partners:
    """Links of a base run and the candidate: pairs by the candidate's ends, and those of one run alone.

    `moved` are the pairs whose transport or devices differ: as base and candidate have them, and what differs.
    """

    pairs: Mapping[Ends, tuple[Link, Link]]
    only_base: Mapping[Ends, Link]
    only_candidate: Mapping[Ends, Link]
    moved: tuple[tuple[Ends, Ends, str], ...]


def match_links(ours: Mapping[Ends, Link], theirs: Mapping[Ends, Link]) -> Partners:
    """Links of the same ends and transport; failing these, the only ones of the same ends, or of the same traces."""
    pairs = {ends: (ours[ends], theirs[ends]) for ends in theirs if ends in ours}
    left = {ends: link for ends, link in ours.items() if ends not in pairs}
    right = {ends: link for ends, link in theirs.items() if ends not in pairs}
    moved: list[tuple[Ends, Ends, str]] = []
    for key, what in ((_same_ends, "another transport"), (_same_traces, "other devices")):
        counts = Counter(map(key, left)), Counter(map(key, right))
        sole = {key(ends): ends for ends in left if counts[0][key(ends)] == counts[1][key(ends)] == 1}
        for ends in [ends for ends in right if key(ends) in sole]:
            before = sole[key(ends)]
            pairs[ends] = (left.pop(before), right.pop(ends))
            moved.append((before, ends, what))
    return Partners(pairs, left, right, tuple(moved))


def _same_ends(ends: Ends) -> tuple[str, ...]:
    return ends.src, ends.dst


def _same_traces(ends: Ends) -> tuple[str, ...]:
    return _place(ends.src), _place(ends.dst), ends.transport


def _place(end: str) -> str:
    """An end without its device; what is no device (`unknown`, `host`) is only ever itself."""
    place, _, last = end.rpartition(":")
    return place or (last if last in _NO_DEVICES else "")


def link_labels(bases: Sequence[Partners], candidate: Iterable[Ends]) -> dict[Ends, str]:
    """What the links of all runs are called, in the order of their ends: with the transport where ends have several."""
    every = {*candidate, *(ends for base in bases for ends in base.only_base)}
    counts = Counter(ends.label for ends in every)
    return {
        ends: f"{ends.label} ({ends.transport})" if counts[ends.label] > 1 else ends.label
        for ends in sorted(every, key=lambda ends: (ends.src, ends.dst, ends.transport))
    }


def busiest_differ(
    bases: Sequence[Analysis], candidate: Analysis, partners: Sequence[Partners], theirs: Mapping[Ends, Link]
) -> str:
    """Which links are the busiest, where that of a base run is the partner of another; empty where they may be one."""
    last = busiest(candidate.links)
    for base, found in zip(bases, partners, strict=True):
        first = busiest(base.links)
        partner = {id(ours): other for ours, other in found.pairs.values()}.get(id(first))
        is_last_paired = any(other is last for _, other in found.pairs.values())
        if first is not None and last is not None and partner is not last and (partner is not None or is_last_paired):
            labels = {id(link): ends.label for ends, link in theirs.items()}
            ours = labels[id(partner)] if partner is not None else f"{first.src}->{first.dst}"
            return f"{ours} is the busiest link in base, {labels[id(last)]} in the candidate"
    return ""


@dataclass(frozen=True, slots=True)
class RequestMatch:
    """How requests of two runs are compared: by `id` (`ids`), by `prompt-length`, or not at all (`none`)."""

    by: str
    ids: tuple[str, ...]
    note: str


def match_requests(bases: Sequence[Analysis], candidate: Analysis) -> RequestMatch:
    """By id where ids persist in all runs and mean the same prompts, else by length of prompt where that is known."""
    theirs = {each.request_id: each.prompt_tokens for each in candidate.requests}
    ours = [{each.request_id: each.prompt_tokens for each in base.requests} for base in bases]
    shared = set(theirs).intersection(*ours)
    most = max(len(theirs), *map(len, ours))
    if not most:
        return RequestMatch(BY_NOTHING, (), "no run has requests")
    reused = [name for name in shared if any(_differ(base[name], theirs[name]) for base in ours)]
    if not reused and len(shared) > most * _MOST_LOST:
        return RequestMatch(BY_ID, tuple(sorted(shared)), "ids are in both runs")
    why = "the same ids have other prompts" if reused else "ids do not persist"
    if candidate.prompts and all(base.prompts for base in bases):
        return RequestMatch(BY_LENGTH, (), f"{why}: compared by length of prompt")
    return RequestMatch(BY_NOTHING, (), f"{why}, and no prompt's length is known in both runs")


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other
