"""Small traces in which several sources recorded one movement, and what the study says of it."""

from collections.abc import Callable
from pathlib import Path

from nsysparse.api import Study, study_traces
from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
A, B = 0x7F00_0000_1000, 0x7F00_0000_2000
MIB = 2**20
Scene = Callable[[], TraceBuilder]


def started() -> tuple[TraceBuilder, Process, Thread]:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "x"}, duration=100_000)
    process = builder.process(pid=1)
    return builder, process, process.thread(tid=1)


def studied(build: Scene, folder: Path) -> Study:
    return study_traces([build().write(folder / "t.sqlite")], None)


def movements(study: Study) -> list[tuple[object, ...]]:
    """Transport, size and what was noted of each movement, in the order of their calls."""
    rows = study.transfers.filter("is_movement").sort("call_start_ns", "transfer_id")
    return rows.select("transport", "bytes", "evidence").rows()


def named(study: Study) -> list[tuple[object, ...]]:
    """Layer and request of each movement, with how they are known."""
    rows = study.transfers.filter("is_movement").sort("call_start_ns", "transfer_id")
    return rows.select("layer", "layer_provenance", "request_id", "request_provenance").rows()


def post(thread: Thread, at: int, done: int, nbytes: int | None = None, handle: int = A, op: str = "write") -> None:
    """A NIXL request: its call lasts 10 ns."""
    remote = None if nbytes is None else "decode"
    thread.nixl_post(op, at, at + 10, agent="prefill", handle=handle, nbytes=nbytes, remote=remote)  # type: ignore[arg-type]
    thread.nixl_complete(done, agent="prefill", handle=handle)


def peer_copy(process: Process, thread: Thread, at: int, ran: tuple[int, int], nbytes: int) -> None:
    process.copy("PtoP", nbytes, *ran, launch=thread.launch(at, at + 2), src_device=0, dst_device=1)


def require_order_not_to_show(build: Scene, folder: Path) -> None:
    """The same rows in another order give the same study."""
    plain = studied(build, folder)
    for seed in (1, 2):
        builder = build()
        builder.shuffle(seed)
        again = study_traces([builder.write(folder / "t.sqlite")], None)
        assert again.transfers.equals(plain.transfers)
        assert again.shares.equals(plain.shares)
        assert again.anomalies == plain.anomalies
