"""Read all kernels, lean: when and where each ran and which call launched it, without names or sizes.

Steps of an engine last from their first to their last kernel, and kernels of one shape can be compared with each other;
neither needs a name, of which there may be millions.
"""

from collections import Counter

import dataframely as dy
import polars as pl

from nsysparse.frames import Work, device_key, thread_process
from nsysparse.source import schema
from nsysparse.source.devices import with_gpu
from nsysparse.source.export import Export, string_ids_like
from nsysparse.source.launches import with_launches
from nsysparse.source.usable import LONGEST_NS, MAX_TIME_NS

_SHAPE = ("name_id", "grid_x", "grid_y", "grid_z", "block_x")


def read_work(export: Export, trace_id: str) -> dy.DataFrame[Work]:
    """Kernels, and CUDA graphs recorded whole, by start; rows without device or with impossible times are left out.

    What is odd about them is counted where GPU work is read for transfers.
    """
    kernels = export.read(schema.KERNEL_WORK)
    graphs = export.read(schema.GRAPH_WORK)
    of_nccl = export.ids(string_ids_like("%nccl%"))
    name = pl.coalesce("name_id", "short_name_id")
    parts = [
        kernels.with_columns(
            is_compute=~name.is_in(of_nccl.implode()).fill_null(value=False),
            shape=pl.struct(name.alias("name_id"), *_SHAPE[1:]).hash(seed=0).reinterpret(signed=True),
        ).drop("short_name_id", *_SHAPE),
        graphs.with_columns(is_compute=pl.lit(value=True), shape=pl.lit(None, dtype=pl.Int64)),
    ]
    sane = pl.col("start_ns").is_between(-MAX_TIME_NS, MAX_TIME_NS) & (
        pl.col("end_ns") - pl.col("start_ns")
    ).is_between(1, LONGEST_NS)
    rows = (
        pl.concat(parts)
        .drop_nulls(["start_ns", "end_ns", "device_id"])
        .filter(sane)
        .with_columns(process=thread_process(pl.col("global_pid")))
        .sort("start_ns", "end_ns", "device_id", "process", "correlation_id", "shape", nulls_last=True)
        .with_row_index("op_id")
    )
    launched = with_launches(export, with_gpu(export, rows), Counter(), everything=True)
    placed = launched.with_columns(device=device_key(), trace_id=pl.lit(trace_id))
    return Work.validate(placed.select(Work.column_names()))
