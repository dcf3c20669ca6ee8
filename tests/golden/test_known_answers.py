"""The synthetic samples have answers that their generator worked out without nsysparse; the analysis must find them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nsysparse.analysis import Analysis
from nsysparse.api import Options, analyse, study_traces

NCCL_SAMPLES = ("synthetic/pd-oneprofile.sqlite", "synthetic/pd-grouped.sqlite")
TRANSPORTS = "synthetic/pd-transports.sqlite"


@pytest.fixture(params=NCCL_SAMPLES)
def nccl_told(request: pytest.FixtureRequest, sample: Callable[[str], Path], manifest: dict[str, Any]) -> Any:
    return analyse([sample(request.param)], Options(model="llama-3-8b")), manifest[request.param]["answers"]


@pytest.fixture(params=(*NCCL_SAMPLES, TRANSPORTS))
def told(request: pytest.FixtureRequest, sample: Callable[[str], Path], manifest: dict[str, Any]) -> Any:
    """Without the number of layers: then only ranges tell them, as in the answers."""
    return analyse([sample(request.param)]), manifest[request.param]["answers"]


def test_totals(nccl_told: tuple[Analysis, dict[str, Any]]) -> None:
    analysis, answers = nccl_told
    # The manifest leaves kernels without a recorded call out of its sums; the report counts each as a movement.
    lone = answers["kernels_without_call"]
    assert analysis.totals.movement_count == answers["total"]["movements"] + lone
    assert analysis.totals.paired_count == answers["paired"]
    assert analysis.totals.bytes == answers["total"]["bytes"]
    assert analysis.totals.transfer_count == answers["send_transfers"] + answers["recv_transfers"] + lone
    if "wire_ns" in answers:
        assert analysis.totals.wire_ns == answers["wire_ns"]
    if not lone:
        assert analysis.totals.time_ns == answers["total"]["recv_time_ns"]
    outside = sum(row.kernel_count for row in analysis.excluded)
    assert analysis.totals.kernel_count + outside == answers["sendrecv_kernels"]
    assert outside == answers["excluded"]["kernels"]
    assert sum(row.transfer_count for row in analysis.excluded) == (
        answers["excluded"]["send_transfers"] + answers["excluded"]["recv_transfers"]
    )


def test_layers(told: tuple[Analysis, dict[str, Any]]) -> None:
    analysis, answers = told
    assert [layer.layer for layer in analysis.layers] == list(range(len(answers["layers"]["bytes"])))
    for key, field in (("bytes", "bytes"), ("time_ns", "time_ns"), ("movements", "movement_count")):
        assert [getattr(layer, field) for layer in analysis.layers] == answers["layers"][key]


def test_requests(told: tuple[Analysis, dict[str, Any]]) -> None:
    analysis, answers = told
    got = {row.request_id: (row.bytes, row.time_ns, row.movement_count) for row in analysis.requests}
    expected = {name: (row["bytes"], row["time_ns"], row["movements"]) for name, row in answers["requests"].items()}
    assert got == expected


def test_the_order_tells_what_no_range_does(sample: Callable[[str], Path]) -> None:
    """Three calls a side go without annotation; the recipe knows which layers of which request they send."""
    path = sample(NCCL_SAMPLES[0])
    ordered = study_traces([path], Options(model="llama-3-8b")).transfers.filter(layer_provenance="ordinal")
    for side in ("send", "recv"):
        told = ordered.filter(side=side).select("request_id", "layer", "request_provenance")
        assert told.rows() == [("req-6", layer, "ordinal") for layer in (5, 17, 29)]
    assert {row.code for row in analyse([path]).warnings} == {"order-needs-layers", "ranges-never-closed"}


def test_what_nothing_explains_stays_visible_and_sums_conserve(told: tuple[Analysis, dict[str, Any]]) -> None:
    analysis, answers = told
    lone = answers.get("kernels_without_call", 0)
    for name, rows in (("layer", analysis.layers), ("request", analysis.requests)):
        rest = analysis.unattributed[name]
        assert rest.movement_count == answers[f"{name}_unattributed"]["movements"] + lone
        assert sum(row.bytes or 0 for row in rows) + (rest.bytes or 0) == analysis.totals.bytes
        assert sum(row.time_ns for row in rows) + rest.time_ns == analysis.totals.time_ns
    if not lone:
        assert analysis.totals.time_ns == answers["total"]["time_ns"]


def test_the_one_profile_sample_says_what_the_model_would_move(sample: Callable[[str], Path]) -> None:
    analysis = analyse([sample(NCCL_SAMPLES[0])], Options(model="llama-3-8b", link="ib-ndr"))
    for request in analysis.requests:
        assert request.prompt_tokens is not None
        # 2 (K and V) x 32 layers x 8 heads x 128 x 2 bytes
        assert request.expected_bytes == request.prompt_tokens * 2 * 32 * 8 * 128 * 2
    (link,) = analysis.links
    assert link.bytes is not None
    assert link.theoretical_ns == round(link.bytes / 50)
    assert analysis.theory.kv_bytes_per_token == 131_072


def test_every_transport_counts_what_it_moved_once(sample: Callable[[str], Path], manifest: dict[str, Any]) -> None:
    answers = manifest[TRANSPORTS]["answers"]
    moved = study_traces([sample(TRANSPORTS)], None).transfers.filter(
        pl.col("is_movement") & pl.col("purpose").is_in(["kv", "unknown"])
    )
    sums = moved.group_by("transport").agg(
        movements=pl.len(), bytes=pl.col("bytes").sum(), time_ns=pl.col("time_ns").sum()
    )
    assert {row.pop("transport"): row for row in sums.to_dicts()} == answers["transports"]


def test_totals_over_all_transports(sample: Callable[[str], Path], manifest: dict[str, Any]) -> None:
    answers = manifest[TRANSPORTS]["answers"]
    analysis = analyse([sample(TRANSPORTS)])
    totals = analysis.totals
    assert answers["total"] == {
        "movements": totals.movement_count, "bytes": totals.bytes, "time_ns": totals.time_ns
    }  # fmt: skip
    assert totals.paired_count == answers["paired"]
    # Each counted once, and nothing was odd about any.
    assert {link.transport for link in analysis.links} == set(answers["transports"])
    assert [warning.code for warning in analysis.warnings] == []
    assert [row.rule for row in analysis.excluded] == ["ucx/control-message"]
