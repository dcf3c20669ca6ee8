"""Where a trace's clock stands, and that what an export added to all times does not show."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from nsysparse.anchor import Anchor
from nsysparse.api import Options, analyse, study_traces
from nsysparse.render import FORMATS, to_json, to_openmetrics
from nsysparse.sections import build
from nsysparse.source.export import Export
from nsysparse.source.extract import read_trace
from nsysparse.source.schema import NVTX, NVTX_CARRIED, TableSpec
from nsysparse.source.trace import Trace
from nsysparse.testing import TraceBuilder

EPOCH = 1_780_000_000_000_000_000
TIMED = {
    "NVTX_EVENTS": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start", "end"),
    "UCP_SUBMIT_EVENTS": ("start", "end"),
    "UCP_PROGRESS_EVENTS": ("start", "end"),
    "CUDA_GRAPH_NODE_EVENTS": ("start", "end"),
    "GPU_METRICS": ("timestamp",),
    "NET_NIC_METRIC": ("start", "end"),
}


def capture(schema: str = "3.27", *, host: str = "node-0") -> TraceBuilder:
    """A bit of everything that has a time, a range that nobody closed included."""
    trace = TraceBuilder(schema=schema, gpus={0: "NVIDIA H100 80GB HBM3"}, host=host, duration=1_000_000)
    process = trace.process(pid=7)
    thread = process.thread()
    thread.nccl("ncclCommInitRank", 100, 200, communicator=9, nranks=2, rank=0, device=0)
    thread.push_pop("kv_transfer op=send layer=3 req=a", 900, 9_500)
    thread.nccl("ncclSend", 1_000, 9_000, communicator=9, nbytes=8192, peer=1)
    thread.start_end("kv_request req=a prompt=12", 500, None)
    thread.mark("kv_role role=prefill", 400)
    process.kernel("ncclDevKernel_SendRecv", 9_000, 12_000, stream=20, launch=thread.launch(2_000, 3_000))
    process.kernel("gemm", 8_000, 10_000, launch=thread.launch(3_000, 4_000))
    process.copy("PtoP", 4096, 20_000, 30_000, src_device=0, dst_device=1, launch=thread.launch(15_000, 16_000))
    if schema >= "3.25":
        thread.ucp_worker(5)
        thread.ucx("ucp_tag_send_nbx", 40_000, 41_000, done=50_000, nbytes=100_000, tag=3, peer=6)
        trace.gpu_metric(0, "NVLink TX Requests User Data [Throughput %]", {1_000: 1.0, 50_000: 5.0})
        trace.nic_metric("mlx5_0", "IB: Bytes sent", {(0, 50_000): 3.0})
    return trace


def shifted(trace: TraceBuilder, by: int) -> None:
    for table, columns in TIMED.items():
        if trace.store.rows.get(table):
            change = ", ".join(f"{column} = {column} + {by}" for column in columns)
            trace.sql(f"UPDATE {table} SET {change}")


def anchor_of(path: Path) -> Anchor:
    return read_trace(path, "t", all_gpu_work=False).anchor


def test_an_anchor_says_utc_and_the_hosts_clock_at_zero(tmp_path: Path) -> None:
    anchor = anchor_of(capture().write(tmp_path / "t.sqlite"))
    digest = hashlib.sha256(b"node-0").hexdigest()[:16]
    assert anchor == Anchor(utc_epoch_ns=EPOCH, host=digest, shift_ns=0, monotonic_ns=5_000_000_000_000)


def test_old_exports_have_no_monotonic_clock(tmp_path: Path) -> None:
    anchor = anchor_of(capture("3.0").write(tmp_path / "t.sqlite"))
    assert (anchor.utc_epoch_ns, anchor.monotonic_ns, anchor.shift_ns) == (EPOCH, None, 0)


def test_a_file_may_say_nothing_of_its_clock(tmp_path: Path) -> None:
    trace = capture()
    trace.omit("TARGET_INFO_SESSION_START_TIME")
    trace.omit("TARGET_INFO_SYSTEM_ENV")
    assert anchor_of(trace.write(tmp_path / "t.sqlite")) == Anchor()


@pytest.mark.parametrize("name", ["", " ", "localhost", "LocalHost"])
def test_names_that_every_host_has_name_none(name: str, tmp_path: Path) -> None:
    assert anchor_of(capture(host=name).write(tmp_path / "t.sqlite")).host is None


def test_two_names_or_something_else_than_a_name_are_none(tmp_path: Path) -> None:
    two = capture()
    two.sql("INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT globalVid, devStateName, name, nameEnum, 'x'"
            " FROM TARGET_INFO_SYSTEM_ENV")  # fmt: skip
    odd = capture()
    odd.sql("UPDATE TARGET_INFO_SYSTEM_ENV SET value = x'00ff'")
    lacking = capture()
    lacking.omit("TARGET_INFO_SYSTEM_ENV", "name")
    for number, trace in enumerate((two, odd, lacking)):
        assert anchor_of(trace.write(tmp_path / f"{number}.sqlite")).host is None


def test_the_name_of_the_host_is_in_nothing_that_is_written(tmp_path: Path) -> None:
    """Nor is the digest that stands for it, in any format."""
    first, second = capture(host="secret-host-name"), capture(host="secret-host-name")
    shifted(second, 500)  # else both were one recording
    paths = [each.write(tmp_path / name / "t.sqlite") for name, each in (("a", first), ("b", second))]
    digest = anchor_of(paths[0]).host
    assert digest is not None
    found = analyse(paths)
    assert found.clocks is not None
    assert found.clocks[0].method == "same-host-utc"  # so it was used
    for name, form in FORMATS.items():
        text = form.render(found if form.subject == "analysis" else build(found))
        assert "secret-host-name" not in text, name
        assert digest not in text, name
    assert digest not in to_openmetrics.render(found, per_request=True)
    assert "secret-host-name" not in repr(read_trace(paths[0], "t", all_gpu_work=True))


@pytest.mark.parametrize(
    ("schema", "meta", "by"),
    [
        ("3.27", {"EXPORT_CONFIG_TIME_SHIFT": str(EPOCH), "EXPORT_PARAM_TIME_NORMALIZE": "true"}, EPOCH),
        ("3.27", {"EXPORT_CONFIG_TIME_SHIFT": "-12345"}, -12_345),
        ("3.27", {"EXPORT_CONFIG_TIME_SHIFT": "", "EXPORT_PARAM_TIME_NORMALIZE": "true"}, EPOCH),
        (
            "3.7",
            {"EXPORT_CONFIG_TIME_SHIFT": "?", "EXPORT_PARAM_TIME_NORMALIZE": "true", "EXPORT_PARAM_TIME_SHIFT": "77"},
            EPOCH + 77,
        ),
        ("3.7", {"EXPORT_CONFIG_TIME_SHIFT": "?", "EXPORT_PARAM_TIME_SHIFT": "-5"}, -5),
        ("3.0", {}, EPOCH),  # says nothing of it: times like these are UTC
        ("2021", {}, None),
    ],
)
def test_what_an_export_added_does_not_show(schema: str, meta: dict[str, str], by: int | None, tmp_path: Path) -> None:
    plain, moved = capture(schema), capture(schema)
    # A file without UTC has its first event at zero.
    shifted(moved, EPOCH if by is None else by)
    for name, value in meta.items():
        moved.meta(name, value)
    first, second = (tmp_path / name / "t.sqlite" for name in "ab")
    plain.write(first)
    moved.write(second)
    before, after = (read_trace(path, "t", all_gpu_work=True) for path in (first, second))
    if by is None:
        assert after.anchor.shift_ns == after.anchor.utc_epoch_ns == EPOCH + _first(before)
        assert after.ranges["start_ns"].to_list() == [at - _first(before) for at in before.ranges["start_ns"]]
        return
    assert after.anchor == dataclasses.replace(before.anchor, shift_ns=by)
    for part in dataclasses.fields(before):
        ours, theirs = (getattr(each, part.name) for each in (before, after))
        if isinstance(ours, pl.DataFrame):
            assert ours.equals(theirs), part.name
        elif part.name != "anchor":
            assert ours == theirs, part.name
    assert before.ranges["is_open"].sum() == 1
    options = Options(layers=4)
    assert to_json.render(analyse([first], options)) == to_json.render(analyse([second], options))
    assert study_traces([first]).transfers.equals(study_traces([second]).transfers)


def _first(trace: Trace) -> int:
    """The first row of any kind, the registration of a domain included."""
    return min(int(trace.ranges["start_ns"].min()), 0)  # type: ignore[arg-type]


def test_impossible_times_stay_so_whatever_is_taken_off(tmp_path: Path) -> None:
    trace = capture()
    trace.process(pid=8).thread().push_pop("never", 5, 2**63 - 1)
    shifted(trace, 0)
    trace.sql("UPDATE NVTX_EVENTS SET end = -9223372036854775807 WHERE end = 9223372036854775807")
    trace.meta("EXPORT_CONFIG_TIME_SHIFT", str(EPOCH))
    path = trace.write(tmp_path / "t.sqlite")
    assert read_trace(path, "t", all_gpu_work=False).anomalies["ranges-with-impossible-times"] >= 1


def test_a_shift_that_no_clock_can_have_is_none(tmp_path: Path) -> None:
    trace = capture()
    trace.meta("EXPORT_CONFIG_TIME_SHIFT", str(2**70))
    assert anchor_of(trace.write(tmp_path / "t.sqlite")).shift_ns == 0


def test_utc_is_recorded_time_plus_the_epoch(sample: Callable[[str], Path]) -> None:
    """Two recordings on hosts of their own set marks that carry `time.time_ns()`: at most 60 us before they begin."""
    for side in ("prefill", "decode"):
        path = sample(f"real/nsys22-nccl2.29.7-pd-{side}.sqlite")
        anchor = anchor_of(path)
        assert anchor.utc_epoch_ns is not None
        with Export(path) as export:
            number = pl.coalesce("unsigned_value", "signed_value")
            read = {name: NVTX.columns[name] for name in ("start_ns", "text")}
            read |= {name: NVTX_CARRIED.columns[name] for name in ("unsigned_value", "signed_value")}
            marks = export.read(TableSpec(NVTX.table, read)).filter(text="clock utc_ns").with_columns(said=number)
        assert marks.height == 3
        apart = (anchor.utc_epoch_ns + marks["start_ns"] - marks["said"]).to_list()
        assert all(0 <= each <= 60_000 for each in apart), apart
    assert anchor_of(sample("real/nsys22-nccl2.29.7-pd-prefill.sqlite")).host != anchor.host
