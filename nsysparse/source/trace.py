"""What reading one export yields."""

from collections import Counter
from dataclasses import dataclass, field

from nsysparse.analysis import Capability, Gpu
from nsysparse.anchor import Anchor
from nsysparse.frames import (
    Counters,
    Frame,
    GpuOps,
    GraphNodes,
    Labels,
    NcclOps,
    Payloads,
    Ranges,
    UcpEvents,
    Work,
)
from nsysparse.instants import Busy
from nsysparse.source.window import Window


@dataclass(frozen=True, slots=True)
class Trace:
    """One export, read: events as typed frames, and what was recorded and what not.

    Attributes:
        trace_id: Short name, unique among the inputs of a command; part of every key.
        duration_ns: Length of the recording, or None when the file does not say.
        ranges: All ranges and marks, or when so asked only those that NCCL, NIXL or a preset knows.
        gpu_ops: All GPU work, or when so asked only kernels of NCCL and such that pack KV, and copies that matter.
        work: All kernels, lean, where ranges tell of steps; else none.
        graph_nodes: Nodes of CUDA graphs, where NCCL may be inside one; else none.
        nccl_ops: What `nsys profile -t nccl` recorded; empty where it was not asked to.
        ucp: What `nsys profile -t ucx` recorded; empty where it was not asked to.
        counters: What sampled hardware counters say of links and network adapters.
        anomalies: Rows that could not be used, by code (docs/reference/warnings.md).
        threads: Global ids of all threads that have ranges, also such as are not in `ranges`.
        window: The part of the time to which reading was confined.
        anchor: Where the zero of its clock lies. All times of the frames count from there, whatever the export added.
    """

    trace_id: str
    file: str
    nsys_version: str | None
    schema_version: str | None
    duration_ns: int | None
    synthetic: str | None
    gpus: tuple[Gpu, ...]
    labels: Frame[Labels]
    ranges: Frame[Ranges]
    payloads: Frame[Payloads]
    gpu_ops: Frame[GpuOps]
    compute: Busy
    capabilities: dict[str, Capability]
    nccl_ops: Frame[NcclOps] = field(default_factory=NcclOps.create_empty)
    ucp: Frame[UcpEvents] = field(default_factory=UcpEvents.create_empty)
    counters: Frame[Counters] = field(default_factory=Counters.create_empty)
    anomalies: Counter[str] = field(default_factory=Counter)
    work: Frame[Work] = field(default_factory=Work.create_empty)
    graph_nodes: Frame[GraphNodes] = field(default_factory=GraphNodes.create_empty)
    anchor: Anchor = field(default_factory=Anchor)
    window: Window | None = None
    threads: tuple[int, ...] = ()
