"""Divide the time of kernels that serve several transfers among these, once all that is known of their sizes is in."""

import polars as pl

from nsysparse.apportion import apportion

GROUP = ["trace_id", "group_key"]
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
    issue = pl.col("side").replace_strict(_SIDES, default=None, return_dtype=pl.Int8)
    ordered = fused.sort(*GROUP, "peer", issue, "call_start_ns", "transfer_id", nulls_last=True)
    parts: list[int] = []
    for _, group in ordered.select(*GROUP, "bytes", "time_ns").group_by(GROUP, maintain_order=True):
        known = group["bytes"].null_count() == 0
        parts += apportion(int(group["time_ns"].sum()), group["bytes"].to_list() if known else [0] * group.height)
    shared = ordered.select("transfer_id", part_ns=pl.Series(parts, dtype=pl.Int64))
    return (
        transfers.join(shared, on="transfer_id", how="left", maintain_order="left")
        .with_columns(time_ns=pl.coalesce("part_ns", "time_ns"))
        .drop("part_ns")
    )
