"""What an export recorded: the frames that `source` yields."""

import polars as pl

from nsysparse.frames.ids import OfTrace
from nsysparse.frames.schema import Column, Schema


class Labels(Schema):
    """Distinct (domain, name) pairs of NVTX ranges and marks; ranges refer to them by code."""

    label_id = Column(pl.UInt32, nullable=False, primary_key=True, about="code of a distinct (domain, name) pair")
    domain = Column(pl.String, nullable=True, about="null when unnamed")
    is_default_domain = Column(pl.Boolean, nullable=False, about="the domain that has no name and no row of its own")
    name = Column(pl.String, nullable=False, about="as recorded, not shortened")


STYLES = pl.Enum(["mark", "push_pop", "start_end"])
"""How a range was made: one of a thread's stack, one that may span threads, or an instant."""


class Ranges(Schema):
    """NVTX ranges (push/pop and start/end) and marks (style `mark`, end = start) of one trace, totally sorted."""

    range_id = Column(pl.UInt32, nullable=False, about="number of the range or mark")
    label_id = Column(pl.UInt32, nullable=False, about="code of a distinct (domain, name) pair")
    style = Column(STYLES, nullable=False, about="`push_pop`, `start_end` or `mark`")
    process = Column(pl.Int64, nullable=False, about="global process id of the export")
    thread = Column(pl.Int64, nullable=False, about="global thread id of the export")
    end_thread = Column(pl.Int64, nullable=True, about="the thread that closed a start/end range")
    start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    is_open = Column(pl.Boolean, nullable=False, about="nobody closed it: it ends with the recording")
    is_crossed = Column(
        pl.Boolean,
        nullable=False,
        about="it cannot be true beside another of its thread and domain: a push or pop was lost",
    )


class Payloads(Schema):
    """What NCCL and NIXL wrote into the payloads of their events; null where a payload lacks the field."""

    range_id = Column(pl.UInt32, nullable=False, about="number of the range or mark")
    communicator = Column(pl.UInt64, nullable=True, about="NCCL's 64-bit id")
    bytes = Column(pl.Int64, nullable=True, about="size; null when not known")
    peer = Column(pl.Int64, nullable=True, about="the other rank in the communicator; null when not recorded")
    rank = Column(
        pl.Int64,
        nullable=True,
        about="own rank in the communicator; null when neither recorded nor implied",
    )
    rank_count = Column(pl.Int64, nullable=True, about="ranks in the communicator")
    device = Column(pl.Int64, nullable=True, about="CUDA device of a communicator's creation")
    handle = Column(
        pl.UInt64,
        nullable=True,
        about="address of a NIXL request: the same number on its post and its completion",
    )
    remote_agent = Column(pl.String, nullable=True, about="the NIXL agent at the other end")


class NcclOps(Schema):
    """Sends and Receives as `nsys profile -t nccl` records them (experimental): calls, and GPU work per channel."""

    range_id = Column(pl.UInt32, nullable=False, about="number of the range or mark")
    side = Column(pl.String, nullable=False, about="send or recv")
    is_gpu = Column(pl.Boolean, nullable=False, about="the range is the GPU's work on a channel, not the call")
    api_id = Column(pl.Int64, nullable=False, about="joins a call and its GPU work, within the process")
    communicator = Column(pl.UInt64, nullable=True, about="NCCL's 64-bit id")
    bytes = Column(pl.Int64, nullable=True, about="size; null when not known")
    peer = Column(pl.Int64, nullable=True, about="the other rank in the communicator; null when not recorded")
    rank = Column(pl.Int64, nullable=True, about="own rank in the communicator; null when not recorded")
    rank_count = Column(pl.Int64, nullable=True, about="ranks in the communicator")
    device = Column(pl.Int64, nullable=True, about="CUDA ordinal of the device")


class GpuOps(OfTrace):
    """Kernels, copies, memsets and whole-graph launches, with the launching call where one was recorded."""

    op_id = Column(pl.UInt32, nullable=False, about="number of the operation")
    kind = Column(pl.String, nullable=False, about="kernel, memcpy, memset or graph")
    name = Column(pl.String, nullable=False, about="as recorded, not shortened")
    device_id = Column(pl.Int64, nullable=False, about="CUDA ordinal of the device")
    gpu_id = Column(
        pl.Int64,
        nullable=True,
        about="the physical GPU, where the file says; ordinals are a process's own",
    )
    stream_id = Column(pl.Int64, nullable=True, about="CUDA stream")
    process = Column(pl.Int64, nullable=True, about="global process id of the export")
    correlation_id = Column(pl.Int64, nullable=True, about="joins it to its launch, within the process")
    launch_thread = Column(pl.Int64, nullable=True, about="global id of the thread that launched it")
    launch_start_ns = Column(
        pl.Int64,
        nullable=True,
        about="start of the CUDA call that launched it; null when that was not recorded",
    )
    launch_end_ns = Column(pl.Int64, nullable=True, about="end of that call")
    start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    bytes = Column(pl.Int64, nullable=True, about="size; null when not known")
    graph = Column(pl.Boolean, nullable=False, about="ran inside a CUDA graph")
    graph_node_id = Column(pl.Int64, nullable=True, about="the node of a CUDA graph that it is a run of")
    src_device_id = Column(pl.Int64, nullable=True, about="CUDA ordinal a copy reads from, where recorded")
    dst_device_id = Column(pl.Int64, nullable=True, about="CUDA ordinal a copy writes to, where recorded")
    src_gpu_id = Column(pl.Int64, nullable=True, about="that device's physical GPU, where the file says")
    dst_gpu_id = Column(pl.Int64, nullable=True, about="likewise for the device it writes to")
    copy_count = Column(pl.Int64, nullable=True, about="copies in a batched row; null when not said")
    grid_x = Column(pl.Int64, nullable=True, about="blocks of a kernel; for NCCL's, its channels")


class GraphNodes(Schema):
    """Nodes of CUDA graphs, with the making of the node that each is a clone of in the end (or is itself)."""

    process = Column(pl.Int64, nullable=False, primary_key=True, about="global process id of the export")
    graph_node_id = Column(pl.Int64, nullable=False, primary_key=True, about="unique in its process")
    root_node_id = Column(pl.Int64, nullable=False, about="the node that it is a clone of in the end, or itself")
    thread = Column(pl.Int64, nullable=False, about="global id of the thread that made the root")
    start_ns = Column(pl.Int64, nullable=False, about="when the root was made, as a stream was captured")
    end_ns = Column(pl.Int64, nullable=False, about="end of its making")


class UcpEvents(OfTrace):
    """What nsys recorded of UCX: calls that start an operation, and spans from that call to its completion."""

    event_id = Column(pl.UInt32, nullable=False, about="number of the event")
    kind = Column(
        pl.String,
        nullable=False,
        about="`submit` (the call), or `progress` (from the call to its completion)",
    )
    name = Column(pl.String, nullable=False, about="the function, as recorded; empty when it is not")
    process = Column(pl.Int64, nullable=False, about="global process id of the export")
    thread = Column(pl.Int64, nullable=False, about="global thread id of the export")
    start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=True, about="first instant after it; null when it was not recorded")
    address = Column(pl.UInt64, nullable=True, about="of the message's buffer")
    bytes = Column(pl.Int64, nullable=True, about="size of the packed message; null when not known")
    tag = Column(pl.UInt64, nullable=True, about="what matches a tagged send with its receive")
    worker = Column(pl.UInt64, nullable=True, about="the process's UCP worker, where it has exactly one")
    peer_worker = Column(pl.UInt64, nullable=True, about="the other side's UCP worker; null when not recorded")


class Counters(OfTrace):
    """Hardware counters of data that crossed a device's links or the node's network adapters, over intervals."""

    source = Column(pl.String, nullable=False, about="`gpu_metrics` or `nic_metrics`")
    device = Column(pl.String, nullable=True, about="`gpuN`, or the name of a network adapter, where known")
    metric = Column(pl.String, nullable=False, about="the counter's name, as recorded")
    direction = Column(pl.String, nullable=True, about="`egress` or `ingress`, seen from the device")
    start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    value = Column(pl.Float64, nullable=False, about="mean percent of the peak, or bytes in the interval")
    unit = Column(pl.String, nullable=False, about="`percent` or `bytes`")
