"""What is drawn of a run, and where: small scenes whose marks are worked out by hand."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
from timelines import marks

from nsysparse.analysis import Analysis, Lane, Undrawn
from nsysparse.api import Options, analyse
from nsysparse.clocks import Clocks, Offset
from nsysparse.metrics import timeline as module
from nsysparse.metrics.marks import STRETCH
from nsysparse.metrics.timeline import timeline
from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
Span = tuple[int, int]


@dataclass
class Rank:
    """One rank of communicator 5 on a device of its own."""

    number: int
    process: Process
    thread: Thread
    now: int = 100

    def group(self, kernels: Sequence[Span], *calls: tuple[str, int, int], said: str = "") -> None:
        """One group of (call, peer, bytes), served by the kernels; `said` in a range around it."""
        begin = self.now
        self.now += 5
        self.thread.nccl("ncclGroupStart", self.now, self.now + 2)
        for name, peer, nbytes in calls:
            self.now += 10
            self.thread.nccl(name, self.now, self.now + 8, communicator=5, peer=peer, nbytes=nbytes)
        self.now += 10
        self.thread.nccl("ncclGroupEnd", self.now, self.now + 20)
        for span in kernels:
            self.now += 2
            launch = self.thread.launch(self.now, self.now + 1)
            self.process.kernel(SEND_RECV, *span, device=self.number, gridX=1, launch=launch)
        self.now += 30
        if said:
            self.thread.push_pop(said, begin, self.now - 5)

    def compute(self, *spans: Span, step: str = "") -> None:
        """Kernels of compute, launched in a range."""
        begin = self.now
        for span in spans:
            self.now += 10
            launch = self.thread.launch(self.now, self.now + 1)
            self.process.kernel("gemm", *span, device=self.number, stream=9, launch=launch)
        self.now += 10
        if step:
            self.thread.push_pop(step, begin, self.now)


@dataclass
class Scene:
    """Ranks in one file, whose communicator was created inside the capture."""

    count: int = 2
    builder: TraceBuilder = field(
        default_factory=lambda: TraceBuilder(schema="3.25", gpus=dict.fromkeys(range(4), "x"))
    )

    def ranks(self) -> Sequence[Rank]:
        made = []
        for number in range(self.count):
            process = self.builder.process(pid=number + 1)
            thread = process.thread(tid=number + 1)
            thread.nccl("ncclCommInitRank", 1, 9, communicator=5, nranks=self.count, rank=number, device=number)
            made.append(Rank(number, process, thread))
        return made

    def analysis(self, folder: Path, options: Options | None = None) -> Analysis:
        return analyse([self.builder.write(folder / "t.sqlite")], options)


def drawn(analysis: Analysis, lane: str = "", gpu: str = "") -> list[tuple[str, int, int, int, int]]:
    """Kind, start, end, covered time and number of the marks of a lane."""
    return [
        (mark.kind, mark.start, mark.end, mark.busy, mark.count)
        for mark in marks(analysis)
        if lane in ("", mark.lane) and gpu in ("", mark.gpu)
    ]


def test_both_sides_wait_and_are_on_the_wire_together(tmp_path: Path) -> None:
    """The send runs [5000, 7000), the receive [1000, 7100): both were there in [5000, 7000)."""
    scene = Scene()
    send, recv = scene.ranks()
    send.group([(5_000, 7_000)], ("ncclSend", 1, 64))
    recv.group([(1_000, 7_100)], ("ncclRecv", 0, 64))
    found = scene.analysis(tmp_path)
    assert drawn(found, "sends", "gpu0") == [("wire", 5_000, 7_000, 2_000, 1)]
    assert drawn(found, "receives", "gpu1") == [
        ("peer_wait", 1_000, 5_000, 4_000, 1), ("wire", 5_000, 7_000, 2_000, 1), ("peer_wait", 7_000, 7_100, 100, 1),
    ]  # fmt: skip
    assert found.timeline is not None
    assert (found.timeline.base, found.timeline.origin_ns) == ("t", 1_000)
    assert (found.timeline.start_ns, found.timeline.end_ns) == (0, 6_100)


def test_a_shared_kernel_is_on_the_wire_while_any_peer_is_there(tmp_path: Path) -> None:
    """Rank 2 receives from 0 in [1000, 2000) and from 1 in [4000, 6000), in one kernel [500, 7000)."""
    scene = Scene(count=3)
    first, second, taker = scene.ranks()
    first.group([(1_000, 2_000)], ("ncclSend", 2, 100))
    second.group([(4_000, 6_000)], ("ncclSend", 2, 300))
    taker.group([(500, 7_000)], ("ncclRecv", 0, 100), ("ncclRecv", 1, 300))
    assert drawn(scene.analysis(tmp_path), gpu="gpu2") == [
        ("peer_wait", 500, 1_000, 500, 2), ("wire", 1_000, 2_000, 1_000, 2), ("peer_wait", 2_000, 4_000, 2_000, 2),
        ("wire", 4_000, 6_000, 2_000, 2), ("peer_wait", 6_000, 7_000, 1_000, 2),
    ]  # fmt: skip


def test_where_it_is_not_known_when_it_waited_there_is_one_stretch(tmp_path: Path) -> None:
    """One peer was not captured; and two kernels with a pause between them, which no window tells of."""
    scene = Scene(count=3)
    sender, one, _ = scene.ranks()
    sender.group([(1_000, 3_000)], ("ncclSend", 1, 64), ("ncclSend", 2, 64))
    one.group([(1_500, 2_500)], ("ncclRecv", 0, 64))
    sender.group([(5_000, 6_000), (8_000, 9_000)], ("ncclSend", 1, 64))
    one.group([(5_000, 9_000)], ("ncclRecv", 0, 64))
    found = scene.analysis(tmp_path)
    assert drawn(found, "sends") == [("transfer", 1_000, 3_000, 2_000, 2), ("transfer", 5_000, 9_000, 4_000, 1)]
    assert ("wire", 1_500, 2_500, 1_000, 1) in drawn(found, "receives")


def test_of_what_was_only_called_the_call_is_drawn_where_its_process_is(tmp_path: Path) -> None:
    """Layer 1 was posted whole, and of layer 2 only the beginning was recorded: nobody closed its range."""
    builder = TraceBuilder(schema="3.25", lazy=False)
    for pid, op in ((300, "send"), (301, "recv")):
        process = builder.process(pid=pid)
        thread, other = process.thread(), process.thread()
        thread.push_pop(f"kv_transfer op={op} request=r layer=0 bytes=10 xfer=x", 1_000, 1_400)
        thread.start_end(f"kv_transfer op={op} request=r layer=1 bytes=10 xfer=y", 2_000, 2_900, end_thread=other)
        thread.push_pop(f"kv_transfer op={op} request=r layer=2 bytes=10 xfer=z", 4_000, None)
        other.push_pop("later", 8_000, 9_000)
    found = analyse([builder.write(tmp_path / "t.sqlite")])
    assert found.timeline is not None
    assert found.timeline.lanes == (Lane("t", "pid300", "sends", 0), Lane("t", "pid301", "receives", 0))
    for lane in ("sends", "receives"):
        assert drawn(found, lane) == [
            ("call", 1_000, 1_400, 400, 1), ("transfer", 2_000, 2_900, 900, 1), ("call", 4_000, 4_000, 0, 1),
        ]  # fmt: skip
    assert {mark.request for mark in marks(found)} == {"r"}


def test_a_step_is_of_its_request_unless_it_holds_several_or_one_without_transfers(tmp_path: Path) -> None:
    scene = Scene()
    send, recv = scene.ranks()
    send.compute((1_000, 1_500), (1_600, 2_000), step="kv_step phase=prefill requests=a")
    send.group([(3_000, 4_000)], ("ncclSend", 1, 64), said="kv_transfer op=send request=a layer=0")
    recv.group([(3_000, 4_000)], ("ncclRecv", 0, 64), said="kv_transfer op=recv layer=0")
    recv.compute((5_000, 5_100), step="kv_step phase=decode requests=a")
    recv.compute((5_200, 5_300), step="kv_step phase=decode requests=a,b")
    recv.compute((5_400, 5_500), step="kv_step phase=decode requests=b")
    recv.compute((5_600, 5_700))
    found = scene.analysis(tmp_path)
    assert [(mark.kind, mark.start, mark.end, mark.request) for mark in marks(found) if mark.lane == "steps"] == [
        ("prefill", 1_000, 2_000, "a"), ("decode", 5_000, 5_100, "a"), ("decode", 5_200, 5_300, None),
        ("decode", 5_400, 5_500, None),
    ]  # fmt: skip
    # The receive names none, but met one that does.
    assert {mark.request for mark in marks(found) if mark.lane != "steps"} == {"a"}


def test_compute_is_drawn_where_no_step_is_known(tmp_path: Path) -> None:
    scene = Scene()
    send, recv = scene.ranks()
    send.compute((1_000, 1_500), step="kv_step phase=prefill requests=a")
    send.group([(3_000, 4_000)], ("ncclSend", 1, 64))
    recv.group([(3_000, 4_000)], ("ncclRecv", 0, 64))
    recv.compute((5_000, 5_100), (5_050, 5_300), (5_400, 5_500))
    found = scene.analysis(tmp_path)
    assert drawn(found, gpu="gpu0") == [("prefill", 1_000, 1_500, 500, 1), ("wire", 3_000, 4_000, 1_000, 1)]
    assert drawn(found, "compute", "gpu1") == [("compute", 5_000, 5_300, 300, 1), ("compute", 5_400, 5_500, 100, 1)]


def test_only_what_counts_is_drawn_and_no_copy_to_itself(tmp_path: Path) -> None:
    scene = Scene()
    send, recv = scene.ranks()
    send.group([(3_000, 4_000)], ("ncclSend", 1, 64), said="kv_transfer op=send request=a layer=0")
    recv.group([(3_000, 4_000)], ("ncclRecv", 0, 64), said="kv_transfer op=recv request=a layer=0")
    send.group([(6_000, 7_000)], ("ncclSend", 0, 64), ("ncclRecv", 0, 64), said="kv_transfer request=a layer=0")
    send.group([(8_000, 9_000)], ("ncclSend", 1, 64), said="load_weights")
    recv.group([(8_000, 9_000)], ("ncclRecv", 0, 64), said="load_weights")
    found = scene.analysis(tmp_path)
    (excluded,) = found.excluded
    assert excluded.transfer_count == 2
    assert [row[1] for row in drawn(found)] == [3_000, 3_000]
    whole = analyse([tmp_path / "t.sqlite"], Options(purpose="all"))
    assert [row[1] for row in drawn(whole)] == [3_000, 8_000, 3_000, 8_000]


def test_copies_are_sends_or_receives_of_the_device_that_made_them(sample: Callable[[str], Path]) -> None:
    """24 copies that gpu1 fetches, 3 offloads of gpu0 and 3 loads of gpu1, these with pauses between their copies."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for mark in marks(analyse([sample("synthetic/pd-transports.sqlite")])):
        counts[mark.gpu, mark.lane, mark.kind] += mark.count
    assert counts["gpu0", "sends", "transfer"] == counts["gpu1", "receives", "transfer"] == 3
    assert counts["gpu1", "receives", "wire"] == 24 + 24
    assert counts["pid300", "sends", "transfer"] == counts["pid301", "receives", "transfer"] == 8


# --- on one clock -----------------------------------------------------------------------------------------------------


def stretch(trace: str, start: int | None, end: int | None, gpu: str | None = "gpu0", lane: str = "sends",
            process: int | None = None, request: str | None = None) -> dict[str, object]:  # fmt: skip
    return {"trace_id": trace, "gpu": gpu, "process": process, "lane": lane, "kind": "transfer", "start_ns": start,
            "end_ns": end, "request_id": request}  # fmt: skip


def frame(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=STRETCH)


def aligned(base: str, other: str, ahead: int) -> Offset:
    return Offset(base, other, 0, ahead, 0.0, 70, "estimated")


def test_the_base_is_the_clock_on_which_most_can_be_drawn() -> None:
    rows = frame(stretch("a", 10, 20), stretch("b", 110, 120), stretch("c", 1_130, 1_140), stretch("c", 1_150, 1_160))
    found = timeline(rows, Clocks({}, (aligned("b", "c", 1_000),)), ["a", "b", "c"], [])
    assert found is not None
    assert (found.base, found.origin_ns, found.end_ns) == ("b", 110, 50)
    assert found.lanes == (Lane("b", "gpu0", "sends", 0), Lane("c", "gpu0", "sends", 70))
    assert (found.levels[0].start_ns, found.levels[0].end_ns) == ((0, 20, 40), (10, 30, 50))
    assert (found.undrawn, found.marks_dropped) == ((Undrawn("a", "clock", 1),), 1)


def test_of_two_that_draw_as_much_the_first_is_the_base() -> None:
    rows = frame(stretch("b", 110, 120), stretch("a", 10, 20))
    found = timeline(rows, Clocks({}), ["a", "b"], [])
    assert found is not None
    assert (found.base, found.undrawn) == ("a", (Undrawn("b", "clock", 1),))


def test_what_has_no_time_is_counted_and_nothing_else_is_no_timeline() -> None:
    timeless = stretch("a", None, None)
    assert timeline(frame(timeless), Clocks({}), ["a"], []) is None
    found = timeline(frame(timeless, stretch("a", 5, 6), stretch("a", 7, None)), Clocks({}), ["a"], [])
    assert found is not None
    assert found.undrawn == (Undrawn("a", "no-time", 2),)
    assert found.levels[0].start_ns == (0,)


def test_lanes_stand_by_trace_then_devices_by_number_then_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = frame(
        stretch("z", 1, 2, "gpu10"), stretch("z", 1, 2, "gpu2", "receives"), stretch("z", 1, 2, "gpu2", "sends"),
        stretch("z", 1, 2, None, process=7), stretch("z", 1, 2, None), stretch("z", 1, 2, "gpu2", "steps"),
        stretch("a", 1, 2),
    )  # fmt: skip
    clocks = Clocks({}, (aligned("z", "a", 0),))
    found = timeline(rows, clocks, ["z", "a"], [])
    assert found is not None
    assert [(lane.trace_id, lane.gpu, lane.kind) for lane in found.lanes] == [
        ("z", "gpu2", "steps"), ("z", "gpu2", "sends"), ("z", "gpu2", "receives"), ("z", "gpu10", "sends"),
        ("z", "pid7", "sends"), ("z", "unknown", "sends"), ("a", "gpu0", "sends"),
    ]  # fmt: skip
    monkeypatch.setattr(module, "MOST_LANES", 5)
    less = timeline(rows, clocks, ["z", "a"], [])
    assert less is not None
    assert less.lanes == found.lanes[:5]
    assert less.undrawn == (Undrawn("z", "lanes", 1), Undrawn("a", "lanes", 1))
    assert less.marks_dropped == 2


def test_requests_are_told_by_their_place_in_the_analysis() -> None:
    rows = frame(
        stretch("a", 0, 5, request="r2"), stretch("a", 3, 6, request="r2"), stretch("a", 10, 15, request="r2"),
        stretch("a", 12, 16, request="r1"), stretch("a", 20, 22, request="elsewhere"), stretch("a", 30, 31),
    )  # fmt: skip
    found = timeline(rows, Clocks({}), ["a"], ["r1", "r2"])
    assert found is not None
    assert found.levels[0].request == (1, None, None, None)
