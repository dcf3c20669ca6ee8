"""The typed frames that cross stage boundaries.

A frame is validated where it leaves its stage. Times are nanoseconds of the trace's own clock, intervals are
half-open. `process` and `thread` are the export's global ids (hardware, VM and process id included): two processes
with the same pid on different machines differ. `docs/reference/frames.md` is generated from this module.
"""

import dataframely as dy
import polars as pl


def thread_process(thread: pl.Expr) -> pl.Expr:
    """The process a global thread id belongs to: everything above its 24 bits of thread id."""
    return thread.floordiv(1 << 24)


def pid(process: pl.Expr) -> pl.Expr:
    """The operating system's process id inside a global process id (24 bits)."""
    return process.mod(1 << 24)


def tid(thread: pl.Expr) -> pl.Expr:
    """The operating system's thread id inside a global thread id (24 bits)."""
    return thread.mod(1 << 24)


class Labels(dy.Schema):
    """Distinct (domain, name) pairs of NVTX ranges and marks; ranges refer to them by code."""

    label_id = dy.UInt32(nullable=False, primary_key=True)
    domain = dy.String(nullable=True, metadata={"about": "null when unnamed"})
    is_default_domain = dy.Bool(nullable=False)
    name = dy.String(nullable=False)


class Ranges(dy.Schema):
    """NVTX ranges (push/pop and start/end) and marks (style `mark`, end = start), totally sorted."""

    trace_id = dy.String(nullable=False)
    range_id = dy.UInt32(nullable=False)
    label_id = dy.UInt32(nullable=False)
    style = dy.String(nullable=False)
    process = dy.Int64(nullable=False)
    thread = dy.Int64(nullable=False)
    end_thread = dy.Int64(nullable=True)
    start_ns = dy.Int64(nullable=False)
    end_ns = dy.Int64(nullable=False)
    is_open = dy.Bool(nullable=False)


class Payloads(dy.Schema):
    """What NCCL wrote into its ranges' payloads; null where a range's payload lacks the field."""

    range_id = dy.UInt32(nullable=False)
    communicator = dy.UInt64(nullable=True)
    bytes = dy.Int64(nullable=True)
    peer = dy.Int64(nullable=True)
    rank = dy.Int64(nullable=True)
    rank_count = dy.Int64(nullable=True)
    device = dy.Int64(nullable=True)


class GpuOps(dy.Schema):
    """Kernels, copies, memsets and whole-graph launches, with the launching call where one was recorded."""

    trace_id = dy.String(nullable=False)
    op_id = dy.UInt32(nullable=False)
    kind = dy.String(nullable=False, metadata={"about": "kernel, memcpy, memset or graph"})
    name = dy.String(nullable=False)
    device_id = dy.Int64(nullable=False)
    stream_id = dy.Int64(nullable=True)
    process = dy.Int64(nullable=True)
    correlation_id = dy.Int64(nullable=True)
    launch_thread = dy.Int64(nullable=True)
    launch_start_ns = dy.Int64(nullable=True)
    launch_end_ns = dy.Int64(nullable=True)
    start_ns = dy.Int64(nullable=False)
    end_ns = dy.Int64(nullable=False)
    bytes = dy.Int64(nullable=True)
    graph = dy.Bool(nullable=False, metadata={"about": "ran inside a CUDA graph"})


class Found(dy.Schema):
    """Point-to-point data movements as a transport finds them, each seen from one side of it."""

    trace_id = dy.String(nullable=False)
    transport = dy.String(nullable=False)
    side = dy.String(nullable=True, metadata={"about": "send, recv or copy; null when only a kernel was recorded"})
    purpose = dy.String(nullable=True, metadata={"about": "kv, other or unknown"})
    purpose_rule = dy.String(nullable=True, metadata={"about": "what decided the purpose"})
    interval_kind = dy.String(nullable=True, metadata={"about": "gpu or host; null when no interval was recorded"})
    start_ns = dy.Int64(nullable=True)
    end_ns = dy.Int64(nullable=True)
    time_ns = dy.Int64(nullable=True, metadata={"about": "its share of the time of its kernels"})
    kernel_ops = dy.UInt32(nullable=True, metadata={"about": "transfers that the same kernels serve"})
    kernel_count = dy.UInt32(nullable=False, metadata={"about": "kernels that serve it (and its group)"})
    group_key = dy.Int64(nullable=True, metadata={"about": "equal for transfers of a trace that share kernels"})
    bytes = dy.Int64(nullable=True)
    bytes_source = dy.String(nullable=True, metadata={"about": "payload, memcpy, annotation or computed"})
    communicator = dy.String(nullable=True, metadata={"about": "decimal digits: ids exceed 2^63"})
    rank = dy.Int64(nullable=True)
    peer = dy.Int64(nullable=True)
    is_self = dy.Bool(nullable=True, metadata={"about": "peer is the own rank; null when either is unknown"})
    is_first_use = dy.Bool(nullable=True, metadata={"about": "pays connection set-up; null without communicator"})
    device_id = dy.Int64(nullable=True)
    stream_id = dy.Int64(nullable=True)
    process = dy.Int64(nullable=True)
    thread = dy.Int64(nullable=True)
    call_start_ns = dy.Int64(nullable=True, metadata={"about": "the host call, or the launch where no call is known"})
    call_end_ns = dy.Int64(nullable=True)


class Transfers(Found):
    """Transfers with their purpose, their pair and what they are attributed to."""

    transfer_id = dy.UInt32(nullable=False, primary_key=True)
    purpose = dy.String(nullable=False, metadata={"about": "kv, other or unknown"})
    purpose_rule = dy.String(nullable=False, metadata={"about": "what decided the purpose"})
    pair_id = dy.UInt32(nullable=True)
    pairing = dy.String(nullable=True)
    is_movement = dy.Bool(nullable=False, metadata={"about": "stands for its movement in totals"})
    wire_ns = dy.Int64(nullable=True)
    wire_basis = dy.String(nullable=True)
    peer_wait_ns = dy.Int64(nullable=True)
    layer = dy.Int64(nullable=True)
    layer_provenance = dy.String(nullable=True)
    request_id = dy.String(nullable=True)
    request_provenance = dy.String(nullable=True)
    phase = dy.String(nullable=True)
    role = dy.String(nullable=True)


class Shares(dy.Schema):
    """How one movement's bytes and time go to layers and requests; Σ over its shares = the movement, exactly."""

    transfer_id = dy.UInt32(nullable=False)
    layer = dy.Int64(nullable=True)
    layer_provenance = dy.String(nullable=True)
    request_id = dy.String(nullable=True)
    request_provenance = dy.String(nullable=True)
    bytes = dy.Int64(nullable=True)
    time_ns = dy.Int64(nullable=True)


class NvtxRanges(dy.Schema):
    """NVTX ranges projected onto the GPU, as other tools can check them."""

    trace_id = dy.String(nullable=False)
    domain = dy.String(nullable=True)
    name = dy.String(nullable=False)
    style = dy.String(nullable=False)
    pid = dy.Int64(nullable=False)
    tid = dy.Int64(nullable=False)
    start_ns = dy.Int64(nullable=False)
    end_ns = dy.Int64(nullable=False)
    is_open = dy.Bool(nullable=False)
    depth = dy.UInt32(nullable=False, metadata={"about": "push/pop ranges of the thread open around it"})
    projected_start_ns = dy.Int64(nullable=True)
    projected_end_ns = dy.Int64(nullable=True)
    gpu_op_count = dy.UInt32(nullable=False)


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
        "request_id", "request_provenance", "phase", "role", "is_movement", "kernel_count", "group_key", "pid", "tid",
        "device_id", "stream_id", "call_start_ns", "call_end_ns",
    )  # fmt: skip
