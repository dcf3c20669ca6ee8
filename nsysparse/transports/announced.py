"""Ranges that are transfers themselves: what their text says is all that is known of the movement."""

import polars as pl

from nsysparse.scope_table import ScopeTable
from nsysparse.source.trace import Trace
from nsysparse.source.usable import MAX_BYTES


def announced(trace: Trace, scopes: ScopeTable, rule: str, *, bytes_source: str) -> pl.DataFrame:
    """The transfers that the ranges of one preset rule announce, in the order in which they began.

    Args:
        trace: Their trace; sizes that no message can have are counted in its anomalies.
        scopes: What presets say about its ranges and marks.
        rule: The rule, as `preset/id`. Marks of the rule are no transfers: they have no length.
        bytes_source: Where the size comes from, if there is one.

    Returns:
        Columns of `Found` (those that a range tells) and the text columns of `scopes`, but for `bytes`. A range that
        nobody closed has no interval: its end is the recording's.
    """
    ranges = scopes.filter((pl.col("purpose_rule") == rule) & (pl.col("style") != "mark")).join(
        trace.ranges.select("range_id", "is_open"), on="range_id"
    )
    closed = ~pl.col("is_open")
    size = pl.col("bytes").cast(pl.Int64, strict=False)
    known = ranges.with_columns(bytes=pl.when(size <= MAX_BYTES).then(size), said=pl.col("bytes").is_not_null())
    impossible = known.filter(pl.col("said") & pl.col("bytes").is_null()).height
    if impossible:
        trace.anomalies["sizes-impossible"] += impossible
    return known.with_columns(
        trace_id=pl.lit(trace.trace_id),
        interval_kind=pl.when(closed).then(pl.lit("host")),
        time_ns=pl.when(closed).then(pl.col("end_ns") - pl.col("start_ns")),
        bytes_source=pl.when(pl.col("bytes").is_not_null()).then(pl.lit(bytes_source)),
        call_start_ns="start_ns",
        call_end_ns="end_ns",
        start_ns=pl.when(closed).then("start_ns"),
        end_ns=pl.when(closed).then("end_ns"),
        scope_id="range_id",
    ).sort("process", "thread", "call_start_ns", "call_end_ns", "scope_id")
