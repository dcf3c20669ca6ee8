"""Read all kernels, lean: when and where each ran and which call launched it, without its name.

Steps of an engine last from their first to their last kernel, and kernels of one shape can be compared with each other;
neither needs a kernel's name, so only the distinct ones are read, to number the shapes in their order.
"""

from collections import Counter

import polars as pl

from nsysparse.frames import Frame, Work, device_key, thread_process
from nsysparse.source import schema
from nsysparse.source.batch import Batch
from nsysparse.source.devices import with_gpu
from nsysparse.source.export import Export
from nsysparse.source.launches import with_launches
from nsysparse.source.ordering import in_total_order
from nsysparse.source.usable import LONGEST_NS, MAX_TIME_NS

_SHAPE = ["name_id", "grid_x", "grid_y", "grid_z", "block_x"]
_ORDER = ["start_ns", "end_ns", "device_id", "process", "correlation_id", "shape"]


def read_work(export: Export, trace_id: str) -> Frame[Work]:
    """Kernels, and CUDA graphs recorded whole, by start; rows without device or with impossible times are left out.

    What is odd about them is counted where GPU work is read for transfers.
    """
    kernels = pl.concat(export.scan(schema.KERNEL_WORK, Batch.frame).parts)
    graphs = export.read(schema.GRAPH_WORK)
    of_nccl = export.ids_like("%nccl%")
    name = pl.coalesce("name_id", "short_name_id")
    parts = [
        _shaped(export, kernels.with_columns(name_id=name).drop("short_name_id"))
        .with_columns(is_compute=~pl.col("name_id").is_in(of_nccl.implode()).fill_null(value=False))
        .drop(_SHAPE),
        graphs.with_columns(shape=pl.lit(None, dtype=pl.Int64), is_compute=pl.lit(value=True)),
    ]
    sane = pl.col("start_ns").is_between(-MAX_TIME_NS, MAX_TIME_NS) & (
        pl.col("end_ns") - pl.col("start_ns")
    ).is_between(1, LONGEST_NS)
    rows = (
        pl.concat(parts)
        .drop_nulls(["start_ns", "end_ns", "device_id"])
        .filter(sane)
        .with_columns(process=thread_process(pl.col("global_pid")))
    )
    ordered = in_total_order(rows, _ORDER).with_row_index("op_id")
    launched = with_launches(export, with_gpu(export, ordered), Counter())
    placed = launched.with_columns(device=device_key(), trace_id=pl.lit(trace_id))
    return Work.validate(placed.select(Work.column_names()))


def _shaped(export: Export, kernels: pl.DataFrame) -> pl.DataFrame:
    """Add `shape`: the number of each kernel's name and grid, in the order of these.

    Neither the order of rows nor the ids that an export gave to names matter. A name that the file lacks is its id.
    """
    distinct = kernels.select(_SHAPE).unique()
    texts = export.read_strings(distinct["name_id"]).rename({"id": "name_id", "value": "text"})
    ordered = distinct.join(texts, on="name_id", how="left").with_columns(
        lacking=pl.when(pl.col("text").is_null()).then("name_id")
    )
    key = ["text", "lacking", *_SHAPE[1:]]
    numbered = ordered.sort(key, nulls_last=True).with_columns(shape=pl.struct(key).rle_id().cast(pl.Int64))
    return kernels.join(
        numbered.select(*_SHAPE, "shape"), on=_SHAPE, how="left", nulls_equal=True, maintain_order="left"
    )
