"""Wire, waiting and what compute hides, with answers worked out by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import analyse, export_frame, study_traces
from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
COMPUTE = "gemm"
MIB = 2**20
GPUS = dict.fromkeys(range(4), "x")


@dataclass
class Rank:
    """One rank of communicator 5 on a device of its own."""

    number: int
    process: Process
    thread: Thread
    now: int = 100

    def group(self, kernel: tuple[int, int], *calls: tuple[str, int, int], channels: int = 1) -> None:
        """One group of (call, peer, bytes), served by one kernel."""
        grouped = len(calls) > 1
        if grouped:
            self.thread.nccl("ncclGroupStart", self.now, self.now + 2)
        for name, peer, nbytes in calls:
            self.now += 10
            self.thread.nccl(name, self.now, self.now + 8, communicator=5, peer=peer, nbytes=nbytes)
        if grouped:
            self.now += 10
            self.thread.nccl("ncclGroupEnd", self.now, self.now + 8)
        launch = self.thread.launch(self.now + 2, self.now + 4)
        self.process.kernel(SEND_RECV, *kernel, device=self.number, gridX=channels, launch=launch)
        self.now += 10

    def compute(self, *intervals: tuple[int, int], name: str = COMPUTE) -> None:
        for start, end in intervals:
            self.process.kernel(name, start, end, device=self.number, stream=9, correlation=90_000 + start)


@dataclass
class Scene:
    """Ranks in one file, whose communicator was created inside the capture unless said otherwise."""

    count: int = 2
    created: bool = True
    builder: TraceBuilder = field(
        default_factory=lambda: TraceBuilder(schema="3.25", gpus=dict.fromkeys(range(4), "x"))
    )

    def ranks(self) -> Sequence[Rank]:
        made = []
        for number in range(self.count):
            process = self.builder.process(pid=number + 1)
            thread = process.thread(tid=number + 1)
            if self.created:
                thread.nccl("ncclCommInitRank", 1, 9, communicator=5, nranks=self.count, rank=number, device=number)
            made.append(Rank(number, process, thread))
        return made

    def transfers(self, folder: Path) -> pl.DataFrame:
        return study_traces([self.builder.write(folder / "t.sqlite")], None).transfers.sort("transfer_id")


def test_the_window_is_wire_and_the_rest_is_waiting(tmp_path: Path) -> None:
    scene = Scene()
    send, recv = scene.ranks()
    send.group((5_000, 7_000), ("ncclSend", 1, 64))
    recv.group((1_000, 7_100), ("ncclRecv", 0, 64))
    found = scene.transfers(tmp_path)
    assert found.select("side", "time_ns", "wire_ns", "peer_wait_ns", "wire_basis", "wire_uncertainty_ns").rows() == [
        ("send", 2_000, 2_000, 0, "window", 30_000),
        ("recv", 6_100, 2_000, 4_100, "window", 30_000),
    ]


def test_a_kernel_with_several_peers_is_on_the_wire_while_any_of_them_is_there(tmp_path: Path) -> None:
    """Rank 2 receives from 0 [1000, 3000) and from 1 [2000, 6000) in one kernel [500, 7000): the union is 5000 ns."""
    scene = Scene(count=3)
    first, second, taker = scene.ranks()
    first.group((1_000, 3_000), ("ncclSend", 2, 100))
    second.group((2_000, 6_000), ("ncclSend", 2, 300))
    taker.group((500, 7_000), ("ncclRecv", 0, 100), ("ncclRecv", 1, 300))
    found = scene.transfers(tmp_path)
    taken = found.filter(side="recv").sort("peer")
    # 6500 ns by 100 : 300 is 1625 and 4875; 5000 ns of wire in the same proportion 1250 and 3750.
    assert taken.select("time_ns", "wire_ns", "peer_wait_ns").rows() == [(1_625, 1_250, 375), (4_875, 3_750, 1_125)]
    assert found.filter(side="send")["wire_ns"].to_list() == [2_000, 4_000]


def test_a_kernel_of_which_one_peer_is_not_captured_has_no_wire_time(tmp_path: Path) -> None:
    scene = Scene(count=3)
    sender, one, _ = scene.ranks()
    sender.group((1_000, 3_000), ("ncclSend", 1, 64), ("ncclSend", 2, 64))
    one.group((1_500, 2_500), ("ncclRecv", 0, 64))
    found = scene.transfers(tmp_path)
    assert found.select("side", "wire_ns", "wire_reason").rows() == [
        ("send", None, "unpaired"),
        ("send", None, "unpaired"),
        ("recv", 1_000, None),
    ]


def test_without_proof_there_is_no_wire_time(tmp_path: Path) -> None:
    scene = Scene(created=False)
    send, recv = scene.ranks()
    for at in (1_000, 10_000):
        send.group((at, at + 2_000), ("ncclSend", 1, 64))
        recv.group((at, at + 2_100), ("ncclRecv", 0, 64))
    found = scene.transfers(tmp_path)
    assert found["pairing"].unique().to_list() == ["fifo"]
    assert found.select("wire_ns", "wire_reason", "pairing_proof").unique().rows() == [(None, "unproven", None)]


def test_two_clocks_leave_the_shorter_kernel_for_what_cannot_be_buffered(tmp_path: Path) -> None:
    paths = []
    for number, (name, kernel) in enumerate((("ncclSend", (5_000, 65_000)), ("ncclRecv", (9_000_000, 9_400_000)))):
        scene = Scene(builder=TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"}))
        rank = scene.ranks()[number]
        for nbytes, shift in ((8 * MIB, 0), (4 * MIB, 1_000_000)):
            rank.group((kernel[0] + shift, kernel[1] + shift), (name, 1 - number, nbytes))
        paths.append(scene.builder.write(tmp_path / f"{name}.sqlite"))
    found = study_traces(paths, None).transfers.sort("side", "start_ns", descending=[True, False])
    assert found.select("side", "time_ns", "wire_ns", "peer_wait_ns", "wire_basis", "wire_reason").rows() == [
        ("send", 60_000, 60_000, 0, "min-duration", None),
        ("send", 60_000, None, None, None, "two-clocks"),
        ("recv", 400_000, 60_000, 340_000, "min-duration", None),
        ("recv", 400_000, None, None, None, "two-clocks"),
    ]


def test_compute_hides_what_it_overlaps_and_the_rest_is_exposed(tmp_path: Path) -> None:
    """Receive [1000, 9000), wire [4000, 9000). Compute [0, 2000), [3500, 5000) twice over, [8000, 20000)."""
    scene = Scene()
    send, recv = scene.ranks()
    send.group((4_000, 9_000), ("ncclSend", 1, 64))
    recv.group((1_000, 9_000), ("ncclRecv", 0, 64))
    recv.compute((0, 2_000), (3_500, 5_000), (3_600, 4_900), (8_000, 20_000))
    recv.compute((5_000, 8_000), name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)")  # NCCL's is no compute
    found = scene.transfers(tmp_path)
    times = ("wire_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns")
    # Waiting [1000, 4000): hidden 1000 + 500. Wire [4000, 9000): hidden 1000 + 1000.
    assert found.select("side", *times).rows() == [
        ("send", 5_000, 0, 0, 5_000, 0),
        ("recv", 5_000, 3_000, 3_500, 3_000, 1_500),
    ]


def test_a_fused_kernel_shares_what_is_hidden_exactly(tmp_path: Path) -> None:
    scene = Scene()
    send, recv = scene.ranks()
    send.group((2_000, 5_001), ("ncclSend", 1, 1), ("ncclSend", 1, 1), ("ncclSend", 1, 1))
    recv.group((1_000, 5_001), ("ncclRecv", 0, 1), ("ncclRecv", 0, 1), ("ncclRecv", 0, 1))
    recv.compute((1_500, 3_000))
    taken = scene.transfers(tmp_path).filter(side="recv")
    assert taken.select(
        pl.sum("time_ns", "wire_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns")
    ).row(0) == (4_001, 3_001, 1_000, 1_500, 2_001, 500)
    parts = ("overlapped_ns", "exposed_wire_ns", "exposed_wait_ns")
    for row in taken.iter_rows(named=True):
        assert row["wire_ns"] + row["peer_wait_ns"] == row["time_ns"] == sum(row[name] for name in parts)
        assert 0 <= row["exposed_wire_ns"] <= row["wire_ns"]


def test_a_device_without_compute_hides_nothing(tmp_path: Path) -> None:
    scene = Scene()
    send, recv = scene.ranks()
    send.group((1_000, 3_000), ("ncclSend", 1, 64))
    recv.group((1_000, 3_000), ("ncclRecv", 0, 64))
    assert scene.transfers(tmp_path)["overlapped_ns"].to_list() == [0, 0]


def test_graphs_recorded_whole_are_compute(tmp_path: Path) -> None:
    scene = Scene()
    send, recv = scene.ranks()
    send.group((1_000, 3_000), ("ncclSend", 1, 64))
    recv.group((1_000, 3_000), ("ncclRecv", 0, 64))
    recv.process.graph(500, 1_700, device=1)
    assert scene.transfers(tmp_path)["overlapped_ns"].to_list() == [0, 700]


def test_layers_requests_and_totals_add_up_in_every_time(tmp_path: Path) -> None:
    """One receive of layers 0 to 2 for two requests, hidden in part; one that nothing names."""
    scene = Scene()
    send, recv = scene.ranks()
    recv.thread.push_pop("kv_transfer op=recv layer=0-2 request=a,b bytes=70", 105, 119, domain="kvx")
    for at in (1_000, 50_000):
        send.group((at + 700, at + 5_001), ("ncclSend", 1, 70))
        recv.group((at, at + 5_001), ("ncclRecv", 0, 70))
    recv.compute((1_300, 2_600))
    analysis = analyse([scene.builder.write(tmp_path / "t.sqlite")])
    totals = analysis.totals
    assert (totals.wire_ns, totals.peer_wait_ns) == (8_602, 1_400)
    names = ("time_ns", "wire_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns")
    rest = analysis.unattributed["layer"]
    for name in names:
        assert sum(getattr(layer, name) for layer in analysis.layers) + getattr(rest, name) == getattr(totals, name)
    for name in ("time_ns", "wire_ns", "peer_wait_ns"):
        told = sum(getattr(request, name) for request in analysis.requests)
        assert told + getattr(analysis.unattributed["request"], name) == getattr(totals, name)
    for layer in analysis.layers:
        assert layer.wire_ns + layer.peer_wait_ns == layer.time_ns  # type: ignore[operator]


@pytest.mark.parametrize(("counts", "met"), [((2, 2), 2), ((2, 1), 0)])
def test_kernels_meet_by_position_only_in_equal_numbers(counts: tuple[int, int], met: int, tmp_path: Path) -> None:
    """No payload says who talks to whom."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for number, count in enumerate(counts):
        process = builder.process(pid=number + 1)
        thread = process.thread(tid=number + 1)
        for index in range(count):
            at = 100 + 20 * index
            thread.nccl("ncclSend" if number == 0 else "ncclRecv", at, at + 10)
            begin = 10_000 * (1 + index)
            process.kernel(
                SEND_RECV, begin + 300 * number, begin + 2_000, device=number, launch=thread.launch(at + 1, at + 2)
            )
    trace = builder.write(tmp_path / "t.sqlite")
    found = export_frame([trace], "exchanges")
    assert found.height == met
    assert found.select("longer_ns", "shorter_ns", "both_present_ns").unique().rows() == [(2_000, 1_700, 1_700)][:met]
    assert analyse([trace]).links[0].wire_gb_s is None


def test_two_devices_that_only_send_do_not_meet(tmp_path: Path) -> None:
    met = []
    for calls in (("ncclSend", "ncclSend"), ("ncclSend", "ncclRecv")):
        builder = TraceBuilder(schema="3.25", gpus=GPUS)
        for device, call in enumerate(calls):
            process = builder.process(pid=1 + device)
            thread = process.thread()
            thread.nccl(call, 100, 110)
            process.kernel(SEND_RECV, 1_000 + device, 9_000, device=device, launch=thread.launch(101, 102))
        met.append(export_frame([builder.write(tmp_path / "t.sqlite")], "exchanges").height)
    assert met == [0, 1]


def test_a_group_whose_kernels_are_the_last_of_their_stream_may_go_on_beyond_the_capture(tmp_path: Path) -> None:
    scene = Scene()
    send, _ = scene.ranks()
    send.group((1_000, 2_000), ("ncclSend", 1, 64), ("ncclSend", 1, 64))
    send.group((3_000, 4_000), ("ncclSend", 1, 64))
    send.group((5_000, 6_000), ("ncclSend", 1, 64), ("ncclSend", 1, 64))
    assert scene.transfers(tmp_path)["is_last"].to_list() == [False, False, None, True, True]
