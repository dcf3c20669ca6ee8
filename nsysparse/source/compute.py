"""Read when compute ran, for what transfers may hide behind."""

import dataframely as dy
import polars as pl

from nsysparse.frames import Compute, device_key, thread_process
from nsysparse.intervals import merge
from nsysparse.source import schema
from nsysparse.source.devices import with_gpu
from nsysparse.source.export import Export, string_ids_like
from nsysparse.source.kernel_names import KERNEL_NAMES, has_name
from nsysparse.source.scan import Keep
from nsysparse.source.usable import LONGEST_NS, MAX_TIME_NS


def read_compute(export: Export, trace_id: str, ops: pl.DataFrame, work: pl.DataFrame) -> dy.DataFrame[Compute]:
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
    """`device`, `start_ns`, `end_ns`: when kernels that are not NCCL's, or graphs recorded whole, ran."""
    of_nccl = export.ids(string_ids_like("%nccl%"))
    other = Keep(KERNEL_NAMES, lambda batch: ~has_name(batch, of_nccl))
    kernels = export.scan(schema.KERNEL_TIMES, _merged, keep=other)
    graphs = export.scan(schema.GRAPH_TIMES, _merged)
    busy = pl.concat([*kernels.parts, *graphs.parts])
    return with_gpu(export, busy).with_columns(device=device_key())


def _merged(batch: pl.DataFrame) -> pl.DataFrame:
    """When something of a batch ran, by device and process: kernels that follow each other closely are one interval."""
    sane = pl.col("start_ns").is_between(-MAX_TIME_NS, MAX_TIME_NS) & (
        pl.col("end_ns") - pl.col("start_ns")
    ).is_between(1, LONGEST_NS)
    known = batch.drop_nulls(["start_ns", "end_ns", "device_id"]).filter(sane)
    placed = known.select("start_ns", "end_ns", "device_id", process=thread_process(pl.col("global_pid")))
    parts = [placed.clear()]
    for (device, process), rows in placed.group_by("device_id", "process", maintain_order=True):
        starts, ends = merge(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
        merged = pl.DataFrame({"start_ns": starts, "end_ns": ends})
        parts.append(merged.with_columns(device_id=pl.lit(device, pl.Int64), process=pl.lit(process, pl.Int64)))
    return pl.concat(parts)
