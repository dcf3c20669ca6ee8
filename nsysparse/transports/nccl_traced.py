"""Send/Recv as advanced NCCL tracing (`nsys profile -t nccl`) records them: experimental, no real file was at hand.

A row per call says bytes and peer; rows per channel, with the same `apiId`, say when the GPU worked on that very call:
the only exact times of single operations inside a kernel that serves several. The kernels are in the file as well, so a
kernel during which such an operation ran is the operation's, and no movement of its own.
"""

import numpy as np
import polars as pl

from nsysparse.intervals import innermost_container
from nsysparse.source.trace import Trace

_CALL = ["process", "api_id", "side"]
# A collective that runs as Sends and Receives has one id for all of them.
_TOLD_APART_BY = ("peer", "communicator")


def find_traced(trace: Trace, kernels: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
    """Transfers that advanced tracing recorded, and the ids of the kernels that served them.

    Args:
        trace: One file.
        kernels: SendRecv kernels without recorded calls: columns of `GpuOps`.

    Returns:
        Transfers with columns of `Found` (and `issue`), and `op_id` of every kernel during which one of them ran.
    """
    operations = _operations(trace)
    owner, served = _kernels_of(operations, kernels)
    work = kernels.select(
        "op_id",
        "gpu_id",
        "stream_id",
        "grid_x",
        kernel_device="device_id",
        group_key=-1 - pl.col("op_id").cast(pl.Int64),
    )
    placed = operations.with_columns(owner).join(work, left_on="owner", right_on="op_id", how="left")
    has_kernel = pl.col("owner").is_not_null()
    found = placed.with_columns(
        device_id=pl.coalesce("kernel_device", "device_id"),
        channels="grid_x",
        kernel_ops=pl.when(has_kernel).then(pl.len().over("owner")).cast(pl.UInt32),
        kernel_count=has_kernel.cast(pl.UInt32),
        device_count=pl.when(has_kernel).then(pl.lit(1, dtype=pl.UInt32)),
        time_ns=pl.col("end_ns") - pl.col("start_ns"),
        bytes_source=pl.when(pl.col("bytes").is_not_null()).then(pl.lit("payload")),
        is_self=pl.col("peer") == pl.col("rank"),
        communicator=pl.col("communicator").cast(pl.String),
    )
    return found.drop("owner", "op_id", "grid_x", "kernel_device", "api_id", strict=False), served


def _operations(trace: Trace) -> pl.DataFrame:
    """One row per operation: what its call says, and from when to when the GPU worked on it, over all its channels."""
    rows = trace.nccl_ops.join(
        trace.ranges.select("range_id", "process", "thread", "start_ns", "end_ns"), on="range_id"
    ).sort("start_ns", "range_id")
    several = {name: pl.col(name).drop_nulls().n_unique().over(_CALL) > 1 for name in _TOLD_APART_BY}
    lanes = [f"lane_{name}" for name in _TOLD_APART_BY]
    rows = rows.with_columns(pl.when(apart).then(name).alias(f"lane_{name}") for name, apart in several.items())
    gpu = pl.col("is_gpu")

    def said(column: str, where: pl.Expr | None = None) -> pl.Expr:
        """What all rows (or those) that know it agree on."""
        known = (pl.col(column) if where is None else pl.col(column).filter(where)).drop_nulls()
        return pl.when(known.n_unique() == 1).then(known.first())

    # Several calls of one id: nothing says whose work the GPU rows are, if they are calls at all.
    exact = (~gpu).sum() <= 1
    found = rows.group_by(*_CALL, *lanes).agg(
        calls=(~gpu).sum(),
        start_ns=pl.when(exact).then(pl.col("start_ns").filter(gpu).min()),
        end_ns=pl.when(exact).then(pl.col("end_ns").filter(gpu).max()),
        thread=pl.col("thread").filter(~gpu).first(),
        call_start_ns=pl.col("start_ns").filter(~gpu).first(),
        call_end_ns=pl.col("end_ns").filter(~gpu).first(),
        issue=pl.col("range_id").first().cast(pl.Int64),
        bytes=said("bytes", ~gpu),  # a channel's row may tell its own part only
        device_id=said("device"),
        **{column: said(column).alias(column) for column in ("communicator", "peer", "rank", "rank_count")},
    )
    # GPU work that does not say which of several operations of its id it belongs to.
    stray = (pl.col("calls") == 0) & pl.any_horizontal(
        (pl.col(name).drop_nulls().n_unique().over(_CALL) > 1) & pl.col(f"lane_{name}").is_null()
        for name in _TOLD_APART_BY
    )
    return found.filter(~stray).sort("issue").drop("calls", *lanes)


def _kernels_of(operations: pl.DataFrame, kernels: pl.DataFrame) -> tuple[pl.Series, list[int]]:
    """The kernel during which each operation ran, and all kernels during which one did.

    Compared is the middle of an operation: NCCL's own clock may differ from the kernel's by a little at its ends.
    """
    owner = np.full(operations.height, -1, dtype=np.int64)
    served: set[int] = set()
    timed = operations.with_row_index("row").filter(pl.col("start_ns").is_not_null())
    middles = timed.with_columns(middle=pl.col("start_ns") + (pl.col("end_ns") - pl.col("start_ns")) // 2)
    lanes = {process: lane for (process,), lane in kernels.group_by("process", maintain_order=True)}
    for (process, device), part in middles.group_by("process", "device_id", maintain_order=True):
        lane = lanes.get(process)
        if lane is None:
            continue
        if device is not None:
            lane = lane.filter(pl.col("device_id") == device)
        lane = lane.sort("start_ns", "end_ns", "op_id", descending=[False, True, False])
        starts, ends = lane["start_ns"].to_numpy(), lane["end_ns"].to_numpy()
        ids, middle = lane["op_id"].to_numpy().astype(np.int64), part["middle"].to_numpy()
        inside = innermost_container(starts, ends, middle, middle)
        owner[part["row"].to_numpy()] = np.where(inside >= 0, ids[inside], -1) if len(ids) else -1
        moments = np.sort(middle)
        ran = np.searchsorted(moments, ends, side="right") > np.searchsorted(moments, starts, side="left")
        served.update(ids[ran].tolist())
    series = pl.Series("owner", owner)
    known = pl.select(pl.when(series >= 0).then(series).cast(pl.UInt32)).to_series()
    return known, sorted(served)
