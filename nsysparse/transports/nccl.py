"""NCCL Send/Recv: calls from NCCL's own NVTX ranges, time from the SendRecv kernels they launched.

A call has bytes and peer, a kernel has time; they meet through the launch. One kernel can serve many calls (a group),
several kernels one group. A kernel without a recorded call is a transfer of unknown size, and a call without a kernel
a transfer of unknown time: neither is dropped. A call captured into a CUDA graph moves data once for each replay.
"""

from collections.abc import Collection

import numpy as np
import polars as pl

from nsysparse.frames import Found, Frame, found_frame
from nsysparse.kinds import NCCL
from nsysparse.scope_table import ScopeTable
from nsysparse.source import nccl_domain, schema
from nsysparse.source.trace import Trace
from nsysparse.transports.launching import launching
from nsysparse.transports.nccl_graphs import REPLAY_KEYS_FROM, per_replay, with_issue
from nsysparse.transports.nccl_groups import CALL, GROUP_END, GROUP_START, launching_range
from nsysparse.transports.nccl_traced import find_traced

NAME = NCCL
# NCCL_BUFFSIZE per channel; as many channels as NCCL can use where a kernel does not tell.
BUFFER_BYTES, MOST_CHANNELS = 4 * 2**20, 64
ABOUT = "ncclSend and ncclRecv, with the SendRecv kernels that they launch; ncclPutSignal; rows of `nsys -t nccl`"
UNSEEN = (
    "kernels inside CUDA graphs that were recorded whole; calls under NCCL_NVTX_DISABLE, whose kernels are transfers of"
    " unknown size; the time of what NCCL moves by copy engines, without a kernel"
)
NEEDS = (schema.NVTX, schema.KERNEL, schema.RUNTIME)
SHOWN_BY = (("nccl_calls",), ("graph_nodes",))
SIDES = dict.fromkeys(nccl_domain.SENDS, "send") | dict.fromkeys(nccl_domain.RECEIVES, "recv")
_SIDES = SIDES | dict.fromkeys(nccl_domain.PUTS, "send")
_KINDS = {nccl_domain.GROUP_START: GROUP_START, nccl_domain.GROUP_END: GROUP_END}


def with_buffers(found: pl.DataFrame, buffer_bytes: int) -> pl.DataFrame:
    """Transfers as `find` gives them, for a run with another NCCL_BUFFSIZE: a trace does not record it."""
    channels = pl.col("staging_bytes") // BUFFER_BYTES
    of_nccl = pl.col("transport") == NAME
    return found.with_columns(staging_bytes=pl.when(of_nccl).then(channels * buffer_bytes).otherwise("staging_bytes"))


def find(trace: Trace, scopes: ScopeTable) -> Frame[Found]:
    """All Send/Recv transfers of a trace, each seen from one side, sorted by when and where they were issued.

    Purpose is set only where a collective call launched the kernel; all else is for later stages to decide.
    """
    del scopes  # NCCL says for itself what it moves
    ops = _nccl_kernels(trace)
    ranges = _ranges(trace, ops)
    kernels = _kernels(trace, ops, ranges)
    traced, served = find_traced(trace, kernels.filter(~pl.col("serves_calls")))
    traced = _with_creation(trace, traced)
    lone = _from_lone_kernels(kernels.filter(~pl.col("op_id").is_in(served)))
    calls = pl.concat([ranges, _puts(trace)], how="diagonal_relaxed")
    found = pl.concat([_from_calls(trace, calls, kernels), traced, lone], how="diagonal_relaxed")
    # All transfers of a replay have the call that launched the graph: there the order within the graph decides.
    order = ["process", "thread", "call_start_ns", "pass_number", "issue", "start_ns", "device_id", "end_ns"]
    return found_frame(
        found.sort(order, nulls_last=True).with_columns(
            trace_id=pl.lit(trace.trace_id),
            transport=pl.lit(NAME),
            interval_kind=pl.when(pl.col("start_ns").is_not_null()).then(pl.lit("gpu")),
            staging_bytes=pl.col("channels").fill_null(MOST_CHANNELS) * BUFFER_BYTES,
        )
    )


def _ranges(trace: Trace, ops: pl.DataFrame) -> pl.DataFrame:
    """NCCL's calls and group marks with `owner`: the range_id that launches them (null when it is not recorded)."""
    ranges = _called(trace, [*SIDES, *_KINDS, *nccl_domain.COLLECTIVES])
    kinds = ranges["name"].replace_strict(_KINDS, default=CALL, return_dtype=pl.Int8).to_numpy()
    starts, ends = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    launched = np.zeros(ranges.height, dtype=bool)
    numbered = ranges.with_row_index("row")
    for kind in (CALL, GROUP_END):
        launched[_issuing(ops, numbered.filter(pl.Series(kinds == kind)), "row").drop_nulls().to_numpy()] = True
    outside = ops.filter(_issuing(ops, numbered, "row").is_null() & pl.col("replay").is_null())
    strays = {thread: lane["issued_start_ns"].to_numpy() for (thread,), lane in outside.group_by("issued_thread")}
    owner = np.full(ranges.height, -1, dtype=np.int64)
    threads = ranges["thread"].to_numpy()
    for rows in _by_thread(ranges["thread"]):
        lost = strays.get(int(threads[rows[0]]))
        position = launching_range(kinds[rows], starts[rows], ends[rows], launched[rows], lost)
        owner[rows] = np.where(position >= 0, rows[position], -1)
    ids = ranges["range_id"].to_numpy().astype(np.int64)  # unsigned, -1 would wrap
    owned = pl.Series(np.where(owner >= 0, ids[owner], -1) if len(ids) else owner, dtype=pl.Int64)
    return ranges.with_columns(owner=owned).with_columns(owner=pl.when(pl.col("owner") >= 0).then("owner"))


def _issuing(ops: pl.DataFrame, ranges: pl.DataFrame, key: str) -> pl.Series:
    """For each operation the `key` of the innermost of these ranges in which it was issued; null where in none."""
    issue = {f"launch_{name}": pl.col(f"issued_{name}") for name in ("thread", "start_ns", "end_ns")}
    return launching(ops.select(**issue), ranges, key)


def _puts(trace: Trace) -> pl.DataFrame:
    """Calls that move data without a kernel, so nothing launches for them (no `owner`)."""
    return _called(trace, nccl_domain.PUTS)


def _called(trace: Trace, names: Collection[str]) -> pl.DataFrame:
    """NCCL's calls of these names, with their `name`, sorted by `range_id`: per thread by (start, -end)."""
    labels = trace.labels.filter(nccl_domain.is_nccl() & pl.col("name").is_in(names)).select("label_id", "name")
    # Of millions of ranges few are NCCL's: their labels are numbers, which are looked up faster than texts compare.
    own = trace.ranges.filter(pl.col("label_id").is_in(labels["label_id"].implode()))
    return own.filter(pl.col("style") == "push_pop").join(labels, on="label_id").sort("range_id")


def _by_thread(threads: pl.Series) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Row positions of each thread, in row order."""
    grouped = pl.DataFrame({"thread": threads}).with_row_index("row").group_by("thread", maintain_order=True)
    return [rows["row"].to_numpy().astype(np.int64) for _, rows in grouped]


def _nccl_kernels(trace: Trace) -> pl.DataFrame:
    kernels = trace.gpu_ops.filter(
        (pl.col("kind") == "kernel") & pl.col("name").str.contains(nccl_domain.ANY_KERNEL)
    ).with_columns(is_send_recv=pl.col("name").str.contains(nccl_domain.SEND_RECV_KERNEL))
    return with_issue(kernels, trace.graph_nodes)


def _owners(ranges: pl.DataFrame) -> pl.DataFrame:
    return ranges.filter(pl.col("range_id").is_in(ranges["owner"].drop_nulls().unique().cast(pl.UInt32).implode()))


def _kernels(trace: Trace, ops: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """NCCL kernels that move point-to-point data, with `owner`: the NCCL range whose launch they came from.

    A SendRecv kernel always counts. Of a group with Sends or Receives, other NCCL kernels count too where it has no
    SendRecv kernel, several communicators (each has kernels of its own) or collectives: NCCL names a kernel after the
    first of the operations it serves, and nothing says which kernel served which.
    """
    ops = ops.with_columns(_issuing(ops, _owners(ranges), "range_id").alias("owner"))
    asked = [ranges.filter(pl.col("name").is_in(list(SIDES))), ops.filter("is_send_recv")]
    owners = pl.concat([each["owner"].cast(pl.Int64) for each in asked]).drop_nulls().unique()
    served_here = ranges.filter(pl.col("owner").is_in(owners.implode()))
    payloads = trace.payloads.select("range_id", "communicator")
    communicators = served_here.join(payloads, on="range_id", how="left")
    served = communicators.group_by("owner").agg(
        serves_calls=pl.col("name").is_in(list(SIDES)).any(),
        is_mixed=pl.col("name").is_in(nccl_domain.COLLECTIVES).any()
        | (pl.col("communicator").drop_nulls().n_unique() > 1),
        collective=pl.col("name").filter(pl.col("name").is_in(nccl_domain.COLLECTIVES)).first(),
    )
    ops = (
        ops.filter(pl.col("is_send_recv") | pl.col("owner").is_in(owners.implode()))
        .join(served, on="owner", how="left")
        .with_columns(pl.col("serves_calls", "is_mixed").fill_null(value=False))
    )
    has_send_recv = pl.col("is_send_recv").any().over("owner", "replay")
    other = pl.col("serves_calls") & (pl.col("is_mixed") | ~has_send_recv)
    return ops.filter(pl.col("is_send_recv") | other).sort("start_ns", "end_ns", "device_id", "op_id")


def _from_calls(trace: Trace, ranges: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """One transfer per Send or Recv call, with its share of the kernels of its group."""
    calls = ranges.filter(pl.col("name").is_in(list(_SIDES))).select(
        "process",
        "thread",
        "owner",
        "range_id",
        side=pl.col("name").replace_strict(_SIDES, return_dtype=pl.String),
        call_start_ns="start_ns",
        call_end_ns="end_ns",
        issue=pl.col("range_id").cast(pl.Int64),
    )
    latest = pl.col("start_ns") == pl.col("start_ns").max().over("process", "device_id", "stream_id")
    work = kernels.with_columns(latest=latest).filter("serves_calls").group_by("owner", "replay").agg(
        pl.col("pass_number").first(),
        pl.col("launch_thread", "launch_start_ns", "launch_end_ns").first(),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        length=(pl.col("end_ns") - pl.col("start_ns")).sum(),
        kernel_count=pl.len().cast(pl.UInt32),
        # A group over several devices (one thread, a rank on each): which call ran where is not recorded.
        device_id=pl.when(pl.col("device_id").n_unique() == 1).then(pl.col("device_id").first()),
        stream_id=pl.when(pl.col("device_id").n_unique() == 1).then(pl.col("stream_id").min()),
        device_count=pl.col("device_id").n_unique().cast(pl.UInt32),
        gpu_id=pl.when(pl.col("device_id").n_unique() == 1).then(pl.col("gpu_id").first()),
        channels=pl.col("grid_x").max(),
        # The capture may have ended before further kernels of this group ran.
        is_last=pl.col("latest").any(),
        replay_key=REPLAY_KEYS_FROM + pl.col("op_id").cast(pl.Int64).min(),
    )  # fmt: skip
    calls = calls.join(
        trace.payloads.select("range_id", "communicator", "bytes", "peer"), on="range_id", how="left"
    ).with_columns(is_first_use=_is_first())
    calls = per_replay(calls, work, _captured(trace, ranges)).with_columns(
        group_key=pl.when(pl.col("replay").is_null()).then("owner").otherwise("replay_key"),
        bytes_source=pl.when(pl.col("bytes").is_not_null()).then(pl.lit("payload")),
    )
    calls = calls.with_columns(
        kernel_ops=pl.when(pl.col("kernel_count").is_not_null()).then(pl.len().over("group_key")).cast(pl.UInt32),
        kernel_count=pl.col("kernel_count").fill_null(0),
    )
    calls = _with_is_last(calls)
    calls = _with_ranks(trace, calls)
    calls = _share_time(calls)
    return calls.with_columns(pl.col("communicator").cast(pl.String)).drop("range_id", "owner", "length")


def _with_is_last(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls of groups that may lack kernels in the capture, whose bytes would fall on those that are there.

    That are groups with the last kernel of a stream, and those with fewer kernels than communicators, each of which has
    its own, or than another group of the same calls on their thread has.
    """
    group = ["group_key"]
    calls = calls.with_columns(
        calls_made=pl.struct("communicator", "side", "peer").hash().sum().over(group),
        communicators=pl.col("communicator").drop_nulls().n_unique().over(group),
    ).with_columns(most=pl.col("kernel_count").max().over("thread", "calls_made"))
    few = (pl.col("kernel_count") < pl.col("communicators")) | (pl.col("kernel_count") < pl.col("most"))
    return calls.with_columns(is_last=pl.when(pl.col("kernel_ops") > 1).then(pl.col("is_last") | few)).drop(
        "calls_made", "communicators", "most"
    )


def _captured(trace: Trace, ranges: pl.DataFrame) -> pl.Series:
    """Range ids of launching ranges inside which nodes of a CUDA graph were made: what they serve was captured."""
    made = trace.graph_nodes.filter(pl.col("graph_node_id") == pl.col("root_node_id")).rename(
        {"thread": "issued_thread", "start_ns": "issued_start_ns", "end_ns": "issued_end_ns"}
    )
    return _issuing(made, _owners(ranges), "range_id").drop_nulls().unique()


def _with_ranks(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    """Own rank where the communicator's creation was recorded; self copies and first uses follow from it.

    A process that drives several devices has one rank of the communicator on each: there the device tells which.
    """
    lane = ["process", "communicator"]
    created = _creations(trace)
    only = created.group_by(lane).agg(
        pl.col("rank_count").max(),
        own=pl.when(pl.col("rank").n_unique() == 1).then(pl.col("rank").first()),
        own_device=pl.when(pl.col("device").n_unique() == 1).then(pl.col("device").first()),
        created=pl.lit(value=True),
    )
    by_device = (
        created.group_by(*lane, device_id="device")
        .agg(pl.col("rank").unique())
        .filter((pl.col("rank").list.len() == 1) & pl.col("device_id").is_not_null())
        .with_columns(by_device=pl.col("rank").list.first())
        .drop("rank")
    )
    known = calls.join(only, on=lane, how="left", maintain_order="left").join(
        by_device, on=[*lane, "device_id"], how="left", maintain_order="left"
    )
    return (
        # The creation on another device of this process may not have been recorded.
        known.with_columns(
            rank=pl.coalesce(
                "by_device",
                pl.when((pl.col("own_device") == pl.col("device_id")).fill_null(value=True)).then("own"),
            )
        )
        .with_columns(
            is_self=pl.col("peer") == pl.col("rank"),
            created=_was_created(),
        )
        .with_columns(
            is_first_use=pl.when(pl.col("created").is_not_null()).then(pl.col("created") & pl.col("is_first_use"))
        )
        .drop("own", "own_device", "by_device")
    )


def _creations(trace: Trace) -> pl.DataFrame:
    """What the calls that made a communicator said: no others name a rank in NCCL's payloads."""
    return trace.payloads.filter(pl.col("rank").is_not_null() & pl.col("communicator").is_not_null()).join(
        trace.ranges.select("range_id", "process"), on="range_id"
    )


def _was_created() -> pl.Expr:
    """From `created` that is null where no creation was recorded: null only without communicator."""
    return pl.when(pl.col("communicator").is_not_null()).then(pl.col("created").fill_null(value=False))


def _with_creation(trace: Trace, traced: pl.DataFrame) -> pl.DataFrame:
    """Rows of advanced tracing name their rank at any time: that is no creation, but one may be recorded beside."""
    made = _creations(trace).select("process", pl.col("communicator").cast(pl.String)).unique()
    known = traced.join(
        made.with_columns(created=pl.lit(value=True)), on=["process", "communicator"], how="left", maintain_order="left"
    )
    return known.with_columns(created=_was_created())


def _is_first() -> pl.Expr:
    """First call of its communicator, peer and side: if that was captured, its replays find the connection made."""
    return pl.struct("call_start_ns", "issue").rank("ordinal").over("process", "communicator", "peer", "side") == 1


def _share_time(calls: pl.DataFrame) -> pl.DataFrame:
    """Divide each group's kernel time equally among its calls: sizes that ranges or the other side tell come later."""
    alone = calls.filter((pl.col("kernel_ops") == 1) | pl.col("kernel_ops").is_null())
    shared = calls.filter(pl.col("kernel_ops") > 1).sort("group_key", "issue")
    place = pl.int_range(pl.len()).over("group_key")
    part = pl.col("length") // pl.col("kernel_ops") + (place < pl.col("length") % pl.col("kernel_ops")).cast(pl.Int64)
    return pl.concat([alone.with_columns(time_ns="length"), shared.with_columns(time_ns=part)])


def _from_lone_kernels(kernels: pl.DataFrame) -> pl.DataFrame:
    """SendRecv kernels that no recorded Send or Recv call launched: data moved, how much and where to is unknown."""
    lone = kernels.filter(~pl.col("serves_calls"))
    collective = pl.col("collective").is_not_null()
    return lone.select(
        "start_ns", "end_ns", "device_id", "gpu_id", "stream_id", "process",
        time_ns=pl.col("end_ns") - pl.col("start_ns"),
        kernel_count=pl.lit(1, dtype=pl.UInt32),
        device_count=pl.lit(1, dtype=pl.UInt32),
        # Below zero: apart from the range ids that name the groups of recorded calls.
        group_key=-1 - pl.col("op_id").cast(pl.Int64),
        channels="grid_x",
        side=pl.lit(None, dtype=pl.String),
        purpose=pl.when(collective).then(pl.lit("other")),
        purpose_rule=pl.when(collective).then(pl.concat_str(pl.lit("nccl/"), "collective")),
        thread="launch_thread",
        call_start_ns="launch_start_ns",
        call_end_ns="launch_end_ns",
        **{
            f"captured_{name}": pl.when(pl.col("replay").is_not_null()).then(f"issued_{name}")
            for name in ("thread", "start_ns", "end_ns")
        },
    )  # fmt: skip
