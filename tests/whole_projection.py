"""The projection as it was before it was made lean, on whole frames with joins: what the lean one is held against.

A GPU operation belongs to a range when its launching call starts and ends inside it on the same thread; for a
start/end range closed on another thread, inside it anywhere in the process. No stack is needed: sorted by start, the
calls of one thread end in order too, so any range holds a contiguous run of them.
"""

import dataframely as dy
import numpy as np
import polars as pl

from nsysparse.frames import GpuOps, Labels, NvtxRanges, Ranges, pid, tid
from nsysparse.intervals import Ints, monotone_chains, open_around, run_extremes


def project(
    trace_id: str, ranges: dy.DataFrame[Ranges], labels: dy.DataFrame[Labels], ops: dy.DataFrame[GpuOps]
) -> dy.DataFrame[NvtxRanges]:
    """NVTX ranges with the GPU interval and number of operations of what they launched; marks are left out.

    Args:
        trace_id: Which trace.
        ranges: Its ranges.
        labels: Their labels.
        ops: All GPU operations of the trace; those without a recorded launch belong to no range.

    Returns:
        One row per range, sorted by (process, thread, start, -end). No GPU work: null projection and 0.
    """
    spans = ranges.filter(pl.col("style") != "mark")
    return NvtxRanges.validate(
        work_of(spans, ops)
        .with_columns(
            pl.col("style").cast(pl.String),
            trace_id=pl.lit(trace_id),
            depth=_depth(spans),
            pid=pid(pl.col("process")),
            tid=tid(pl.col("thread")),
        )
        .join(labels, on="label_id", how="left", maintain_order="left")
        .select(NvtxRanges.column_names())
    )


def work_of(spans: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """Ranges with where the work that was launched inside each ran.

    Args:
        spans: Columns of `Ranges`; no marks.
        ops: As in `project`.

    Returns:
        The same rows in the same order, with `gpu_op_count`, `projected_start_ns` and `projected_end_ns`.
    """
    count, low, high = _work_inside(spans, _launching_calls(ops))
    has_work = pl.col("gpu_op_count") > 0
    return spans.with_columns(
        gpu_op_count=pl.Series(count).cast(pl.UInt32),
        projected_start_ns=pl.Series(low),
        projected_end_ns=pl.Series(high),
    ).with_columns(pl.when(has_work).then(name).alias(name) for name in ("projected_start_ns", "projected_end_ns"))


def _launching_calls(ops: pl.DataFrame) -> pl.DataFrame:
    """Calls that launched something, with the extent of it all: a graph launch starts many kernels at once."""
    return (
        ops.filter(pl.col("launch_thread").is_not_null())
        .group_by("process", thread="launch_thread", call_start="launch_start_ns", call_end="launch_end_ns")
        .agg(first=pl.col("start_ns").min(), last=pl.col("end_ns").max(), ops=pl.len().cast(pl.Int64))
        .sort("process", "thread", "call_start", "call_end")
    )


def _work_inside(spans: pl.DataFrame, calls: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Per range: operations launched inside, their first start and last end (zeros where there are none)."""
    count = np.zeros(spans.height, dtype=np.int64)
    low = np.full(spans.height, np.iinfo(np.int64).max)
    high = np.full(spans.height, np.iinfo(np.int64).min)
    process, thread = spans["process"].to_numpy(), spans["thread"].to_numpy()
    starts, ends = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    crossing = spans["end_thread"].fill_null(-1).to_numpy()
    crosses = (spans["style"] == "start_end").to_numpy() & (crossing != -1) & (crossing != thread)
    on_thread, in_process = _positions(thread, ~crosses), _positions(process, crosses)
    for (owner, lane), part in calls.group_by("process", "thread", maintain_order=True):
        # Ranges of the lane's own thread, and those that span the threads of its process.
        mine = np.concatenate([on_thread.get(lane, _NONE), in_process.get(owner, _NONE)])
        if len(mine) == 0:
            continue
        columns = [part[name].to_numpy() for name in ("call_start", "call_end", "first", "last", "ops")]
        chains = monotone_chains(columns[1])
        for chain in range(int(chains.max()) + 1):
            call_start, call_end, first, last, ops = (column[chains == chain] for column in columns)
            begin = np.searchsorted(call_start, starts[mine], side="left")
            stop = np.maximum(np.searchsorted(call_end, ends[mine], side="right"), begin)
            total = np.concatenate([[0], np.cumsum(ops)])
            found = stop > begin
            count[mine] += total[stop] - total[begin]
            minima, maxima = run_extremes(first, last, begin, stop)
            low[mine[found]] = np.minimum(low[mine[found]], minima[found])
            high[mine[found]] = np.maximum(high[mine[found]], maxima[found])
    low[count == 0], high[count == 0] = 0, 0
    return count, low, high


_NONE: Ints = np.zeros(0, dtype=np.int64)


def _positions(keys: Ints, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> dict[object, Ints]:
    """Row positions by key, of the rows that `which` selects."""
    rows = np.flatnonzero(which)
    rows = rows[np.argsort(keys[rows], kind="stable")]
    distinct, first = np.unique(keys[rows], return_index=True)
    return dict(zip(distinct.tolist(), np.split(rows, first[1:]), strict=True)) if len(rows) else {}


def _depth(spans: pl.DataFrame) -> pl.Series:
    """For push/pop ranges: how many of the thread's push/pop ranges, of any domain, are open around it; else 0."""
    depth = np.zeros(spans.height, dtype=np.int64)
    starts, ends = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    stacked = (spans["style"] == "push_pop").to_numpy()
    for rows in _positions(spans["thread"].to_numpy(), stacked).values():
        depth[rows] = open_around(starts[rows], ends[rows])
    return pl.Series(depth).cast(pl.UInt32)
