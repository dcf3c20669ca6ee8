"""When compute ran: the same whoever reads the kernels, in whatever batches, and worked out by single nanoseconds."""

import random
from pathlib import Path

import numpy as np
import pytest

from nsysparse.instants import Instants
from nsysparse.pages import table
from nsysparse.source.access import PAGES, SQL, Access
from nsysparse.source.extract import read_trace
from nsysparse.source.window import Window
from nsysparse.testing import TraceBuilder

KERNELS, LONGEST, LAST = 1_500, 400, 100_000


def a_run(path: Path, seed: int) -> tuple[Path, dict[int, list[tuple[int, int]]]]:
    """Kernels of two processes on the same two GPUs in any order, some of NCCL; and the others by GPU."""
    chance = random.Random(seed)  # noqa: S311 (a test's)
    builder = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3", 1: "NVIDIA H100 80GB HBM3"})
    processes = [builder.process(pid=pid) for pid in (7, 9)]
    threads = [process.thread() for process in processes]
    ran: dict[int, list[tuple[int, int]]] = {}
    for _ in range(KERNELS):
        which, device = chance.randrange(2), chance.randrange(2)
        begin = chance.randrange(LAST)
        end = begin + chance.choice((0, 1, chance.randrange(LONGEST)))
        is_nccl = chance.random() < 0.1
        name = "ncclDevKernel_SendRecv(args)" if is_nccl else f"gemm_{chance.randrange(9)}"
        launch = threads[which].launch(begin, begin + 1)
        processes[which].kernel(name, begin, end, launch=launch, device=device)
        if not is_nccl:
            ran.setdefault(device, []).append((begin, end))
    return builder.write(path), ran


@pytest.mark.parametrize("reader", [PAGES, SQL])
@pytest.mark.parametrize("window", [None, Window(20_000, 60_000)])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_the_kernels_cover(
    seed: int, window: Window | None, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_AT_ONCE", 4096)
    path, ran = a_run(tmp_path / "a.sqlite", seed)

    def inside(begin: int, end: int) -> bool:
        return window is None or (begin < 60_000 and (end > 20_000 or begin >= 20_000))

    expected = sorted(covered([each for each in rows if inside(*each)]) for rows in ran.values())
    access = Access(reader, window)
    noted = read_trace(path, "a", all_gpu_work=False, access=access)
    with_work = read_trace(path, "a", all_gpu_work=False, steps=lambda _: True, access=access)
    alone = read_trace(path, "a", all_gpu_work=True, access=access)
    assert with_work.work.height
    for trace in (noted, with_work, alone):
        assert sorted(spans(each) for each in trace.compute.values()) == expected
    assert noted.compute == with_work.compute == alone.compute


def spans(instants: Instants) -> list[tuple[int, int]]:
    return list(zip(instants.starts.tolist(), instants.ends.tolist(), strict=True))


def covered(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches in which a nanosecond is covered, one nanosecond at a time."""
    busy = np.zeros(LAST + LONGEST + 2, dtype=np.int8)
    for begin, end in rows:
        busy[begin:end] = 1
    edges = np.diff(np.concatenate([[0], busy, [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))
