"""Servers in one file that hand requests over, in true times: whole engines' habits in a few lines."""

from dataclasses import dataclass, field
from pathlib import Path

from nsysparse.analysis import Analysis, Request
from nsysparse.api import Options, analyse
from nsysparse.testing import Process, Thread, TraceBuilder

US, MS = 1_000, 1_000_000
GPUS = dict.fromkeys(range(4), "x")
BLOCK = 32 << 20
LAYERS = 4
WIRE = 800 * US
"""How long each layer's KV is on the wire; one follows on the other after a millisecond."""


@dataclass
class Serving:
    """One recorded file."""

    builder: TraceBuilder = field(
        default_factory=lambda: TraceBuilder(schema="3.25", gpus=dict.fromkeys(range(4), "x"))
    )
    count: int = 0

    def server(self, role: str) -> "Server":
        self.count += 1
        process = self.builder.process(pid=100 * self.count)
        main, connector = process.thread(), process.thread(tid=100 * self.count + 2)
        main.mark(f"kv_role role={role}", 10)
        return Server(role, self.count - 1, process, main, connector)

    def analysis(self, folder: Path, **options: object) -> Analysis:
        return analyse([self.builder.write(folder / "one.sqlite")], Options(**options))  # type: ignore[arg-type]

    def requests(self, folder: Path, **options: object) -> dict[str, Request]:
        return {request.request_id: request for request in self.analysis(folder, **options).requests}


@dataclass
class Server:
    """One process with its device."""

    role: str
    device: int
    process: Process
    main: Thread
    connector: Thread
    communicators: set[int] = field(default_factory=set)

    def step(self, start: int, end: int, *requests: str, phase: str = "", text: str = "") -> None:
        """A step whose one kernel runs from start to end; launched just before."""
        name = text or f"kv_step phase={phase or self.role} requests={','.join(requests)}"
        self.main.push_pop(name, start - 40 * US, start - 5 * US)
        launch = self.main.launch(start - 30 * US, start - 20 * US)
        self.process.kernel("gemm", start, end, device=self.device, stream=7, launch=launch)

    def decode(self, at: int, *requests: str, steps: int = 3) -> None:
        """Steps of a millisecond, each two after the one before."""
        for step in range(steps):
            self.step(at + 2 * step * MS, at + (2 * step + 1) * MS, *requests)

    def join(self, communicator: int, rank: int) -> None:
        if communicator not in self.communicators:
            self.communicators.add(communicator)
            self.connector.nccl(
                "ncclCommInitRank", 20, 30, communicator=communicator, nranks=2, rank=rank, device=self.device
            )

    def message(
        self, op: str, request: str, layer: int, start: int, end: int, communicator: int, nbytes: int = BLOCK
    ) -> None:
        call = start - 30 * US
        self.connector.push_pop(f"kv_transfer op={op} request={request} layer={layer}", call, call + 14 * US)
        name = {"send": "ncclSend", "recv": "ncclRecv"}[op]
        peer = {"send": 1, "recv": 0}[op]
        self.connector.nccl(name, call + US, call + 12 * US, communicator=communicator, nbytes=nbytes, peer=peer)
        launch = self.connector.launch(call + 2 * US, call + 8 * US)
        kernel = "ncclDevKernel_SendRecv(args)"
        self.process.kernel(kernel, start, end, device=self.device, stream=20, launch=launch, gridX=2)

    def copy(self, kind: str, request: str, layer: str, start: int, end: int, **how: object) -> None:
        """A copy that a range says is of KV."""
        op = {"DtoH": "offload", "HtoD": "load"}.get(kind, "copy")
        self.connector.push_pop(
            f"kv_transfer op={op} request={request} layer={layer}", start - 30 * US, start - 10 * US
        )
        launch = self.connector.launch(start - 25 * US, start - 15 * US, "cudaMemcpyAsync")
        self.process.copy(kind, BLOCK, start, end, device=self.device, stream=30, launch=launch, **how)  # type: ignore[arg-type]


def send(
    source: Server, target: Server, request: str, layer: int, at: int, nbytes: int = BLOCK, wire: int = WIRE
) -> None:
    """One layer's KV, as both sides show it."""
    communicator = 10 * source.device + target.device
    source.join(communicator, 0)
    target.join(communicator, 1)
    source.message("send", request, layer, at, at + wire, communicator, nbytes)
    target.message("recv", request, layer, at, at + wire, communicator, nbytes)


def hand_over(source: Server, target: Server, request: str, at: int, layers: range = range(LAYERS)) -> None:
    """Layers of a request's KV, one a millisecond."""
    for turn, layer in enumerate(layers):
        send(source, target, request, layer, at + turn * MS)


def plain(source: Server, target: Server, request: str, at: int) -> None:
    """Prefilled for 4 ms, sent 1 ms later for 3.8 ms, decoded 1.2 ms after that."""
    source.step(at, at + 4 * MS, request)
    hand_over(source, target, request, at + 5 * MS)
    target.decode(at + 10 * MS, request)
