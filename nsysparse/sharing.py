"""Divide the time of kernels that serve several transfers among these, once all that is known of their sizes is in."""

import polars as pl

from nsysparse.apportion import apportioned
from nsysparse.frames import GROUP

_SIDES = {"send": 0, "recv": 1}


def share_time(transfers: pl.DataFrame) -> pl.DataFrame:
    """Divide each group's kernel time by bytes, or equally where any of them is unknown.

    Args:
        transfers: `transfer_id`, `trace_id`, `group_key`, `kernel_ops`, `time_ns` (its sum over a group is the time of
            the group's kernels), `bytes`, `peer`, `side`, `call_start_ns`.

    Returns:
        The same rows in the same order; the sum over each group is what it was, exactly.
    """
    # Below zero: the group is one kernel, and advanced tracing told how much of it each transfer took.
    fused = transfers.filter((pl.col("kernel_ops") > 1) & (pl.col("group_key") >= 0))
    shared = divide(fused, total=pl.col("time_ns").sum(), weight="bytes")
    return (
        transfers.join(shared, on="transfer_id", how="left", maintain_order="left")
        .with_columns(time_ns=pl.coalesce("part", "time_ns"))
        .drop("part")
    )


def divide(fused: pl.DataFrame, *, total: pl.Expr, weight: str) -> pl.DataFrame:
    """Divide a number of each group of transfers among these in proportion to a column, equally where any is unknown.

    Args:
        fused: Transfers of groups, with `GROUP`, `transfer_id`, `peer`, `side`, `call_start_ns`.
        total: What to divide, as an aggregation over the rows of a group.
        weight: The column to divide by.

    Returns:
        `transfer_id` and `part`; equal remainders go in the order peer, send before receive, issue order.
    """
    issue = pl.col("side").replace_strict(_SIDES, default=None, return_dtype=pl.Int8)
    ordered = fused.sort(*GROUP, "peer", issue, "call_start_ns", "transfer_id", nulls_last=True)
    rows = ordered.select(
        "transfer_id", weight=pl.col(weight), group=pl.struct(GROUP).rle_id(), total=total.over(GROUP)
    )
    return apportioned(rows).sort("row").select("transfer_id", "part")
