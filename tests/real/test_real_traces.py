"""Captures that others published: each opens, or is refused in one clear sentence."""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import Options, analyse, export_frame, inspect, study_traces
from nsysparse.compare import compare, parse
from nsysparse.errors import InputError, NotAnExport

pytestmark = pytest.mark.real

NO_EXPORTS = {
    "git_lfs_pointer.sqlite": "Git LFS pointer",
    "pipit_test.sqlite": "no table StringIds",
    "superbenchmark_test.partial-v2022.sqlite": "no table of events",
}
H100 = "real_traces/nsys-ai_mfu_2gpu_before.sqlite"


@pytest.mark.parametrize("kind", ["real_traces", "lab_traces"])
def test_all_open_or_are_refused(kind: str, shared_traces: Callable[[str], list[Path]]) -> None:
    paths = shared_traces(kind)
    assert len(paths) >= 19
    for path in paths:
        before = hashlib.sha256(path.read_bytes()).hexdigest()
        if path.name in NO_EXPORTS:
            with pytest.raises(NotAnExport) as caught:
                inspect([path])
            assert NO_EXPORTS[path.name] in caught.value.message
            assert caught.value.hint
        else:
            looked = inspect([path]).traces[0]
            assert looked.counts.nvtx_range_count >= 0
            analysis = analyse([path])
            assert analysis.verdict.text
            assert analysis.reasons
            assert export_frame([path], "nvtx_ranges").height == looked.counts.nvtx_range_count
        assert hashlib.sha256(path.read_bytes()).hexdigest() == before
        assert not [beside for beside in path.parent.iterdir() if beside.name.startswith(path.name + "-")]


def test_the_two_gpu_file_holds_no_kv(shared: Callable[[str], Path]) -> None:
    """66 SendRecv kernels: 64 joined to a launch and to 4 calls each, 2 without a call, 8 calls without kernel."""
    study = study_traces([shared(H100)], None)
    transfers = study.transfers
    calls = transfers.filter(pl.col("side").is_not_null())
    assert calls.height == 264
    joined = calls.filter(pl.col("kernel_ops").is_not_null()).group_by("group_key").agg(
        pl.len(), pl.col("kernel_ops").first(), pl.col("kernel_count").first(), pl.col("time_ns").sum(),
        length=(pl.col("end_ns") - pl.col("start_ns")).first(),
    )  # fmt: skip
    assert joined.height == 64
    assert joined.select("len", "kernel_ops", "kernel_count").unique().rows() == [(4, 4, 1)]
    assert (joined["time_ns"] == joined["length"]).all()
    without_kernel = calls.filter(pl.col("start_ns").is_null())
    assert without_kernel.height == 8
    assert without_kernel["interval_kind"].null_count() == 8
    assert transfers.filter(pl.col("side").is_null())["kernel_count"].to_list() == [1, 1]
    assert transfers["bytes"].null_count() == transfers.height
    assert transfers["purpose"].unique().to_list() == ["other"]
    rules = dict(transfers.group_by("purpose_rule").len().iter_rows())
    assert rules == {"torch/all-to-all": 264, "same stream as torch/all-to-all": 2}


def test_the_two_gpu_file_in_the_report(shared: Callable[[str], Path]) -> None:
    analysis = analyse([shared(H100)], Options(link="nvlink4-h100"))
    assert analysis.totals.movement_count == analysis.totals.transfer_count == analysis.totals.kernel_count == 0
    assert analysis.totals.bytes == 0
    assert sum(row.kernel_count for row in analysis.excluded) == 66
    assert sum(row.transfer_count for row in analysis.excluded) == 266
    assert all(row.bytes is None for row in analysis.excluded)
    assert analysis.links == analysis.layers == analysis.requests == ()
    assert analysis.verdict.text.startswith("No KV transfer found: all 266 transfers in 66 kernels are other")
    facts = analysis.traces[0].capabilities
    assert facts["nccl_calls"].status == "partial"  # the row that names the domain was cropped away
    assert facts["nccl_sizes"].status == "absent"
    assert "--include-blobs=true" in facts["nccl_sizes"].fix


def test_the_sum_of_longer_kernels_of_each_exchange(shared: Callable[[str], Path]) -> None:
    """An independent figure for this file: over 33 exchanges, the longer of the two kernels adds up to 19.62 ms."""
    ops = export_frame([shared(H100)], "gpu_ops").filter(pl.col("name").str.contains("SendRecv"))
    lengths = [
        ops.filter(device_id=device).sort("start_ns").select(ns=pl.col("end_ns") - pl.col("start_ns"))["ns"]
        for device in (0, 1)
    ]
    assert [len(series) for series in lengths] == [33, 33]
    longer = sum(max(pair) for pair in zip(*lengths, strict=True))
    assert round(longer / 1e6, 2) == 19.62


def test_communicators_are_exact_strings(shared: Callable[[str], Path]) -> None:
    looked = inspect([shared("real_traces/cs336-lizhieffe_ddp53_profile.sqlite")]).traces[0]
    (found,) = looked.communicators
    assert found.id == "13429301450432826988"
    assert (found.rank_count, found.ranks, found.process_count) == (2, (0, 1), 2)
    assert found.collective_count == 460
    assert (found.send_count, found.recv_count) == (0, 0)


def test_graph_runs_say_what_they_hide(shared: Callable[[str], Path]) -> None:
    path = shared("real_traces/cs336-zx3xyy_result_2_7B_compile_ro.sqlite")
    analysis = analyse([path])
    assert "--cuda-graph-trace=node" in analysis.verdict.text


def test_a_truncated_real_file_is_refused(shared: Callable[[str], Path], tmp_path: Path) -> None:
    whole = shared(H100).read_bytes()
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read"):
        analyse([cut])


def test_marked_sizes_of_lab_payloads(shared: Callable[[str], Path], tmp_path: Path) -> None:
    """Real payload bytes, re-encoded both ways that newer exporters write them, give the sizes of the captures."""
    import csv

    from nsysparse.testing import reencode

    for name in ("nsys22-nccl2.23.4-groups", "nsys23-nccl2.27.5-threads", "nsys22-nccl2.18.3-simple"):
        trace, payloads = shared(f"lab_traces/{name}.sqlite"), shared(f"lab_traces/{name}.payloads.csv")
        with payloads.open(encoding="utf-8", newline="") as file:
            truth = sorted(
                (int(row["start"]), row["name"], int(row["bytes"]), int(row["peer"]), row["comm"])
                for row in csv.DictReader(file)
                if row["name"] in ("ncclSend", "ncclRecv")
            )
        assert truth
        names = {"send": "ncclSend", "recv": "ncclRecv"}
        for form in ("json", "json-id", "blob"):
            again = reencode(trace, payloads, tmp_path / f"{name}-{form}.sqlite", form=form)
            found = study_traces([again], None).transfers.filter(pl.col("bytes").is_not_null())
            got = sorted(
                (row["call_start_ns"], names[row["side"]], row["bytes"], row["peer"],
                 hex(int(row["communicator"])) if row["communicator"] else "")
                for row in found.iter_rows(named=True)
            )  # fmt: skip
            assert got == truth, (name, form)


def test_kernels_that_met_by_position_in_the_two_gpu_file(shared: Callable[[str], Path]) -> None:
    """Nothing says who talked to whom, but two devices ran 33 kernels each, all overlapping their counterpart.

    Independent figures for this file: the longer kernels add up to 19.62 ms, the shorter to 5.78, both present to 5.74.
    A rate over whole kernels would be 3.4 times too low.
    """
    totals = analyse([shared(H100)], Options(purpose="all")).totals
    assert totals.exchange_count == 33
    sums = [value or 0 for value in (totals.longer_kernel_ns, totals.shorter_kernel_ns, totals.both_present_ns)]
    assert [round(value / 1e6, 2) for value in sums] == [19.62, 5.78, 5.74]
    assert round(sums[0] / sums[2], 1) == 3.4
    met = export_frame([shared(H100)], "exchanges")
    assert met.select("pairing", "pairing_proof").unique().rows() == [("positional", None)]
    assert met.select(pl.sum("longer_ns", "shorter_ns", "both_present_ns")).row(0) == tuple(sums)
    assert analyse([shared(H100)]).totals.exchange_count == 0  # it is all-to-all, which the default leaves out


def test_kernels_of_the_two_gpu_file_by_hand(shared: Callable[[str], Path]) -> None:
    """The same three sums from the kernels alone, without pairing, groups or purposes."""
    ops = export_frame([shared(H100)], "gpu_ops").filter(pl.col("name").str.contains("SendRecv"))
    first, second = (ops.filter(device_id=device).sort("start_ns").select("start_ns", "end_ns") for device in (0, 1))
    both = zip(first.rows(), second.rows(), strict=True)
    sums = [0, 0, 0]
    for (a_start, a_end), (b_start, b_end) in both:
        lengths = (a_end - a_start, b_end - b_start)
        window = min(a_end, b_end) - max(a_start, b_start)
        sums = [total + part for total, part in zip(sums, (max(lengths), min(lengths), window), strict=True)]
    assert sums == [19_624_641, 5_777_111, 5_739_662]


def test_longer_kernels_of_a_trace_without_sizes_fail_their_gate(shared: Callable[[str], Path], tmp_path: Path) -> None:
    """30 us more in every SendRecv kernel of the two-GPU H100 trace; its span has slack enough to hide them."""
    trace, longer = shared(H100), tmp_path / "longer.sqlite"
    shutil.copy(trace, longer)
    with closing(sqlite3.connect(longer)) as file, file:
        done = file.execute(
            'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = "end" + 30000'
            " WHERE shortName IN (SELECT id FROM StringIds WHERE value LIKE '%SendRecv%')"
        )
        assert done.rowcount == 66
    base, candidate = (analyse([path], Options(purpose="all")) for path in (trace, longer))
    found = compare([base], candidate, conditions=[parse("shorter_kernel_ms>+10%")])
    (gate,) = found.gates
    assert (gate.passed, gate.value) == (False, pytest.approx(0.030 / (5.777111 / 33)))
    assert found.verdict.state == "regressed"
    assert compare([base], base).verdict.state == "unchanged"
