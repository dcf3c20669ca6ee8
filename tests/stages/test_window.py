"""Only what overlaps the time that was asked for is read, whole."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.api.reading import read
from nsysparse.errors import InputError
from nsysparse.presets.loader import load
from nsysparse.source.access import PAGES, SQL, Access
from nsysparse.source.extract import read_trace
from nsysparse.source.spans import read_spans
from nsysparse.source.window import Window
from nsysparse.testing import TraceBuilder

EPOCH = 1_700_000_000_000_000_000


def a_run(path: Path, shift: int = 0) -> Path:
    """Five steps of 1,000 ns with a Send each; a mark before all says the role, others announce requests."""
    builder = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3"})
    process = builder.process(pid=7)
    thread = process.thread(tid=7)
    thread.mark("kv_role role=prefill", 10)
    for step in range(5):
        begin = 1_000 * (step + 1) + shift
        thread.mark(f"kv_request request=r{step} prompt=5", begin - 50)
        thread.push_pop(f"model.layers.{step}", begin, begin + 900)
        thread.nccl("ncclSend", begin + 100, begin + 300)
        launch = thread.launch(begin + 150, begin + 200)
        process.kernel("ncclDevKernel_SendRecv(args)", begin + 400, begin + 600, launch=launch)
    return builder.write(path)


@pytest.mark.parametrize("reader", [PAGES, SQL])
@pytest.mark.parametrize(
    ("start", "end", "steps"),
    [
        (None, None, [0, 1, 2, 3, 4]),
        (2_000, 3_000, [1]),
        (2_899, 3_001, [1, 2]),
        (2_900, 3_000, []),
        (4_500, None, [3, 4]),
        (None, 1_001, [0]),
    ],
)
def test_ranges_that_overlap_are_read(
    tmp_path: Path, reader: str, start: int | None, end: int | None, steps: list[int]
) -> None:
    trace = read_trace(a_run(tmp_path / "a.sqlite"), "a", all_gpu_work=True, access=Access(reader, Window(start, end)))
    named = trace.ranges.join(trace.labels, on="label_id").filter(pl.col("name").str.starts_with("model."))
    assert named.sort("start_ns")["name"].to_list() == [f"model.layers.{step}" for step in steps]


@pytest.mark.parametrize("reader", [PAGES, SQL])
@pytest.mark.parametrize(("start", "end", "found"), [(None, 500, 0), (500, 501, 1), (501, None, 0)])
def test_what_takes_no_time_is_in_one_of_two_parts_that_adjoin(
    tmp_path: Path, reader: str, start: int | None, end: int | None, found: int
) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3"})
    process = builder.process(pid=7)
    thread = process.thread(tid=7)
    thread.push_pop("model.layers.0", 500, 500)
    process.kernel("gemm", 500, 500, launch=thread.launch(400, 450))
    for outside in (100, 900):  # so that both parts have something
        thread.push_pop("outside", outside, outside + 50)
    path = builder.write(tmp_path / "a.sqlite")
    trace = read_trace(path, "a", all_gpu_work=True, access=Access(reader, Window(start, end)))
    named = trace.ranges.join(trace.labels, on="label_id").filter(pl.col("name") == "model.layers.0")
    assert (named.height, trace.gpu_ops.height) == (found, found)


def test_work_within_has_its_launch_from_before(tmp_path: Path) -> None:
    access = Access(window=Window(2_450, 2_500))
    trace = read_trace(a_run(tmp_path / "a.sqlite"), "a", all_gpu_work=False, access=access)
    assert trace.gpu_ops.select("start_ns", "launch_start_ns").rows() == [(2_400, 2_150)]
    assert trace.capabilities["whole_export"].status == "partial"
    assert "0.00245ms..0.0025ms" in str(trace.capabilities["whole_export"].reason)


def test_marks_from_before_say_what_a_process_is_and_announce_nothing(tmp_path: Path) -> None:
    path = a_run(tmp_path / "a.sqlite")
    trace, scopes, _ = read(path, "a", load(()), all_gpu_work=False, access=Access(window=Window(3_000, 5_000)))
    assert scopes.filter(pl.col("kind") == "role").height == 1
    assert scopes.filter(pl.col("kind") == "request")["request"].to_list() == ["r3", "r4"]
    assert len(trace.threads) == 1


@pytest.mark.parametrize("reader", [PAGES, SQL])
def test_marks_from_before_are_nothing_that_happened(tmp_path: Path, reader: str) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3"})
    process = builder.process(pid=7)
    thread = process.thread(tid=7)
    thread.mark("kv_role role=prefill", 10)
    process.kernel("gemm", 500, 600, launch=thread.launch(400, 450))
    path = builder.write(tmp_path / "a.sqlite")
    with pytest.raises(InputError, match=r"nothing was recorded in 0\.0007ms\.\.; its events lie within"):
        read_trace(path, "a", all_gpu_work=False, access=Access(reader, Window(700, None)))
    # A kernel did happen, though nobody asks for one that is not NCCL's.
    trace = read_trace(path, "a", all_gpu_work=False, access=Access(reader, Window(550, None)))
    assert trace.gpu_ops.is_empty()


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [(1_500_000_000, 2_250_500_000, "1500ms..2250.5ms"), (None, 1, "..0.000001ms"), (0, None, "0ms..")],
)
def test_a_window_is_shown_as_it_is_asked_for(start: int | None, end: int | None, shown: str) -> None:
    assert Window(start, end).shown == shown


def test_a_shifted_export_has_the_same_window() -> None:
    assert Window(5, 10).condition("start", "end", EPOCH).values == (EPOCH + 10, EPOCH + 5, EPOCH + 5)
    beyond = -(2**63 - 1)
    assert Window(None, 2**62).condition("start", "end", 2**62).values == (2**63 - 1, beyond, beyond)


def test_projecting_a_time_in_which_nothing_happened_says_when_something_did(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing was recorded in 1ms\.\.2ms; its events lie within"):
        read_spans(a_run(tmp_path / "a.sqlite"), Access(window=Window(1_000_000, 2_000_000)))


@pytest.mark.parametrize(("window", "warned"), [(Window(2_000, 3_000), 1), (None, 0)])
def test_totals_of_a_part_are_said_to_be_such(tmp_path: Path, window: Window | None, warned: int) -> None:
    trace = read_trace(a_run(tmp_path / "a.sqlite"), "a", all_gpu_work=False, access=Access(window=window))
    assert trace.anomalies["part-of-the-time"] == warned
