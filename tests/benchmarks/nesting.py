"""How long it takes to find what lies in what: the innermost range around each call, the GPU work inside each range.

Ranges nest by steps, layers and operations on several threads of several processes, as those of servers do, and a few
cross others. The floor of the same run is one sort of the ranges' starts and one binary search of all calls in them,
which nothing that answers the question does without. `x floor` are CPU seconds of one thread over those of the floor;
the innermost ranges of one thread are compared with those of a stack that walks it. Every range names its layer, as
where all modules are traced: `scopes` finds what is said of them, checks that they nest, and asks for the layer of
each call.

    python tests/benchmarks/nesting.py [--full] [--gate 12]
"""

import os

os.environ["POLARS_MAX_THREADS"] = "1"  # before polars is imported: times are those of one core

import argparse
import resource
import sys
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import polars as pl

from nsysparse.containing import innermost
from nsysparse.frames import GpuOps, Labels, Ranges
from nsysparse.intervals import Ints
from nsysparse.projection import launching, project
from nsysparse.scopes import enclosing, find_scopes

SIZES, FULL = ((300_000, 60_000), (1_000_000, 200_000)), ((1_000_000, 200_000), (10_000_000, 2_000_000))
PROCESSES, THREADS = 4, 2
OPERATIONS, LAYERS = 30, 40
"""Operations a layer and layers a step."""
LONG = 1000
"""Nanoseconds of an operation."""
EVERY = 5000
"""One range in so many crosses the end of its layer."""


def ranges_of(count: int) -> pl.DataFrame:
    """Operations in layers in steps, `count` in all, as `Ranges`."""
    a_layer, a_step = OPERATIONS + 1, LAYERS * (OPERATIONS + 1) + 1
    parts = []
    lanes = PROCESSES * THREADS
    for lane in range(lanes):
        k = np.arange(count // lanes)
        step, inside = k // a_step, k % a_step - 1
        layer, op = inside // a_layer, inside % a_layer - 1
        is_step, is_layer = inside < 0, (inside >= 0) & (op < 0)
        base = step * (LAYERS * OPERATIONS * LONG * 2)
        start = np.where(is_step, base, base + (np.maximum(layer, 0) * OPERATIONS + np.maximum(op, 0)) * LONG * 2)
        long = np.where(is_step, LAYERS * OPERATIONS * LONG * 2, np.where(is_layer, OPERATIONS * LONG * 2, LONG))
        crossing = (k % EVERY <= OPERATIONS) & (op == OPERATIONS - 1)
        process = 1_000 + lane // THREADS
        parts.append(
            pl.DataFrame(
                {
                    "start_ns": start, "end_ns": start + long + crossing * 3 * LONG,
                    "process": np.full(len(k), process), "thread": np.full(len(k), process << 24 | lane % THREADS),
                    "label_id": np.where(is_step, 0, np.where(is_layer, 1 + layer, 100 + layer * OPERATIONS + op)),
                }
            )
        )  # fmt: skip
    rows = pl.concat(parts).sort("process", "thread", "start_ns", "end_ns", descending=[False] * 3 + [True])
    return rows.with_row_index("range_id").with_columns(
        pl.col("label_id").cast(pl.UInt32),
        trace_id=pl.lit("t"),
        style=pl.lit("push_pop"),
        end_thread=pl.lit(None, dtype=pl.Int64),
        is_open=pl.lit(value=False),
    )


def labels_of() -> pl.DataFrame:
    """A step, layers, and operations of each, as `Labels`."""
    names = {0: "step"} | {1 + layer: f"model.layers.{layer}" for layer in range(LAYERS)}
    for layer in range(LAYERS):
        first = 100 + layer * OPERATIONS
        names |= {first + op: f"model.layers.{layer}.op{op}" for op in range(OPERATIONS)}
    count = len(names)
    columns = {"label_id": list(names), "domain": [None] * count, "is_default_domain": [True] * count}
    types = {"label_id": pl.UInt32, "domain": pl.String}
    return Labels.validate(pl.DataFrame({**columns, "name": list(names.values())}, schema_overrides=types))


def ops_of(ranges: pl.DataFrame, count: int) -> pl.DataFrame:
    """Kernels launched inside operations chosen by chance, as `GpuOps`."""
    rows = ranges.filter(pl.col("end_ns") - pl.col("start_ns") == LONG).sample(count, seed=11).sort("start_ns")
    ops = rows.with_row_index("op_id").select(
        "trace_id", "op_id", "process",
        launch_thread="thread", launch_start_ns=pl.col("start_ns") + 100, launch_end_ns=pl.col("start_ns") + 200,
        start_ns=pl.col("start_ns") + 5_000, end_ns=pl.col("start_ns") + 5_700,
        kind=pl.lit("kernel"), name=pl.lit("gemm"), device_id=pl.lit(0), stream_id=pl.lit(7),
        correlation_id=pl.col("op_id").cast(pl.Int64), graph=pl.lit(value=False),
    )  # fmt: skip
    schema = GpuOps.create_empty().schema
    return ops.select(
        (pl.col(name) if name in ops.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in schema.items()
    )


def floor(ranges: pl.DataFrame, calls: pl.DataFrame) -> float:
    """CPU seconds of one sort and one binary search."""
    starts, begin = ranges["start_ns"].to_numpy(), calls["begin"].to_numpy()
    before = time.process_time()
    np.searchsorted(np.sort(starts), begin)
    return time.process_time() - before


def by_stack(lane: pl.DataFrame, begin: Ints, end: Ints) -> list[int]:
    """Per call the range that started last among those open around it, one event after the other."""
    rows = lane.sort("start_ns", "end_ns", "range_id", descending=[False, True, False])
    pending = list(zip(rows["start_ns"], rows["end_ns"], rows["range_id"], strict=True))
    found: list[int] = []
    open_ones: list[tuple[int, int]] = []
    at = 0
    for first, last in zip(begin.tolist(), end.tolist(), strict=True):
        while at < len(pending) and pending[at][0] <= first:
            open_ones.append((pending[at][1], pending[at][2]))
            at += 1
        open_ones = [each for each in open_ones if each[0] >= first]
        found.append(next((ident for stop, ident in reversed(open_ones) if stop >= last), -1))
    return found


def verify(ranges: pl.DataFrame, calls: pl.DataFrame, held: pl.DataFrame, projected: pl.DataFrame) -> None:
    """Compare one thread's answers with the stack's.

    Raises:
        AssertionError: They differ.
    """
    thread = calls["thread"].min()
    mine = calls.filter(pl.col("thread") == thread).sort("begin").head(20_000)
    expected = by_stack(ranges.filter(pl.col("thread") == thread), mine["begin"].to_numpy(), mine["end"].to_numpy())
    got = mine.join(held, on="item", how="left", maintain_order="left")["holder"].fill_null(-1).to_list()
    if expected != got:
        raise AssertionError("the innermost ranges differ from those of a stack")
    # Each launch lies in its operation, its layer and its step, and in what crosses into it.
    total, least = int(projected["gpu_op_count"].sum()), 3 * calls.height
    if not least <= total <= least + calls.height // 100:
        raise AssertionError(f"{total} launches lie in ranges, not about {least}")


def measure(count: int, launches: int) -> float:
    """Print what one size takes; returns the greater of the two ratios."""
    ranges = ranges_of(count)
    ops = ops_of(ranges, launches)
    calls = ops.select(
        item="op_id", process="process", thread="launch_thread", begin="launch_start_ns", end="launch_end_ns"
    )
    holders = ranges.select("process", "thread", holder="range_id", begin="start_ns", end="end_ns")
    least = floor(ranges, calls)
    before = time.process_time()
    held = innermost(calls, holders, "thread")
    nested = time.process_time()
    schema = Ranges.create_empty().schema
    typed = Ranges.validate(ranges.select(pl.col(name).cast(dtype) for name, dtype in schema.items()))
    work, labels = GpuOps.validate(ops), labels_of()
    trace = SimpleNamespace(ranges=typed, labels=labels, anomalies=Counter())
    before_scopes = time.process_time()
    scopes = find_scopes(trace)
    placed = calls.select("process", "thread", transfer_id="item", call_start_ns="begin", call_end_ns="end")
    said = enclosing(placed, scopes, "layer")
    checked = time.process_time()
    if said.height < 0.99 * launches or trace.anomalies["ranges-crossing"] == 0:
        raise AssertionError(f"{said.height} of {launches} calls have a layer")
    begun = time.process_time()
    projected = pl.concat(project("t", typed, labels, launching(work)))
    done = time.process_time()
    verify(ranges, calls, held, projected)
    times = {"innermost": nested - before, "scopes": checked - before_scopes, "projection": done - begun}
    said = "  ".join(f"{name} {each:6.2f} s ({each / least:4.1f} x floor)" for name, each in times.items())
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{count:11,} ranges {launches:10,} calls  floor {least:5.2f} s  {said}  peak {peak_gb:.1f} GB", flush=True)
    return max(times.values()) / least


def main() -> int:
    """Measure, print, and fail when the gate is passed at the largest size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to 10 million ranges and 2 million calls")
    parser.add_argument("--gate", type=float, default=12)
    asked = parser.parse_args()
    worst = [measure(*size) for size in (FULL if asked.full else SIZES)][-1]
    print(f"ratio     {worst:.1f} (at most {asked.gate:g})")
    return int(worst > asked.gate)


if __name__ == "__main__":
    sys.exit(main())
