"""What happened when, on one axis: the stretches of all traces on one clock, in lanes, at several levels of detail."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from nsysparse.analysis import Lane, Timeline, TimelineLevel, Undrawn
from nsysparse.clocks import Clocks, Offset
from nsysparse.frames import pid
from nsysparse.metrics.levels import MARK, levels
from nsysparse.metrics.marks import COMPUTE, KINDS, LANES, STRETCH, Computing
from nsysparse.metrics.rates import UNKNOWN_END

MOST_LANES = 2_000
"""More are not drawn: each keeps marks of its own at every level."""
NO_TIME, CLOCK, TOO_MANY = "no-time", "clock", "lanes"
_PLACE = ["trace_id", "gpu", "process", "lane"]


def timeline(
    found: pl.DataFrame,
    clocks: Clocks,
    traces: Sequence[str],
    requests: Sequence[str],
    computing: Sequence[Computing] = (),
) -> Timeline | None:
    """Lanes and levels of marks on the clock with which most stretches can be aligned, of equal ones the first.

    Args:
        found: From `stretches`.
        clocks: Of all traces.
        traces: Their ids, in order.
        requests: Ids of requests, in the order of the analysis.
        computing: From `computing`; a device at most once.

    Returns:
        None where no stretch has a time.
    """
    timed = found.drop_nulls(["start_ns", "end_ns"])
    if timed.is_empty() and not computing:
        return None
    counts = Counter(dict(timed.group_by("trace_id").len().iter_rows()))
    for each in computing:
        counts[each.trace_id] += each.times.height
    order = [*traces, *sorted({*found["trace_id"].unique(), *counts} - set(traces))]
    offsets = _offsets(counts, clocks, order)
    on_base = [_on_base(rows, offsets[trace]) for trace, rows in _by_trace(timed) if trace in offsets]
    aligned = pl.concat([timed.clear(), *on_base])
    busy = {
        (each.trace_id, each.gpu): _on_base(each.times, offsets[each.trace_id])
        for each in computing
        if each.trace_id in offsets
    }
    places = _places(pl.concat([aligned.select(_PLACE), *(_lane_of(*device) for device in busy)]), order)
    shown = places.head(MOST_LANES)
    drawn = aligned.join(shown, on=_PLACE, nulls_equal=True)
    compute_lanes = shown.filter(lane=COMPUTE).select("trace_id", "gpu", "place")
    lanes = {(trace, gpu): place for trace, gpu, place in compute_lanes.iter_rows() if (trace, gpu) in busy}
    ends = [drawn, *(busy[device] for device in lanes)]
    origin, end = (
        pl.concat([each.select("start_ns", "end_ns") for each in ends])
        .select(low=pl.col("start_ns").min(), high=pl.col("end_ns").max())
        .row(0)
    )
    marks = (
        drawn.join(_numbers(request_id=requests), on="request_id", how="left")
        .join(_numbers(kind=KINDS), on="kind")
        .select("start_ns", "end_ns", lane="place", kind="number_of_kind", request="number_of_request_id")
        .with_columns(pl.col("start_ns", "end_ns") - origin)
    )

    def compute_marks(device: tuple[str, str]) -> pl.DataFrame:
        return (
            busy[device]
            .select(
                pl.col("start_ns", "end_ns") - origin,
                lane=pl.lit(lanes[device], pl.UInt32),
                kind=pl.lit(KINDS.index(COMPUTE), pl.UInt32),
                request=pl.lit(None, pl.UInt32),
            )
            .select(marks.columns)
        )

    late = aligned.join(places.slice(MOST_LANES), on=_PLACE, nulls_equal=True)
    unplaced = Counter(dict(late.group_by("trace_id").len().iter_rows()))
    for (trace, gpu), times in busy.items():
        unplaced[trace] += 0 if (trace, gpu) in lanes else times.height
    untimed = found.filter(pl.col("start_ns").is_null() | pl.col("end_ns").is_null())
    undrawn = [
        *_undrawn(dict(untimed.group_by("trace_id").len().iter_rows()), NO_TIME),
        *_undrawn({trace: count for trace, count in counts.items() if trace not in offsets}, CLOCK),
        *_undrawn(unplaced, TOO_MANY),
    ]
    return Timeline(
        base=next(iter(offsets)),
        origin_ns=origin,
        start_ns=0,
        end_ns=end - origin,
        lanes=tuple(
            Lane(trace, name, lane, offsets[trace].uncertainty_ns)
            for trace, name, lane in places.head(MOST_LANES).select("trace_id", "name", "lane").iter_rows()
        ),
        kinds=KINDS,
        levels=tuple(_level(*each) for each in levels(marks, (compute_marks(device) for device in lanes))),
        marks_dropped=sum(each.count for each in undrawn),
        undrawn=tuple(sorted(undrawn, key=lambda each: (order.index(each.trace_id), each.reason))),
    )


def _offsets(counts: Mapping[str, int], clocks: Clocks, order: Sequence[str]) -> dict[str, Offset]:
    """The base, and then the other traces that can be aligned with it, each with its offset."""
    there = [trace for trace in order if trace in counts]
    best: dict[str, Offset] = {}
    for base in there:
        others = ((trace, clocks.between(base, trace)) for trace in (base, *there))
        known = {trace: offset for trace, offset in others if offset is not None}
        if sum(counts[trace] for trace in known) > sum(counts[trace] for trace in best):
            best = known
        if len(best) == len(there):
            break
    return best


def _on_base(rows: pl.DataFrame, offset: Offset) -> pl.DataFrame:
    """Stretches of one trace on the base's clock."""
    return rows.with_columns(offset.expr_to_base(pl.col(name)).alias(name) for name in ("start_ns", "end_ns"))


def _by_trace(rows: pl.DataFrame) -> Iterable[tuple[str, pl.DataFrame]]:
    return ((str(trace), part) for (trace,), part in rows.partition_by("trace_id", as_dict=True).items())


def _places(rows: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """Every lane with its `name` and its number `place`: by trace, devices by ordinal, processes, then by kind."""
    name = pl.coalesce("gpu", pl.concat_str(pl.lit("pid"), pid(pl.col("process"))), pl.lit(UNKNOWN_END))
    ordinal = pl.col("name").str.extract(r"^gpu(\d+)", 1).cast(pl.Int64, strict=False)
    return (
        rows.select(_PLACE)
        .unique()
        .with_columns(name=name)
        .sort(
            pl.col("trace_id").cast(pl.Enum(order)), ordinal, "name", "process", pl.col("lane").cast(pl.Enum(LANES)),
            nulls_last=True,
        )
        .with_row_index("place")
    )  # fmt: skip


def _numbers(**names: Sequence[str]) -> pl.DataFrame:
    """The number of each name in a list of distinct ones."""
    ((column, values),) = names.items()
    return pl.DataFrame({column: pl.Series(values, dtype=pl.String)}).with_row_index(f"number_of_{column}")


def _lane_of(trace: str, gpu: str) -> pl.DataFrame:
    """The place where a device's compute is drawn."""
    return pl.DataFrame([(trace, gpu, None, COMPUTE)], schema={name: STRETCH[name] for name in _PLACE}, orient="row")


def _undrawn(counts: Mapping[str, int], reason: str) -> list[Undrawn]:
    return [Undrawn(trace, reason, count) for trace, count in counts.items() if count]


def _level(threshold: int, marks: pl.DataFrame) -> TimelineLevel:
    return TimelineLevel(threshold, *(tuple(marks[column].to_list()) for column in MARK))
