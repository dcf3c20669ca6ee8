"""In which range GPU work was launched, and what a transport calls the devices it ran between."""

import numpy as np
import polars as pl

from nsysparse.frames import pid
from nsysparse.intervals import innermost_container
from nsysparse.source.trace import Trace


def launching(ops: pl.DataFrame, ranges: pl.DataFrame, key: str) -> pl.Series:
    """For each operation the `key` of the innermost of these ranges in which it was launched; null where in none.

    Args:
        ops: `launch_thread`, `launch_start_ns`, `launch_end_ns`, null where no launch was recorded.
        ranges: `thread`, `start_ns`, `end_ns`, `range_id` and the integer column `key`.
        key: What names a range.
    """
    found = np.full(ops.height, -1, dtype=np.int64)
    lanes = {thread: rows for (thread,), rows in ranges.group_by("thread", maintain_order=True)}
    launches = ops.select("launch_start_ns", "launch_end_ns", "launch_thread").with_row_index("op")
    for (thread,), part in launches.group_by("launch_thread", maintain_order=True):
        if thread not in lanes:
            continue
        lane = lanes[thread].sort("start_ns", "end_ns", "range_id", descending=[False, True, False])
        inside = innermost_container(
            lane["start_ns"].to_numpy(),
            lane["end_ns"].to_numpy(),
            part["launch_start_ns"].to_numpy(),
            part["launch_end_ns"].to_numpy(),
        )
        keys = lane[key].to_numpy().astype(np.int64)
        found[part["op"].to_numpy()] = np.where(inside >= 0, keys[inside], -1)
    series = pl.Series(key, found)
    return pl.select(pl.when(series >= 0).then(series)).to_series()


def open_alone(ops: pl.DataFrame, ranges: pl.DataFrame) -> pl.Series:
    """For each operation the `range_id` of the only range open in its process when it was launched.

    Null where several are open, where none is, and where the launch ends after it.

    Args:
        ops: `process`, `launch_start_ns`, `launch_end_ns`; all launches recorded.
        ranges: `process`, `start_ns`, `end_ns`, `range_id`.
    """
    found = np.full(ops.height, -1, dtype=np.int64)
    lanes = {process: rows for (process,), rows in ranges.group_by("process", maintain_order=True)}
    launches = ops.select("launch_start_ns", "launch_end_ns", "process").with_row_index("op")
    for (process,), part in launches.group_by("process", maintain_order=True):
        if process not in lanes:
            continue
        lane = lanes[process].sort("start_ns", "end_ns", "range_id", descending=[False, True, False])
        starts, ends = lane["start_ns"].to_numpy(), lane["end_ns"].to_numpy()
        begin = part["launch_start_ns"].to_numpy()
        inside = innermost_container(starts, ends, begin, part["launch_end_ns"].to_numpy())
        begun, ended = (np.searchsorted(edge, begin, side="right") for edge in (starts, np.sort(ends)))
        keys = lane["range_id"].to_numpy().astype(np.int64)
        found[part["op"].to_numpy()] = np.where((inside >= 0) & (begun - ended == 1), keys[inside], -1)
    series = pl.Series("range_id", found)
    return pl.select(pl.when(series >= 0).then(series)).to_series()


def device_end(trace: Trace, side: str = "") -> pl.Expr:
    """The end `TRACE_ID:gpuN` of a transfer, for a frame with the columns of `GpuOps`; null without device.

    N is the physical GPU where the file maps the process's ordinals, else the ordinal. An unmapped ordinal that
    several processes use may mean one device or several, so it gets the process: `gpu0/pid7`.

    Args:
        trace: Its GPU work says who uses which ordinal.
        side: `src_` or `dst_` for the ends of a copy, or empty for the device it ran on.
    """
    ops = trace.gpu_ops
    uses = pl.concat(
        ops.select("process", device_id=f"{end}device_id").unique() for end in ("", "src_", "dst_")
    ).drop_nulls()
    shared = uses.unique().group_by("device_id").len().filter(pl.col("len") > 1)["device_id"]
    device, gpu = f"{side}device_id", f"{side}gpu_id"
    name = (
        pl.when(pl.col(gpu).is_not_null())
        .then(pl.concat_str(pl.lit("gpu"), gpu))
        .when(pl.col(device).is_in(shared.implode()))
        .then(pl.concat_str(pl.lit("gpu"), device, pl.lit("/pid"), pid(pl.col("process"))))
        .otherwise(pl.concat_str(pl.lit("gpu"), device))
    )
    return pl.concat_str(pl.lit(f"{trace.trace_id}:"), name)
