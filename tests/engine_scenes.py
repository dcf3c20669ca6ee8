"""A prefill and a decode process that hand requests over, with every GPU time given by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from nsysparse.api import study_traces
from nsysparse.api.part import computed
from nsysparse.clocks import Clocks
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import Measured, select
from nsysparse.paths import find_paths, spans
from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
PREFILL, DECODE = 0, 1


@dataclass(frozen=True)
class Aligned:
    """Clocks of files of which each is ahead of a common one by what `ahead` says; one that it lacks is not aligned."""

    ahead: dict[str, int]
    doubt: int = 0

    def between(self, base: str, other: str) -> "Ahead | None":
        if base == other:
            return Ahead(0)
        if base not in self.ahead or other not in self.ahead:
            return None
        return Ahead(self.ahead[base] - self.ahead[other], self.doubt)


@dataclass(frozen=True)
class Ahead:
    by: int
    uncertainty_ns: int = 0
    method: str = "test"

    def to_base(self, at_ns: int) -> int:
        return at_ns + self.by

    def expr_to_base(self, at_ns: pl.Expr) -> pl.Expr:
        return at_ns + self.by


APART = Aligned({})


@dataclass
class Side:
    """One process with its device: steps on one thread, transfers on another; calls come long before their work."""

    device: int
    process: Process
    engine: Thread
    connector: Thread
    shift: int
    now: int = 100

    def step(self, requests: str, *kernels: tuple[int, int], phase: str = "", name: str = "gemm") -> None:
        """A step, and its kernels; without requests it names none."""
        begin = self.now
        for start, end in kernels:
            self.now += 10
            launch = self.engine.launch(self.now + self.shift, self.now + 4 + self.shift)
            self.process.kernel(name, start + self.shift, end + self.shift, device=self.device, launch=launch)
        self.now += 10
        named = f" requests={requests}" if requests else ""
        text = f"kv_step step={begin} phase={phase or ('prefill', 'decode')[self.device]}{named}"
        self.engine.push_pop(text, begin + self.shift, self.now + self.shift)
        self.now += 10

    def transfer(self, request: str, kernel: tuple[int, int], layer: str = "0", nbytes: int = 64) -> None:
        """One side of a transfer; without a request nothing names it."""
        side = ("send", "recv")[self.device]
        begin, end = self.now + self.shift, self.now + 40 + self.shift
        if request:
            self.connector.push_pop(f"kv_transfer op={side} request={request} layer={layer}", begin, end)
        call = ("ncclSend", "ncclRecv")[self.device]
        self.connector.nccl(call, begin + 5, end - 5, communicator=5, peer=1 - self.device, nbytes=nbytes)
        launch = self.connector.launch(begin + 10, begin + 20)
        start, stop = kernel
        self.process.kernel(
            SEND_RECV, start + self.shift, stop + self.shift, device=self.device, stream=20, launch=launch, gridX=1
        )
        self.now += 50


@dataclass
class Scene:
    """Both sides, in one file or in two; the times of the second begin `shift` later on its own clock."""

    files: int = 1
    shift: int = 0
    mapped: bool = True
    builders: list[TraceBuilder] = field(default_factory=list)
    sides: list[Side] = field(default_factory=list)

    def __post_init__(self) -> None:
        for _ in range(self.files):
            self.builders.append(TraceBuilder(schema="3.25", gpus=dict.fromkeys(range(2), "x") if self.mapped else {}))
        for device, role in enumerate(("prefill", "decode")):
            process = self.builders[device % self.files].process(pid=device + 7)
            engine, connector = process.thread(), process.thread(tid=device + 70)
            shift = self.shift if device or self.files == 1 else 0
            engine.mark(f"kv_role role={role}", 2 + shift)
            connector.nccl(
                "ncclCommInitRank", 1 + shift, 90 + shift, communicator=5, nranks=2, rank=device, device=device
            )
            self.sides.append(Side(device, process, engine, connector, shift))

    @property
    def prefill(self) -> Side:
        return self.sides[PREFILL]

    @property
    def decode(self) -> Side:
        return self.sides[DECODE]

    def write(self, folder: Path) -> Sequence[Path]:
        names = ("p", "d") if self.files > 1 else ("one",)
        return [builder.write(folder / f"{name}.sqlite") for name, builder in zip(names, self.builders, strict=True)]

    def known(self, folder: Path, clocks: Clocks = APART) -> tuple[Measured, Journeys]:
        return known(self.write(folder), clocks)


def known(paths: Sequence[Path], clocks: Clocks = APART) -> tuple[Measured, Journeys]:
    """What the devices are computed from."""
    study = study_traces(list(paths))
    found, sides = find_paths(study.engine, clocks)
    journeys = Journeys(
        announced=study.requests,
        paths=found,
        sides=sides,
        steps=study.engine.steps,
        held=study.engine.held,
        work=pl.concat([trace.work for trace in study.traces]),
        compute=computed(study.traces),
        clocks=clocks,
        spans=spans(study.engine),
        convention=None,
        threshold=0.2,
    )
    return select(study.transfers, study.shares), journeys
