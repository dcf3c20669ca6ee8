"""What happened when, on each device: steps above, transfers below, on one clock."""

from collections.abc import Sequence
from typing import TypeVar

from nsysparse.analysis import Analysis, Timeline, TimelineLevel, TraceFacts
from nsysparse.document import Block, Heading, Lane, Lanes, MarkLevel, Meaning, Paragraph
from nsysparse.sections.ways import anchor
from nsysparse.units import counted, human_ns

_T = TypeVar("_T")
MOST_LANES = 64
_LOOKS: dict[str, tuple[Meaning, str]] = {
    "prefill": ("compute", "step, compute"),
    "decode": ("compute", "step, compute"),
    "compute": ("compute", "step, compute"),
    "wire": ("wire", "wire"),
    "peer_wait": ("wait", "waiting for the other side"),
    "transfer": ("whole", "transfer, waiting included"),
    "call": ("unknown", "call, its transfer unseen"),
}
_UNDRAWN = {
    "no-time": "without a time",
    "clock": "on a clock that could not be aligned",
    "lanes": "on lanes that are too many",
}


def build(analysis: Analysis) -> list[Block]:
    """One figure; stays away where nothing has a time."""
    told = analysis.timeline
    if told is None or not told.levels:
        return []
    shown, kept = _shown(told)
    used = sorted({kind for level in shown for kind in level.kind})
    key = {_LOOKS[told.kinds[kind]]: None for kind in used}
    owners = sorted({request for level in shown for request in level.request if request is not None})
    names = [analysis.requests[owner].request_id for owner in owners]
    place = {owner: at for at, owner in enumerate(owners)}
    prefixes = _sources(analysis.traces)
    return [
        Heading("Timeline", "timeline"),
        Paragraph(_lead(told), "muted"),
        Lanes(
            "What happened when",
            told.start_ns,
            told.end_ns,
            [
                Lane(prefixes.get(lane.trace_id, lane.trace_id), f"{lane.gpu} {lane.kind}")
                for lane in (told.lanes[place] for place in kept)
            ],
            [_level(told, level, place) for level in shown],
            names,
            [anchor(name) for name in names],
            list(key),
            "timeline-chart",
            " ".join(_notes(told, len(kept))),
        ),
    ]


def _lead(told: Timeline) -> str:
    where = "" if len({lane.trace_id for lane in told.lanes}) < 2 else f", on the clock of {told.base}"  # noqa: PLR2004
    return f"{human_ns(told.end_ns - told.start_ns)} from the first to the last mark{where}."


def _sources(traces: Sequence[TraceFacts]) -> dict[str, str]:
    """What tells the traces apart on a lane: nothing where there is one, roles where each has its own, else names."""
    if len(traces) == 1:
        return {traces[0].trace_id: ""}
    roles = [trace.role for trace in traces]
    if None not in roles and len(set(roles)) == len(roles):
        return {trace.trace_id: trace.role or "" for trace in traces}
    return {trace.trace_id: trace.trace_id for trace in traces}


def _shown(told: Timeline) -> tuple[list[TimelineLevel], list[int]]:
    """The levels with the busiest lanes alone, where there are too many, and which these are."""
    if len(told.lanes) <= MOST_LANES:
        return list(told.levels), list(range(len(told.lanes)))
    busy = [0] * len(told.lanes)
    for lane, time in zip(told.levels[0].lane, told.levels[0].busy_ns, strict=True):
        busy[lane] += time
    kept = sorted(sorted(range(len(busy)), key=lambda lane: (-busy[lane], lane))[:MOST_LANES])
    place = {lane: at for at, lane in enumerate(kept)}
    return [_only(level, place) for level in told.levels], kept


def _only(level: TimelineLevel, place: dict[int, int]) -> TimelineLevel:
    rows = [at for at, lane in enumerate(level.lane) if lane in place]

    def kept(column: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(column[at] for at in rows)

    return TimelineLevel(
        merged_below_ns=level.merged_below_ns,
        lane=tuple(place[level.lane[at]] for at in rows),
        kind=kept(level.kind),
        start_ns=kept(level.start_ns),
        end_ns=kept(level.end_ns),
        busy_ns=kept(level.busy_ns),
        count=kept(level.count),
        request=kept(level.request),
    )


def _level(told: Timeline, level: TimelineLevel, owners: dict[int, int]) -> MarkLevel:
    return MarkLevel(
        level.merged_below_ns,
        level.lane,
        [_LOOKS[told.kinds[kind]][0] for kind in level.kind],
        level.start_ns,
        level.end_ns,
        level.busy_ns,
        level.count,
        [None if request is None else owners[request] for request in level.request],
    )


def _notes(told: Timeline, lanes: int) -> list[str]:
    """What is not in the picture, and how finely the rest is."""
    finest = told.levels[-1].merged_below_ns
    notes = [
        f"However near, marks closer than {human_ns(finest)} are drawn as one."
        if finest
        else "Near enough, every mark stands by itself; from afar, close ones are drawn as one."
    ]
    if lanes < len(told.lanes):
        notes.append(f"The {lanes} busiest lanes of {len(told.lanes):,}; the JSON report has the others.")
    parts = [
        f"{counted(each.count, 'stretch', 'stretches')} of {each.trace_id} {_UNDRAWN[each.reason]}"
        for each in told.undrawn
    ]
    if parts:
        notes.append(f"Not drawn: {'; '.join(parts)}.")
    if doubt := max((lane.uncertainty_ns for lane in told.lanes), default=0):
        notes.append(f"Lanes of other files may be off by up to {human_ns(doubt)}.")
    return notes
