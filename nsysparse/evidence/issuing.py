"""In which of its calls NCCL issued the work of transfers that no kernel serves."""

import polars as pl

from nsysparse.kinds import NCCL
from nsysparse.source import nccl_domain
from nsysparse.source.trace import Trace


def issuing(found: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The call of a transfer of NCCL without kernel, or the end of the group that it was made in.

    Args:
        found: Transfers with `transfer_id`.
        trace: Their trace.

    Returns:
        `transfer_id`, `begin`, `end`: copies that were issued in between on its thread carry the transfer out.
    """
    calls = found.filter(
        (pl.col("transport") == NCCL) & pl.col("start_ns").is_null() & pl.col("call_start_ns").is_not_null()
    ).select("transfer_id", "thread", begin="call_start_ns", end="call_end_ns")
    marks = (nccl_domain.GROUP_START, nccl_domain.GROUP_END)
    labels = trace.labels.filter(nccl_domain.is_nccl() & pl.col("name").is_in(marks)).select("label_id", "name")
    groups = trace.ranges.join(labels, on="label_id").select(
        "thread", "name", mark="start_ns", group_begin="start_ns", group_end="end_ns"
    )
    # What a thread does next with groups after a call in one is to end it.
    following = calls.sort("end", "transfer_id").join_asof(
        groups.sort("mark"), left_on="end", right_on="mark", by="thread", strategy="forward", check_sortedness=False
    )
    grouped = (pl.col("name") == nccl_domain.GROUP_END).fill_null(value=False)
    return following.select(
        "transfer_id",
        begin=pl.when(grouped).then("group_begin").otherwise("begin"),
        end=pl.when(grouped).then("group_end").otherwise("end"),
    )
