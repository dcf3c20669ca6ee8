"""What an export recorded: the frames that `source` yields."""

import dataframely as dy
import polars as pl

from nsysparse.frames.ids import OfTrace


class Labels(dy.Schema):
    """Distinct (domain, name) pairs of NVTX ranges and marks; ranges refer to them by code."""

    label_id = dy.UInt32(nullable=False, primary_key=True, metadata={"about": "code of a distinct (domain, name) pair"})
    domain = dy.String(nullable=True, metadata={"about": "null when unnamed"})
    is_default_domain = dy.Bool(nullable=False, metadata={"about": "the domain that has no name and no row of its own"})
    name = dy.String(nullable=False, metadata={"about": "as recorded, not shortened"})


STYLES = pl.Enum(["mark", "push_pop", "start_end"])
"""How a range was made: one of a thread's stack, one that may span threads, or an instant."""


class Ranges(dy.Schema):
    """NVTX ranges (push/pop and start/end) and marks (style `mark`, end = start) of one trace, totally sorted."""

    range_id = dy.UInt32(nullable=False, metadata={"about": "number of the range or mark"})
    label_id = dy.UInt32(nullable=False, metadata={"about": "code of a distinct (domain, name) pair"})
    style = dy.Enum(STYLES.categories, nullable=False, metadata={"about": "`push_pop`, `start_end` or `mark`"})
    process = dy.Int64(nullable=False, metadata={"about": "global process id of the export"})
    thread = dy.Int64(nullable=False, metadata={"about": "global thread id of the export"})
    end_thread = dy.Int64(nullable=True, metadata={"about": "the thread that closed a start/end range"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    is_open = dy.Bool(nullable=False, metadata={"about": "nobody closed it: it ends with the recording"})
    is_crossed = dy.Bool(
        nullable=False,
        metadata={"about": "it cannot be true beside another of its thread and domain: a push or pop was lost"},
    )


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


class GpuOps(OfTrace):
    """Kernels, copies, memsets and whole-graph launches, with the launching call where one was recorded."""

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
    """When compute ran on each device: kernels that are not NCCL's, and CUDA graphs recorded whole; merged.

    There can be ten million intervals, of few devices.
    """

    trace_id = dy.Categorical(nullable=False, metadata={"about": "the input, as in other frames"})
    device = dy.Categorical(nullable=False, metadata={"about": "the device, as `device_key` names it"})
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


class UcpEvents(OfTrace):
    """What nsys recorded of UCX: calls that start an operation, and spans from that call to its completion."""

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


class Counters(OfTrace):
    """Hardware counters of data that crossed a device's links or the node's network adapters, over intervals."""

    source = dy.String(nullable=False, metadata={"about": "`gpu_metrics` or `nic_metrics`"})
    device = dy.String(nullable=True, metadata={"about": "`gpuN`, or the name of a network adapter, where known"})
    metric = dy.String(nullable=False, metadata={"about": "the counter's name, as recorded"})
    direction = dy.String(nullable=True, metadata={"about": "`egress` or `ingress`, seen from the device"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    value = dy.Float64(nullable=False, metadata={"about": "mean percent of the peak, or bytes in the interval"})
    unit = dy.String(nullable=False, metadata={"about": "`percent` or `bytes`"})
