"""UCX operations: one transfer for each, from its submission to its completion."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import study_traces
from nsysparse.scopes import find_scopes
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import Thread, TraceBuilder
from nsysparse.transports.ucx import find

MIB = 2**20
BUFFER = 0x7F00_0000_0000


class Scene:
    """One process with one thread and one UCP worker."""

    def __init__(self, schema: str = "3.25") -> None:
        self.builder = TraceBuilder(schema=schema, gpus={0: "x"})
        self.thread: Thread = self.builder.process(pid=1).thread(tid=1)
        self.thread.ucp_worker(2**63 + 5)

    def trace(self, folder: Path) -> Trace:
        return read_trace(self.builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)

    def found(self, folder: Path) -> pl.DataFrame:
        trace = self.trace(folder)
        return find(trace, find_scopes(trace))

    def progress(self, start: int, end: int | None, *, nbytes: int | None = MIB, **more: int | None) -> None:
        """A completion whose submission was recorded otherwise, or not at all."""
        row = {
            "textId": self.thread.process.store.string("ucp_tag_recv_nbx"),
            "globalTid": self.thread.global_tid,
            "bufferAddr": BUFFER,
            "packedSize": nbytes,
        }
        self.builder.row("UCP_PROGRESS_EVENTS", **{**row, **more}, start=start, end=end)


def test_an_operation_lasts_from_its_call_to_its_completion(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucx("ucp_tag_send_nbx", 100, 110, done=900, nbytes=MIB, tag=2**64 - 2, peer=8)
    scene.thread.ucx("ucp_tag_recv_nbx", 200, 210, done=1_000, nbytes=2 * MIB, tag=0xAB, peer=9)
    found = scene.found(tmp_path)
    facts = ["side", "bytes", "bytes_source", "start_ns", "end_ns", "time_ns", "interval_kind"]
    assert found.select(facts).rows() == [
        ("send", MIB, "ucx", 100, 900, 800, "host"),
        ("recv", 2 * MIB, "ucx", 200, 1_000, 800, "host"),
    ]
    assert found.select("call_start_ns", "call_end_ns").rows() == [(100, 110), (200, 210)]
    own = f"ucp:{2**63 + 5}"
    assert found.select("src_end", "dst_end", "match_key").rows() == [
        (own, "ucp:8", "ucx-tag:fffffffffffffffe"),
        ("ucp:9", own, "ucx-tag:ab"),
    ]
    assert found.select("purpose", "kernel_count", "staging_bytes", "device_id").unique().rows() == [
        (None, 0, 262_144, None)
    ]


@pytest.mark.parametrize(
    ("function", "side", "named"),
    [
        ("ucp_tag_send_sync_nbx", "send", True),
        ("ucp_tag_msg_recv_nbx", "recv", True),
        ("ucp_put_nbx", "send", False),
        ("ucp_get_nbx", "recv", False),
        ("ucp_stream_send_nb", "send", False),
        ("ucp_stream_recv_nbx", "recv", False),
        ("ucp_atomic_op_nbx", None, False),
    ],
)
def test_the_function_tells_the_side(function: str, side: str | None, named: bool, tmp_path: Path) -> None:  # noqa: FBT001
    scene = Scene()
    scene.thread.ucx(function, 100, 110, done=900, nbytes=MIB, tag=3, peer=8)
    found = scene.found(tmp_path)
    assert found["side"].to_list() == [side]
    assert found["match_key"].to_list() == ["ucx-tag:3" if named else None]
    assert found["dst_end"].is_null().to_list() == [side is None]


def test_control_messages_are_other(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucx("ucp_am_send_nbx", 100, 110, done=200, nbytes=MIB)
    scene.thread.ucx("ucp_tag_send_nbx", 300, 310, done=400, nbytes=4095)
    scene.thread.ucx("ucp_tag_send_nbx", 500, 510, done=600, nbytes=4096)
    scene.thread.ucx("ucp_put_nbx", 700, 710, done=800, nbytes=None)
    assert scene.found(tmp_path).select("purpose", "purpose_rule").rows() == [
        ("other", "ucx/control-message"),
        ("other", "ucx/control-message"),
        (None, None),
        (None, None),
    ]


def test_an_operation_that_completed_inside_its_call_has_no_known_end(tmp_path: Path) -> None:
    scene = Scene()
    # The same buffer, size and tag: only the second has a completion, which must not go to the first.
    scene.thread.ucx("ucp_tag_send_nbx", 100, 110, nbytes=MIB, tag=1)
    scene.thread.ucx("ucp_tag_send_nbx", 2_000_000, 2_000_010, done=2_000_900, nbytes=MIB, tag=1)
    found = scene.found(tmp_path)
    assert found.select("call_start_ns", "start_ns", "end_ns", "time_ns", "interval_kind").rows() == [
        (100, None, None, None, None),
        (2_000_000, 2_000_000, 2_000_900, 900, "host"),
    ]


def test_concurrent_operations_on_one_buffer_each_get_their_completion(tmp_path: Path) -> None:
    scene = Scene()
    for start, done in ((100, 5_000), (200, 4_000), (300, 3_000)):
        scene.thread.ucx("ucp_tag_send_nbx", start, start + 10, done=done, nbytes=MIB, tag=1)
    assert scene.found(tmp_path).select("call_start_ns", "start_ns", "end_ns").rows() == [
        (100, 100, 5_000),
        (200, 200, 4_000),
        (300, 300, 3_000),
    ]


def test_a_receive_posted_with_more_room_than_came_is_one_operation(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucx("ucp_tag_recv_nbx", 100, 110, nbytes=4 * MIB, tag=0)
    scene.progress(105, 900, nbytes=MIB, tag=7)
    found = scene.found(tmp_path)
    assert found.select("bytes", "call_start_ns", "start_ns", "end_ns", "match_key").rows() == [
        (MIB, 100, 105, 900, "ucx-tag:7")
    ]


def test_a_completion_without_its_call_stays(tmp_path: Path) -> None:
    scene = Scene()
    scene.progress(100, 900)
    scene.progress(2_000_000, None)
    found = scene.found(tmp_path)
    # The second never completed inside the capture, and its submission was lost too: nothing is left to tell of it.
    assert found.select("side", "call_start_ns", "call_end_ns", "start_ns", "end_ns").rows() == [
        ("recv", 100, 100, 100, 900)
    ]


def test_several_workers_leave_the_near_end_unknown(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucp_worker(77)
    scene.thread.ucx("ucp_put_nbx", 100, 110, done=900, nbytes=MIB, peer=8)
    assert scene.found(tmp_path).select("src_end", "dst_end").rows() == [(None, "ucp:8")]


def test_processes_do_not_share_completions(tmp_path: Path) -> None:
    scene = Scene()
    other = scene.builder.process(pid=2).thread(tid=2)
    scene.thread.ucx("ucp_put_nbx", 100, 110, nbytes=MIB)
    other.ucx("ucp_put_nbx", 100, 110, done=500, nbytes=MIB)
    found = scene.found(tmp_path)
    assert found.select("end_ns").rows() == [(None,), (500,)]


def test_the_order_of_rows_does_not_show(tmp_path: Path) -> None:
    frames = []
    for seed in (None, 1, 2):
        scene = Scene()
        for number in range(40):
            done = None if number % 3 else 1_000 * number + 700
            scene.thread.ucx("ucp_tag_send_nbx", 1_000 * number, 1_000 * number + 9, done=done, nbytes=MIB, tag=1)
        if seed is not None:
            scene.builder.shuffle(seed)
        frames.append(scene.found(tmp_path))
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert frames[0]["end_ns"].null_count() == 26


@pytest.mark.parametrize("gone", ["bufferAddr", "packedSize", "tag", "peerWorkerUid", "textId"])
def test_every_parameter_may_be_missing(gone: str, tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucx("ucp_tag_send_nbx", 100, 110, done=900, nbytes=MIB, tag=1, peer=3)
    scene.thread.ucx("ucp_tag_send_nbx", 9_000_000, 9_000_010, done=9_000_900, nbytes=MIB, tag=1, peer=3)
    for table in ("UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS"):
        scene.builder.omit(table, gone)
    found = scene.found(tmp_path)
    assert found["time_ns"].to_list() == [800, 900]
    absent = {"packedSize": "bytes", "tag": "match_key", "peerWorkerUid": "dst_end", "textId": "side"}
    for column, name in absent.items():
        assert found[name].null_count() == (2 if column == gone or (gone == "textId" and name != "bytes") else 0)


def test_damaged_rows_are_counted(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucx("ucp_put_nbx", 100, 110, done=900, nbytes=2**60)
    scene.thread.ucx("ucp_put_nbx", 300, 200)
    scene.builder.row("UCP_SUBMIT_EVENTS", start=1, end=2)
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace)).select("bytes", "time_ns").rows() == [(None, 800)]
    assert trace.anomalies["sizes-impossible"] == 2
    assert trace.anomalies["ucx-rows-with-impossible-times"] == 1
    assert trace.anomalies["ucx-rows-without-thread"] == 1


def test_a_trace_without_ucx_has_none(tmp_path: Path) -> None:
    for schema in ("2021", "3.25"):
        builder = TraceBuilder(schema=schema)
        builder.process(pid=1).thread(tid=1).push_pop("r", 1, 2)
        trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
        assert find(trace, find_scopes(trace)).is_empty()


def test_transfers_reach_the_study(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer dir=send layer=3", 50, 150, domain="nsysparse")
    scene.thread.ucx("ucp_put_nbx", 100, 110, done=900, nbytes=MIB)
    study = study_traces([scene.builder.write(tmp_path / "t.sqlite")], None)
    assert study.transfers.select("transport", "side", "is_movement").rows() == [("ucx", "send", True)]
