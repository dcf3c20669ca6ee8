"""Copies between devices: CUDA's own peer copies, and copies over CUDA IPC where a range says that they move KV.

An export names both devices of a peer copy. A copy over an IPC pointer looks like one inside a device, with neither
end named: only a range around its launch tells it apart. Whoever issues a copy may be its source or its destination,
so an end that is not recorded stays unknown.
"""

import polars as pl

from nsysparse.frames import Found, Frame, found_frame
from nsysparse.scope_table import ScopeTable
from nsysparse.source import nccl_domain, nixl_domain, schema
from nsysparse.source.trace import Trace
from nsysparse.transports.launching import device_end, launching
from nsysparse.transports.ucx import is_control

NAME = "memcpy"
ABOUT = "copies between devices; copies within one, as they look, inside a kv_transfer range"
UNSEEN = (
    "RDMA, which is no copy; copies over CUDA IPC whose devices the file does not name: they look local, and count only"
    " inside a kv_transfer range"
)
NEEDS = (schema.MEMCPY, schema.RUNTIME)
SHOWN_BY = (("gpu_copies",),)
_PEER, _DEVICE = (f"memcpy {schema.COPY_KINDS[kind]}" for kind in (schema.PEER_COPY, schema.DEVICE_COPY))
_TO_STORE = ("offload", "load")


def find(trace: Trace, scopes: ScopeTable) -> Frame[Found]:
    """One transfer for each row of a copy that crosses devices, sorted by when and where it was issued.

    A batched row is one transfer of several copies, a 2-D copy one with the bytes that really moved. `scope_id` is the
    innermost range of kind `transfer` around the launch; several copies can have the same.
    """
    copies = trace.gpu_ops.filter(pl.col("kind") == "memcpy")
    if copies.is_empty():
        return Found.create_empty()
    moving = scopes.filter((pl.col("style") == "push_pop") & pl.col("kind").is_in(["transfer", *_TO_STORE]))
    announcing = moving.filter((pl.col("kind") == "transfer") & ~pl.col("op").is_in(_TO_STORE).fill_null(value=False))
    innermost = launching(copies, moving, "range_id").cast(pl.UInt32)
    announced = innermost.is_in(announcing["range_id"].implode())
    ambiguous = innermost.is_in(_with_messages(trace, announcing).implode())
    src, dst = pl.col("src_device_id"), pl.col("dst_device_id")
    on_devices = ~pl.col("name").str.contains("H", literal=True)  # host memory at neither end
    crosses = (pl.col("name") == _PEER) | ((src != dst).fill_null(value=False) & on_devices)
    found = (
        copies.with_columns(scope_id=innermost, announced=announced, ambiguous=ambiguous)
        .with_columns(pl.col("announced", "ambiguous").fill_null(value=False))
        .filter(crosses | ((pl.col("name") == _DEVICE) & pl.col("announced") & ~pl.col("ambiguous")))
        .sort("process", "launch_thread", "launch_start_ns", "start_ns", "device_id", "op_id", nulls_last=True)
    )
    return found_frame(
        found.with_columns(
            transport=pl.lit(NAME),
            side=pl.lit("copy"),
            interval_kind=pl.lit("gpu"),
            time_ns=pl.col("end_ns") - pl.col("start_ns"),
            bytes_source=pl.when(pl.col("bytes").is_not_null()).then(pl.lit("memcpy")),
            copy_count=pl.col("copy_count").fill_null(1),
            is_self=src == dst,
            src_end=device_end(trace, "src_"),
            dst_end=device_end(trace, "dst_"),
            thread="launch_thread",
            call_start_ns="launch_start_ns",
            call_end_ns="launch_end_ns",
            scope_id=pl.when("announced").then("scope_id"),
        )
    )


def _with_messages(trace: Trace, ranges: pl.DataFrame) -> pl.Series:
    """The ids of those ranges in which a library was called to move data: NCCL, NIXL, or UCX with more than control.

    There the library moves what the range announces: a copy beside it that names no other device gets it ready.
    """
    names = [*nccl_domain.SENDS, *nccl_domain.RECEIVES]
    is_call = (nccl_domain.is_nccl() & pl.col("name").is_in(names)) | pl.col("name").is_in(list(nixl_domain.POSTS))
    messages = trace.ucp.filter((pl.col("kind") == "submit") & ~is_control())
    calls = pl.concat(
        [
            trace.ranges.join(trace.labels.filter(is_call), on="label_id").select("thread", call="start_ns"),
            messages.select("thread", call="start_ns"),
        ]
    ).sort("call")
    first = ranges.sort("start_ns").join_asof(
        calls, left_on="start_ns", right_on="call", by="thread", strategy="forward", check_sortedness=False
    )
    return first.filter(pl.col("call") < pl.col("end_ns"))["range_id"]
