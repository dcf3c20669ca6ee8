"""KV that goes to host memory or comes from there: copies and packing kernels of offload and load ranges.

Every program copies between host and device all the time, so only a range tells which copies move KV, and which way:
of an offload those to the host count, of a load those from it. The others carry tables of indices and the like.
"""

import polars as pl

from nsysparse.frames import Found, Frame, found_frame
from nsysparse.intervals import union_lengths
from nsysparse.kinds import HOST, HOST_STAGED
from nsysparse.scope_table import ScopeTable
from nsysparse.source import pack_kernels, schema
from nsysparse.source.trace import Trace
from nsysparse.transports.launching import device_end, launching, open_alone

NAME = HOST_STAGED
ABOUT = "copies to and from the host in ranges that offload or load KV, and what packs KV there"
UNSEEN = "copies to and from the host outside such ranges: every program makes them, and nothing tells which move KV"
NEEDS = (schema.NVTX, schema.MEMCPY, schema.KERNEL, schema.RUNTIME)
SHOWN_BY = (("nvtx_ranges", "host_copies"), ("nvtx_ranges", "gpu_kernels"))
_WAYS = {
    "memcpy DtoH": "offload", "memcpy AtoH": "offload", "memcpy HtoD": "load", "memcpy HtoA": "load",
}  # fmt: skip
_KEY = ["range_id", "device_id"]
_MOST_SURPLUS = 1.05  # as everywhere: headers
_LAUNCHES = {
    "own_thread": (pl.col("launch_thread") == pl.col("range_thread")).all(),
    "first_launch_ns": pl.col("launch_start_ns").min(),
    "last_launch_ns": pl.col("launch_end_ns").max(),
    "stream_id": pl.when(pl.col("stream_id").n_unique() == 1).then(pl.col("stream_id").first()),
    "gpu_id": pl.col("gpu_id").first(),  # one process, one device
}


def find(trace: Trace, scopes: ScopeTable) -> Frame[Found]:
    """One transfer per offload or load range and device, sorted by process, thread and launch.

    Its purpose is the range's, its time the union of its copies' intervals. Where a range launched no copy its way, the
    kernels that can reach host memory themselves are the transfer, of unknown size; else kernels that pack count in
    `pack_ns` only.
    """
    ranges = _ranges(scopes)
    if ranges.is_empty():
        return Found.create_empty()
    work = trace.gpu_ops.with_columns(way=pl.col("name").replace_strict(_WAYS, default=None, return_dtype=pl.String))
    work = work.filter(((pl.col("kind") == "memcpy") & pl.col("way").is_not_null()) | pack_kernels.is_pack())
    work = work.filter(pl.col("launch_thread").is_not_null())
    if work.is_empty():
        return Found.create_empty()
    owned = _owned(work, ranges)
    copies = owned.filter(pl.col("way") == pl.col("range_way"))
    kernels = owned.filter(pl.col("kind") == "kernel")
    alone = kernels.filter(pack_kernels.reaches_host()).join(copies, on="range_id", how="anti")
    packing = kernels.join(alone, on="op_id", how="anti").group_by(_KEY).agg(
        pack_ns=(pl.col("end_ns") - pl.col("start_ns")).sum()
    )  # fmt: skip
    known = pl.col("bytes").null_count() == 0
    moved = pl.concat(
        [
            _summed(copies, bytes=pl.when(known).then(pl.col("bytes").sum()), copy_count=_counted()),
            _summed(alone, bytes=pl.lit(None, dtype=pl.Int64), copy_count=pl.lit(None, dtype=pl.Int64)),
        ]
    ).join(packing, on=_KEY, how="left")
    return _found(trace, moved.join(ranges, on="range_id"))


def _ranges(scopes: ScopeTable) -> pl.DataFrame:
    """Ranges that say which way KV goes, with `range_way`: `offload` or `load`."""
    way = pl.when(pl.col("kind") == "transfer").then("op").otherwise("kind")
    return (
        scopes.filter(
            pl.col("style").is_in(["push_pop", "start_end"]), pl.col("kind").is_in(["transfer", "offload", "load"])
        )
        .with_columns(range_way=way, range_thread="thread")
        .filter(pl.col("range_way").is_in(["offload", "load"]))
    )


def _owned(work: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """Work with the range it belongs to (`range_id`, `range_way`, `range_thread`); the rest is left out.

    That is the innermost push/pop range around the launch on its thread. Work launched outside any, by another thread
    or in a start/end range, belongs to the range that is the only one open in the process. One that launched work on
    its own thread left none to others, unless it says a size of which its own copies fall short and theirs do not
    exceed.
    """
    nested = launching(work, ranges.filter(pl.col("style") == "push_pop"), "range_id")
    own = work.with_columns(range_id=nested)
    rest = own.filter(pl.col("range_id").is_null())
    rest = rest.with_columns(range_id=open_alone(rest, ranges))
    own = own.filter(pl.col("range_id").is_not_null())
    idle = rest.join(own.select("range_id").unique(), on="range_id", how="anti")
    placed = pl.concat([own, idle, _missing(own, rest, ranges)]).filter(pl.col("range_id").is_not_null())
    said = ranges.select("range_id", "range_way", "range_thread")
    return placed.with_columns(pl.col("range_id").cast(pl.UInt32)).join(said, on="range_id")


def _missing(own: pl.DataFrame, rest: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """Of the work of other threads that which makes up the size that a range says and its own copies do not reach."""
    said = ranges.select(
        pl.col("range_id").cast(own.schema["range_id"]), "range_way", said=pl.col("bytes").cast(pl.Int64, strict=False)
    ).filter(pl.col("said").is_not_null())
    copied, more = (
        part.join(said, on="range_id")
        .filter(pl.col("way") == pl.col("range_way"))
        .group_by("range_id")
        .agg(pl.col("bytes").sum())
        for part in (own, rest)
    )
    short = (
        copied.join(more, on="range_id", suffix="_more")
        .join(said, on="range_id")
        .filter(
            pl.col("bytes") < pl.col("said"), pl.col("bytes") + pl.col("bytes_more") <= _MOST_SURPLUS * pl.col("said")
        )
    )
    return rest.join(short, on="range_id", how="semi")


def _counted() -> pl.Expr:
    return pl.col("copy_count").fill_null(1).sum()


def _summed(work: pl.DataFrame, **more: pl.Expr) -> pl.DataFrame:
    """The work of each range and device as one row: its extent, the union of its intervals, how it was launched."""
    extent = work.group_by(_KEY).agg(pl.col("start_ns").min(), pl.col("end_ns").max(), **_LAUNCHES, **more)
    union = union_lengths(work, _KEY).rename({"union_ns": "time_ns"})
    return extent.rename({"start_ns": "first_ns", "end_ns": "last_ns"}).join(union, on=_KEY)


def _found(trace: Trace, moved: pl.DataFrame) -> Frame[Found]:
    """Sums of work, joined with their ranges, as transfers.

    The call is the stretch from first to last launch, or the range itself where other threads than its own launched.
    """
    offloads = pl.col("range_way") == "offload"
    device, host = device_end(trace), pl.lit(HOST)
    return found_frame(
        moved.with_columns(
            trace_id=pl.lit(trace.trace_id),
            transport=pl.lit(NAME),
            side=pl.lit("copy"),
            interval_kind=pl.lit("gpu"),
            bytes_source=pl.when(pl.col("bytes").is_not_null()).then(pl.lit("memcpy")),
            is_self=pl.lit(value=False),
            call_start_ns=pl.when("own_thread").then("first_launch_ns").otherwise("start_ns"),
            call_end_ns=pl.when("own_thread").then("last_launch_ns").otherwise("end_ns"),
            src_end=pl.when(offloads).then(device).otherwise(host),
            dst_end=pl.when(offloads).then(host).otherwise(device),
            scope_id="range_id",
        )
        .with_columns(start_ns="first_ns", end_ns="last_ns")
        .sort("process", "thread", "call_start_ns", "start_ns", "device_id", "scope_id")
    )
