"""One run recorded rank by rank: prefill and decode of so many tensor-parallel ranks, and a router, a file each.

Every file has the same process id and the same correlation ids, as containers do. Rank r of prefill sends each layer
to rank r of decode, over a communicator of their own. Each rank's kernels are a little later than the rank's before.
"""

from dataclasses import dataclass
from pathlib import Path

from nsysparse.testing import Process, Thread, TraceBuilder

UTC, MONOTONIC = 1_790_000_000_000_000_000, 5_000_000_000_000
PID = 111
SEND_RECV = "ncclDevKernel_SendRecv(args)"
MS, US = 1_000_000, 1_000


@dataclass(frozen=True, slots=True)
class Run:
    """What every rank does: request n arrives at `at(n)`, prefills 4 ms, sends for `layers` x 0.2 ms, then decodes."""

    ranks: int = 4
    layers: int = 4
    requests: int = 3
    layer_bytes: int = 1 << 20
    one_host: bool = True

    def at(self, request: int) -> int:
        return (10 + 20 * request) * MS

    def skew(self, rank: int) -> int:
        """By how much a rank is behind the first."""
        return 50 * US * rank

    def host(self, role: str, rank: int) -> str:
        return "node-0" if self.one_host else f"{role}-{rank}"


def write_run(folder: Path, run: Run) -> list[Path]:
    """The router's file, then the prefill ranks', then the decode ranks'."""
    files = [_router(folder, run)]
    files += [_rank(folder, run, "prefill", rank) for rank in range(run.ranks)]
    return files + [_rank(folder, run, "decode", rank) for rank in range(run.ranks)]


def _start(run: Run, role: str, rank: int, late: int) -> tuple[TraceBuilder, Process, Thread]:
    """A file whose session began `late` ns after the run's zero, so that all its times are so much less."""
    builder = TraceBuilder(
        schema="3.25",
        gpus={0: "NVIDIA H100 80GB HBM3"},
        host=run.host(role, rank),
        utc_epoch_ns=UTC + late,
        system_clock_ns=MONOTONIC + late,
    )
    process = builder.process(pid=PID)
    return builder, process, process.thread()


def _router(folder: Path, run: Run) -> Path:
    builder, _, thread = _start(run, "prefill", 0, 0)
    for request in range(run.requests):
        thread.start_end(f"kv_request request=r{request} prompt=512", run.at(request) - MS, run.at(request) + 15 * MS)
    thread.mark("done", run.at(run.requests) + 20 * MS)
    return builder.write(folder / "router.sqlite")


def _rank(folder: Path, run: Run, role: str, rank: int) -> Path:
    late = (1 + rank) * MS if role == "prefill" else (2 + rank) * MS
    builder, process, main = _start(run, role, rank, late)
    is_prefill, skew = role == "prefill", run.skew(rank) - late
    main.mark(f"kv_role role={role} rank={rank} tp={run.ranks}", 10)
    main.nccl("ncclCommInitRank", 20, 30, communicator=1000 + rank, nranks=2, rank=int(not is_prefill), device=0)
    for request in range(run.requests):
        begin = run.at(request) + skew
        if is_prefill:
            _step(process, main, f"kv_step phase=prefill requests=r{request}", begin, 4 * MS)
        for layer in range(run.layers):
            _move(process, main, run, (role, rank), (request, layer), begin + 5 * MS + layer * 200 * US)
        if not is_prefill:
            _step(process, main, f"kv_step phase=decode requests=r{request}", begin + 7 * MS, 2 * MS)
    return builder.write(folder / f"{role}-{rank}.sqlite")


def _step(process: Process, thread: Thread, text: str, at: int, length: int) -> None:
    thread.push_pop(text, at - 20 * US, at + 20 * US)
    process.kernel("gemm", at, at + length, launch=thread.launch(at - 10 * US, at - 5 * US))


def _move(process: Process, thread: Thread, run: Run, side: tuple[str, int], place: tuple[int, int], at: int) -> None:
    """One Send or Recv of a layer of a request (`place`) on a rank of prefill or decode (`side`)."""
    (role, rank), (request, layer) = side, place
    op, call, peer = ("send", "ncclSend", 1) if role == "prefill" else ("recv", "ncclRecv", 0)
    text = f"kv_transfer op={op} request=r{request} layer={layer} bytes={run.layer_bytes} role={role}"
    thread.push_pop(text, at - 30 * US, at - 10 * US)
    thread.nccl(call, at - 28 * US, at - 20 * US, communicator=1000 + rank, nbytes=run.layer_bytes, peer=peer)
    launch = thread.launch(at - 26 * US, at - 22 * US)
    process.kernel(SEND_RECV, at, at + 100 * US, launch=launch, stream=20)
