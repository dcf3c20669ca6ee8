"""One run seen by two hosts, against what its plan says happened: every segment, every verdict, and the clocks."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nsysparse.analysis import Analysis, Request
from nsysparse.api import Options, analyse

ONE_CLOCK = ("queue_ns", "prefill_ns", "handoff_ns", "overlap_ns", "ready_to_decode_ns", "first_decode_ns")
TWO_CLOCKS = ("transfer_span_ns", "kv_gap_ns", "path_ns")
DRIFT_PPM = 18  # of the decode side's clock, so its lengths are no better than that


@pytest.fixture(scope="module")
def files(sample: Callable[[str], Path]) -> list[Path]:
    return [sample(f"synthetic/pd-two-hosts-{role}.sqlite") for role in ("prefill", "decode")]


@pytest.fixture(scope="module")
def found(files: list[Path]) -> Analysis:
    return analyse(files)


@pytest.fixture(scope="module")
def truth(runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    answers: dict[str, Any] = runs["pd-two-hosts"]["answers"]
    return answers


def by_id(analysis: Analysis) -> dict[str, Request]:
    return {request.request_id: request for request in analysis.requests}


def test_segments_of_one_clock_are_exact(found: Analysis, truth: dict[str, Any]) -> None:
    for name, told in truth["paths"].items():
        request = by_id(found)[name]
        for field in ONE_CLOCK:
            if field in told:
                slack = 2 + told[field] * DRIFT_PPM // 1_000_000
                assert getattr(request, field) == pytest.approx(told[field], abs=slack), (name, field)


def test_what_needs_two_clocks_is_within_its_doubt(found: Analysis, truth: dict[str, Any]) -> None:
    checked = 0
    for name, told in truth["paths"].items():
        request = by_id(found)[name]
        for field in TWO_CLOCKS:
            if field in told and getattr(request, field) is not None:
                assert request.uncertainty_ns is not None
                assert abs(getattr(request, field) - told[field]) <= request.uncertainty_ns, (name, field)
                checked += 1
    assert checked >= 3 * truth_count(truth)


def truth_count(truth: dict[str, Any]) -> int:
    return sum(told["cut"] == "no" for told in truth["paths"].values())


def test_segments_add_up(found: Analysis) -> None:
    for request in found.requests:
        if request.path_ns is None:
            continue
        parts = [request.prefill_ns, request.handoff_ns, request.transfer_span_ns, request.ready_to_decode_ns]
        whole = [part for part in (request.queue_ns, *parts, request.first_decode_ns) if part is not None]
        assert sum(whole) == request.path_ns
        assert sum(part or 0 for part in parts[1:]) == request.kv_gap_ns
        span = request.span or {}
        if span["wire_ns"] is not None:
            waits = span["peer_wait_ns"] + span["sender_wait_ns"]
            assert span["wire_ns"] + waits + span["gap_ns"] == request.transfer_span_ns


def test_exactly_those_over_a_fifth_are_over(found: Analysis, truth: dict[str, Any]) -> None:
    assert {request.request_id: request.verdict for request in found.requests} == {
        name: told["verdict"] for name, told in truth["paths"].items()
    }
    over = {request.request_id for request in found.requests if request.verdict == "over"}
    assert len(over) == found.verdict.over_count == 3
    assert (found.verdict.known_count, found.verdict.cut_count) == (10, 2)
    assert found.verdict.state == "ok"
    assert set(found.worst[:3]) == over


def test_chunks_and_repetitions_are_counted(found: Analysis, truth: dict[str, Any]) -> None:
    for name, told in truth["paths"].items():
        request = by_id(found)[name]
        assert request.prefill_step_count == told["prefill_steps"]
        assert request.decode_step_count == told["decode_steps"]
        assert request.attempt_count == told["attempts"]


def test_what_the_capture_cuts_is_not_judged(found: Analysis, truth: dict[str, Any]) -> None:
    cut = {name: told["cut"] for name, told in truth["paths"].items() if told["cut"] != "no"}
    for name, end in cut.items():
        request = by_id(found)[name]
        assert (request.missing, request.verdict, request.kv_gap_share) == ("cut", "unknown", None)
        assert (request.kv_gap_ns is None) == (end == "end")


def test_the_clock_is_within_its_doubt(found: Analysis, truth: dict[str, Any]) -> None:
    assert found.clocks is not None
    (clock,) = found.clocks
    assert clock.method == "estimated"
    assert clock.offset_ns is not None
    assert clock.uncertainty_ns is not None
    assert abs(clock.offset_ns - truth["clock"]["offset_ns"]) <= clock.uncertainty_ns
    assert all(request.clock == "estimated" for request in found.requests if request.path_ns is not None)


def test_without_aligned_clocks_nothing_of_two_clocks_is_told(files: list[Path], found: Analysis) -> None:
    apart = analyse(files, Options(clock="none"))
    assert apart.verdict.state == "unknown"
    assert {request.missing for request in apart.requests} == {"clocks", "cut"}
    for request in apart.requests:
        assert all(getattr(request, field) is None for field in TWO_CLOCKS)
        told = by_id(found)[request.request_id]
        for field in ("handoff_ns", "ready_to_decode_ns", "first_decode_ns"):
            assert getattr(request, field) == getattr(told, field)
    assert "could not be aligned" in next(each.message for each in apart.reasons if each.path == "/verdict/value")


def test_unverified_utc_leaves_what_it_cannot_decide_open(files: list[Path], truth: dict[str, Any]) -> None:
    loose = analyse(files, Options(clock="utc"))
    assert loose.clocks is not None
    assert loose.clocks[0].method == "utc-unverified"
    assert loose.clocks[0].uncertainty_ns == 50_000_000
    cut = {name for name, told in truth["paths"].items() if told["cut"] != "no"}
    assert {request.request_id for request in loose.requests if request.verdict == "unknown"} == cut
    assert {request.verdict for request in loose.requests if request.request_id not in cut} == {"unresolved"}
    # A clock that is said to be within 4 ms, and is 3.2 ms off, decides where the gap is that far from the threshold.
    sure = analyse(files, Options(clock="utc", utc_error_ns=4_000_000))
    over = {name for name, told in truth["paths"].items() if told["verdict"] == "over"}
    assert {request.request_id for request in sure.requests if request.verdict == "over"} == over
    assert {request.request_id for request in sure.requests if request.verdict == "ok"} == {"req-03"}


def test_the_order_of_files_changes_no_segment(files: list[Path], found: Analysis) -> None:
    turned = analyse(list(reversed(files)))
    for name, request in by_id(turned).items():
        other = by_id(found)[name]
        same = {field: getattr(other, field) for field in (*ONE_CLOCK, "missing", "verdict", "blame", "attempt_count")}
        assert {field: getattr(request, field) for field in same} == same
    assert replace(turned.verdict, text="", detail="") == replace(found.verdict, text="", detail="")


def test_the_convention_moves_the_gap_between_tokens(files: list[Path], found: Analysis) -> None:
    first, second = (analyse(files, Options(ttft=f"{side}-emits-first")) for side in ("decode", "prefill"))
    for name, request in by_id(found).items():
        assert (request.ttft_ns, request.ttft_convention) == (None, None)
        by_decode, by_prefill = by_id(first)[name], by_id(second)[name]
        assert by_decode.ttft_ns == request.path_ns
        assert by_decode.tpot_impact_ns is None
        assert by_decode.kv_gap_share == by_prefill.kv_gap_share == request.kv_gap_share
        if request.path_ns is not None and request.queue_ns is not None and request.prefill_ns is not None:
            assert by_prefill.ttft_ns == request.queue_ns + request.prefill_ns
            assert by_prefill.tpot_impact_ns == request.kv_gap_ns
            assert by_prefill.tpot_ns is not None
            assert by_decode.tpot_ns == request.tpot_without_gap_ns


def test_the_same_files_give_the_same_bytes(files: list[Path], found: Analysis) -> None:
    from nsysparse.render.to_json import render

    assert render(analyse(files)) == render(found)
    assert json.loads(render(found))["clocks"][0]["method"] == "estimated"
