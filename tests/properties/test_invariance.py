"""What must not matter does not: row order, process ids, the zero of the clock. And nothing is lost or invented."""

import random
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import Study, analyse, study_traces
from nsysparse.exchanges import as_timed, exchanges
from nsysparse.metrics.measured import select
from nsysparse.metrics.totals import excluded, totals
from nsysparse.source.extract import read_trace
from nsysparse.testing import Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
AMOUNTS = (
    "bytes", "time_ns", "wire_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns",
)  # fmt: skip
COMMON_TIMES = ("start_ns", "end_ns", "call_start_ns", "call_end_ns")


@dataclass(frozen=True)
class World:
    """How a random capture is written down; what happened in it depends on the seed alone."""

    shift: int = 0
    pids: tuple[int, int] = (11, 22)
    shuffle: int | None = None


Call = tuple[str, int, int | None]
"""Side, peer and size (None: its payload is not recorded)."""


def plan(rng: random.Random) -> list[tuple[list[Call], list[Call]]]:
    """Per step the calls of both ranks: often the same movements seen from both sides, some to others or to itself."""
    steps = []
    agreed = rng.random() < 0.6
    for _ in range(12):
        both: tuple[list[Call], list[Call]] = ([], [])
        for _ in range(rng.randint(1, 4)):
            size = rng.choice([1, 2, 3, 5]) * rng.randint(1, 9999) * rng.choice([1, 1, 4096])
            side, other = rng.choice([("send", "recv"), ("recv", "send")])
            both[0].append((side, 1, size))
            both[1].append((other, 0, size))
            if not agreed and rng.random() < 0.4:
                both[rng.randint(0, 1)].pop()
        for rank, calls in enumerate(both):
            for peer in (rank, 2):
                if rng.random() < 0.15:
                    calls.append((rng.choice(["send", "recv"]), peer, rng.choice([None, rng.randint(0, 9999)])))
        steps.append(both)
    return steps


def issued(thread: Thread, calls: list[Call], start: int, form: str) -> int:
    """Write the calls of one step, as a group unless there is just one; returns when their kernels are launched."""
    grouped = len(calls) != 1
    if grouped:
        thread.nccl("ncclGroupStart", start, start + 2)
    at = start + 10
    for side, peer, size in calls:
        said = {} if size is None else {"communicator": 77, "peer": peer, "payload": form, "nbytes": size}
        thread.nccl("ncclSend" if side == "send" else "ncclRecv", at, at + 10, **said)
        at += 20
    if grouped:
        thread.nccl("ncclGroupEnd", at, at + 30)
    return at + 3 if grouped else at - 18


def capture(seed: int, world: World, path: Path) -> Path:
    """Two processes exchanging random groups; correlation ids collide between them; some rows are missing."""
    rng = random.Random(seed)  # noqa: S311 (a test's own dice)
    builder = TraceBuilder(schema="3.27", gpus={0: "x", 1: "y"})
    steps, created, form = plan(rng), rng.random() < 0.7, rng.choice(["json", "blob"])
    seen = [(rng.choice([0, 0, 3]), rng.choice([12, 12, 9])) for _ in world.pids]  # heads and tails are cut
    for rank, pid in enumerate(world.pids):
        process = builder.process(pid=pid, domains={"NCCL": rank + 1})
        thread = process.thread(tid=pid)
        now = 100_000 + world.shift
        if created and not seen[rank][0]:
            said = {"communicator": 77, "nranks": 3, "rank": rank, "device": rank, "payload": form}
            thread.nccl("ncclCommInitRank", now - 500, now - 400, **said)
        for step, both in enumerate(steps):
            now += 5000
            if not seen[rank][0] <= step < seen[rank][1]:
                continue
            thread.push_pop(f"model.layers.{step % 4}", now, now + 900) if rng.random() < 0.7 else None
            thread.push_pop(f"request:r{step % 3}", now + 1, now + 890) if rng.random() < 0.7 else None
            if rng.random() < 0.2:
                thread.push_pop(f"kv_transfer layer={step}-{step + 2} request=r0,r1", now + 2, now + 880)
            inside = issued(thread, both[rank], now + 10, form)
            for part in range(rng.choice([0, 1, 1, 1, 1, 2])):
                launch = thread.launch(inside + 2 * part, inside + 2 * part + 1, correlation=100 * step + part + 1)
                begin = now + 2000 + 100 * part + rng.randint(0, 900)
                process.kernel(SEND_RECV, begin, begin + rng.randint(0, 1500), device=rank, stream=20, launch=launch)
            if rng.random() < 0.2:
                process.kernel(SEND_RECV, now + 500, now + 560, device=rank, stream=21, correlation=9_000 + step)
            for _ in range(rng.randint(0, 3)):
                begin = now + 1500 + rng.randint(0, 3000)
                process.kernel("gemm", begin, begin + rng.randint(0, 700), device=rank, correlation=8_000 + step)
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
    ops = read_trace(tmp_path / "t.sqlite", "t", all_gpu_work=False).gpu_ops
    kernels = ops.filter(pl.col("name") == SEND_RECV)
    whole = int((kernels["end_ns"] - kernels["start_ns"]).sum())
    assert transfers["time_ns"].sum() == whole
    assert transfers.filter(pl.col("start_ns").is_null())["time_ns"].null_count() == transfers["start_ns"].null_count()
    # Every share belongs to a movement, and a movement's shares are the movement.
    back = study.shares.group_by("transfer_id").agg(pl.col(AMOUNTS).sum()).sort("transfer_id")
    movements = transfers.filter("is_movement").select("transfer_id", pl.col(AMOUNTS).fill_null(0))
    assert back.equals(movements.sort("transfer_id"))
    # Kernels in totals and kernels left out are all kernels.
    measured = select(study.transfers, study.shares)
    counted = totals(measured, exchanges(as_timed(transfers)), looked=True).kernel_count + sum(
        row.kernel_count for row in excluded(measured)
    )
    assert counted == kernels.height
    # Layers and what has none, requests and what has none: either way it is all there.
    analysis = analyse([tmp_path / "t.sqlite"])
    for rows, rest in ((analysis.layers, "layer"), (analysis.requests, "request")):
        for amount in ("bytes", "time_ns"):
            parts = [getattr(row, amount) or 0 for row in rows]
            whole_of = getattr(analysis.totals, amount) or 0
            assert sum(parts) + (getattr(analysis.unattributed[rest], amount) or 0) == whole_of, (rest, amount)
    for amount in ("wire_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns"):
        assert (getattr(analysis.totals, amount) or 0) == measured.movements[amount].sum()
        of_layers = measured.shares.filter(pl.col("layer").is_not_null())[amount].sum()
        assert sum(getattr(row, amount) or 0 for row in analysis.layers) == of_layers


@pytest.mark.parametrize("seed", range(30))
def test_parts_of_a_time_fit_together(seed: int, tmp_path: Path) -> None:
    study = studied(seed, World(), tmp_path)
    for rows in (study.transfers, study.shares):
        waited = rows.filter(pl.col("wire_ns").is_not_null() & pl.col("peer_wait_ns").is_not_null())
        assert (waited["wire_ns"] + waited["peer_wait_ns"]).equals(waited["time_ns"])
        wired = rows.filter(pl.col("wire_ns").is_not_null())
        assert wired.select(((pl.col("wire_ns") >= 0) & (pl.col("wire_ns") <= pl.col("time_ns"))).all()).item()
        told = rows.filter(pl.col("exposed_wire_ns").is_not_null())
        parts = ("exposed_wire_ns", "exposed_wait_ns", "overlapped_ns")
        assert told.select(pl.sum_horizontal(parts)).to_series().equals(told["time_ns"].alias(parts[0]))
        assert told.select((pl.col("exposed_wire_ns") <= pl.col("wire_ns")).all()).item()
        assert told.select(pl.all_horizontal(pl.col(parts) >= 0).all()).item()
    lost = study.transfers.filter(pl.col("wire_ns").is_null() & pl.col("wire_reason").is_null())
    assert lost.is_empty()


def test_the_random_captures_hold_what_is_asserted_of_them(tmp_path: Path) -> None:
    studies = [studied(seed, World(), tmp_path).transfers for seed in range(12)]
    every = pl.concat(studies)
    known = every.filter(pl.col("wire_ns") > 0)
    assert known.filter(pl.col("kernel_ops") > 1).height > 50
    assert known.filter(pl.col("peer_wait_ns") > 0).height > 50
    assert known.filter(pl.col("overlapped_ns") > 0).height > 20
    assert every["is_self"].sum() > 0
    assert {"start", None} <= set(every["pairing_proof"].unique())
    assert {"unpaired", "no-interval"} <= set(every["wire_reason"].unique())
