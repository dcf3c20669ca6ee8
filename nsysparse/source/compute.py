"""Read when compute ran, for what transfers may hide behind."""

import polars as pl
import sqlalchemy as sa

from nsysparse.frames import Compute, Frame, device_key, thread_process
from nsysparse.intervals import merge
from nsysparse.source import schema
from nsysparse.source.devices import with_gpu
from nsysparse.source.export import Export, string_ids_like
from nsysparse.source.usable import LONGEST_NS, MAX_TIME_NS


def read_compute(export: Export, trace_id: str, ops: pl.DataFrame, work: pl.DataFrame) -> Frame[Compute]:
    """When compute ran on every device on which something of `ops` or `work` did.

    Args:
        export: The open file.
        trace_id: Name of this input within the command.
        ops: GPU work that transfers may be made of; without any, nothing can be hidden behind compute.
        work: All kernels, where they were read anyway (columns of `Work`).

    Returns:
        Intervals merged at once: there can be millions of kernels. Nothing else of these is read.
    """
    schema_ = Compute.create_empty().schema
    if work.height:
        keyed = work.filter("is_compute")
    elif ops.is_empty() or not export.has(schema.KERNEL):
        return Compute.validate(pl.DataFrame(schema=schema_))
    else:
        keyed = _times(export)
    # A device without compute has an interval of no length: nothing is hidden there, which is not the same as unknown.
    devices = pl.concat([ops.select(device=device_key()), work.select("device")]).unique()
    parts = [devices.with_columns(start_ns=pl.lit(0, pl.Int64), end_ns=pl.lit(0, pl.Int64))]
    for (device,), rows in keyed.group_by("device", maintain_order=True):
        starts, ends = merge(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
        parts.append(pl.DataFrame({"device": [device] * len(starts), "start_ns": starts, "end_ns": ends}))
    merged = pl.concat(parts).sort("device", "start_ns", "end_ns").with_columns(trace_id=pl.lit(trace_id))
    return Compute.validate(merged.select(list(schema_)))


def _times(export: Export) -> pl.DataFrame:
    """`device`, `start_ns` and `end_ns` of all kernels that are not NCCL's, and of graphs recorded whole."""
    names = [name for name in ("demangledName", "shortName") if name in export.columns(schema.KERNEL.table)]
    of_nccl = sa.or_(*(sa.column(name).in_(string_ids_like("%nccl%")) for name in names)) if names else sa.false()
    rows = [export.read(schema.KERNEL_TIMES, where=sa.not_(of_nccl)), export.read(schema.GRAPH_TIMES)]
    placed = pl.concat(rows).drop_nulls(["start_ns", "end_ns", "device_id"])
    sane = pl.col("start_ns").is_between(-MAX_TIME_NS, MAX_TIME_NS) & (
        pl.col("end_ns") - pl.col("start_ns")
    ).is_between(1, LONGEST_NS)
    known = placed.filter(sane).with_columns(process=thread_process(pl.col("global_pid")))
    return with_gpu(export, known).with_columns(device=device_key())
