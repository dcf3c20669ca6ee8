"""Project NVTX ranges onto the GPU: from where to where the work that was launched inside a range ran.

A GPU operation belongs to a range when its launching call starts and ends inside it on the same thread; for a
start/end range closed on another thread, inside it anywhere in the process. No stack is needed: sorted by start, the
calls of one thread end in order too, so any range holds a contiguous run of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.frames import THREAD_BITS, NvtxRanges, pid, thread_process, tid
from nsysparse.intervals import Ints, monotone_chains, open_around, run_extremes
from nsysparse.source.launched import Lane, Launched, of_frame

_LATEST, _EARLIEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min
_NONE: Ints = np.zeros(0, dtype=np.int64)
PIECE = 1 << 15
"""Rows of a piece: small enough to stay in the cache while they are written."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What was launched inside each row of a frame of ranges.

    Attributes:
        count: How many GPU operations.
        low: When the first of them began; anything where there are none.
        high: When the last of them ended; likewise.
    """

    count: NDArray[np.uint32]
    low: Ints
    high: Ints

    def beside(self, spans: pl.DataFrame, first: int = 0) -> pl.DataFrame:
        """With `gpu_op_count`, `projected_start_ns` and `projected_end_ns`, null without work.

        Args:
            spans: Some of the rows.
            first: Which of all is the first of them.
        """
        own = slice(first, first + spans.height)
        has_work = pl.col("gpu_op_count") > 0
        return spans.with_columns(
            gpu_op_count=pl.Series(self.count[own]),
            projected_start_ns=pl.Series(self.low[own]),
            projected_end_ns=pl.Series(self.high[own]),
        ).with_columns(pl.when(has_work).then(name).alias(name) for name in ("projected_start_ns", "projected_end_ns"))


def project(trace_id: str, ranges: pl.DataFrame, labels: pl.DataFrame, launched: Launched) -> Iterator[pl.DataFrame]:
    """NVTX ranges with the GPU interval and number of operations of what they launched; marks are left out.

    Args:
        trace_id: Name of the trace within the command.
        ranges: All `Ranges` of some of its threads, in order.
        labels: Their `Labels`; the code of a label is its row.
        launched: The calls of the trace that launched something; what has no recorded call belongs to no range.

    Yields:
        `NvtxRanges` in pieces, at least one, sorted by (process, thread, start, -end): its columns and types, but not
        validated row by row. No GPU work: null projection and 0.
    """
    projection, depth = _projection(ranges, launched), _depth(ranges)
    names = NvtxRanges.column_names()
    for first in range(0, max(ranges.height, 1), PIECE):
        piece = ranges.slice(first, PIECE)
        codes = piece["label_id"]
        yield (
            projection.beside(piece, first)
            .with_columns(
                labels["domain"].gather(codes),
                labels["name"].gather(codes),
                trace_id=pl.lit(trace_id),
                style=pl.col("style").cast(pl.String),
                depth=pl.Series(depth[first : first + PIECE]),
                pid=pid(thread_process(pl.col("thread"))),
                tid=tid(pl.col("thread")),
            )
            .filter(pl.col("style") != "mark")
            .select(names)
        )


def work_of(spans: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """Ranges with where the work that was launched inside each ran.

    Args:
        spans: Columns of `Ranges`, in their order; no marks.
        ops: GPU operations, all or some of the trace; those without a recorded launch belong to no range.

    Returns:
        The same rows in the same order, with `gpu_op_count`, `projected_start_ns` and `projected_end_ns`.
    """
    return _projection(spans, launching(ops)).beside(spans)


def launching(ops: pl.DataFrame) -> Launched:
    """Calls that launched something, with the extent of it all: a graph launch starts many kernels at once."""
    return of_frame(
        ops.filter(pl.col("launch_thread").is_not_null())
        .group_by("process", thread="launch_thread", call_start="launch_start_ns", call_end="launch_end_ns")
        .agg(first=pl.col("start_ns").min(), last=pl.col("end_ns").max(), ops=pl.len())
        .drop("process")
    )


def _projection(ranges: pl.DataFrame, launched: Launched) -> Projection:
    """Thread by thread: the calls of one are taken up once, for its own ranges and for those that span its process."""
    found = Projection(
        np.zeros(ranges.height, dtype=np.uint32), np.full(ranges.height, _LATEST), np.full(ranges.height, _EARLIEST)
    )
    starts, ends = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    own = _lanes(ranges, pl.col("thread"), (pl.col("style") != "mark") & ~_CROSSES)
    spanning = _lanes(ranges, thread_process(pl.col("thread")), _CROSSES)
    for place, thread in enumerate(launched.threads.tolist()):
        wanted = [rows for rows in (own.get(thread), spanning.get(thread >> THREAD_BITS)) if rows is not None]
        if not wanted:
            continue
        lane = launched.lane(place)
        chains = monotone_chains(lane.end)
        for chain in range(int(chains.max()) + 1):
            part = lane if not chains.any() else lane.where(chains == chain)
            for rows in wanted:
                _add(found, rows, starts[rows], ends[rows], part)
    return found


_CROSSES = (
    (pl.col("style") == "start_end") & (pl.col("end_thread") != -1) & (pl.col("end_thread") != pl.col("thread"))
).fill_null(value=False)
"""Ranges that another thread closed: what is launched inside is sought in all of the process."""


def _add(found: Projection, rows: slice | Ints, starts: Ints, ends: Ints, calls: Lane) -> None:
    """Add to some ranges what these calls, sorted by start and by end, launched inside them."""
    begin = np.searchsorted(calls.start, starts, side="left")
    stop = np.maximum(np.searchsorted(calls.end, ends, side="right"), begin)
    total = np.concatenate([[0], np.cumsum(calls.ops, dtype=np.int64)])
    found.count[rows] += (total[stop] - total[begin]).astype(np.uint32)
    low, high = run_extremes(calls.first, calls.last, begin, stop)
    empty = stop == begin
    low[empty], high[empty] = _LATEST, _EARLIEST
    found.low[rows] = np.minimum(found.low[rows], low)
    found.high[rows] = np.maximum(found.high[rows], high)


def _depth(ranges: pl.DataFrame) -> NDArray[np.uint32]:
    """For push/pop ranges: how many of the thread's push/pop ranges, of any domain, are open around it; else 0."""
    depth = np.zeros(ranges.height, dtype=np.uint32)
    starts, ends = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    for rows in _lanes(ranges, pl.col("thread"), pl.col("style") == "push_pop").values():
        depth[rows] = open_around(starts[rows], ends[rows])
    return depth


def _lanes(ranges: pl.DataFrame, owner: pl.Expr, which: pl.Expr) -> dict[int, slice | Ints]:
    """The rows that `which` selects, by owner: a run of rows where it is all of one, else their positions."""
    mask, owners = ranges.select(which.alias("which"), owner.alias("owner"))
    chosen, keys = mask.to_numpy(), owners.to_numpy()
    if not chosen.any():
        return {}
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    lanes: dict[int, slice | Ints] = {}
    for first, stop in zip(begins.tolist(), [*begins[1:].tolist(), len(keys)], strict=True):
        inside = chosen[first:stop]
        if inside.all():
            lanes[int(keys[first])] = slice(first, stop)
        elif inside.any():
            lanes[int(keys[first])] = first + np.flatnonzero(inside)
    return lanes
