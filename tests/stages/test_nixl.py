"""NIXL posts meet their completions, whatever became of their handles; what cannot be known stays unknown."""

import json
import struct
from pathlib import Path

import polars as pl
import pytest

from nsysparse.scopes import find_scopes
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import Thread, TraceBuilder
from nsysparse.testing.nixl import SCHEMA
from nsysparse.testing.payloads import blob
from nsysparse.transports.nixl import find

A, B = 0x7F00_0000_1000, 0x7F00_0000_2000


class Scene:
    """A decode process with two threads, and what nsysparse finds in it."""

    def __init__(self, schema: str = "3.25") -> None:
        self.builder = TraceBuilder(schema=schema, gpus={0: "x"})
        self.process = self.builder.process(pid=1)
        self.main, self.poller = self.process.thread(tid=1), self.process.thread(tid=2)

    def trace(self, folder: Path) -> Trace:
        return read_trace(self.builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)

    def found(self, folder: Path) -> pl.DataFrame:
        trace = self.trace(folder)
        return find(trace, find_scopes(trace))

    def read(self, start: int, handle: int = A, thread: Thread | None = None, **more: object) -> None:
        (thread or self.main).nixl_post("read", start, start + 10, agent="decode-0", handle=handle, **more)

    def complete(self, at: int, handle: int = A, thread: Thread | None = None) -> None:
        (thread or self.main).nixl_complete(at, agent="decode-0", handle=handle)


def intervals(found: pl.DataFrame) -> list[tuple[int, int | None]]:
    return found.sort("call_start_ns").select("call_start_ns", "end_ns").rows()


def test_a_read_is_received_from_the_remote_agent_until_it_is_seen_complete(tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, nbytes=4096, remote="prefill-0")
    scene.complete(900)
    (row,) = scene.found(tmp_path).rows(named=True)
    assert (row["side"], row["bytes"], row["bytes_source"]) == ("recv", 4096, "payload")
    assert (row["src_end"], row["dst_end"]) == ("agent:prefill-0", "agent:decode-0")
    assert (row["interval_kind"], row["start_ns"], row["end_ns"], row["time_ns"]) == ("host", 100, 900, 800)
    assert (row["call_start_ns"], row["call_end_ns"]) == (100, 110)
    assert (row["transport"], row["purpose"], row["kernel_count"], row["staging_bytes"]) == ("nixl", None, 0, 0)


def test_a_write_is_sent_to_the_remote_agent(tmp_path: Path) -> None:
    scene = Scene()
    scene.main.nixl_post("write", 5, 7, agent="prefill-0", handle=A, nbytes=64, remote="decode-0")
    scene.main.nixl_complete(50, agent="prefill-0", handle=A)
    ends = scene.found(tmp_path).select("side", "src_end", "dst_end", "time_ns").rows()
    assert ends == [("send", "agent:prefill-0", "agent:decode-0", 45)]


def test_a_handle_that_comes_back_is_another_request(tmp_path: Path) -> None:
    scene = Scene()
    for start in (100, 200, 300):
        scene.read(start)
        scene.complete(start + 50)
    assert intervals(scene.found(tmp_path)) == [(100, 150), (200, 250), (300, 350)]


def test_handles_that_interleave_do_not_cross(tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, A)
    scene.read(120, B)
    scene.complete(300, B)
    scene.complete(400, A)
    scene.read(500, B)
    scene.complete(600, B)
    assert intervals(scene.found(tmp_path)) == [(100, 400), (120, 300), (500, 600)]


def test_another_process_with_the_same_handle_is_somebody_else(tmp_path: Path) -> None:
    scene = Scene()
    other = scene.builder.process(pid=2).thread(tid=9)
    scene.read(100)
    other.nixl_post("read", 110, 115, agent="decode-1", handle=A)
    other.nixl_complete(200, agent="decode-1", handle=A)
    scene.complete(300)
    assert intervals(scene.found(tmp_path)) == [(100, 300), (110, 200)]


def test_completion_may_be_seen_on_another_thread(tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100)
    scene.complete(400, thread=scene.poller)
    found = scene.found(tmp_path)
    assert intervals(found) == [(100, 400)]
    assert found["thread"].to_list() == [scene.main.global_tid]


def test_posts_from_two_threads_with_one_handle_meet_in_order_of_time(tmp_path: Path) -> None:
    scene = Scene()
    scene.read(200, thread=scene.main)
    scene.read(100, thread=scene.poller)
    scene.complete(150)
    scene.complete(250, thread=scene.poller)
    assert intervals(scene.found(tmp_path)) == [(100, 150), (200, 250)]


@pytest.mark.parametrize("handle", [2**64 - 1, 2**63, 2**63 - 1, 0])
def test_handles_are_unsigned(handle: int, tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, handle)
    scene.read(110, A)
    scene.complete(300, handle)
    trace = scene.trace(tmp_path)
    assert sorted(trace.payloads["handle"].to_list()) == sorted([handle, handle, A])
    assert intervals(find(trace, find_scopes(trace))) == [(100, 300), (110, None)]


def test_a_handle_may_stand_in_the_signed_column(tmp_path: Path) -> None:
    scene = Scene()
    scene.main.push_pop("nixl::postXferReq.read", 10, 20, domain="decode-0", int64Value=77)
    scene.main.mark("nixl::xfer.complete", 90, domain="decode-0", int64Value=77)
    assert intervals(scene.found(tmp_path)) == [(10, 90)]


def test_what_never_completed_has_no_interval_and_is_counted(tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, nbytes=64, remote="prefill-0")
    scene.read(200)
    scene.complete(250)
    scene.main.push_pop("nixl::postXferReq.read", 300, 310, domain="decode-0")  # without handle
    trace = scene.trace(tmp_path)
    found = find(trace, find_scopes(trace))
    unknown = (None, None, None, None)
    assert found.select("interval_kind", "start_ns", "end_ns", "time_ns").rows() == [
        unknown,
        ("host", 200, 250, 50),
        unknown,
    ]
    assert found["bytes"].to_list() == [64, None, None]
    assert trace.anomalies["nixl-never-completed"] == 2
    assert trace.anomalies["nixl-completions-without-post"] == 0


def test_completions_of_nothing_make_no_transfer_and_are_counted(tmp_path: Path) -> None:
    scene = Scene()
    scene.complete(50)  # posted before the capture
    scene.read(100)
    scene.complete(200)
    scene.complete(210)  # and again
    scene.complete(220, B)
    trace = scene.trace(tmp_path)
    assert intervals(find(trace, find_scopes(trace))) == [(100, 200)]
    assert trace.anomalies["nixl-completions-without-post"] == 3


def test_a_completion_at_the_instant_of_a_post_is_of_the_one_before(tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100)
    scene.complete(200)
    scene.read(200)
    scene.complete(300)
    assert intervals(scene.found(tmp_path)) == [(100, 200), (200, 300)]


@pytest.mark.parametrize("form", ["json", "json-id", "blob"])
def test_every_form_of_payload_says_the_same(form: str, tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, nbytes=2**40, remote="präfill-0", payload=form)
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace)).select("bytes", "src_end").rows() == [(2**40, "agent:präfill-0")]
    assert trace.anomalies["payloads-not-decodable"] == 0


def test_a_trace_of_an_old_nsys_pairs_without_sizes(tmp_path: Path) -> None:
    scene = Scene(schema="3.0")
    scene.read(100)
    scene.complete(300)
    (row,) = scene.found(tmp_path).rows(named=True)
    assert (row["start_ns"], row["end_ns"], row["bytes"], row["bytes_source"]) == (100, 300, None, None)
    assert (row["src_end"], row["dst_end"]) == (None, "agent:decode-0")


def test_without_its_domain_the_own_agent_is_unknown(tmp_path: Path) -> None:
    scene = Scene()
    scene.main.nixl_post("write", 5, 7, agent=None, handle=A, nbytes=64, remote="decode-0")
    assert scene.found(tmp_path).select("src_end", "dst_end").rows() == [(None, "agent:decode-0")]


@pytest.mark.parametrize(
    ("text", "size", "agent"),
    [
        ('[{"key":"remote_agent","value":"p"},{"key":"bytes","value":5}]', 5, "p"),
        ('{"key":"remote_agent","value":"p","key":"bytes","value":5}', 5, "p"),
        ('{"nixl.trace.int64_attr":{"key":"bytes","value":5}}', 5, None),
        ('{"Bytes":7}', 7, None),
        ('{"bytes":null,"remote_agent":17}', None, None),
        ('{"bytes":true,"remote_agent":"p"}', None, "p"),
        ('{"bytes":1.5}', None, None),
        ('{"bytes":"5"}', None, None),
        (json.dumps({"bytes": 5, "remote_agent": "x" * 1025}), 5, None),
        (r'{"bytes":5,"remote_agent":"\ud800"}', 5, None),
        (r'{"bytes":5,"remote_agent":"\ud83d\ude00\u0000"}', 5, "\U0001f600\0"),
    ],
)
def test_attributes_are_found_wherever_they_stand(text: str, size: object, agent: str | None, tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, jsonText=text)
    trace = scene.trace(tmp_path)
    remote = None if agent is None else f"agent:{agent}"
    assert find(trace, find_scopes(trace)).select("bytes", "src_end").rows() == [(size, remote)]
    assert trace.anomalies["payloads-not-decodable"] == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2]", "7", "[" * 100_000, '{"desc_count":3}', json.dumps([{"a": 1}] * 300), '{"key":"bytes"}']
)
def test_json_that_says_nothing_is_counted(text: str, tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, jsonText=text)
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace))["bytes"].to_list() == [None]
    assert trace.anomalies["payloads-not-decodable"] == 1


@pytest.mark.parametrize("size", [-1, 2**48 + 1, 2**62])
def test_sizes_that_no_transfer_has_are_unknown_and_counted(size: int, tmp_path: Path) -> None:
    scene = Scene()
    scene.read(100, nbytes=size, remote="prefill-0")
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace)).select("bytes", "src_end").rows() == [(None, "agent:prefill-0")]
    assert trace.anomalies["sizes-impossible"] == 1


ENTRY = (
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, type, name, arrayOrUnionDetail, offset, flags)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def read_blob(folder: Path, body: bytes, entries: list[tuple[object, ...]], schema: int = SCHEMA + 1) -> Trace:
    """A trace with one read whose payload is `body`, of a layout with these (type, name, length, offset, flags)."""
    scene = Scene()
    scene.read(10, nbytes=1, remote="p", payload="blob")  # so that the tables of layouts are there
    scene.read(100, B, binaryData=blob(1, schema, body))
    rows = [(1, SCHEMA + 1, index, *entry) for index, entry in enumerate(entries)]
    scene.builder.sql(ENTRY, *rows)
    return scene.trace(folder)


def second(trace: Trace) -> tuple[object, ...]:
    return find(trace, find_scopes(trace)).select("bytes", "src_end").row(1)


SIZE = (17, "bytes", None, None, None)
ZERO_TERMINATED, POINTER, DEEP_COPY = 32, 2, 256


@pytest.mark.parametrize(
    ("body", "entry", "agent"),
    [
        (b"abc\0defg", (75, "remote_agent", 8, 8, None), "agent:abc"),  # shorter than its room
        (b"abcdefgh", (76, "remote_agent", 8, 8, 16), "agent:abcdefgh"),  # fills it
        (b"abc\0", (75, "remote_agent", None, 8, ZERO_TERMINATED), "agent:abc"),
        (b"abcd", (75, "remote_agent", None, 8, ZERO_TERMINATED), None),  # runs over the end
        (b"abcd", (75, "remote_agent", 8, 8, None), None),  # longer than the payload
        (b"\xff\xfe\xfd\0", (75, "remote_agent", 4, 8, None), None),  # no UTF-8
        (b"\0\0\0\0", (75, "remote_agent", 4, 8, None), None),  # empty
        (struct.pack("<Q", 0x7F00_0000), (75, "remote_agent", None, 8, None), None),  # an address
        (struct.pack("<Q", 0x7F00_0000), (75, "remote_agent", 8, 8, POINTER | DEEP_COPY), None),
        (b"abcd", (77, "remote_agent", 2, 8, None), None),  # UTF-16
        (b"abcd", (75, "remote_agent", 4, -8, None), None),
        (b"abcd", (75, "remote_agent", 2**62, 8, None), None),
        (b"x" * 2000, (75, "remote_agent", 2000, 8, None), None),  # no name of an agent
    ],
)
def test_strings_are_read_only_where_they_lie_inside(
    body: bytes, entry: tuple[object, ...], agent: str | None, tmp_path: Path
) -> None:
    trace = read_blob(tmp_path, struct.pack("<q", 4096) + body, [SIZE, entry])
    assert second(trace) == (4096, agent)
    assert trace.anomalies["payloads-not-decodable"] == 0


def test_a_record_of_key_and_value_is_an_attribute(tmp_path: Path) -> None:
    body = struct.pack("<8sq", b"bytes", 512)
    trace = read_blob(tmp_path, body, [(75, "key", 8, None, None), (17, "value", None, 8, None)])
    assert second(trace) == (512, None)


@pytest.mark.parametrize(
    ("body", "entries", "schema"),
    [
        (b"", [SIZE], SCHEMA + 1),
        (b"1234567", [SIZE], SCHEMA + 1),  # a byte short
        (b"12345678", [SIZE], SCHEMA + 2),  # no such layout
        (b"12345678", [(17, "bytes", None, -1, None)], SCHEMA + 1),
        (b"12345678", [(17, "bytes", None, None, POINTER)], SCHEMA + 1),
        (b"12345678", [(20, "bytes", None, None, None)], SCHEMA + 1),  # a double
        # NIXL's own record: of the key only the address is there, so nothing says what the value is.
        (struct.pack("<Qq", 0x7F00, 64), [(75, "key", None, None, None), (17, "value", None, 8, None)], SCHEMA + 1),
    ],
)
def test_a_blob_that_cannot_be_read_is_counted_not_guessed(
    body: bytes, entries: list[tuple[object, ...]], schema: int, tmp_path: Path
) -> None:
    trace = read_blob(tmp_path, body, entries, schema)
    assert second(trace) == (None, None)
    assert trace.anomalies["payloads-not-decodable"] == 1


@pytest.mark.parametrize("data", [b"", b"\0" * 31, blob(1, SCHEMA, b"12345678")[:-1], b"\xff" * 64])
def test_a_blob_without_sound_header_is_counted(data: bytes, tmp_path: Path) -> None:
    scene = Scene()
    scene.read(10, nbytes=1, remote="p", payload="blob")
    scene.read(100, B, binaryData=data)
    trace = scene.trace(tmp_path)
    assert second(trace) == (None, None)
    assert trace.anomalies["payloads-not-decodable"] == 1


def test_layouts_that_contradict_each_other_are_not_used(tmp_path: Path) -> None:
    moved = (17, "bytes", None, 8, None)
    scene = Scene()
    scene.read(100, nbytes=4096, remote="p", payload="blob")
    scene.builder.sql(ENTRY, (1, SCHEMA, 0, *moved))
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace)).select("bytes", "src_end").rows() == [(None, None)]
    assert trace.anomalies["payloads-not-decodable"] == 1


def test_numbers_of_other_events_are_not_read(tmp_path: Path) -> None:
    scene = Scene()
    scene.main.push_pop("step", 1, 2, uint64Value=5, int64Value=6)
    scene.main.mark("nixl", 3, uint64Value=5)
    scene.read(100, B)
    assert scene.trace(tmp_path).payloads["handle"].to_list() == [B]


def test_row_order_never_shows(tmp_path: Path) -> None:
    def built(seed: int | None) -> pl.DataFrame:
        scene = Scene()
        for step in range(40):
            handle = A + step % 3
            scene.read(100 * step, handle, nbytes=step, remote=f"prefill-{step % 2}")
            if step % 5:
                scene.complete(100 * step + 250, handle, thread=scene.poller)
                scene.complete(100 * step + 250, handle + 1, thread=scene.poller)
        if seed is not None:
            scene.builder.shuffle(seed)
        return scene.found(tmp_path)

    plain = built(None)
    assert plain.height == 40
    assert 0 < plain["end_ns"].null_count() < 40
    for seed in (1, 2, 3):
        assert built(seed).equals(plain)


def test_a_post_never_popped_is_still_one_transfer(tmp_path: Path) -> None:
    scene = Scene()
    scene.main.nixl_post("read", 100, None, agent="decode-0", handle=A)
    scene.complete(400, thread=scene.poller)
    assert intervals(scene.found(tmp_path)) == [(100, 400)]


def test_agents_of_one_name_in_several_processes_are_told_apart(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    for pid in (1, 2):
        thread = builder.process(pid=pid).thread(tid=pid)
        thread.nixl_post("write", 100, 110, agent="prefill", handle=A, nbytes=64, remote="decode")
        thread.nixl_complete(900, agent="prefill", handle=A)
    trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    ends = find(trace, find_scopes(trace)).select("src_end", "dst_end").rows()
    assert sorted(ends) == [("agent:prefill/pid1", "agent:decode"), ("agent:prefill/pid2", "agent:decode")]
