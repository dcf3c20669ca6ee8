"""Ranges projected onto the GPU: equal to brute force, and row by row to nsys's own projection."""

import csv
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsysparse.frames import GpuOps, Labels, Ranges
from nsysparse.projection import launching, project
from nsysparse.source.extract import read_trace
from nsysparse.testing import TraceBuilder

HYBRIDS = ("nsys22-nccl2.18.3-threads", "nsys22-nccl2.23.4-simple", "nsys23-nccl2.26.2-simple")


@pytest.mark.parametrize("name", HYBRIDS)
def test_nsys_projects_the_same_rows(name: str, sample: Callable[[str], Path]) -> None:
    trace = read_trace(sample(f"real/hybrid-{name}.sqlite"), "t", all_gpu_work=True)
    projected = pl.concat(project(trace.trace_id, trace.ranges, trace.labels, launching(trace.gpu_ops)))
    # nsys leaves out start/end ranges that end on another thread; we project those within their process.
    ours = [
        (
            f"{row['domain']}:{row['name']}" if row["domain"] else row["name"],
            row["projected_start_ns"],
            row["projected_end_ns"] - row["projected_start_ns"],
            row["start_ns"],
            row["end_ns"] - row["start_ns"],
            row["pid"],
            row["tid"],
            row["gpu_op_count"],
            row["depth"],
        )
        for row in projected.iter_rows(named=True)
        if row["gpu_op_count"] and row["style"] == "push_pop"
    ]
    with sample(f"real/hybrid-{name}.nsys-gpuproj.csv").open(encoding="utf-8", newline="") as file:
        numbers = (
            "Projected Start (ns)", "Projected Duration (ns)", "Orig Start (ns)", "Orig Duration (ns)", "PID", "TID",
            "NumGPUOps", "Lvl",
        )  # fmt: skip
        theirs = [(row["Name"], *(int(row[column]) for column in numbers)) for row in csv.DictReader(file)]
    assert len(theirs) > 40
    assert sorted(ours) == sorted(theirs)


times = st.tuples(st.integers(0, 60), st.integers(0, 40)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@settings(max_examples=300)
@given(
    ranges=st.lists(st.tuples(times, st.sampled_from([1, 2]), st.sampled_from([None, 1, 2])), max_size=12),
    calls=st.lists(st.tuples(times, st.sampled_from([1, 2]), times), max_size=12),
)
def test_projection_equals_brute_force(
    ranges: list[tuple[tuple[int, int], int, int | None]], calls: list[tuple[tuple[int, int], int, tuple[int, int]]]
) -> None:
    """Whatever overlaps or nests wrongly: ranges (crossing or not) and calls of two threads in one process."""
    rows = [
        {"range_id": 0, "label_id": 0, "trace_id": "t", "process": 0, "thread": thread, "start_ns": start,
         "end_ns": end, "is_open": False, "style": "start_end" if ends_on else "push_pop", "end_thread": ends_on}
        for (start, end), thread, ends_on in ranges
    ]  # fmt: skip
    ops = [
        {"op_id": index, "trace_id": "t", "kind": "kernel", "name": "k", "device_id": 0, "process": 0,
         "launch_thread": thread, "launch_start_ns": start, "launch_end_ns": end, "start_ns": low, "end_ns": high,
         "graph": False, "stream_id": None, "correlation_id": None, "bytes": None}
        for index, ((start, end), thread, (low, high)) in enumerate(calls)
    ]  # fmt: skip
    frame = Ranges.cast(pl.DataFrame(rows, schema=Ranges.create_empty().schema))
    frame = frame.sort("thread", "start_ns", "end_ns", descending=[False, False, True])
    labels = Labels.cast(
        pl.DataFrame(
            {"label_id": [0], "domain": [None], "is_default_domain": [True], "name": ["r"]},
            schema=Labels.create_empty().schema,
        )
    )
    launched = launching(pl.DataFrame(ops, schema=GpuOps.create_empty().schema))
    got = pl.concat(project("t", frame, labels, launched))
    for row, found in zip(frame.iter_rows(named=True), got.iter_rows(named=True), strict=True):
        crosses = row["style"] == "start_end" and row["end_thread"] != row["thread"]
        inside = [
            op
            for op in ops
            if (crosses or op["launch_thread"] == row["thread"])
            and op["launch_start_ns"] >= row["start_ns"]
            and op["launch_end_ns"] <= row["end_ns"]
        ]
        assert found["gpu_op_count"] == len(inside)
        assert found["projected_start_ns"] == min((op["start_ns"] for op in inside), default=None)
        assert found["projected_end_ns"] == max((op["end_ns"] for op in inside), default=None)


def test_a_hundred_thousand_nested_ranges_do_not_multiply(tmp_path: Path) -> None:
    """Depth times work would be 10^10 steps here; the test would not end."""
    depth = 100_000
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    for level in range(depth):
        thread.push_pop("deep", level, 4 * depth - level)
    for index in range(0, depth, 10):
        at = depth + index
        process.kernel("k", at + 10, at + 15, launch=thread.launch(at, at + 5))
    trace = read_trace(builder.write(tmp_path / "deep.sqlite"), "t", all_gpu_work=True)
    projected = pl.concat(project(trace.trace_id, trace.ranges, trace.labels, launching(trace.gpu_ops)))
    assert projected["depth"].max() == depth - 1
    assert projected["gpu_op_count"].max() == depth // 10
