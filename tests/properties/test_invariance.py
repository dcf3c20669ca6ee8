"""What must not matter does not: row order, process ids, the zero of the clock. And nothing is lost or invented."""

import random
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import Study, study_traces
from nsysparse.metrics.measured import select
from nsysparse.metrics.totals import excluded, totals
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
COMMON_TIMES = ("start_ns", "end_ns", "call_start_ns", "call_end_ns")


@dataclass(frozen=True)
class World:
    """How a random capture is written down; what happened in it depends on the seed alone."""

    shift: int = 0
    pids: tuple[int, int] = (11, 22)
    shuffle: int | None = None


def capture(seed: int, world: World, path: Path) -> Path:
    """Two processes exchanging random groups; correlation ids collide between them; some rows are missing."""
    rng = random.Random(seed)  # noqa: S311 (a test's own dice)
    builder = TraceBuilder(schema="3.27", gpus={0: "x", 1: "y"})
    for rank, pid in enumerate(world.pids):
        process = builder.process(pid=pid, domains={"NCCL": rank + 1})
        thread = process.thread(tid=pid)
        now = 1000 + world.shift
        for step in range(12):
            thread.push_pop(f"model.layers.{step % 4}", now, now + 900) if rng.random() < 0.7 else None
            thread.push_pop(f"request:r{step % 3}", now + 1, now + 890) if rng.random() < 0.7 else None
            grouped = rng.random() < 0.6
            calls = rng.randint(0, 4) if grouped else 1
            if grouped:
                thread.nccl("ncclGroupStart", now + 10, now + 12)
            at = now + 20
            for _ in range(calls):
                name = rng.choice(["ncclSend", "ncclRecv"])
                known = rng.random() < 0.8
                form = rng.choice(["json", "blob"])
                said = {"communicator": 77, "nbytes": rng.randint(0, 9999), "peer": rng.randint(0, 2), "payload": form}
                thread.nccl(name, at, at + 10, **(said if known else {}))
                at += 20
            inside = at + 3 if grouped else at - 18
            if grouped:
                thread.nccl("ncclGroupEnd", at, at + 30)
            for part in range(rng.choice([0, 1, 1, 1, 2])):
                launch = thread.launch(inside + 2 * part, inside + 2 * part + 1, correlation=100 * step + part + 1)
                begin = now + 2000 + 100 * part
                process.kernel(SEND_RECV, begin, begin + rng.randint(0, 90), device=rank, stream=20, launch=launch)
            if rng.random() < 0.2:
                process.kernel(SEND_RECV, now + 500, now + 560, device=rank, stream=21, correlation=9_000 + step)
            now += 5000
    if world.shuffle is not None:
        builder.shuffle(world.shuffle)
    return builder.write(path)


def studied(seed: int, world: World, folder: Path) -> Study:
    return study_traces([capture(seed, world, folder / "t.sqlite")], None)


def essence(study: Study, shift: int) -> pl.DataFrame:
    """Transfers without ids that name a process, times on a common zero."""
    moved = study.transfers.with_columns(pl.col(name) - shift for name in COMMON_TIMES)
    rank_of = {process: index for index, process in enumerate(sorted(moved["process"].unique().to_list()))}
    moved = moved.with_columns(pl.col("process").replace_strict(rank_of, return_dtype=pl.Int64))
    return moved.drop("group_key", "thread", "pair_id")


@pytest.mark.parametrize("seed", range(12))
def test_order_pids_and_clock_zero_do_not_matter(seed: int, tmp_path: Path) -> None:
    plain = World()
    expected = studied(seed, plain, tmp_path)
    for world in (World(shuffle=seed + 1), World(shift=10**15), World(pids=(700, 900)), World(shift=-500, shuffle=3)):
        got = studied(seed, world, tmp_path)
        assert essence(got, world.shift).equals(essence(expected, 0)), world
        assert got.shares.equals(expected.shares)
        assert got.anomalies == expected.anomalies


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_lost_or_counted_twice(seed: int, tmp_path: Path) -> None:
    study = studied(seed, World(), tmp_path)
    transfers = study.transfers
    # Every SendRecv kernel's time, once: the shares of its transfers add up to it.
    trace = study.traces[0]
    whole = int((trace.gpu_ops["end_ns"] - trace.gpu_ops["start_ns"]).sum())
    assert transfers["time_ns"].sum() == whole
    assert transfers.filter(pl.col("start_ns").is_null())["time_ns"].null_count() == transfers["start_ns"].null_count()
    # Every share belongs to a movement, and a movement's shares are the movement.
    back = study.shares.group_by("transfer_id").agg(pl.col("bytes").sum(), pl.col("time_ns").sum()).sort("transfer_id")
    movements = transfers.filter("is_movement").select("transfer_id", pl.col("bytes", "time_ns").fill_null(0))
    assert back.equals(movements.sort("transfer_id"))
    # Kernels in totals and kernels left out are all kernels.
    measured = select(study.transfers, study.shares)
    counted = totals(measured, looked=True).kernel_count + sum(row.kernel_count for row in excluded(measured))
    assert counted == trace.gpu_ops.height
