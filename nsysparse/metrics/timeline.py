"""What happened when, on one axis: the stretches of all traces on one clock, in lanes, at several levels of detail."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from nsysparse.analysis import Lane, Timeline, TimelineLevel, Undrawn
from nsysparse.clocks import Clocks, Offset
from nsysparse.frames import pid
from nsysparse.metrics.levels import MARK, levels
from nsysparse.metrics.marks import KINDS, LANES
from nsysparse.metrics.rates import UNKNOWN_END

MOST_LANES = 2_000
"""More are not drawn: each keeps marks of its own at every level."""
NO_TIME, CLOCK, TOO_MANY = "no-time", "clock", "lanes"
_PLACE = ["trace_id", "gpu", "process", "lane"]


def timeline(found: pl.DataFrame, clocks: Clocks, traces: Sequence[str], requests: Sequence[str]) -> Timeline | None:
    """Lanes and levels of marks on the clock with which most stretches can be aligned, of equal ones the first.

    Args:
        found: From `stretches`.
        clocks: Of all traces.
        traces: Their ids, in order.
        requests: Ids of requests, in the order of the analysis.

    Returns:
        None where no stretch has a time.
    """
    timed = found.drop_nulls(["start_ns", "end_ns"])
    if timed.is_empty():
        return None
    order = [*traces, *sorted(set(found["trace_id"].unique()) - set(traces))]
    runs = _runs(timed)
    offsets = _offsets(runs, clocks, order)
    is_aligned = pl.col("trace_id").is_in(list(offsets))
    places = _places(runs.filter(is_aligned), order)
    drawn = (
        runs.join(places.head(MOST_LANES), on=_PLACE, nulls_equal=True)
        .join(_numbers(request_id=requests), on="request_id", how="left")
        .join(_numbers(kind=KINDS), on="kind")
        .sort("row")
    )
    marks = pl.concat(
        _on_base(_rows(timed, part), offsets[str(trace)])
        for (trace,), part in drawn.group_by("trace_id", maintain_order=True)
    )
    origin, end = marks.select(low=pl.col("start_ns").min(), high=pl.col("end_ns").max()).row(0)
    marks = marks.with_columns(pl.col("start_ns", "end_ns") - origin)
    undrawn = [
        *_undrawn(_runs(found.filter(pl.col("start_ns").is_null() | pl.col("end_ns").is_null())), NO_TIME),
        *_undrawn(runs.filter(~is_aligned), CLOCK),
        *_undrawn(runs.join(places.slice(MOST_LANES), on=_PLACE, nulls_equal=True), TOO_MANY),
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
        levels=tuple(_level(*each) for each in levels(marks)),
        marks_dropped=sum(each.count for each in undrawn),
        undrawn=tuple(sorted(undrawn, key=lambda each: (order.index(each.trace_id), each.reason))),
    )


def _runs(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that follow on each other and differ in nothing but time, as one: millions of kernels are a few.

    Returns:
        The first of each run without its times, its number `row`, and how many there are as `count`.
    """
    texts = rows.drop("start_ns", "end_ns")
    changes = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in texts.columns)
    firsts = texts.with_row_index("row").filter(changes | (pl.col("row") == 0))
    until = pl.col("row").shift(-1, fill_value=rows.height)
    return firsts.with_columns(count=until.cast(pl.Int64) - pl.col("row").cast(pl.Int64))


def _rows(timed: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """The rows of some runs, in their order, with what `levels` needs."""
    numbers = runs.select(lane="place", kind="number_of_kind", request="number_of_request_id")
    counts = runs["count"].to_numpy()
    run = np.repeat(np.arange(runs.height), counts)
    row = np.arange(len(run)) + (runs["row"].to_numpy() - np.cumsum(counts) + counts)[run]
    return timed.select(pl.col("start_ns", "end_ns").gather(row)).hstack(numbers.select(pl.all().gather(run)))


def _offsets(runs: pl.DataFrame, clocks: Clocks, order: Sequence[str]) -> dict[str, Offset]:
    """The base, and then the other traces that can be aligned with it, each with its offset."""
    counts = dict(runs.group_by("trace_id").agg(pl.col("count").sum()).iter_rows())
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
    if offset.base == offset.other:
        return rows
    return rows.with_columns(offset.expr_to_base(pl.col(name)).alias(name) for name in ("start_ns", "end_ns"))


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


def _undrawn(runs: pl.DataFrame, reason: str) -> list[Undrawn]:
    counts = runs.group_by("trace_id").agg(pl.col("count").sum())
    return [Undrawn(trace, reason, count) for trace, count in counts.iter_rows()]


def _level(threshold: int, marks: pl.DataFrame) -> TimelineLevel:
    return TimelineLevel(threshold, *(tuple(marks[column].to_list()) for column in MARK))
