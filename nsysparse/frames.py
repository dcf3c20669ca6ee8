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


def device_key() -> pl.Expr:
    """A name for the physical device of a row, within its trace: ordinals are a process's own where nothing maps them.

    For rows with `gpu_id`, `device_id` and `process`.
    """
    ordinal = pl.concat_str(pl.col("process").fill_null(-1), pl.lit(":"), "device_id")
    return pl.coalesce(pl.concat_str(pl.lit("gpu"), "gpu_id"), ordinal)


class Labels(dy.Schema):
    """Distinct (domain, name) pairs of NVTX ranges and marks; ranges refer to them by code."""

    label_id = dy.UInt32(nullable=False, primary_key=True, metadata={"about": "code of a distinct (domain, name) pair"})
    domain = dy.String(nullable=True, metadata={"about": "null when unnamed"})
    is_default_domain = dy.Bool(nullable=False, metadata={"about": "the domain that has no name and no row of its own"})
    name = dy.String(nullable=False, metadata={"about": "as recorded, not shortened"})


class Ranges(dy.Schema):
    """NVTX ranges (push/pop and start/end) and marks (style `mark`, end = start), totally sorted."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
    range_id = dy.UInt32(nullable=False, metadata={"about": "number of the range or mark"})
    label_id = dy.UInt32(nullable=False, metadata={"about": "code of a distinct (domain, name) pair"})
    style = dy.String(nullable=False, metadata={"about": "`push_pop`, `start_end` or `mark`"})
    process = dy.Int64(nullable=False, metadata={"about": "global process id of the export"})
    thread = dy.Int64(nullable=False, metadata={"about": "global thread id of the export"})
    end_thread = dy.Int64(nullable=True, metadata={"about": "the thread that closed a start/end range"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    is_open = dy.Bool(nullable=False, metadata={"about": "nobody closed it: it ends with the recording"})


class Payloads(dy.Schema):
    """What NCCL and NIXL wrote into the payloads of their events; null where a payload lacks the field."""

    range_id = dy.UInt32(nullable=False, metadata={"about": "number of the range or mark"})
    communicator = dy.UInt64(nullable=True, metadata={"about": "NCCL's 64-bit id"})
    bytes = dy.Int64(nullable=True, metadata={"about": "size; null when not known"})
    peer = dy.Int64(nullable=True, metadata={"about": "the other rank in the communicator; null when not recorded"})
    rank = dy.Int64(
        nullable=True, metadata={"about": "own rank in the communicator; null when neither recorded nor implied"}
    )
    rank_count = dy.Int64(nullable=True, metadata={"about": "ranks in the communicator"})
    device = dy.Int64(nullable=True, metadata={"about": "CUDA device of a communicator's creation"})
    handle = dy.UInt64(
        nullable=True, metadata={"about": "address of a NIXL request: the same number on its post and its completion"}
    )
    remote_agent = dy.String(nullable=True, metadata={"about": "the NIXL agent at the other end"})


class NcclOps(dy.Schema):
    """Sends and Receives as `nsys profile -t nccl` records them (experimental): calls, and GPU work per channel."""

    range_id = dy.UInt32(nullable=False, metadata={"about": "number of the range or mark"})
    side = dy.String(nullable=False, metadata={"about": "send or recv"})
    is_gpu = dy.Bool(nullable=False, metadata={"about": "the range is the GPU's work on a channel, not the call"})
    api_id = dy.Int64(nullable=False, metadata={"about": "joins a call and its GPU work, within the process"})
    communicator = dy.UInt64(nullable=True, metadata={"about": "NCCL's 64-bit id"})
    bytes = dy.Int64(nullable=True, metadata={"about": "size; null when not known"})
    peer = dy.Int64(nullable=True, metadata={"about": "the other rank in the communicator; null when not recorded"})
    rank = dy.Int64(nullable=True, metadata={"about": "own rank in the communicator; null when not recorded"})
    rank_count = dy.Int64(nullable=True, metadata={"about": "ranks in the communicator"})
    device = dy.Int64(nullable=True, metadata={"about": "CUDA ordinal of the device"})


class GpuOps(dy.Schema):
    """Kernels, copies, memsets and whole-graph launches, with the launching call where one was recorded."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
    op_id = dy.UInt32(nullable=False, metadata={"about": "number of the operation"})
    kind = dy.String(nullable=False, metadata={"about": "kernel, memcpy, memset or graph"})
    name = dy.String(nullable=False, metadata={"about": "as recorded, not shortened"})
    device_id = dy.Int64(nullable=False, metadata={"about": "CUDA ordinal of the device"})
    gpu_id = dy.Int64(
        nullable=True, metadata={"about": "the physical GPU, where the file says; ordinals are a process's own"}
    )
    stream_id = dy.Int64(nullable=True, metadata={"about": "CUDA stream"})
    process = dy.Int64(nullable=True, metadata={"about": "global process id of the export"})
    correlation_id = dy.Int64(nullable=True, metadata={"about": "joins it to its launch, within the process"})
    launch_thread = dy.Int64(nullable=True, metadata={"about": "global id of the thread that launched it"})
    launch_start_ns = dy.Int64(
        nullable=True, metadata={"about": "start of the CUDA call that launched it; null when that was not recorded"}
    )
    launch_end_ns = dy.Int64(nullable=True, metadata={"about": "end of that call"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    bytes = dy.Int64(nullable=True, metadata={"about": "size; null when not known"})
    graph = dy.Bool(nullable=False, metadata={"about": "ran inside a CUDA graph"})
    graph_node_id = dy.Int64(nullable=True, metadata={"about": "the node of a CUDA graph that it is a run of"})
    src_device_id = dy.Int64(nullable=True, metadata={"about": "CUDA ordinal a copy reads from, where recorded"})
    dst_device_id = dy.Int64(nullable=True, metadata={"about": "CUDA ordinal a copy writes to, where recorded"})
    src_gpu_id = dy.Int64(nullable=True, metadata={"about": "that device's physical GPU, where the file says"})
    dst_gpu_id = dy.Int64(nullable=True, metadata={"about": "likewise for the device it writes to"})
    copy_count = dy.Int64(nullable=True, metadata={"about": "copies in a batched row; null when not said"})
    grid_x = dy.Int64(nullable=True, metadata={"about": "blocks of a kernel; for NCCL's, its channels"})


class Compute(dy.Schema):
    """When compute ran on each device: kernels that are not NCCL's, and CUDA graphs recorded whole; merged."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
    device = dy.String(nullable=False, metadata={"about": "the device, as `device_key` names it"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})


class GraphNodes(dy.Schema):
    """Nodes of CUDA graphs, with the making of the node that each is a clone of in the end (or is itself)."""

    process = dy.Int64(nullable=False, primary_key=True, metadata={"about": "global process id of the export"})
    graph_node_id = dy.Int64(nullable=False, primary_key=True, metadata={"about": "unique in its process"})
    root_node_id = dy.Int64(nullable=False, metadata={"about": "the node that it is a clone of in the end, or itself"})
    thread = dy.Int64(nullable=False, metadata={"about": "global id of the thread that made the root"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "when the root was made, as a stream was captured"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "end of its making"})


class UcpEvents(dy.Schema):
    """What nsys recorded of UCX: calls that start an operation, and spans from that call to its completion."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
    event_id = dy.UInt32(nullable=False, metadata={"about": "number of the event"})
    kind = dy.String(
        nullable=False, metadata={"about": "`submit` (the call), or `progress` (from the call to its completion)"}
    )
    name = dy.String(nullable=False, metadata={"about": "the function, as recorded; empty when it is not"})
    process = dy.Int64(nullable=False, metadata={"about": "global process id of the export"})
    thread = dy.Int64(nullable=False, metadata={"about": "global thread id of the export"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=True, metadata={"about": "first instant after it; null when it was not recorded"})
    address = dy.UInt64(nullable=True, metadata={"about": "of the message's buffer"})
    bytes = dy.Int64(nullable=True, metadata={"about": "size of the packed message; null when not known"})
    tag = dy.UInt64(nullable=True, metadata={"about": "what matches a tagged send with its receive"})
    worker = dy.UInt64(nullable=True, metadata={"about": "the process's UCP worker, where it has exactly one"})
    peer_worker = dy.UInt64(nullable=True, metadata={"about": "the other side's UCP worker; null when not recorded"})


class Counters(dy.Schema):
    """Hardware counters of data that crossed a device's links or the node's network adapters, over intervals."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
    source = dy.String(nullable=False, metadata={"about": "`gpu_metrics` or `nic_metrics`"})
    device = dy.String(nullable=True, metadata={"about": "`gpuN`, or the name of a network adapter, where known"})
    metric = dy.String(nullable=False, metadata={"about": "the counter's name, as recorded"})
    direction = dy.String(nullable=True, metadata={"about": "`egress` or `ingress`, seen from the device"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    value = dy.Float64(nullable=False, metadata={"about": "mean percent of the peak, or bytes in the interval"})
    unit = dy.String(nullable=False, metadata={"about": "`percent` or `bytes`"})


class Found(dy.Schema):
    """Point-to-point data movements as a transport finds them, each seen from one side of it."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
    transport = dy.String(nullable=False, metadata={"about": "the module that found it"})
    side = dy.String(nullable=True, metadata={"about": "send, recv or copy; null where its source does not say"})
    purpose = dy.String(nullable=True, metadata={"about": "kv, other or unknown"})
    purpose_rule = dy.String(nullable=True, metadata={"about": "what decided the purpose"})
    interval_kind = dy.String(
        nullable=True,
        metadata={
            "about": "gpu, host (from post to completion) or call (a call that need not last as long as the transfer)"
        },
    )
    start_ns = dy.Int64(nullable=True, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=True, metadata={"about": "first instant after it"})
    time_ns = dy.Int64(nullable=True, metadata={"about": "its share of the time of its kernels"})
    channels = dy.Int64(nullable=True, metadata={"about": "NCCL channels; they bound what can be buffered"})
    staging_bytes = dy.Int64(nullable=False, metadata={"about": "what may be buffered between its two ends"})
    kernel_ops = dy.UInt32(nullable=True, metadata={"about": "transfers that the same kernels serve"})
    kernel_count = dy.UInt32(nullable=False, metadata={"about": "kernels that serve it (and its group)"})
    device_count = dy.UInt32(nullable=True, metadata={"about": "devices on which these kernels ran"})
    group_key = dy.Int64(
        nullable=True,
        metadata={"about": "equal for transfers of a trace that are launched together and so share kernels"},
    )
    bytes = dy.Int64(nullable=True, metadata={"about": "size; null when not known"})
    bytes_source = dy.String(
        nullable=True, metadata={"about": "payload, text (an engine's own range), ucx, memcpy, annotation or computed"}
    )
    communicator = dy.String(nullable=True, metadata={"about": "decimal digits: ids exceed 2^63"})
    rank = dy.Int64(
        nullable=True, metadata={"about": "own rank in the communicator; null when neither recorded nor implied"}
    )
    peer = dy.Int64(nullable=True, metadata={"about": "the other rank in the communicator; null when not recorded"})
    rank_count = dy.Int64(
        nullable=True, metadata={"about": "ranks in the communicator, where its creation was recorded"}
    )
    is_self = dy.Bool(nullable=True, metadata={"about": "peer is the own rank; null when either is unknown"})
    is_first_use = dy.Bool(nullable=True, metadata={"about": "pays connection set-up; null without communicator"})
    device_id = dy.Int64(nullable=True, metadata={"about": "CUDA ordinal of the device"})
    gpu_id = dy.Int64(
        nullable=True, metadata={"about": "the physical GPU, where the file says; ordinals are a process's own"}
    )
    stream_id = dy.Int64(nullable=True, metadata={"about": "CUDA stream"})
    process = dy.Int64(nullable=True, metadata={"about": "global process id of the export"})
    thread = dy.Int64(nullable=True, metadata={"about": "global thread id of the export"})
    call_start_ns = dy.Int64(nullable=True, metadata={"about": "the host call, or the launch where no call is known"})
    call_end_ns = dy.Int64(nullable=True, metadata={"about": "end of that call"})
    src_end = dy.String(
        nullable=True, metadata={"about": "where it comes from (`trace:gpuN`, `host`, an agent), where its source says"}
    )
    dst_end = dy.String(nullable=True, metadata={"about": "where it goes to, likewise"})
    copy_count = dy.Int64(nullable=True, metadata={"about": "memory copies that serve it; null when it is none"})
    pack_ns = dy.Int64(
        nullable=True,
        metadata={"about": "kernels that gather, scatter or convert KV in its range; not in time_ns"},
    )
    match_key = dy.String(
        nullable=True, metadata={"about": "equal on both sides of a movement that names itself (`xfer=`, a UCP tag)"}
    )
    scope_id = dy.UInt32(
        nullable=True, metadata={"about": "the range that announces this very transfer, where there is one"}
    )
    captured_start_ns = dy.Int64(
        nullable=True, metadata={"about": "the call at capture time, for replays of a CUDA graph; else null"}
    )
    captured_end_ns = dy.Int64(nullable=True, metadata={"about": "end of that call"})
    captured_thread = dy.Int64(nullable=True, metadata={"about": "global id of the thread that made that call"})
    evidence = dy.String(
        nullable=True, metadata={"about": "what else recorded the same movement and is therefore not counted"}
    )


def found_frame(rows: pl.DataFrame) -> dy.DataFrame[Found]:
    """Rows of a transport as `Found`: columns that the transport does not know are null.

    Args:
        rows: Some columns of `Found`; others are dropped. `staging_bytes` and `kernel_count` default to 0.
    """
    schema = Found.create_empty().schema
    counts = {"staging_bytes": 0, "kernel_count": 0}
    absent = [
        pl.lit(counts.get(name), dtype=dtype).alias(name) for name, dtype in schema.items() if name not in rows.columns
    ]
    return Found.validate(rows.with_columns(absent).select(pl.col(name).cast(schema[name]) for name in schema))


class Transfers(Found):
    """Transfers with their purpose, their pair and what they are attributed to."""

    transfer_id = dy.UInt32(
        nullable=False,
        primary_key=True,
        metadata={"about": "number of the transfer, the same in every frame of one run over the same inputs"},
    )
    purpose = dy.String(nullable=False, metadata={"about": "kv, other or unknown"})
    purpose_rule = dy.String(nullable=False, metadata={"about": "what decided the purpose"})
    gpu = dy.String(
        nullable=True, metadata={"about": "the device it ran on, or that its thread or process uses otherwise"}
    )
    pair_id = dy.UInt32(
        nullable=True, metadata={"about": "equal for the two sides of one movement; null when unpaired"}
    )
    pairing = dy.String(
        nullable=True,
        metadata={
            "about": "`fifo` (communicator and ranks known), `positional` (communicator not recorded, or kernels only)"
            " or `named` (both sides carry the same name)"
        },
    )
    pairing_proof = dy.String(
        nullable=True,
        metadata={"about": "why it is sure that these two met: `start`, `sizes`, `clock` or `name`; null: it is not"},
    )
    is_movement = dy.Bool(nullable=False, metadata={"about": "stands for its movement in totals"})
    wire_ns = dy.Int64(nullable=True, metadata={"about": "its share of the time in which both sides were there"})
    wire_basis = dy.String(
        nullable=True,
        metadata={"about": "`window` (both kernels), `min-duration` (the shorter kernel) or `own-interval`"},
    )
    wire_reason = dy.String(nullable=True, metadata={"about": "why `wire_ns` is null"})
    wire_uncertainty_ns = dy.Int64(
        nullable=True, metadata={"about": "how far the clocks under a window may be apart; null without a window"}
    )
    peer_wait_ns = dy.Int64(nullable=True, metadata={"about": "`time_ns` less `wire_ns`; null where waiting is unseen"})
    overlapped_ns = dy.Int64(nullable=True, metadata={"about": "its part behind compute on its own device"})
    exposed_wire_ns = dy.Int64(nullable=True, metadata={"about": "`wire_ns` outside compute"})
    exposed_wait_ns = dy.Int64(nullable=True, metadata={"about": "`peer_wait_ns` outside compute"})
    layer = dy.Int64(nullable=True, metadata={"about": "layer index from 0; null when none or several are named"})
    layer_provenance = dy.String(
        nullable=True, metadata={"about": "`exact`, `nested`, `spanning` or `estimated`; null without layer"}
    )
    request_id = dy.String(nullable=True, metadata={"about": "null when none or several are named"})
    request_provenance = dy.String(
        nullable=True, metadata={"about": "`exact`, `nested`, `spanning` or `estimated`; null without request"}
    )
    phase = dy.String(nullable=True, metadata={"about": "as the innermost range around the call says"})
    role = dy.String(
        nullable=True, metadata={"about": "as the range around the call says, else the `kv_role` mark of the process"}
    )


class Shares(dy.Schema):
    """How one movement's bytes and time go to layers and requests; Σ over its shares = the movement, exactly."""

    transfer_id = dy.UInt32(
        nullable=False,
        metadata={"about": "number of the transfer, the same in every frame of one run over the same inputs"},
    )
    layer = dy.Int64(nullable=True, metadata={"about": "layer index from 0; null when none is named"})
    layer_provenance = dy.String(
        nullable=True, metadata={"about": "`exact`, `nested`, `spanning` or `estimated`; null without layer"}
    )
    request_id = dy.String(nullable=True, metadata={"about": "null when none is named"})
    request_provenance = dy.String(
        nullable=True, metadata={"about": "`exact`, `nested`, `spanning` or `estimated`; null without request"}
    )
    bytes = dy.Int64(
        nullable=True, metadata={"about": "this share's part of the movement's bytes; null when they are not known"}
    )
    time_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of the movement's time"})
    wire_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its wire time"})
    peer_wait_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its waiting"})
    overlapped_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of what compute hides"})
    exposed_wire_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its exposed wire time"})
    exposed_wait_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its exposed waiting"})


class Exchanges(dy.Schema):
    """Kernels of two sides that met on one clock: `a` began first."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
    pairing = dy.String(nullable=False, metadata={"about": "`fifo` (their calls were paired), `positional` or `named`"})
    pairing_proof = dy.String(nullable=True, metadata={"about": "as of their calls; null: nothing proves it"})
    a_group_key = dy.Int64(nullable=False, metadata={"about": "the `group_key` of the transfers it serves"})
    a_gpu = dy.String(nullable=True, metadata={"about": "the device it ran on"})
    a_start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    a_end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    b_group_key = dy.Int64(nullable=False, metadata={"about": "the `group_key` of the transfers it serves"})
    b_gpu = dy.String(nullable=True, metadata={"about": "the device it ran on"})
    b_start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    b_end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    longer_ns = dy.Int64(nullable=False, metadata={"about": "length of the longer of the two"})
    shorter_ns = dy.Int64(nullable=False, metadata={"about": "length of the shorter"})
    both_present_ns = dy.Int64(nullable=False, metadata={"about": "from the later start to the earlier end, or 0"})


class NvtxRanges(dy.Schema):
    """NVTX ranges projected onto the GPU, as other tools can check them."""

    trace_id = dy.String(
        nullable=False, metadata={"about": "the input: its file name without suffix, numbered where two are alike"}
    )
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
        "request_id", "request_provenance", "phase", "role", "is_movement", "pairing_proof", "wire_reason",
        "wire_uncertainty_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns", "evidence", "src_end", "dst_end",
        "copy_count", "channels", "staging_bytes", "gpu", "kernel_count", "group_key", "pid", "tid",
        "device_id", "stream_id", "call_start_ns", "call_end_ns",
    )  # fmt: skip
