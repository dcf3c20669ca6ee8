"""`kv_transfer` ranges as transfers: what their text says, and nothing that it does not."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import study_traces
from nsysparse.scopes import find_scopes
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import Process, TraceBuilder
from nsysparse.transports.annotated import find


def started() -> tuple[TraceBuilder, Process]:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10_000)
    return builder, builder.process(pid=1)


def read(builder: TraceBuilder, folder: Path) -> Trace:
    return read_trace(builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)


def one(text: str, folder: Path) -> dict[str, object]:
    builder, process = started()
    process.thread(tid=1).push_pop(text, 10, 30)
    trace = read(builder, folder)
    (row,) = find(trace, find_scopes(trace)).rows(named=True)
    return row


@pytest.mark.parametrize("style", ["push_pop", "start_end"])
def test_the_range_is_the_transfer(style: str, tmp_path: Path) -> None:
    builder, process = started()
    thread = process.thread(tid=1)
    text = "kv_transfer v=1 op=send request=r1 layer=12 bytes=4096 peer=1 xfer=r1-12"
    getattr(thread, style)(text, 100, 350, domain="kvx")
    trace = read(builder, tmp_path)
    (row,) = find(trace, find_scopes(trace)).rows(named=True)
    assert (row["transport"], row["side"], row["peer"]) == ("annotated", "send", 1)
    kind = "call" if style == "push_pop" else "host"
    assert (row["interval_kind"], row["start_ns"], row["end_ns"], row["time_ns"]) == (kind, 100, 350, 250)
    assert (row["bytes"], row["bytes_source"], row["match_key"]) == (4096, "annotation", "xfer:r1-12")
    assert (row["purpose"], row["purpose_rule"]) == ("kv", "own/kv_transfer")
    assert (row["thread"], row["call_start_ns"], row["call_end_ns"]) == (thread.global_tid, 100, 350)
    assert (row["src_end"], row["dst_end"], row["device_id"]) == (None, None, None)
    assert row["scope_id"] == trace.ranges["range_id"][0]


@pytest.mark.parametrize(
    ("said", "side"),
    [
        ("op=send", "send"),
        ("op=put", "send"),
        ("op=offload", "send"),
        ("op=recv", "recv"),
        ("op=get", "recv"),
        ("op=load", "recv"),
        ("op=copy", "copy"),
        ("op=teleport", None),
        ("op=", None),
        ("role=prefill", None),
        ("loop=send", None),
    ],
)
def test_the_side_is_what_op_says(said: str, side: str | None, tmp_path: Path) -> None:
    assert one(f"kv_transfer {said} layer=0", tmp_path)["side"] == side


@pytest.mark.parametrize(
    ("said", "peer"),
    [("peer=0", 0), ("peer=prefill-1", None), ("peer=-1", None), (f"peer={2**31}", None), (f"peer={2**70}", None)],
)
def test_a_peer_is_a_rank_or_unknown(said: str, peer: int | None, tmp_path: Path) -> None:
    assert one(f"kv_transfer op=send {said}", tmp_path)["peer"] == peer


def test_an_annotation_that_says_nothing_else_is_still_a_transfer(tmp_path: Path) -> None:
    row = one("kv_transfer", tmp_path)
    unknown = ("side", "bytes", "bytes_source", "peer", "match_key")
    assert [row[name] for name in unknown] == [None] * len(unknown)
    assert (row["time_ns"], row["purpose"]) == (20, "kv")


@pytest.mark.parametrize("size", [2**48 + 1, 2**63, 10**40])
def test_sizes_that_cannot_be_are_unknown_and_counted(size: int, tmp_path: Path) -> None:
    builder, process = started()
    process.thread(tid=1).push_pop(f"kv_transfer op=send bytes={size}", 10, 30)
    process.thread(tid=1).push_pop(f"kv_transfer op=send bytes={2**48}", 40, 50)
    trace = read(builder, tmp_path)
    assert find(trace, find_scopes(trace))["bytes"].to_list() == [None, 2**48]
    assert trace.anomalies["sizes-impossible"] == 1


def test_only_ranges_of_the_kind_count(tmp_path: Path) -> None:
    builder, process = started()
    thread = process.thread(tid=1)
    thread.mark("kv_transfer op=send bytes=8", 5)
    for at, text in enumerate(("kv_pack layer=1", "kv_wait request=r", "kv_transferred", "r1#model.layers.3.attn")):
        thread.push_pop(text, 10 * at, 10 * at + 5)
    trace = read(builder, tmp_path)
    assert find(trace, find_scopes(trace)).height == 0


def test_a_range_nobody_closed_has_no_interval(tmp_path: Path) -> None:
    builder, process = started()
    thread = process.thread(tid=1)
    thread.start_end("kv_transfer op=get bytes=64", 10, None)
    thread.push_pop("kv_transfer op=get bytes=32", 20, 90)
    trace = read(builder, tmp_path)
    columns = ("interval_kind", "start_ns", "end_ns", "time_ns", "bytes", "call_start_ns")
    assert find(trace, find_scopes(trace)).select(columns).rows() == [
        (None, None, None, None, 64, 10),
        ("call", 20, 90, 70, 32, 20),
    ]


def test_nested_and_overlapping_ranges_are_all_found(tmp_path: Path) -> None:
    builder, process = started()
    one_thread, other = process.thread(tid=1), process.thread(tid=2)
    one_thread.push_pop("kv_transfer op=send layer=0-1 bytes=10", 0, 100)
    one_thread.push_pop("kv_transfer op=send layer=0 bytes=5", 10, 40)
    other.start_end("kv_transfer op=recv layer=1 bytes=5", 20, 120, end_thread=one_thread)
    trace = read(builder, tmp_path)
    found = find(trace, find_scopes(trace))
    assert found.select("start_ns", "end_ns", "bytes").rows() == [(0, 100, 10), (10, 40, 5), (20, 120, 5)]
    assert found["scope_id"].n_unique() == 3


def test_row_order_never_shows(tmp_path: Path) -> None:
    def built(seed: int | None) -> pl.DataFrame:
        builder, process = started()
        for step in range(20):
            process.thread(tid=1 + step % 3).push_pop(f"kv_transfer op=put layer={step} bytes={step}", 7, 7 + step)
        if seed is not None:
            builder.shuffle(seed)
        trace = read(builder, tmp_path)
        return find(trace, find_scopes(trace))

    plain = built(None)
    assert plain.height == 20
    for seed in (1, 2, 3):
        assert built(seed).equals(plain)


def test_overlapping_ranges_each_speak_for_themselves(tmp_path: Path) -> None:
    builder, process = started()
    for layer in range(3):
        text = f"kv_transfer request=r{layer % 2} layer={layer} bytes={10 + layer} role=prefill"
        process.thread(tid=1 + layer).start_end(text, 10 * layer, 10 * layer + 100)
    study = study_traces([builder.write(tmp_path / "t.sqlite")], None)
    columns = ("layer", "layer_provenance", "request_id", "request_provenance", "bytes", "time_ns")
    assert study.shares.sort("layer").select(columns).rows() == [
        (0, "exact", "r0", "exact", 10, 100),
        (1, "exact", "r1", "exact", 11, 100),
        (2, "exact", "r0", "exact", 12, 100),
    ]
    assert study.transfers["role"].unique().to_list() == ["prefill"]
    assert study.anomalies["annotations-around-both-sides"] == 0


@pytest.mark.parametrize(("whole", "request_id", "counted"), [(300, "a", 2), (300, "b", 3), (290, "a", 3)])
def test_a_range_of_a_request_around_its_layers_of_another_thread_is_told_twice(
    whole: int, request_id: str, counted: int, tmp_path: Path
) -> None:
    builder = TraceBuilder(schema="3.25", duration=10_000)
    process = builder.process(pid=1)
    process.thread(tid=2).start_end(f"kv_transfer op=send request={request_id} bytes={whole}", 100, 900)
    for layer, nbytes in enumerate((100, 200)):
        at = 200 + 100 * layer
        process.thread(tid=1).push_pop(f"kv_transfer op=send request=a layer={layer} bytes={nbytes}", at, at + 50)
    study = study_traces([builder.write(tmp_path / "t.sqlite")])
    assert study.transfers["is_movement"].sum() == counted
