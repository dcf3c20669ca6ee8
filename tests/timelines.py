"""A timeline's marks in words: what tests compare with what they worked out themselves."""

from dataclasses import dataclass

from nsysparse.analysis import Analysis, TimelineLevel


@dataclass(frozen=True, order=True)
class Mark:
    """One mark, its times on the base's clock."""

    gpu: str
    lane: str
    kind: str
    start: int
    end: int
    busy: int
    count: int
    request: str | None
    trace: str


def marks(analysis: Analysis, level: int = -1) -> list[Mark]:
    """The marks of a level, as recorded the finest, in its order."""
    found = analysis.timeline
    assert found is not None
    rows = found.levels[level]
    return [
        Mark(
            gpu=found.lanes[lane].gpu,
            lane=found.lanes[lane].kind,
            kind=found.kinds[kind],
            start=found.origin_ns + start,
            end=found.origin_ns + end,
            busy=busy,
            count=count,
            request=None if request is None else analysis.requests[request].request_id,
            trace=found.lanes[lane].trace_id,
        )
        for lane, kind, start, end, busy, count, request in columns(rows)
    ]


def columns(level: TimelineLevel) -> list[tuple[int, int, int, int, int, int, int | None]]:
    """A level row by row."""
    return list(
        zip(
            level.lane, level.kind, level.start_ns, level.end_ns, level.busy_ns, level.count, level.request, strict=True
        )
    )  # fmt: skip


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Intervals of which those that overlap are one; those that only touch stay apart."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
