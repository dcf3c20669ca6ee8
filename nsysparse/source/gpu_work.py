"""Read GPU work with its launches: kernels, copies, memsets and CUDA graphs recorded whole."""

from collections import Counter
from dataclasses import replace

import polars as pl

from nsysparse.frames import Frame, GpuOps, thread_process
from nsysparse.source import pack_kernels, schema
from nsysparse.source.batch import Batch
from nsysparse.source.compute import Noted
from nsysparse.source.devices import with_gpu
from nsysparse.source.export import Export
from nsysparse.source.kernel_names import KERNEL_NAMES, has_name, named_by
from nsysparse.source.launches import with_launches
from nsysparse.source.ordering import in_total_order
from nsysparse.source.scan import Keep
from nsysparse.source.sql import Piece, compared
from nsysparse.source.usable import MAX_BYTES, usable_times

_OF_SOME_KIND = ("grid_x", "src_device_id", "dst_device_id", "copy_count")  # of kernels, of copies
_MAX_DEVICES, _MAX_BATCH = 2**16, 2**32  # beyond these an ordinal or a count means "not recorded", or damage


def read_gpu_ops(
    export: Export,
    trace_id: str,
    anomalies: Counter[str],
    *,
    everything: bool,
    local_copies: bool,
    noting: Noted | None = None,
) -> Frame[GpuOps]:
    """GPU operations in total order, each with the call that launched it.

    Args:
        export: The open file.
        trace_id: Name of this input within the command.
        anomalies: Counts operations without device, launch or possible times, and sizes no copy can have.
        everything: Also kernels that are neither NCCL's nor pack KV, memsets and graphs.
        local_copies: Also copies to and from the host and within a device.
        noting: Notes of kernels that are not read when they ran.
    """
    parts = [_kernels(export, noting, everything=everything), _copies(export, anomalies, local=local_copies)]
    if everything:
        parts += [_memsets(export), _graphs(export)]
    columns = ["kind", "name", "device_id", "stream_id", "process", "correlation_id", "start_ns", "end_ns", "bytes"]
    ops = pl.concat([part.select(*columns, "graph", "graph_node_id", *_OF_SOME_KIND) for part in parts])
    placed = ops.filter(pl.col("device_id").is_not_null())
    if placed.height < ops.height:
        anomalies["gpu-work-without-device"] += ops.height - placed.height
    ops = usable_times(placed, "gpu-work", anomalies, open_ended=False)
    order = ["start_ns", "end_ns", "device_id", "stream_id", "process", "correlation_id", "kind", "name", "bytes"]
    ordered = in_total_order(ops, [*order, "graph_node_id", *_OF_SOME_KIND])
    ops = ordered.with_row_index("op_id").with_columns(pl.col("op_id").cast(pl.UInt32), trace_id=pl.lit(trace_id))
    launched = with_launches(export, with_gpu(export, ops), anomalies)
    return GpuOps.validate(launched.select(GpuOps.column_names()))


def _kernels(export: Export, noting: Noted | None, *, everything: bool) -> pl.DataFrame:
    keep = None
    if not everything and named_by(export, schema.KERNEL):
        moving = export.ids_like("%nccl%", *(f"%{part}%" for part in pack_kernels.NAMES))
        keep = Keep(KERNEL_NAMES, lambda batch: has_name(batch, moving))
        if noting is not None:
            keep = replace(keep, needs=noting.needs, beside=noting.within)
    found = export.scan(schema.KERNEL, Batch.frame, keep=keep)
    if noting is not None and keep is not None:
        noting.take(found.beside)
    frame = pl.concat(found.parts)
    frame = frame.with_columns(name_id=pl.coalesce("name_id", "short_name_id"))
    strings = export.read_strings(frame["name_id"])
    text = dict(zip(strings["id"].to_list(), strings["value"].to_list(), strict=True))
    name = pl.col("name_id").replace_strict(text, default=None, return_dtype=pl.String)
    return _gpu_work(frame, "kernel", name, pl.lit(None, dtype=pl.Int64))


def _copies(export: Export, anomalies: Counter[str], *, local: bool) -> pl.DataFrame:
    """Copies between devices, and with `local` all others; numbers that no copy can have are null."""
    where = None
    if not local:
        where = compared("copyKind", "=", schema.PEER_COPY)
        if {"srcDeviceId", "dstDeviceId"} <= export.columns(schema.MEMCPY.table):
            where = where | Piece("`srcDeviceId` <> `dstDeviceId`")
    frame = export.read(schema.MEMCPY, where=where)
    possible = pl.col("bytes").is_between(0, MAX_BYTES, closed="left")
    impossible = frame.select((~possible).sum()).item()
    if impossible:
        anomalies["sizes-impossible"] += impossible
    frame = frame.with_columns(
        pl.when(possible).then("bytes"),
        pl.when(pl.col("copy_count").is_between(1, _MAX_BATCH)).then("copy_count"),
        *(pl.when(pl.col(name).is_between(0, _MAX_DEVICES)).then(name) for name in ("src_device_id", "dst_device_id")),
    )
    kind = pl.col("copy_kind").replace_strict(schema.COPY_KINDS, default="kind unknown", return_dtype=pl.String)
    return _gpu_work(frame, "memcpy", pl.concat_str(pl.lit("memcpy "), kind), pl.col("bytes"))


def _memsets(export: Export) -> pl.DataFrame:
    return _gpu_work(export.read(schema.MEMSET), "memset", pl.lit("memset"), pl.col("bytes"))


def _graphs(export: Export) -> pl.DataFrame:
    return _gpu_work(export.read(schema.GRAPH), "graph", pl.lit("CUDA graph"), pl.lit(None, dtype=pl.Int64))


def _gpu_work(frame: pl.DataFrame, kind: str, name: pl.Expr, nbytes: pl.Expr) -> pl.DataFrame:
    absent = [pl.lit(None, dtype=pl.Int64).alias(column) for column in _OF_SOME_KIND if column not in frame.columns]
    return frame.with_columns(
        *absent,
        kind=pl.lit(kind),
        name=name,
        bytes=nbytes,
        process=thread_process(pl.col("global_pid")),
        graph=pl.col("graph_node_id").is_not_null() if kind != "graph" else pl.lit(True),
    ).with_columns(pl.col("name").fill_null("").cast(pl.String))
