"""What a thread leaves in a trace: NVTX ranges and marks, NCCL and CUDA API calls."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Unpack

from nsysparse.testing.ids import signed
from nsysparse.testing.nixl import post_blob, post_json
from nsysparse.testing.payloads import NcclFacts, nccl_payload
from nsysparse.testing.store import Row, Value

if TYPE_CHECKING:
    from nsysparse.testing.processes import Process

PUSH_POP, START_END, MARK, DOMAIN = 59, 60, 34, 75  # NVTX_EVENTS.eventType
NCCL = "NCCL"

PayloadForm = Literal["json", "json-id", "blob", "dropped"]


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded CUDA API call; GPU work refers to it by process and correlation id."""

    global_pid: int
    correlation: int


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of a process. Make it with `Process.thread`. All times are ns since the start of the capture."""

    process: "Process"
    global_tid: int

    def push_pop(
        self,
        text: str,
        start: int,
        end: int | None,
        *,
        domain: str | None = None,
        registered: bool = False,
        end_null: bool = False,
        **columns: Value,
    ) -> None:
        """A push/pop range; `end` None: never popped, exported as ending with the capture; `end_null`: without end."""
        self._event(PUSH_POP, text, start, end, domain, registered=registered, end_null=end_null, columns=columns)

    def start_end(
        self,
        text: str,
        start: int,
        end: int | None,
        *,
        end_thread: "Thread | None" = None,
        domain: str | None = None,
        registered: bool = False,
        **columns: Value,
    ) -> None:
        """A start/end range, ended by `end_thread` if not by this thread; `end` None: never ended."""
        more: dict[str, Value] = {"rangeId": self.process.range_id()}
        if end_thread is not None and end_thread != self:  # the exporter names only another thread
            more["endGlobalTid"] = end_thread.global_tid
        self._event(START_END, text, start, end, domain, registered=registered, columns={**more, **columns})

    def mark(
        self, text: str, at: int, *, domain: str | None = None, registered: bool = False, **columns: Value
    ) -> None:
        """An instantaneous event."""
        self._event(MARK, text, at, None, domain, registered=registered, end_null=True, columns=columns)

    def nccl(
        self,
        call: str,
        start: int,
        end: int | None,
        *,
        payload: PayloadForm | None = "json",
        registered: bool = True,
        **facts: Unpack[NcclFacts],
    ) -> None:
        """A range of the NCCL domain, with a payload if facts are given.

        Args:
            call: The C function, such as `ncclSend` or `ncclGroupEnd`.
            start: When the host entered it, ns.
            end: When the host left it, ns.
            payload: `json` in jsonText, `json-id` in jsonTextId, `blob` in binaryData, `dropped`: the layout is
                declared but the export left the values out; None: no trace of it, as in old exports.
            registered: Whether NVTX knows the name as a registered string (then the text stands in StringIds).
            facts: communicator, nbytes, peer, nranks, rank, device: what the call's payload says.
        """
        store, columns = self.process.store, dict[str, Value]()
        domain = self.process.domain_id(NCCL, self.global_tid, start)
        if facts and payload is not None:
            if payload in {"blob", "dropped"} and not store.has("NVTX_EVENTS", "binaryData"):
                raise ValueError(
                    f"schema {store.schema} has no NVTX payload tables: a {payload} payload needs 3.25 or newer"
                )
            content = nccl_payload(call, facts)
            self.process.payloads[content.schema_id, content.entries] = content
            match payload:
                case "json":
                    columns["jsonText"] = content.as_json()
                case "json-id":
                    columns["jsonTextId"] = store.string(content.as_json())
                case "blob":
                    columns["binaryData"] = content.as_blob(domain)
                case "dropped":
                    pass
        self._event(PUSH_POP, call, start, end, NCCL, registered=registered, columns=columns)

    def nixl_post(
        self,
        op: Literal["read", "write"],
        start: int,
        end: int | None,
        *,
        agent: str | None,
        handle: int,
        nbytes: int | None = None,
        remote: str | None = None,
        payload: Literal["json", "json-id", "blob"] = "json",
        **columns: Value,
    ) -> None:
        """A NIXL post: the range of the call, in the domain of its agent.

        Args:
            op: What the agent does.
            start: When the host entered the call, ns.
            end: When the host left it, ns.
            agent: Its name; None: the default domain, as if the domain's name were lost.
            handle: Address of the request, unsigned; the completion has the same.
            nbytes: Size; without it and `remote` the post has no payload, as old exporters leave it.
            remote: The other agent.
            payload: `json` in jsonText, `json-id` in jsonTextId, `blob` in binaryData.
            columns: Further columns by the exporter's names.
        """
        domain = self.process.domain_id(agent, self.global_tid, start)
        carried: Row = {"uint64Value": signed(handle)}
        if nbytes is not None and remote is not None:
            match payload:
                case "json":
                    carried["jsonText"] = post_json(nbytes, remote)
                case "json-id":
                    carried["jsonTextId"] = self.process.store.string(post_json(nbytes, remote))
                case "blob":
                    carried["binaryData"] = post_blob(domain, nbytes, remote)
                    self.process.nixl_domains.add(domain)
        name = f"nixl::postXferReq.{op}"
        self._event(PUSH_POP, name, start, end, agent, registered=True, columns={**carried, **columns})

    def nixl_complete(self, at: int, *, agent: str | None, handle: int) -> None:
        """The mark that NIXL sets when the application first sees a request complete."""
        self.mark("nixl::xfer.complete", at, domain=agent, registered=True, uint64Value=signed(handle))

    def nccl_trace(self, name: str, start: int, end: int, *, category: int | None = 1, **said: Value) -> None:
        """A row of advanced NCCL tracing, such as `Send`; what it says goes into its JSON under the names given."""
        text = json.dumps(said) if said else None
        self.push_pop(name, start, end, domain=NCCL, registered=True, category=category, jsonText=text)

    def launch(
        self,
        start: int,
        end: int,
        name: str = "cudaLaunchKernelExC_v11060",
        *,
        correlation: int | None = None,
        **columns: Value,
    ) -> Call:
        """A recorded CUDA API call, with a correlation id of its own unless one is given."""
        call = Call(self.process.global_pid, self.process.correlation() if correlation is None else correlation)
        self.process.store.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            **{
                "start": start,
                "end": end,
                "globalTid": self.global_tid,
                "correlationId": call.correlation,
                "nameId": self.process.store.string(name),
                **columns,
            },
        )
        return call

    def graph_node(self, node: int, at: int, *, original: int | None = None) -> None:
        """A node of a CUDA graph made at an instant; with `original`, as a clone of that node.

        Capturing a stream makes a node inside the call that would launch its kernel; instantiating the graph clones it
        once more. Kernels of replays refer to the clone (`graphNodeId`).
        """
        store = self.process.store
        newer = "CUDA_GRAPH_NODE_EVENTS"
        store.add(
            newer if store.has(newer) else "CUDA_GRAPH_EVENTS",
            start=at,
            end=at,
            globalTid=self.global_tid,
            nameId=store.string("Graph Node Creation"),
            graphNodeId=node,
            originalGraphNodeId=original,
        )

    def ucp_worker(self, uid: int) -> None:
        """The UCP worker that this thread made."""
        self.process.store.add("UCP_WORKERS", globalTid=self.global_tid, workerUid=signed(uid))

    def ucx(
        self,
        function: str,
        start: int,
        end: int,
        *,
        done: int | None = None,
        address: int | None = 0x7F00_0000_0000,
        nbytes: int | None = None,
        tag: int | None = None,
        peer: int | None = None,
    ) -> None:
        """A call of UCX that submits an operation, and with `done` the span from the call to its completion.

        Args:
            function: Such as `ucp_tag_send_nbx`.
            start: When the host entered it, ns.
            end: When the host left it, ns.
            done: When the completion was noticed, ns; None: it completed inside the call.
            address: Of the buffer.
            nbytes: Packed size.
            tag: Of a tagged message.
            peer: Uid of the other side's worker.
        """
        numbers = {"bufferAddr": address, "peerWorkerUid": peer, "tag": tag}
        columns: Row = {name: None if value is None else signed(value) for name, value in numbers.items()}
        columns |= {"globalTid": self.global_tid, "textId": self.process.store.string(function), "packedSize": nbytes}
        self.process.store.add("UCP_SUBMIT_EVENTS", **columns, start=start, end=end)
        if done is not None:
            self.process.store.add("UCP_PROGRESS_EVENTS", **columns, start=start, end=done)

    def _event(
        self,
        kind: int,
        text: str,
        start: int,
        end: int | None,
        domain: str | None,
        *,
        registered: bool,
        columns: Mapping[str, Value],
        end_null: bool = False,
    ) -> None:
        store = self.process.store
        # An empty name leaves both columns NULL, as the exporter does.
        name: Row = {"textId": store.string(text)} if registered else {"text": text or None}
        place: Row = {
            "start": start,
            "end": None if end_null else end,
            "eventType": kind,
            "globalTid": self.global_tid,
            "domainId": self.process.domain_id(domain, self.global_tid, start),
        }
        row = store.add("NVTX_EVENTS", **{**place, **name, **columns})
        if end is None and not end_null:
            self.process.open_rows.append(row)
