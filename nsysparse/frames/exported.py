"""What other tools get: GPU work, transfers, ranges, scopes, under the operating system's process and thread ids."""

import dataframely as dy
import polars as pl

from nsysparse.frames.ids import OfTrace, pid, tid


class NvtxRanges(OfTrace):
    """NVTX ranges projected onto the GPU, as other tools can check them."""

    domain = dy.String(nullable=True, metadata={"about": "NVTX domain"})
    name = dy.String(nullable=False, metadata={"about": "as recorded, not shortened"})
    style = dy.String(nullable=False, metadata={"about": "`push_pop` or `start_end`"})
    pid = dy.Int64(nullable=False, metadata={"about": "process id of the operating system"})
    tid = dy.Int64(nullable=False, metadata={"about": "thread id of the operating system"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    is_open = dy.Bool(nullable=False, metadata={"about": "nobody closed it: it ends with the recording"})
    depth = dy.UInt32(nullable=False, metadata={"about": "push/pop ranges of the thread open around it"})
    projected_start_ns = dy.Int64(
        nullable=True, metadata={"about": "earliest start of the GPU work launched inside it; null without such work"}
    )
    projected_end_ns = dy.Int64(nullable=True, metadata={"about": "latest end of that work"})
    gpu_op_count = dy.UInt32(nullable=False, metadata={"about": "GPU operations launched inside it"})


class Scopes(OfTrace):
    """NVTX ranges of which a preset says something, with what it says, projected onto the GPU."""

    rule = dy.String(nullable=False, metadata={"about": "the strongest rule that knows it, as preset/id"})
    kind = dy.String(nullable=False, metadata={"about": "kind of range (docs/reference/presets.md)"})
    style = dy.String(
        nullable=False,
        metadata={
            "about": "`push_pop` or `start_end`; of ranges that attribute nothing `open` (nobody closed it) or"
            " `crossed` (it cannot be true beside another of its thread and domain)"
        },
    )
    request = dy.String(nullable=True, metadata={"about": "the request that it names, as written"})
    layer = dy.String(nullable=True, metadata={"about": "the layer or layers that it names, as written"})
    step = dy.String(nullable=True, metadata={"about": "the number of the engine's step"})
    phase = dy.String(nullable=True, metadata={"about": "prefill, decode or mixed"})
    role = dy.String(nullable=True, metadata={"about": "prefill or decode"})
    requests = dy.String(nullable=True, metadata={"about": "the requests of a step, as written"})
    ctx_reqs = dy.String(nullable=True, metadata={"about": "how many requests a step prefills"})
    gen_reqs = dy.String(nullable=True, metadata={"about": "how many requests a step decodes"})
    tokens = dy.String(nullable=True, metadata={"about": "how many tokens it is about, as written"})
    op = dy.String(nullable=True, metadata={"about": "what a transfer does, as written: send, recv, put, get, copy, …"})
    bytes = dy.String(nullable=True, metadata={"about": "size that it gives a transfer, as written"})
    peer = dy.String(nullable=True, metadata={"about": "the other end, as written"})
    xfer = dy.String(nullable=True, metadata={"about": "id of the transfer, the same on both sides"})
    chunk = dy.String(nullable=True, metadata={"about": "which of how many chunks, as written"})
    rank = dy.String(nullable=True, metadata={"about": "rank of the process"})
    tp = dy.String(nullable=True, metadata={"about": "tensor parallelism, as written"})
    pp = dy.String(nullable=True, metadata={"about": "pipeline parallelism, as written"})
    domain = dy.String(nullable=True, metadata={"about": "NVTX domain"})
    name = dy.String(nullable=False, metadata={"about": "as recorded, not shortened"})
    pid = dy.Int64(nullable=False, metadata={"about": "process id of the operating system"})
    tid = dy.Int64(nullable=False, metadata={"about": "thread id of the operating system"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    is_open = dy.Bool(nullable=False, metadata={"about": "nobody closed it: it ends with the recording"})
    projected_start_ns = dy.Int64(
        nullable=True, metadata={"about": "earliest start of the GPU work launched inside it; null without such work"}
    )
    projected_end_ns = dy.Int64(nullable=True, metadata={"about": "latest end of that work"})
    gpu_op_count = dy.UInt32(nullable=False, metadata={"about": "GPU operations launched inside it"})


def exported_scopes(placed: pl.DataFrame) -> dy.DataFrame[Scopes]:
    """Scopes as other tools know them: process and thread ids instead of global ids.

    Args:
        placed: Columns of `Scopes`, with `process` and `thread` in the place of `pid` and `tid`.
    """
    known = placed.with_columns(pid=pid(pl.col("process")), tid=tid(pl.col("thread")))
    return Scopes.validate(known.select(Scopes.column_names()))


def exported_gpu_ops(ops: pl.DataFrame) -> pl.DataFrame:
    """GPU operations as other tools know them: process ids instead of global ids."""
    return ops.with_columns(pid=pid(pl.col("process"))).select(
        "trace_id", "kind", "name", "device_id", "stream_id", "pid", "correlation_id", "launch_start_ns",
        "launch_end_ns", "start_ns", "end_ns", "bytes", "graph",
    )  # fmt: skip


def exported_transfers(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers as other tools know them: process and thread ids instead of global ids."""
    return transfers.with_columns(pid=pid(pl.col("process")), tid=tid(pl.col("thread"))).select(
        "transfer_id", "trace_id", "transport", "side", "purpose", "purpose_rule", "interval_kind", "start_ns",
        "end_ns", "time_ns", "wire_ns", "wire_basis", "peer_wait_ns", "kernel_ops", "bytes", "bytes_source",
        "communicator", "rank", "peer", "pair_id", "pairing", "is_self", "is_first_use", "layer", "layer_provenance",
        "request_id", "request_provenance", "phase", "role", "phase_provenance", "role_provenance", "is_movement",
        "pairing_proof", "wire_reason",
        "wire_uncertainty_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns", "evidence", "src_end", "dst_end",
        "copy_count", "channels", "staging_bytes", "gpu", "kernel_count", "group_key", "pid", "tid",
        "device_id", "stream_id", "call_start_ns", "call_end_ns",
    )  # fmt: skip
