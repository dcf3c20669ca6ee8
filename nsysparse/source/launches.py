"""Give each GPU operation the CUDA call that launched it: the join on (process, correlation id).

Correlation ids are unique only within a process, and not always there: a repeated id is resolved by time and counted.
GPU clocks can run ahead, so a kernel may start before its launch: time never filters, it only ranks repetitions.
"""

from collections import Counter

import polars as pl
import sqlalchemy as sa

from nsysparse.frames import thread_process
from nsysparse.source import schema
from nsysparse.source.export import Export


def with_launches(export: Export, ops: pl.DataFrame, anomalies: Counter[str], *, everything: bool) -> pl.DataFrame:
    """Add `launch_thread`, `launch_start_ns` and `launch_end_ns` to GPU operations; null where no call was recorded.

    Args:
        export: Where the calls are.
        ops: GPU operations with `op_id`, `process`, `correlation_id`, `start_ns`.
        anomalies: Counts operations without a launch row and with several.
        everything: `ops` holds all GPU work, so nearly every call matters and a filter would only cost time.
    """
    calls = _calls(export, None if everything else ops["correlation_id"])
    keyed = ops.filter(pl.col("process").is_not_null() & pl.col("correlation_id").is_not_null())
    matched = keyed.select("op_id", "process", "correlation_id", op_start="start_ns").join(
        calls, on=["process", "correlation_id"]
    )
    repeated = matched.height - matched["op_id"].n_unique()
    if repeated:
        anomalies["launches-repeated"] += repeated
        # The latest call that started before the work; failing that (skewed clock) the earliest one.
        before = pl.col("launch_start_ns") <= pl.col("op_start")
        matched = (
            matched.with_columns(rank=pl.when(before).then(pl.col("launch_start_ns")).otherwise(None))
            .sort(
                "op_id", "rank", "launch_start_ns", "launch_end_ns", "launch_thread",
                descending=[False, True, False, False, False], nulls_last=True,
            )
            .unique("op_id", keep="first", maintain_order=True)
        )  # fmt: skip
    if ops.height > matched.height:
        anomalies["gpu-work-without-launch"] += ops.height - matched.height
    added = ["launch_thread", "launch_start_ns", "launch_end_ns"]
    return ops.join(matched.select("op_id", *added), on="op_id", how="left", maintain_order="left")


def _calls(export: Export, only: pl.Series | None) -> pl.DataFrame:
    """CUDA calls with their process, thread and interval; of `only` these correlation ids when they are few."""
    where = None
    few = 50_000
    if only is not None and only.n_unique() <= few:
        where = sa.column("correlationId").in_(only.drop_nulls().unique().sort().to_list())
    calls = export.read(schema.RUNTIME, where=where)
    return (
        calls.filter(pl.col("thread").is_not_null() & pl.col("correlation_id").is_not_null())
        .with_columns(process=thread_process(pl.col("thread")))
        .rename({"thread": "launch_thread", "start_ns": "launch_start_ns", "end_ns": "launch_end_ns"})
    )
