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

_KEY = ["process", "correlation_id"]
FEW_IDS = 20_000  # as literals in one statement


def with_launches(export: Export, ops: pl.DataFrame, anomalies: Counter[str], *, everything: bool) -> pl.DataFrame:
    """Add `launch_thread`, `launch_start_ns` and `launch_end_ns` to GPU operations; null where no call was recorded.

    Args:
        export: Where the calls are.
        ops: GPU operations with `op_id`, `process`, `correlation_id`, `start_ns`.
        anomalies: Counts operations without a launch row and with several.
        everything: `ops` holds all GPU work, so nearly every call matters and a filter would only cost time.
    """
    calls = _calls(export, None if everything else ops["correlation_id"], anomalies)
    keyed = ops.filter(pl.col("process").is_not_null() & pl.col("correlation_id").is_not_null())
    repeated = calls.height - calls.select(_KEY).n_unique()
    if repeated:
        anomalies["launches-repeated"] += repeated
    # Of several calls with the same ids the latest that started before the work; failing that (skewed clock) the first.
    sought = keyed.select("op_id", *_KEY, at="start_ns").sort("at", "op_id")
    before = sought.join_asof(
        calls, left_on="at", right_on="launch_start_ns", by=_KEY, strategy="backward", check_sortedness=False
    )
    late = before.filter(pl.col("launch_thread").is_null()).select("op_id", *_KEY, "at")
    after = late.join_asof(
        calls, left_on="at", right_on="launch_start_ns", by=_KEY, strategy="forward", check_sortedness=False
    )
    matched = pl.concat([before, after]).filter(pl.col("launch_thread").is_not_null())
    if ops.height > matched.height:
        anomalies["gpu-work-without-launch"] += ops.height - matched.height
    added = ["launch_thread", "launch_start_ns", "launch_end_ns"]
    return ops.join(matched.select("op_id", *added), on="op_id", how="left", maintain_order="left")


def _calls(export: Export, only: pl.Series | None, anomalies: Counter[str]) -> pl.DataFrame:
    """CUDA calls with process, thread and interval by start; of `only` these correlation ids when they are few."""
    where = None
    if only is not None and only.n_unique() <= FEW_IDS:
        where = sa.column("correlationId").in_(only.drop_nulls().unique().sort().to_list())
    calls = export.read(schema.RUNTIME, where=where)
    whole = calls.drop_nulls().filter(pl.col("end_ns") >= pl.col("start_ns"))
    if whole.height < calls.height:
        anomalies["calls-without-time-or-thread"] += calls.height - whole.height
    return (
        whole.with_columns(process=thread_process(pl.col("thread")))
        .rename({"thread": "launch_thread", "start_ns": "launch_start_ns", "end_ns": "launch_end_ns"})
        .sort("launch_start_ns", "launch_end_ns", "launch_thread")
    )
