"""A wire of a known rate under NCCL kernels that wait for each other and buffer; what is recorded of it is random.

Bytes go over the wire in chunks, in order, while their send's kernel runs, as long as the receiver's buffers are not
full; a chunk leaves the buffers when its receive's kernel runs. A kernel ends when its last chunk is through. So a send
may be over before its receive begins, and a receive may find its message there already.
"""

import random
from dataclasses import dataclass
from pathlib import Path

from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
CHUNK = 256 * 1024
CHUNKS_PER_CHANNEL = 16  # 4 MiB
COMMUNICATOR = 0x77


@dataclass(frozen=True)
class Launch:
    """One kernel on each side, and the messages it serves.

    Args:
        sizes: Bytes of each message.
        send: Start and end of the send's kernel, ns.
        receive: Start and end of the receive's kernel, ns.
    """

    sizes: tuple[int, ...]
    send: tuple[int, int]
    receive: tuple[int, int]


@dataclass(frozen=True)
class Wire:
    """What happened between a sender and a receiver."""

    launches: tuple[Launch, ...]
    channels: int
    chunk_ns: int

    @property
    def gb_s(self) -> float:
        """What the wire carries at most, GB/s."""
        return CHUNK / self.chunk_ns


def simulate(rng: random.Random) -> Wire:
    """A run of up to 40 kernels on each side."""
    channels, chunk_ns = rng.choice([1, 2, 2, 4, 8]), rng.randint(2_000, 26_000)
    capacity = channels * CHUNKS_PER_CHANNEL
    menu = [rng.choice([1, 2, 4, 8, 16, 40, 64, 100, 200]) for _ in range(rng.randint(1, 6))]
    # How late either side tends to be, in chunks: the one that is later waits for nothing.
    slow_send, slow_receive = (rng.choice([0, 0, 10, 100, 400]) * chunk_ns for _ in range(2))
    tail, fused = rng.choice([0, 500, 5_000]), rng.random() < 0.3
    drained: list[int] = []
    pushed = send_free = receive_free = 1_000_000
    launches = []
    for _ in range(rng.randint(1, 40)):
        counts = [rng.choice(menu) for _ in range(rng.randint(1, 3) if fused else 1)]
        send_start = send_free + 2_000 + rng.randint(0, slow_send)
        receive_start = receive_free + 2_000 + rng.randint(0, slow_receive)
        if rng.random() < 0.05:
            send_start += rng.choice([0, 3_000_000])
            receive_start += rng.choice([0, 3_000_000])
        for _ in range(sum(counts)):
            room = drained[-capacity] if len(drained) >= capacity else 0
            pushed = max(pushed, send_start, room) + chunk_ns
            drained.append(max(pushed, receive_start, drained[-1] if drained else 0))
        send_free, receive_free = pushed + tail, drained[-1] + tail
        sizes = tuple(count * CHUNK for count in counts)
        launches.append(Launch(sizes, (send_start, send_free), (receive_start, receive_free)))
    return Wire(tuple(launches), channels, chunk_ns)


@dataclass(frozen=True)
class Recording:
    """What of a run is in the files.

    Args:
        begins: When each side's capture begins, ns.
        ends: When it ends.
        clocks: How far each side's device clock is ahead.
        files: 1 or 2.
        created: Whether the communicator's creation would be recorded.
        lost: Launches that are not in the files all the same, as (rank, position).
    """

    begins: tuple[int, int]
    ends: tuple[int, int]
    clocks: tuple[int, int]
    files: int
    created: bool
    lost: frozenset[tuple[int, int]] = frozenset()


def recording(rng: random.Random, wire: Wire) -> Recording:
    """A capture that may lack head or tail, on clocks that differ."""
    last = max(max(launch.send[1], launch.receive[1]) for launch in wire.launches)
    files = rng.choice([1, 1, 1, 2])

    def cut(*, tail: bool) -> tuple[int, int]:
        if rng.random() < 0.6:
            return (last + 10**6, last + 10**6) if tail else (0, 0)
        at = rng.randint(last // 2, last) if tail else rng.randint(1_000_000, last)
        return (at, at) if files == 1 or rng.random() < 0.5 else (at, rng.randint(min(1_000_000, last), last))

    apart = (
        rng.choice([0, 30_000, -30_000, rng.randint(-30_000, 30_000)]) if files == 1 else rng.randint(-(10**6), 10**9)
    )
    begins, ends, created = cut(tail=False), cut(tail=True), rng.random() < 0.6
    places = [(rank, position) for rank in (0, 1) for position in range(len(wire.launches))]
    lost = frozenset(rng.sample(places, min(len(places), rng.choice([0, 0, 0, 1, 2, 3]))))
    return Recording(begins, ends, (0, apart), files, created=created, lost=lost)


def write(rng: random.Random, wire: Wire, how: Recording, folder: Path) -> list[Path]:
    """The files of a recording, rows in random order."""
    builders = [TraceBuilder(schema="3.27", gpus={0: "x", 1: "x"}, duration=10**12) for _ in range(how.files)]
    for rank, call in enumerate(("ncclSend", "ncclRecv")):
        builder = builders[rank % how.files]
        process = builder.process(pid=100 + rank)
        side = _Side(process, process.thread(), rank, call, how)
        side.created()
        for position, launch in enumerate(wire.launches):
            if (rank, position) not in how.lost:
                side.launched(launch, wire.channels)
    paths = []
    for number, builder in enumerate(builders):
        builder.shuffle(rng.randint(1, 10**6))
        paths.append(builder.write(folder / f"side{number}.sqlite"))
    return paths


@dataclass
class _Side:
    """Writes one rank's rows, host work shortly before the kernels."""

    process: Process
    thread: Thread
    rank: int
    call: str
    how: Recording
    host: int = 0

    def recorded(self, start: int, end: int) -> bool:
        return self.how.begins[self.rank] <= start and end <= self.how.ends[self.rank]

    def clock(self, at: int) -> int:
        # With files of their own, host and device of a side share its clock.
        return at + self.how.clocks[self.rank] + 2 * 10**6

    def on_host(self, at: int) -> int:
        return self.clock(at) if self.how.files > 1 else at + 2 * 10**6

    def created(self) -> None:
        if self.how.created and self.recorded(10, 20):
            at = self.on_host(10)
            facts = {"communicator": COMMUNICATOR, "nranks": 2, "rank": self.rank, "device": self.rank}
            self.thread.nccl("ncclCommInitRank", at, at + 10, **facts)  # type: ignore[arg-type]

    def launched(self, launch: Launch, channels: int) -> None:
        start, end = launch.send if self.rank == 0 else launch.receive
        begin = max(self.host, start - 1_500)
        self.host = begin + 20 * (len(launch.sizes) + 3)
        call = None
        if self.recorded(begin, self.host):
            now = self.on_host(begin)
            grouped = len(launch.sizes) > 1
            if grouped:
                self.thread.nccl("ncclGroupStart", now, now + 2)
            for index, nbytes in enumerate(launch.sizes):
                at = now + 20 * index + 5
                facts = {"communicator": COMMUNICATOR, "nbytes": nbytes, "peer": 1 - self.rank}
                self.thread.nccl(self.call, at, at + 15, **facts)  # type: ignore[arg-type]
            after = now + 20 * len(launch.sizes) + 5
            if grouped:
                self.thread.nccl("ncclGroupEnd", after, after + 15)
            inside = after + 3 if grouped else now + 8
            call = self.thread.launch(inside, inside + 4)
        if self.recorded(start, end):
            self.process.kernel(
                SEND_RECV, self.clock(start), self.clock(end), device=self.rank, stream=20, launch=call, gridX=channels
            )
