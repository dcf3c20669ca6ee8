"""In which range GPU work was launched, and what a transport calls the devices it ran between."""

import polars as pl

from nsysparse.containing import innermost
from nsysparse.frames import pid
from nsysparse.source.trace import Trace


def launching(ops: pl.DataFrame, ranges: pl.DataFrame, key: str) -> pl.Series:
    """For each operation the `key` of the innermost of these ranges in which it was launched; null where in none.

    Args:
        ops: `launch_thread`, `launch_start_ns`, `launch_end_ns`, null where no launch was recorded.
        ranges: `thread`, `start_ns`, `end_ns` and the integer column `key`.
        key: What names a range; the later of two in a trace has the higher one.
    """
    return _launched_in(ops, ranges.with_columns(holder=key), "thread", "launch_thread").cast(pl.Int64).alias(key)


def open_alone(ops: pl.DataFrame, ranges: pl.DataFrame) -> pl.Series:
    """For each operation the `range_id` of the only range open in its process when it was launched.

    Null where several are open, where none is, and where the launch ends after it.

    Args:
        ops: `process`, `launch_start_ns`, `launch_end_ns`; all launches recorded.
        ranges: `process`, `start_ns`, `end_ns`, `range_id`.
    """
    return _launched_in(ops, ranges.with_columns(holder="range_id"), "process", "process", alone=True).cast(pl.Int64)


def _launched_in(
    ops: pl.DataFrame, ranges: pl.DataFrame, lane: str, launch_lane: str, *, alone: bool = False
) -> pl.Series:
    """`holder` of the range that holds the launch, in the order of `ops`; null where none does."""
    launches = ops.select(pl.col(launch_lane).alias(lane), begin="launch_start_ns", end="launch_end_ns").with_row_index(
        "item"
    )
    holders = ranges.select(lane, "holder", begin="start_ns", end="end_ns")
    held = innermost(launches.drop_nulls(), holders, lane, alone=alone)
    return launches.select("item").join(held, on="item", how="left", maintain_order="left")["holder"]


def device_name(trace: Trace, side: str = "") -> pl.Expr:
    """The name `gpuN` of a row's device, within its trace; null without device.

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
    ordinal = pl.concat_str(pl.lit("gpu"), f"{side}device_id")
    return (
        pl.when(pl.col(f"{side}gpu_id").is_not_null())
        .then(pl.concat_str(pl.lit("gpu"), f"{side}gpu_id"))
        .when(pl.col(f"{side}device_id").is_in(shared.implode()))
        .then(pl.concat_str(ordinal, pl.lit("/pid"), pid(pl.col("process"))))
        .otherwise(ordinal)
    )


def device_end(trace: Trace, side: str = "") -> pl.Expr:
    """The end `TRACE_ID:gpuN` of a transfer (see `device_name`), for a frame with the columns of `GpuOps`."""
    return pl.concat_str(pl.lit(f"{trace.trace_id}:"), device_name(trace, side))
