"""The timelines of sample traces, against marks that are worked out here from the tables of their files."""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from timelines import columns, joined, marks

from nsysparse.analysis import Analysis
from nsysparse.api import Options, analyse

ONE = "synthetic/pd-oneprofile.sqlite"
TWO = [f"synthetic/pd-two-hosts-{role}.sqlite" for role in ("prefill", "decode")]
STAGING = 2 * 4 * 2**20
SEND_RECV = """SELECT k.start, k."end" FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName
               WHERE s.value = 'ncclDevKernel_SendRecv' AND k.deviceId = ? ORDER BY k.start"""
STEP = """SELECT n.text, min(k.start), max(k."end") FROM NVTX_EVENTS n
          JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.globalTid = n.globalTid AND r.start >= n.start AND r.start < n."end"
          JOIN CUPTI_ACTIVITY_KIND_KERNEL k
          ON k.correlationId = r.correlationId AND k.globalPid >> 24 = r.globalTid >> 24
          JOIN StringIds s ON s.id = k.shortName
          WHERE n.text LIKE 'kv_step %' AND s.value NOT LIKE 'nccl%' GROUP BY n.rowid"""
CALLED = """SELECT r.start, k.start, k."end", k.deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL k
            JOIN StringIds s ON s.id = k.shortName JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
            ON r.correlationId = k.correlationId AND k.globalPid >> 24 = r.globalTid >> 24
            WHERE s.value = 'ncclDevKernel_SendRecv' ORDER BY k.start"""
TOLD = """SELECT start, "end", text FROM NVTX_EVENTS WHERE text LIKE 'kv_transfer %' AND text LIKE ? ORDER BY start"""


def rows(path: Path, query: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(query, values).fetchall()


@pytest.fixture(scope="module")
def one(sample: Callable[[str], Path]) -> Analysis:
    return analyse([sample(ONE)])


@pytest.fixture(scope="module")
def two(sample: Callable[[str], Path]) -> Analysis:
    return analyse([sample(name) for name in TWO])


def test_one_lane_for_each_thing_that_a_device_does(one: Analysis) -> None:
    assert one.timeline is not None
    assert [(lane.gpu, lane.kind, lane.uncertainty_ns) for lane in one.timeline.lanes] == [
        ("gpu0", "steps", 0), ("gpu0", "sends", 0), ("gpu1", "steps", 0), ("gpu1", "receives", 0),
    ]  # fmt: skip
    assert (one.timeline.marks_dropped, one.timeline.undrawn) == (0, ())


def test_wire_and_waiting_are_when_both_kernels_ran_and_when_not(one: Analysis, sample: Callable[[str], Path]) -> None:
    """One communicator, one direction: the k-th kernel of gpu0 met the k-th of gpu1."""
    sends, receives = (rows(sample(ONE), SEND_RECV, device) for device in (0, 1))
    assert len(sends) == len(receives) == 256
    window = [(max(a[0], b[0]), min(a[1], b[1])) for a, b in zip(sends, receives, strict=True)]
    for gpu, lane, kernels in (("gpu0", "sends", sends), ("gpu1", "receives", receives)):
        waits = [
            part
            for (start, end), (begin, until) in zip(kernels, window, strict=True)
            for part in ((start, begin), (until, end))
            if part[1] > part[0]
        ]
        for kind, told in (("wire", window), ("peer_wait", waits)):
            found = [mark for mark in marks(one) if (mark.gpu, mark.lane, mark.kind) == (gpu, lane, kind)]
            assert [(mark.start, mark.end) for mark in found] == joined(told)
            assert sum(mark.busy for mark in found) == sum(end - start for start, end in joined(told))
            assert sum(mark.count for mark in found) == len(told)


def test_steps_are_from_their_first_to_their_last_compute(one: Analysis, sample: Callable[[str], Path]) -> None:
    told = [
        (re.findall(r"phase=(\w+) requests=(\S+)", text)[0], start, end) for text, start, end in rows(sample(ONE), STEP)
    ]
    expected = sorted((*phase, start, end) for phase, start, end in told)
    found = sorted(
        (mark.kind, mark.request or "several", mark.start, mark.end) for mark in marks(one) if mark.lane == "steps"
    )
    assert found == sorted(
        (phase, "several" if "," in requests else requests, start, end) for phase, requests, start, end in expected
    )
    assert Counter(phase for phase, *_ in found) == {"decode": 49, "prefill": 8}


def test_marks_know_the_request_that_is_annotated_around_their_call(
    one: Analysis, sample: Callable[[str], Path]
) -> None:
    """Three calls a side are not annotated."""
    ranges = {device: rows(sample(ONE), TOLD, f"%op={op} %") for device, op in ((0, "send"), (1, "recv"))}
    told: dict[tuple[int, int], str] = {}
    for called, start, _, device in rows(sample(ONE), CALLED):
        around = [text for begin, end, text in ranges[device] if begin <= called < end]
        if around:
            told[device, start] = re.findall(r"request=(\S+)", around[0])[0]
    assert len(told) == 2 * (256 - 3)
    first = {(int(mark.gpu[3:]), mark.start): mark.request for mark in marks(one) if mark.lane != "steps"}
    assert {key: first.get(key, name) for key, name in told.items()} == told
    assert sum(key in first for key in told) == len(told)


def lengths(analysis: Analysis, level: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Per lane and kind, covered time and stretches."""
    assert analysis.timeline is not None
    sums: dict[tuple[int, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for lane, kind, _, _, busy, count, _ in columns(analysis.timeline.levels[level]):
        sums[lane, kind] = (sums[lane, kind][0] + busy, sums[lane, kind][1] + count)
    return dict(sums)


@pytest.mark.parametrize("path", [ONE, "synthetic/pd-grouped.sqlite"])
def test_coarser_levels_cover_as_much(path: str, sample: Callable[[str], Path]) -> None:
    analysis = analyse([sample(path)])
    assert analysis.timeline is not None
    coarse, fine = analysis.timeline.levels
    assert coarse.merged_below_ns > fine.merged_below_ns == 0
    assert len(coarse.lane) <= 600 < len(fine.lane)
    assert lengths(analysis, 0) == lengths(analysis, 1)


def test_wire_marks_add_up_to_the_totals(one: Analysis) -> None:
    """No two receives overlap."""
    received = [mark for mark in marks(one) if mark.lane == "receives"]
    parts = {kind: sum(mark.busy for mark in received if mark.kind == kind) for kind in ("wire", "peer_wait")}
    assert parts == {"wire": one.totals.wire_ns, "peer_wait": one.totals.peer_wait_ns}


def test_lanes_of_another_host_are_on_the_clock_of_the_first(
    two: Analysis, sample: Callable[[str], Path], runs: dict[str, dict[str, Any]]
) -> None:
    """A stretch of the other host lies within the clock's doubt of where the plan has it."""
    assert two.timeline is not None
    assert two.clocks is not None
    assert two.timeline.base == "pd-two-hosts-prefill"
    doubt = two.clocks[0].uncertainty_ns
    assert doubt is not None
    assert {(lane.trace_id, lane.uncertainty_ns) for lane in two.timeline.lanes} == {
        ("pd-two-hosts-prefill", 0), ("pd-two-hosts-decode", doubt),
    }  # fmt: skip
    ours, theirs = (rows(sample(name), "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")[0][0] for name in TWO)
    ahead = runs["pd-two-hosts"]["answers"]["clock"]["offset_ns"] + ours - theirs
    kernels = rows(sample(TWO[1]), SEND_RECV, 0)
    found = sorted(
        (mark.start, mark.end) for mark in marks(two) if mark.trace == "pd-two-hosts-decode" and mark.lane != "steps"
    )
    edges = {edge for span in found for edge in span}
    for start, end in kernels:
        for at in (start, end):
            assert min(abs(at - ahead - edge) for edge in edges) <= doubt
    assert found[0][0] == pytest.approx(kernels[0][0] - ahead, abs=doubt)
    assert found[-1][1] == pytest.approx(kernels[-1][1] - ahead, abs=doubt)


def test_on_two_clocks_only_what_cannot_be_buffered_is_split(two: Analysis, sample: Callable[[str], Path]) -> None:
    """The wire's part is the length of the shorter of both kernels, at the end of each one."""
    told = {}
    for name, op in zip(TWO, ("send", "recv"), strict=True):
        ranges = rows(sample(name), TOLD, f"%op={op} %")
        called = rows(sample(name), CALLED)
        found = []
        for begin, end, text in ranges:
            nbytes = int(re.findall(r"bytes=(\d+)", text)[0])
            found += [(nbytes, start, until) for at, start, until, _ in called if begin <= at < end]
        told[op] = found
    assert len(told["send"]) == len(told["recv"]) == 120
    sends = [mark for mark in marks(two) if mark.lane == "sends" and mark.trace == "pd-two-hosts-prefill"]
    expected: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (nbytes, start, end), (same, begin, until) in zip(told["send"], told["recv"], strict=True):
        assert nbytes == same
        wire = min(end - start, until - begin) if nbytes > STAGING else 0
        expected["wire" if wire else "transfer"].append((end - wire if wire else start, end))
        if wire and start < end - wire:
            expected["peer_wait"].append((start, end - wire))
    assert {kind: len(spans) for kind, spans in expected.items()} == {"transfer": 80, "wire": 40, "peer_wait": 23}
    for kind, spans in expected.items():
        assert [(mark.start, mark.end) for mark in sends if mark.kind == kind] == joined(spans), kind


def test_what_has_no_common_clock_is_left_out_and_counted(sample: Callable[[str], Path], two: Analysis) -> None:
    apart = analyse([sample(name) for name in TWO], Options(clock="none"))
    assert apart.timeline is not None
    assert {lane.trace_id for lane in apart.timeline.lanes} == {apart.timeline.base}
    (undrawn,) = apart.timeline.undrawn
    drawn = sum(mark.count for mark in marks(two)) - sum(mark.count for mark in marks(apart))
    assert (undrawn.reason, undrawn.count) == ("clock", drawn)
    assert apart.timeline.marks_dropped == undrawn.count
    assert undrawn.trace_id != apart.timeline.base
