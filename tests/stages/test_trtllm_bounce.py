"""TensorRT-LLM's bounce path: each write on the wire is a transfer, nothing around it is."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import study_traces
from nsysparse.scopes import find_scopes
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import Process, TraceBuilder
from nsysparse.transports.trtllm_bounce import find

DOMAIN = "trtllm.disagg.bounce"


def started() -> tuple[TraceBuilder, Process]:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10_000)
    return builder, builder.process(pid=1)


def read(builder: TraceBuilder, folder: Path) -> Trace:
    return read_trace(builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)


def found_in(builder: TraceBuilder, folder: Path) -> pl.DataFrame:
    trace = read(builder, folder)
    return find(trace, find_scopes(trace))


def one_request(process: Process) -> None:
    """Request 42 in two chunks of 16 MiB, whose steps overlap and end on another thread."""
    io, scatter = process.thread(tid=2), process.thread(tid=3)
    io.start_end("req rid=42 chunks=2 bytes=33554432", 0, 1000, end_thread=scatter, domain=DOMAIN)
    for chunk in (0, 1):
        at = 100 * chunk
        io.start_end(f"gatherLaunch rid=42 chunk={chunk} n=512 bytes=16777216", at + 5, at + 9, domain=DOMAIN)
        io.start_end(f"gather rid=42 chunk={chunk}", at + 6, at + 40, domain=DOMAIN)
        io.start_end(
            f"nixlWrite rid=42 chunk={chunk} bytes=16777216", at + 50, at + 250, end_thread=scatter, domain=DOMAIN
        )
        io.start_end(f"ackWait rid=42 chunk={chunk}", at + 250, at + 300, domain=DOMAIN)


def test_each_write_is_a_transfer_and_the_request_is_none(tmp_path: Path) -> None:
    builder, process = started()
    one_request(process)
    found = found_in(builder, tmp_path)
    columns = ("side", "interval_kind", "start_ns", "end_ns", "time_ns", "bytes", "bytes_source")
    assert found.select(columns).rows() == [
        ("send", "host", 50, 250, 200, 2**24, "text"),
        ("send", "host", 150, 350, 200, 2**24, "text"),
    ]
    assert found["bytes"].sum() == 33554432  # what `req` says of the whole
    assert found.select("transport", "purpose", "purpose_rule").unique().rows() == [
        ("trtllm-bounce", "kv", "trtllm-bounce/nixlWrite")
    ]
    assert found["thread"].unique().to_list() == [process.thread(tid=2).global_tid]


def test_the_range_of_the_write_names_its_request(tmp_path: Path) -> None:
    builder, process = started()
    one_request(process)
    process.thread(tid=4).start_end("nixlWrite rid=7 chunk=0 bytes=64", 60, 90, domain=DOMAIN)
    trace = read(builder, tmp_path)
    scopes = find_scopes(trace)
    named = find(trace, scopes).join(scopes.filter(), left_on="scope_id", right_on="range_id")
    assert named.select("request", "kind", "bytes").rows() == [
        ("42", "transfer", 2**24),
        ("42", "transfer", 2**24),
        ("7", "transfer", 64),
    ]


def test_bytes_and_time_go_to_the_request_that_the_write_names(tmp_path: Path) -> None:
    builder, process = started()
    one_request(process)  # writes over 50-250 and 150-350
    process.thread(tid=4).start_end("nixlWrite rid=7 chunk=0 bytes=64", 60, 90, domain=DOMAIN)
    study = study_traces([builder.write(tmp_path / "t.sqlite")], None)
    columns = ("request_id", "request_provenance", "layer", "bytes", "time_ns")
    assert study.shares.sort("bytes", "transfer_id").select(columns).rows() == [
        ("7", "exact", None, 64, 30),
        ("42", "exact", None, 2**24, 200),
        ("42", "exact", None, 2**24, 200),
    ]
    assert study.anomalies["annotations-around-both-sides"] == 0


def test_what_is_around_the_writes_names_the_request_and_has_no_purpose(tmp_path: Path) -> None:
    builder, process = started()
    one_request(process)
    scopes = find_scopes(read(builder, tmp_path))
    others = scopes.filter(pl.col("kind") != "transfer")
    assert others.group_by("kind").len().sort("kind").rows() == [("pack", 4), ("scope", 1), ("wait", 2)]
    assert others.select("purpose", "request", "bytes").unique().rows() == [(None, "42", None)]


@pytest.mark.parametrize("domain", [None, "trtllm", "kvx"])
def test_the_same_words_elsewhere_are_somebody_elses(domain: str | None, tmp_path: Path) -> None:
    builder, process = started()
    process.thread(tid=2).start_end("nixlWrite rid=42 chunk=0 bytes=64", 5, 9, domain=domain)
    assert found_in(builder, tmp_path).height == 0


def test_a_write_that_never_ended_has_no_interval(tmp_path: Path) -> None:
    builder, process = started()
    process.thread(tid=2).start_end("nixlWrite rid=42 chunk=0 bytes=64", 5, None, domain=DOMAIN)
    columns = ("interval_kind", "start_ns", "end_ns", "time_ns", "bytes", "call_start_ns", "call_end_ns")
    assert found_in(builder, tmp_path).select(columns).rows() == [(None, None, None, None, 64, 5, 10_000)]


@pytest.mark.parametrize(("text", "count"), [("", 0), (f" bytes={2**48 + 1}", 1), (f" bytes={10**30}", 1)])
def test_sizes_that_are_not_said_or_cannot_be_are_unknown(text: str, count: int, tmp_path: Path) -> None:
    builder, process = started()
    process.thread(tid=2).start_end(f"nixlWrite rid=42 chunk=0{text}", 5, 9, domain=DOMAIN)
    trace = read(builder, tmp_path)
    assert find(trace, find_scopes(trace)).select("bytes", "bytes_source", "time_ns").rows() == [(None, None, 4)]
    assert trace.anomalies["sizes-impossible"] == count


def test_row_order_never_shows(tmp_path: Path) -> None:
    def built(seed: int | None) -> pl.DataFrame:
        builder, process = started()
        one_request(process)
        if seed is not None:
            builder.shuffle(seed)
        return found_in(builder, tmp_path)

    plain = built(None)
    assert plain.height == 2
    for seed in (1, 2, 3):
        assert built(seed).equals(plain)
