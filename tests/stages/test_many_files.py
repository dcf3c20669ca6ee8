"""A run of many rank files: ids that repeat in all of them never mix, and requests are judged over all ranks."""

import subprocess
import sys
from pathlib import Path

import pytest
from rank_files import MS, US, Run, write_run

from nsysparse.analysis import UTC_ERROR_NS, Analysis
from nsysparse.api import analyse, study_traces

RUN = Run()


@pytest.fixture(scope="module")
def nine(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    files = write_run(tmp_path_factory.mktemp("ranks"), RUN)
    assert len(files) == 9
    return files


@pytest.fixture(scope="module")
def found(nine: list[Path]) -> Analysis:
    return analyse(nine)


def test_nothing_collides(found: Analysis) -> None:
    count = RUN.ranks * RUN.layers * RUN.requests
    assert (found.totals.movement_count, found.totals.paired_count) == (count, count)
    assert found.totals.transfer_count == found.totals.kernel_count == 2 * count
    assert found.totals.bytes == count * RUN.layer_bytes
    assert {link.link_key for link in found.links} == {
        f"prefill-{rank}:gpu0->decode-{rank}:gpu0" for rank in range(RUN.ranks)
    }
    assert [layer.bytes for layer in found.layers] == [RUN.ranks * RUN.requests * RUN.layer_bytes] * RUN.layers
    assert {trace.trace_id: trace.role for trace in found.traces} == {
        "router": None,
        **{f"{role}-{rank}": role for role in ("prefill", "decode") for rank in range(RUN.ranks)},
    }
    assert found.warnings == ()


def test_every_step_is_of_its_own_file(nine: list[Path]) -> None:
    steps = study_traces(nine).engine.steps
    assert steps["step_id"].n_unique() == steps.height == 2 * RUN.ranks * RUN.requests
    assert steps.group_by("trace_id").len()["len"].to_list() == [RUN.requests] * (2 * RUN.ranks)


def test_requests_are_judged_over_all_ranks(found: Analysis) -> None:
    last = RUN.skew(RUN.ranks - 1)
    assert [request.request_id for request in found.requests] == [f"r{n}" for n in range(RUN.requests)]
    for request in found.requests:
        # The first rank begins, the last one ends; the router knows the arrival.
        assert (request.queue_ns, request.prefill_ns) == (MS, 4 * MS + last)
        # The first rank sends while the last one still computes.
        assert request.handoff_ns == MS - last
        sent_last = 5 * MS + (RUN.layers - 1) * 200 * US + 100 * US + last
        assert request.transfer_span_ns == sent_last - 5 * MS
        assert request.ready_to_decode_ns == 7 * MS - sent_last
        assert request.first_decode_ns == 2 * MS + last
        assert request.kv_gap_ns == 7 * MS - (4 * MS + last)
        assert request.path_ns == MS + 9 * MS + last
        # A rank that is 50 us away may in truth lie up to 10 us beyond: at prefill's end, and at decode's start.
        assert (request.clock, request.uncertainty_ns) == ("same-host-utc", 60_000 + 2 * (60_000 - 50_000))
        assert request.movement_count == RUN.ranks * RUN.layers
        assert request.verdict == "over"
    assert found.verdict.over_count == RUN.requests


def test_on_many_hosts_only_utc_ties_ranks_together_so_nothing_is_decided(tmp_path: Path) -> None:
    """The router runs on the host of the first prefill rank; every other file is of a host of its own.

    Messages that NCCL can buffer, all one way, bound an offset on one side only: of decode-0, which receives from the
    router's host, that narrows what UTC leaves open. All UTC is right, so all offsets are 0.
    """
    found = analyse(write_run(tmp_path, Run(one_host=False)))
    assert found.clocks is not None
    others = [f"{role}-{rank}" for role in ("prefill", "decode") for rank in range(RUN.ranks)]
    of_router = [clock for clock in found.clocks if clock.base == "router"]
    assert {clock.other: clock.method for clock in of_router} == {
        **dict.fromkeys(others, "utc-unverified"),
        "prefill-0": "same-host-utc",
    }
    doubts = {clock.other: clock.uncertainty_ns for clock in of_router}
    exchanging = doubts.pop("decode-0")
    assert exchanging is not None
    assert UTC_ERROR_NS / 2 <= exchanging < UTC_ERROR_NS
    assert doubts == {**dict.fromkeys(doubts, UTC_ERROR_NS), "prefill-0": 60_000}
    for clock in of_router:
        assert clock.offset_ns is not None
        assert clock.uncertainty_ns is not None
        assert abs(clock.offset_ns) <= clock.uncertainty_ns
        assert clock.pair_count == (RUN.layers * RUN.requests if clock.other == "decode-0" else 0)
    for request in found.requests:
        # The last prefill rank's end and the first decode rank's start are on hosts that only UTC ties.
        assert request.clock == "utc-unverified"
        assert request.uncertainty_ns is not None
        assert (
            UTC_ERROR_NS <= request.uncertainty_ns <= 3 * UTC_ERROR_NS
        )  # that of each end, of four ranks, and between
        # 2.85 of 10.15 ms is over the threshold, and may as well be nothing.
        assert request.verdict == "unresolved"
    assert (found.verdict.state, found.verdict.unresolved_count) == ("unresolved", RUN.requests)


def test_the_order_of_files_does_not_show(nine: list[Path], found: Analysis) -> None:
    turned = analyse(list(reversed(nine)))
    assert turned.requests == found.requests
    assert turned.links == found.links
    assert turned.layers == found.layers


def test_a_folder_is_one_run(nine: list[Path], found: Analysis, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nsysparse", "report", str(nine[0].parent), "-o", str(tmp_path / "r.json")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.startswith(found.verdict.text)
    assert f"{RUN.requests} of {RUN.requests} requests with a known share · {found.verdict.over_count} over" in told
