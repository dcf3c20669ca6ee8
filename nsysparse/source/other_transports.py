"""Whether an export has the rows that transports other than NCCL leave, and what would have left them."""

import polars as pl

from nsysparse.analysis import Capability
from nsysparse.source import nixl_domain, schema
from nsysparse.source.commands import ANNOTATE_OFFLOADS, EXPORT_AGAIN, PROFILE, PROFILE_NIXL, PROFILE_UCX
from nsysparse.source.export import Export
from nsysparse.source.sql import among
from nsysparse.units import counted, human_bytes

_UCP = (schema.UCP_SUBMIT, schema.UCP_PROGRESS)


def host_copies(export: Export) -> Capability:
    """Copies between host and device: every program makes them, so that they were recorded says little of KV."""
    if not export.has_rows(schema.MEMCPY.table):
        return Capability(
            "absent", f"no copy was recorded, or none was made (no rows in {schema.MEMCPY.table})", PROFILE
        )
    copies, nbytes = export.tally(schema.MEMCPY, among("copyKind", schema.HOST_COPIES))
    if not copies:
        return Capability("absent", "copies were recorded, and none of them goes to the host or comes from it", PROFILE)
    reason = (
        f"{counted(copies, 'copy', 'copies')} ({human_bytes(nbytes)}) to or from the host: only those launched inside a"
        " range that offloads or loads KV count as transfers"
    )
    return Capability("present", reason, ANNOTATE_OFFLOADS)


def nixl_requests(export: Export, labels: pl.DataFrame, ranges: pl.DataFrame, payloads: pl.DataFrame) -> Capability:
    """Posts of NIXL, with the size and the number that ties each to its completion.

    Args:
        export: The open file.
        labels: Labels of `ranges`.
        ranges: NVTX ranges and marks.
        payloads: What the events said; it has `range_id`, `bytes` and `handle`.
    """
    named = ranges.join(labels.filter(pl.col("name").str.starts_with(nixl_domain.PREFIX)), on="label_id")
    posts = named.filter((pl.col("style") == "push_pop") & pl.col("name").is_in(list(nixl_domain.POSTS)))
    if posts.height:
        return _posts(posts.join(payloads, on="range_id", how="left"))
    if named.height:
        reason = (
            "NIXL ran here and posted no read or write: the passive side of a transfer records none (with reads the"
            " prefill side is passive, with writes the decode side)"
        )
        return Capability("absent", reason, f"{PROFILE_NIXL}   # around the process that posts")
    if export.has_rows(schema.NVTX.table):
        reason = (
            "no event of NIXL was recorded: NIXL before 1.4.0 writes none, a newer one only with its NVTX plug-in, or"
            " nothing here uses NIXL"
        )
    else:
        reason = f"no NVTX event was recorded (no rows in {schema.NVTX.table}), so none of NIXL"
    return Capability("absent", reason, f"{PROFILE_NIXL}   # with NIXL 1.4.0 or newer")


def _posts(posts: pl.DataFrame) -> Capability:
    facts = {"bytes": "size", "handle": "number that ties it to its completion"}
    unknown = {what: posts[column].null_count() for column, what in facts.items()}
    lacking = [f"{count:,} of {posts.height:,} NIXL posts have no {what}" for what, count in unknown.items() if count]
    if not lacking:
        return Capability("present")
    reason = " and ".join(lacking) + " (an export by nsys up to 2023.4, or without payloads, drops sizes)"
    return Capability("partial", reason, EXPORT_AGAIN)


def ucx_messages(export: Export) -> Capability:
    """Operations of UCX, and whether any says its size."""
    if not any(export.has_rows(spec.table) for spec in _UCP):
        tables = " or ".join(spec.table for spec in _UCP)
        return Capability("absent", f"no operation of UCX was recorded (no rows in {tables})", PROFILE_UCX)
    if not any(export.filled(spec.table, [spec.columns["bytes"][0]]) for spec in _UCP):
        reason = "operations of UCX were recorded without sizes: UCX before 1.14, or NSYS_UCP_COMM_PARAMS=0"
        return Capability("partial", reason, f"{PROFILE_UCX}   # with UCX 1.14 or newer, NSYS_UCP_COMM_PARAMS unset")
    return Capability("present")
