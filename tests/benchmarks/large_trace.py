"""Writes a synthetic export of any size, in bounded memory: what a serving engine leaves, repeated step by step.

Of every process one thread launches: step > forward > layer > {attention > {projection, core}, NCCL call, mlp}, six
NVTX rows, six kernels and twelve calls a layer. A second thread loads batches: ranges and copies only. Start/End ranges
of requests overlap as they like, half of them closed by the other thread. Beside them what makes exports awkward: marks
and creations of domains (no end), a range a process that nobody closed, kernels whose launch is lost, and correlation
ids that repeat between processes. There are no indexes, as nsys writes none.

    python tests/benchmarks/large_trace.py [S|M|L|XL|KERNELS]… [--cache FOLDER] [--seed 1]
"""

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nsysparse.testing import SYNTHETIC
from nsysparse.testing.derived import metadata_rows
from nsysparse.testing.store import RowStore, Value

SIZES = {"8k": 8_000, "S": 100_000, "M": 2_000_000, "L": 10_000_000, "XL": 40_000_000}
"""Kernels, about: whole steps of all processes are written."""
SCHEMA = "3.7"
LAYOUT = 1
"""Raised when the same size and seed give other rows: then files made before are made again."""
LAYERS, PROCESSES, SEED = 80, 4, 1
STEPS_AT_ONCE = 25
EPOCH_NS = 1_500_000_000
SENDING_EVERY, LOST_SHARE, LOST_BY = 20, 0.001, 1_000_000_000
PUSH_POP, START_END, MARK, DOMAIN = 59, 60, 34, 75
NOBODY = -1
"""Stands for NULL in columns of integers: no column has negative values of its own."""

KERNELS = {
    "Kernel2": "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>"
    "(T1::Params)",
    "flash_fwd_kernel": "void flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4, (bool)0,"
    " (bool)0, cutlass::bfloat16_t>>(Flash_fwd_params)",
    "vectorized_elementwise_kernel": "void at::native::vectorized_elementwise_kernel<(int)4,"
    " at::native::silu_kernel(at::TensorIteratorBase &)>(int, T2, T3)",
    "rms_norm_kernel": "void vllm::rms_norm_kernel<c10::BFloat16, (int)8>(T1 *, const T1 *, const T1 *, float, int)",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)",
    "ncclDevKernel_SendRecv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage)",
}
GEMM, FLASH, SILU, NORM, REDUCE, SEND = range(len(KERNELS))
CALLS = ("cudaLaunchKernel_v7000", "cudaEventRecord_v3020", "cudaStreamWaitEvent_v3020", "cudaMemcpyAsync_v3020")
LAUNCH, RECORD, WAIT, COPY = range(len(CALLS))

Ints = npt.NDArray[np.int64]
Columns = dict[str, "Ints | list[str | None]"]
Chunk = dict[str, Columns]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens in a step: a range opens, the innermost closes, or a call is made."""

    name: str | None = None  # of a range that opens; the empty one is the step's own
    is_registered: bool = False  # then the name stands in StringIds
    in_nccl: bool = False
    call: int | None = None
    kernel: int | None = None  # of a launch


def _step(layers: int) -> list[Event]:
    """What a process does in one step, in order."""
    close, record, wait = Event(), Event(call=RECORD), Event(call=WAIT)

    def launch(kernel: int) -> Event:
        return Event(call=LAUNCH, kernel=kernel)

    events = [Event(""), Event("forward")]
    for layer in range(layers):
        sends = layer % SENDING_EVERY == 0
        side = "ncclSend" if layer % (2 * SENDING_EVERY) == 0 else "ncclRecv"
        events += [
            Event(f"model.layers.{layer}"),
            Event("attn", is_registered=True),
            *(Event("qkv_proj"), launch(GEMM), record, close),
            *(Event("attn.core"), launch(FLASH), wait, close, launch(NORM), record, close),
            Event(side if sends else "ncclAllReduce", is_registered=True, in_nccl=True),
            *(record, launch(SEND if sends else REDUCE), wait, close),
            *(Event("mlp", is_registered=True), launch(GEMM), launch(SILU), record, close),
            close,
        ]
    return [*events, close, close]


@dataclass
class Program:
    """The step as arrays: where ranges open and close, where calls stand, and what they are called."""

    layers: int
    strings: list[str] = field(default_factory=list)
    length: int = 0
    opens: list[int] = field(default_factory=list)
    closes: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    text_ids: list[int] = field(default_factory=list)
    domains: list[int] = field(default_factory=list)
    call_ids: list[int] = field(default_factory=list)
    kernels: list[int] = field(default_factory=list)
    is_launch: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Walk the step once, closing what was opened last."""
        self.strings = ["", *KERNELS.values(), *KERNELS, *CALLS]
        events = _step(self.layers)
        self.length = len(events)
        closing_at, pending = {}, []
        for at, event in enumerate(events):
            if event.name is not None:
                pending.append(at)
                self.opens.append(at)
                self.text_ids.append(self.id_of(event.name) if event.is_registered else NOBODY)
                self.texts.append(None if event.is_registered else event.name)
                self.domains.append(int(event.in_nccl))
            elif event.call is None:
                closing_at[pending.pop()] = at
            else:
                self.calls.append(at)
                self.call_ids.append(self.id_of(CALLS[event.call]))
                self.is_launch.append(event.kernel is not None)
                self.kernels += [] if event.kernel is None else [event.kernel]
        self.closes = [closing_at[at] for at in self.opens]

    def id_of(self, text: str) -> int:
        """The id of a text in StringIds."""
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)


@dataclass
class Rank:
    """One process: its clock, its GPU's and its last correlation id go on from chunk to chunk."""

    number: int
    program: Program
    rng: np.random.Generator
    now: int = EPOCH_NS
    gpu_free: int = 0
    correlation: int = 100
    steps: int = 0
    requests: int = 0

    @property
    def process(self) -> int:
        """Its globalPid; the ids of its threads follow it."""
        return 1 << 56 | (4000 + 17 * self.number) << 24

    @property
    def thread(self) -> int:
        """The globalTid that launches."""
        return self.process | (4001 + 17 * self.number)

    @property
    def loader(self) -> int:
        """The globalTid that loads batches."""
        return self.process | (4007 + 17 * self.number)

    def chunk(self, steps: int) -> Iterator[tuple[str, Columns]]:
        """The rows of the next steps, in parts by table."""
        if not self.steps:
            yield "NVTX_EVENTS", self._ranges([EPOCH_NS - 900], [NOBODY], ["NCCL"], eventType=DOMAIN, domainId=1)
            yield "NVTX_EVENTS", self._ranges([EPOCH_NS - 500], [NOBODY], ["worker_main"])
        program, first = self.program, self.now
        clock = first + np.cumsum(self.rng.integers(300, 2500, program.length * steps))
        at = clock.reshape(steps, program.length)
        names = [
            name if name != "" else f"execute_context_{self.number}_generation_{step}"
            for step in range(self.steps, self.steps + steps)
            for name in program.texts
        ]
        yield "NVTX_EVENTS", self._ranges(
            at[:, program.opens].ravel(), at[:, program.closes].ravel(), names,
            textId=np.tile(program.text_ids, steps), domainId=np.tile(program.domains, steps),
        )  # fmt: skip
        begin = at[:, program.calls].ravel()
        numbers = self.correlation + 1 + np.arange(len(begin))
        yield "CUPTI_ACTIVITY_KIND_RUNTIME", {
            "start": begin, "end": begin + self.rng.integers(150, 290, len(begin)), "correlationId": numbers,
            "globalTid": np.full(len(begin), self.thread), "nameId": np.tile(program.call_ids, steps),
        }  # fmt: skip
        launches = np.tile(program.is_launch, steps)
        yield "CUPTI_ACTIVITY_KIND_KERNEL", self._kernels(begin[launches], numbers[launches], steps)
        self.now, self.correlation = int(clock[-1]), int(numbers[-1])
        yield from self._loading(first, steps * len(program.kernels) // 40)
        yield from self._requests(first, max(1, steps // 4))
        marks = self.rng.integers(first, self.now, steps)
        yield "NVTX_EVENTS", self._ranges(marks, [NOBODY] * steps, ["token emitted"] * steps, eventType=MARK)
        self.steps += steps

    def _ranges(
        self, start: Sequence[int] | Ints, end: Sequence[int] | Ints, text: list[str | None], **more: int | Ints
    ) -> Columns:
        """Rows of NVTX_EVENTS; push/pop ranges of the launching thread where `more` says nothing else."""
        usual = {"eventType": PUSH_POP, "globalTid": self.thread, "endGlobalTid": NOBODY, "textId": NOBODY}
        said = {**usual, "domainId": 0, **more}
        columns = {name: np.broadcast_to(np.asarray(value), len(text)) for name, value in said.items()}
        return {"start": np.asarray(start), "end": np.asarray(end), "text": text, **columns}

    def _kernels(self, launched: Ints, numbers: Ints, steps: int) -> Columns:
        """One after the other on the GPU, each some microseconds after its launch at the earliest."""
        count = len(launched)
        lasts = self.rng.integers(800, 2200, count)
        before = np.concatenate([[0], np.cumsum(lasts)[:-1]])
        ready = np.maximum(launched + self.rng.integers(3000, 20_000, count), self.gpu_free)
        start = np.maximum.accumulate(ready - before) + before
        self.gpu_free = int(start[-1] + lasts[-1])
        kernel = np.tile(self.program.kernels, steps)
        is_lost = self.rng.random(count) < LOST_SHARE
        return {
            "start": start, "end": start + lasts, "deviceId": np.full(count, self.number),
            "correlationId": numbers + LOST_BY * is_lost, "globalPid": np.full(count, self.process),
            "streamId": np.where(kernel >= REDUCE, 20, 7), "demangledName": 1 + kernel,
            "shortName": 1 + len(KERNELS) + kernel, "mangledName": 1 + kernel, "registersPerThread": 40 + 8 * kernel,
            "gridX": 1 + (kernel * 132) % 1024, "gridY": 1 + kernel, "blockX": 128 + 64 * kernel,
            "gridId": np.arange(count), "dynamicSharedMemory": 16_384 * kernel,
        }  # fmt: skip

    def _loading(self, first: int, count: int) -> Iterator[tuple[str, Columns]]:
        """Batches of the loader thread: a range each, with one call and one copy."""
        edges = np.linspace(first, self.now, count + 1).astype(np.int64)
        start, gap = edges[:-1], np.diff(edges)
        yield "NVTX_EVENTS", self._ranges(start, start + gap - 1, ["load_batch"] * count, globalTid=self.loader)
        numbers = self.correlation + 1 + np.arange(count)
        self.correlation = int(numbers[-1])
        done = start + gap // 2
        yield "CUPTI_ACTIVITY_KIND_RUNTIME", {
            "start": start + gap // 4, "end": done, "correlationId": numbers,
            "globalTid": np.full(count, self.loader), "nameId": np.full(count, self.program.id_of(CALLS[COPY])),
        }  # fmt: skip
        yield "CUPTI_ACTIVITY_KIND_MEMCPY", {
            "start": done + 500, "end": done + 500 + self.rng.integers(500, 5000, count), "correlationId": numbers,
            "deviceId": np.full(count, self.number), "globalPid": np.full(count, self.process),
            "bytes": self.rng.integers(1 << 10, 1 << 24, count),
        }  # fmt: skip

    def _requests(self, first: int, count: int) -> Iterator[tuple[str, Columns]]:
        """Start/End ranges that overlap each other and everything else."""
        start = self.rng.integers(first, self.now, count)
        closed_by = np.where(self.rng.random(count) < 1 / 2, self.loader, NOBODY)
        names: list[str | None] = [f"request {self.number}-{self.requests + at}" for at in range(count)]
        self.requests += count
        end = start + self.rng.integers(10_000, 50_000_000, count)
        yield "NVTX_EVENTS", self._ranges(start, end, names, eventType=START_END, endGlobalTid=closed_by)


USUAL: dict[str, dict[str, Value]] = {
    "NVTX_EVENTS": {},
    "CUPTI_ACTIVITY_KIND_RUNTIME": {},
    "CUPTI_ACTIVITY_KIND_KERNEL": {
        "contextId": 1,
        "gridZ": 1,
        "blockY": 1,
        "blockZ": 1,
        "sharedMemoryExecuted": 65_536,
    },
    "CUPTI_ACTIVITY_KIND_MEMCPY": {"contextId": 1, "streamId": 13, "copyKind": 1, "srcKind": 1, "dstKind": 2},
}
"""The tables that grow, each with what all its rows have in common."""


def _notice(kernels: int, seed: int) -> str:
    return (
        f"synthetic: invented by tests/benchmarks/large_trace.py, nothing in it was measured ({kernels} kernels,"
        f" {PROCESSES} processes, {LAYERS} layers, seed {seed}, layout {LAYOUT})"
    )


def _insert(connection: sqlite3.Connection, store: RowStore, table: str, parts: Sequence[Columns]) -> int:
    """Rows of all processes, by start; returns how many."""
    start = np.concatenate([part["start"] for part in parts])
    order = np.argsort(start, kind="stable")
    template = store.row(table, USUAL[table])
    columns = []
    for name, usual in template.items():
        if name not in parts[0]:
            columns.append([usual] * len(order))
        elif name == "text":
            texts = [text for part in parts for text in part[name]]
            columns.append([texts[at] for at in order.tolist()])
        else:
            values = np.concatenate([part[name] for part in parts])[order]
            columns.append([None if value == NOBODY else value for value in values.tolist()])
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", zip(*columns, strict=True))
    return len(order)


def write(path: Path, kernels: int, seed: int = SEED) -> dict[str, int]:
    """Write a fresh file; returns how many rows each of its large tables has.

    The file appears under its name when it is complete.
    """
    program, store = Program(LAYERS), RowStore(SCHEMA)
    metadata = store.version.metadata_table or ""
    ranks = [Rank(number, program, np.random.default_rng([seed, number])) for number in range(PROCESSES)]
    steps = max(1, round(kernels / (PROCESSES * len(program.kernels))))
    unfinished = path.with_name(path.name + ".part")
    unfinished.unlink(missing_ok=True)
    rows = dict.fromkeys(USUAL, 0)
    with closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
        connection.executescript("PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;")
        for table in ("StringIds", metadata, *USUAL):
            columns = ", ".join(column.ddl for column in store.columns[table])
            connection.execute(f"CREATE TABLE {table} ({columns})")
        for done in range(0, steps, STEPS_AT_ONCE):
            parts: dict[str, list[Columns]] = {table: [] for table in USUAL}
            for rank in ranks:
                for table, made in rank.chunk(min(STEPS_AT_ONCE, steps - done)):
                    parts[table].append(made)
            for table, found in parts.items():
                rows[table] += _insert(connection, store, table, found)
        connection.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(program.strings))
        notice = _notice(kernels, seed)
        said = metadata_rows(store.version, lazy=True, json=False, blobs=False, notice=notice, more={})
        pairs = [(row["name"], row["value"]) for row in said]
        connection.executemany(f"INSERT INTO {metadata} VALUES (?, ?)", pairs)
        connection.execute("COMMIT")
    unfinished.rename(path)
    return rows


def is_current(path: Path, kernels: int, seed: int = SEED) -> bool:
    """Whether the file is one that `write` would write now."""
    if not path.is_file():
        return False
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            found = connection.execute("SELECT value FROM META_DATA_EXPORT WHERE name = ?", (SYNTHETIC,)).fetchone()
        except sqlite3.DatabaseError:
            return False
    return bool(found == (_notice(kernels, seed),))


def kernels_of(size: str) -> int:
    """How many kernels a size means.

    Raises:
        ValueError: It is no size, and no positive number.
    """
    if size in SIZES:
        return SIZES[size]
    if not size.isdecimal() or int(size) == 0:
        raise ValueError(f"{size!r} is none of {', '.join(SIZES)} and no number of kernels")
    return int(size)


def trace(folder: Path, size: str, seed: int = SEED, name: str | None = None) -> Path:
    """The file of one size in a folder, called after it or as said: as it lies there, or written now."""
    kernels = kernels_of(size)
    path = folder / f"{name or size}.sqlite"
    if not is_current(path, kernels, seed):
        folder.mkdir(parents=True, exist_ok=True)
        begun = time.perf_counter()
        rows = write(path, kernels, seed)
        said = ", ".join(f"{count:,} {table.removeprefix('CUPTI_ACTIVITY_KIND_')}" for table, count in rows.items())
        took = time.perf_counter() - begun
        print(f"wrote {path.name}: seed {seed}, {path.stat().st_size / 1e6:,.0f} MB, {took:.0f} s; {said}", flush=True)
    return path


def main() -> int:
    """Write the sizes asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=["S"], metavar="SIZE", help="S, M, L, XL or a number of kernels")
    parser.add_argument("--cache", type=Path, help="default: a fresh temporary folder, which stays")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--name", help="of the file, where one size is asked for; default: the size")
    asked = parser.parse_args()
    if asked.name and len(asked.sizes) > 1:
        parser.error("--name is for one size")
    for size in asked.sizes:
        try:
            kernels_of(size)
        except ValueError as error:
            parser.error(str(error))
    folder = asked.cache or Path(tempfile.mkdtemp(prefix="nsysparse-bench-"))
    for size in asked.sizes:
        print(trace(folder, size, asked.seed, asked.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
