"""What a process leaves in a trace: its identity, its NVTX domains and its GPU work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from nsysparse.testing.ids import global_id
from nsysparse.testing.payloads import Entry, Payload
from nsysparse.testing.store import Row, RowStore, Value
from nsysparse.testing.threads import Call, Thread

CopyKind = Literal["HtoD", "DtoH", "DtoD", "PtoP"]

# CUDA's codes: kind of the copy, kind of memory at source and destination (1 pinned host, 2 device)
_COPIES: Mapping[CopyKind, tuple[int, int, int]] = {
    "HtoD": (1, 1, 2),
    "DtoH": (2, 2, 1),
    "DtoD": (8, 2, 2),
    "PtoP": (10, 2, 2),
}


@dataclass(slots=True)
class Domain:
    """An NVTX domain of one process; the default domain has id 0 and no such row."""

    id: int
    global_tid: int
    first_ns: int


@dataclass(slots=True)
class Process:
    """One process of the trace. Make it with `TraceBuilder.process`.

    Args:
        store: Where the rows go.
        pid: Process id.
        identity: Hardware id and VM id, the upper 16 bits of its `globalPid`.
        name: Name in PROCESSES.
        domain_ids: Fixed ids for named NVTX domains; others get the next free one.
        devices: CUDA ordinal to GPU id, as this process sees them.
    """

    store: RowStore
    pid: int
    identity: tuple[int, int]
    name: str
    domain_ids: Mapping[str, int]
    devices: Mapping[int, int]
    domains: dict[str, Domain] = field(default_factory=dict)
    payloads: dict[tuple[int, tuple[Entry, ...]], Payload] = field(default_factory=dict)
    nixl_domains: set[int] = field(default_factory=set)
    open_rows: list[Row] = field(default_factory=list)
    _correlations: int = 0
    _range_ids: int = 0

    @property
    def global_pid(self) -> int:
        """The process as the exporter writes it."""
        return global_id(*self.identity, self.pid)

    def thread(self, tid: int | None = None, name: str = "python3") -> Thread:
        """A thread; without `tid` the main thread, whose id is the process id."""
        thread = Thread(self, global_id(*self.identity, self.pid, self.pid if tid is None else tid))
        self.store.add("ThreadNames", nameId=self.store.string(name), priority=20, globalTid=thread.global_tid)
        return thread

    def domain_id(self, name: str | None, global_tid: int, at_ns: int) -> int:
        """The id of a domain in this process, registered by the first thread that uses it; 0 without a name."""
        if name is None:
            return 0
        if name not in self.domains:
            taken = {domain.id for domain in self.domains.values()} | set(self.domain_ids.values())
            free = next(number for number in count(1) if number not in taken)
            self.domains[name] = Domain(self.domain_ids.get(name, free), global_tid, at_ns)
        domain = self.domains[name]
        domain.first_ns = min(domain.first_ns, at_ns)
        return domain.id

    def correlation(self) -> int:
        """A fresh correlation id: unique in the process, the same numbers again in every other process."""
        self._correlations += 1
        return self._correlations

    def range_id(self) -> int:
        """A fresh id of a start/end range."""
        self._range_ids += 1
        return self._range_ids

    def kernel(
        self,
        name: str,
        start: int,
        end: int,
        *,
        device: int = 0,
        stream: int = 7,
        launch: Call | None = None,
        correlation: int | None = None,
        **columns: Value,
    ) -> None:
        """A kernel row; without `launch` and `correlation` it has an id that no recorded call has.

        `columns` sets further columns by the exporter's names (`gridX`, `graphNodeId`); `start` and `end` are in ns.
        """
        short = name.removeprefix("void ").split("(")[0].split("<")[0].rsplit("::", 1)[-1]
        names: Row = {"demangledName": self.store.string(name), "shortName": self.store.string(short)}
        if self.store.has("CUPTI_ACTIVITY_KIND_KERNEL", "mangledName"):
            names["mangledName"] = self.store.string(f"_Z{len(short)}{short}")
        shape: Row = {
            "registersPerThread": 96,
            "gridX": 8,
            "gridY": 1,
            "gridZ": 1,
            "blockX": 512,
            "blockY": 1,
            "blockZ": 1,
        }
        work = self._work(start, end, device, stream, launch, correlation)
        self.store.add("CUPTI_ACTIVITY_KIND_KERNEL", **{**work, **names, **shape, **columns})

    def copy(  # noqa: PLR0913 (a copy has that many facts)
        self,
        kind: CopyKind,
        nbytes: int,
        start: int,
        end: int,
        *,
        device: int = 0,
        stream: int = 7,
        launch: Call | None = None,
        correlation: int | None = None,
        src_device: int | None = None,
        dst_device: int | None = None,
        **columns: Value,
    ) -> None:
        """A memory copy row; source and destination device are NULL unless given, as in real exports."""
        code, source, destination = _COPIES[kind]
        ends: Row = {"copyKind": code, "srcKind": source, "dstKind": destination, "bytes": nbytes}
        if src_device is not None:
            ends |= {"srcDeviceId": src_device, "srcContextId": 1}
        if dst_device is not None:
            ends |= {"dstDeviceId": dst_device, "dstContextId": 1}
        work = self._work(start, end, device, stream, launch, correlation)
        self.store.add("CUPTI_ACTIVITY_KIND_MEMCPY", **{**work, **ends, **columns})

    def memset(
        self,
        nbytes: int,
        start: int,
        end: int,
        *,
        device: int = 0,
        stream: int = 7,
        launch: Call | None = None,
        correlation: int | None = None,
        **columns: Value,
    ) -> None:
        """A memory set row."""
        work = self._work(start, end, device, stream, launch, correlation)
        self.store.add("CUPTI_ACTIVITY_KIND_MEMSET", **{**work, "bytes": nbytes, "memKind": 2, **columns})

    def graph(
        self,
        start: int,
        end: int,
        *,
        device: int = 0,
        stream: int = 7,
        launch: Call | None = None,
        correlation: int | None = None,
        **columns: Value,
    ) -> None:
        """A whole CUDA graph as one row, where the schema has the table."""
        work = self._work(start, end, device, stream, launch, correlation)
        ids: Row = {"graphId": 1, "graphExecId": 2}
        self.store.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", **{**work, **ids, **columns})

    def _work(
        self, start: int, end: int, device: int, stream: int, launch: Call | None, correlation: int | None
    ) -> Row:
        if launch is not None and launch.global_pid != self.global_pid:
            raise ValueError(f"the launch belongs to another process than {self.pid}")
        if launch is not None:
            correlation = launch.correlation
        return {
            "start": start,
            "end": end,
            "deviceId": device,
            "contextId": 1,
            "streamId": stream,
            "correlationId": self.correlation() if correlation is None else correlation,
            "globalPid": self.global_pid,
        }
