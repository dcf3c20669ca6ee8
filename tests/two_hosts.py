"""Random runs of two hosts whose clocks are off by a known amount, under NCCL kernels that wait, buffer, are late."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nsysparse.anchor import Anchor
from nsysparse.testing import Thread, TraceBuilder

CHANNEL_BYTES = 4 * 2**20
EPOCH_NS = 1_780_000_000_000_000_000
SEND_RECV = "ncclDevKernel_SendRecv(args)"


@dataclass(frozen=True)
class Clock:
    """What a host reads at a true instant.

    Args:
        zero_ns: When its session begins.
        off_ns: By how much its UTC is wrong at that instant.
        ppm: How much too fast it runs.
        gpu_ns: How much further off its GPU's times are.
    """

    zero_ns: int
    off_ns: int
    ppm: float
    gpu_ns: int

    def reads(self, at_ns: float) -> int:
        """Session time."""
        return round((at_ns - self.zero_ns) * (1 + self.ppm * 1e-6))

    def gpu(self, at_ns: float) -> int:
        return self.reads(at_ns) + self.gpu_ns

    @property
    def anchor(self) -> Anchor:
        return Anchor(EPOCH_NS + self.zero_ns + self.off_ns, host=str(self.off_ns))


@dataclass(frozen=True)
class Message:
    """Which side sends, its size, and true start and end on both sides."""

    sender: int
    nbytes: int
    sent: tuple[float, float]
    received: tuple[float, float]


@dataclass(frozen=True)
class Run:
    """A run of host 0 and host 1."""

    clocks: tuple[Clock, Clock]
    channels: int
    messages: tuple[Message, ...] = field(repr=False)

    @property
    def staging(self) -> int:
        return self.channels * CHANNEL_BYTES

    def spans(self) -> dict[str, tuple[int, int]]:
        last = max(max(each.sent[1], each.received[1]) for each in self.messages)
        first = min(min(each.sent[0], each.received[0]) for each in self.messages)
        return {f"t{side}": (clock.reads(first), clock.reads(last)) for side, clock in enumerate(self.clocks)}

    def offset_at(self, base_ns: int) -> float:
        """The true offset of session clock 1 less session clock 0, at an instant of the latter."""
        base, other = self.clocks
        true = base_ns / (1 + base.ppm * 1e-6) + base.zero_ns
        return (true - other.zero_ns) * (1 + other.ppm * 1e-6) - base_ns

    def frame(self) -> pl.DataFrame:
        """Its transfers as pairing delivers them."""
        rows: list[dict[str, Any]] = []
        for number, each in enumerate(self.messages):
            for side, place, (start, end) in (
                ("send", each.sender, each.sent),
                ("recv", 1 - each.sender, each.received),
            ):
                clock = self.clocks[place]
                rows.append({
                    "pair_id": number, "pairing_proof": "start", "trace_id": f"t{place}", "side": side,
                    "transport": "nccl", "interval_kind": "gpu", "start_ns": clock.gpu(start), "end_ns": clock.gpu(end),
                    "bytes": each.nbytes, "staging_bytes": self.staging, "kernel_ops": 1,
                })  # fmt: skip
        return pl.DataFrame(rows)

    def write(self, folder: Path) -> list[Path]:
        """Its two files, the communicator's creation included."""
        paths = []
        for place, clock in enumerate(self.clocks):
            builder = TraceBuilder(schema="3.27", gpus={0: "x"}, host=f"host-{place}")
            process = builder.process(pid=100)
            thread = process.thread()
            lead = min(min(each.sent[0], each.received[0]) for each in self.messages) - 50_000_000
            thread.nccl("ncclCommInitRank", clock.reads(lead), clock.reads(lead) + 9, communicator=5, nranks=2,
                        rank=place, device=0)  # fmt: skip
            host_ns = clock.reads(lead) + 1_000
            for each in self.messages:
                start, end = each.sent if each.sender == place else each.received
                call = "ncclSend" if each.sender == place else "ncclRecv"
                host_ns = max(host_ns + 1_000, clock.reads(start) - 20_000)
                launched = _called(thread, call, host_ns, each.nbytes, 1 - place)
                process.kernel(SEND_RECV, clock.gpu(start), clock.gpu(end), stream=20, launch=launched,
                               gridX=self.channels)  # fmt: skip
            epoch = clock.anchor.utc_epoch_ns
            builder.sql(f"UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = {epoch}")
            paths.append(builder.write(folder / f"t{place}.sqlite"))
        return paths


def _called(thread: Thread, call: str, at: int, nbytes: int, peer: int) -> Any:
    thread.nccl(call, at, at + 500, communicator=5, nbytes=nbytes, peer=peer)
    return thread.launch(at + 100, at + 200)


def run(seed: int, *, two_way: bool, most: int = 400) -> Run:
    """A run of 0.2 to 60 s: offsets to 5 s, drifts to 50 ppm each, wires of 5 to 45 GB/s, sizes around staging."""
    rng = np.random.default_rng(seed)
    span = float(10 ** rng.uniform(np.log10(0.2e9), np.log10(60e9)))
    zeros = rng.integers(0, 10**9, 2)
    clocks = tuple(
        Clock(int(zero), int(rng.integers(-(5 * 10**9), 5 * 10**9)) // 2, float(rng.uniform(-50, 50)),
              int(rng.integers(-20_000, 20_001)))
        for zero in zeros
    )  # fmt: skip
    channels, rate = int(rng.choice([1, 2, 4])), float(rng.uniform(5, 45))
    staging = channels * CHANNEL_BYTES
    count = int(rng.integers(40, most))
    begins = 2e9 + np.sort(rng.uniform(0, span, count))
    # Which side tends to be late, and how late: most are on time, a few are very late.
    late = rng.choice([0, 50e3, 1e6], size=2)
    free, messages = [0.0, 0.0], []
    for begin in begins:
        sender = int(two_way and rng.random() < 0.3)
        nbytes = int(staging * float(rng.choice([0.001, 0.1, 0.9, 1.5, 3, 8])) * rng.uniform(0.8, 1.2)) + 1
        starts = [max(free[side], float(begin) + float(rng.exponential(late[side] + 5e3))) for side in (0, 1)]
        if rng.random() < 0.1:
            starts[int(rng.integers(2))] += float(rng.pareto(1.2)) * 1e6
        crossing = nbytes / rate * (1 + (float(rng.pareto(1.5)) if rng.random() < 0.3 else 0.0))
        send_start, recv_start = starts[sender], starts[1 - sender]
        # What exceeds the buffers leaves no sooner than the receiver takes as much.
        buffered = min(nbytes, staging)
        blocked = recv_start + (nbytes - buffered) / nbytes * crossing if nbytes > staging else 0.0
        sent = max(send_start + crossing, blocked)
        got = max(sent, recv_start + buffered / rate) + float(rng.exponential(8e3))
        if rng.random() < 0.3:
            got += float(rng.exponential(200e3))
        free[sender], free[1 - sender] = sent + 3e3, got + 3e3
        messages.append(Message(sender, nbytes, (send_start, sent), (recv_start, got)))
    return Run((clocks[0], clocks[1]), channels, tuple(messages))
