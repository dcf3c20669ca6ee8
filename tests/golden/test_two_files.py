"""One run in two exports: the files are what the plan says, and both together count each movement once."""

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nsysparse.analysis import Analysis
from nsysparse.api import analyse, study_traces
from tests.conftest import SAMPLES

RUN = "pd-two-hosts"
FILES = ("pd-two-hosts-prefill.sqlite", "pd-two-hosts-decode.sqlite")
THRESHOLD = 0.20
OVER = {"req-02", "req-07", "req-10"}


@pytest.fixture(scope="module")
def build() -> Iterator[Callable[..., dict[str, Any]]]:
    """The recipe."""
    sys.path.insert(0, str(SAMPLES))
    try:
        from recipes import twofiles

        yield twofiles.build
    finally:
        sys.path.remove(str(SAMPLES))


@pytest.fixture(scope="module")
def both(sample: Callable[[str], Path]) -> list[Path]:
    return [sample(f"synthetic/{name}") for name in FILES]


@pytest.fixture(scope="module")
def analysis(both: list[Path]) -> Analysis:
    return analyse(both)


def test_both_files_together_count_each_movement_once(analysis: Analysis, runs: dict[str, Any]) -> None:
    answers = runs[RUN]["answers"]
    totals = analysis.totals
    assert (totals.movement_count, totals.bytes, totals.time_ns) == (
        answers["total"]["movements"], answers["total"]["bytes"], answers["total"]["time_ns"]
    )  # fmt: skip
    assert totals.transfer_count == answers["send_transfers"] + answers["recv_transfers"] == totals.kernel_count
    assert totals.paired_count == answers["paired"] == totals.movement_count
    assert [(warning.code, warning.count) for warning in analysis.warnings] == [("ranges-never-closed", 2)]
    assert analysis.excluded == ()


def test_pairs_are_proven_as_both_saw_the_communicator_made(both: list[Path]) -> None:
    transfers = study_traces(both).transfers
    assert transfers["pairing_proof"].to_list() == ["start"] * transfers.height
    traces = transfers.group_by("pair_id").agg(pl.col("trace_id").n_unique(), pl.col("bytes").n_unique())
    assert traces.select(pl.col("trace_id", "bytes").unique()).rows() == [(2, 1)]


def test_layers_and_requests_are_known(analysis: Analysis, runs: dict[str, Any]) -> None:
    answers = runs[RUN]["answers"]
    layers = [(row.bytes, row.time_ns, row.movement_count) for row in analysis.layers]
    assert layers == list(zip(*(answers["layers"][key] for key in ("bytes", "time_ns", "movements")), strict=True))
    requests = {row.request_id: (row.bytes, row.time_ns, row.movement_count) for row in analysis.requests}
    assert requests == {
        name: (row["bytes"], row["time_ns"], row["movements"]) for name, row in answers["requests"].items()
    }
    assert analysis.unattributed["request"].movement_count == 0
    assert analysis.unattributed["layer"].bytes == answers["layer_unattributed"]["bytes"]
    exact = {row.field: row.movement_count for row in analysis.coverage if row.provenance == "exact"}
    acknowledgements = len(answers["paths"])
    assert exact["layer"] == exact["request"] == answers["total"]["movements"] - acknowledgements


@pytest.mark.parametrize("name", FILES)
def test_each_file_alone(name: str, sample: Callable[[str], Path], manifest: dict[str, Any]) -> None:
    path = f"synthetic/{name}"
    alone, answers = analyse([sample(path)]), manifest[path]["answers"]
    assert alone.totals.movement_count == answers["total"]["movements"]
    assert alone.totals.bytes == answers["total"]["bytes"]
    assert alone.totals.time_ns == answers["total"]["time_ns"]
    assert alone.totals.paired_count == answers["paired"] == 0


def test_some_messages_are_larger_than_the_buffers(both: list[Path]) -> None:
    transfers = study_traces(both).transfers
    assert transfers["staging_bytes"].unique().to_list() == [2 * 2**22]
    larger = transfers.filter(pl.col("is_movement"), pl.col("bytes") > pl.col("staging_bytes"))["request_id"]
    assert set(larger) == {"req-02", "req-07", "req-08", "req-09"}


def test_segments_of_a_path_sum_to_it(runs: dict[str, Any]) -> None:
    for name, path in runs[RUN]["answers"]["paths"].items():
        gap = ("handoff_ns", "transfer_span_ns", "ready_to_decode_ns")
        if "kv_gap_ns" in path:
            assert sum(path[part] for part in gap) == path["kv_gap_ns"], name
        if "path_ns" in path:
            parts = ("queue_ns", "prefill_ns", "kv_gap_ns", "first_decode_ns")
            assert sum(path[part] for part in parts) == path["path_ns"], name
        assert (path["handoff_ns"] > 0) + (path["overlap_ns"] > 0) == 1, name


def test_idle_time_is_divided_among_its_reasons(runs: dict[str, Any]) -> None:
    decode = runs[RUN]["answers"]["decode"]
    assert sum(decode["by_reason"].values()) == decode["idle_ns"] < decode["active_ns"]
    assert all(decode["by_reason"].values())


@pytest.mark.parametrize("seed", range(5))
def test_three_of_ten_are_over_whatever_the_seed(seed: int, tmp_path: Path, build: Callable[..., Any]) -> None:
    paths = build(tmp_path, seed)["paths"]
    shares = {name: path["kv_gap_ns"] / path["path_ns"] for name, path in paths.items() if "path_ns" in path}
    assert len(shares) == 10
    assert {name for name, share in shares.items() if share > THRESHOLD} == OVER
    assert {name for name, path in paths.items() if path["verdict"] == "over"} == OVER
    assert min(abs(share - THRESHOLD) for share in shares.values()) > 0.03


@pytest.mark.parametrize(
    "variant",
    [
        {"offset_ns": -41_000_000, "drift_ppm": -55.0},
        {"jitter_ns": 0, "two_way": False},
        {"same_host": True},
        {"anchored": False},
    ],
)
def test_other_runs_hold_what_their_answers_say(variant: dict[str, Any], tmp_path: Path, build: Any) -> None:
    answers = build(tmp_path, 7, **variant)
    analysis = analyse([tmp_path / name for name in FILES])
    assert analysis.totals.paired_count == analysis.totals.movement_count == answers["total"]["movements"]
    assert (analysis.totals.bytes, analysis.totals.time_ns) == (answers["total"]["bytes"], answers["total"]["time_ns"])
    clock = answers["clock"]
    told = variant.get("offset_ns", 0 if variant.get("same_host") else 3_200_000)
    drift = variant.get("drift_ppm", 0.0 if variant.get("same_host") else 18.0)
    if variant.get("anchored", True):
        since = clock["middle_ns"] + 7_300_000
        assert clock["offset_ns"] == told + round(since * drift / 1e6)
    else:
        assert "offset_ns" not in clock
    hosts = ("node-0", "node-0") if variant.get("same_host") else ("prefill-0", "decode-0")
    assert tuple(_told(tmp_path / name, "TARGET_INFO_SYSTEM_ENV", "value") for name in FILES) == hosts


def _told(path: Path, table: str, column: str) -> Any:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {column} FROM {table}").fetchone()[0]


def test_each_file_tells_its_hosts_clock(both: list[Path], runs: dict[str, Any]) -> None:
    prefill, decode = (_told(path, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs") for path in both)
    clock = runs[RUN]["answers"]["clock"]
    assert decode - prefill + clock["session_offset_ns"] == clock["offset_ns"]
    systems = {_told(path, "TARGET_INFO_SESSION_START_TIME", "systemClockNs") for path in both}
    assert len(systems) == 2


def test_clocks_change_no_truth(tmp_path: Path, build: Callable[..., Any]) -> None:
    one, other = build(tmp_path / "a", 3), build(tmp_path / "b", 3, offset_ns=9_000_000, drift_ppm=-100.0)
    assert [one[part] for part in ("paths", "decode", "prefill")] == [
        other[part] for part in ("paths", "decode", "prefill")
    ]
    assert one["clock"] != other["clock"]


def test_the_manifest_holds_the_recipes_answers(
    runs: dict[str, Any], tmp_path: Path, build: Callable[..., Any]
) -> None:
    answers = build(tmp_path, runs[RUN]["seed"])
    del answers["files"]
    assert answers == runs[RUN]["answers"]
    assert runs[RUN]["paths"] == [f"synthetic/{name}" for name in FILES]
    again = [(tmp_path / name).read_bytes() for name in FILES]
    build(tmp_path, runs[RUN]["seed"])
    assert [(tmp_path / name).read_bytes() for name in FILES] == again


def test_a_run_names_traces_of_the_manifest(manifest: dict[str, Any], runs: dict[str, Any]) -> None:
    assert all(path in manifest for run in runs.values() for path in run["paths"])
