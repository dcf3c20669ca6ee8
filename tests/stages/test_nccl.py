"""Send/Recv calls meet the kernels they launched; what has no partner stays."""

from pathlib import Path

import polars as pl

from nsysparse.scopes import find_scopes
from nsysparse.sharing import share_time
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import Process, Thread, TraceBuilder
from nsysparse.transports.nccl import find


def found_in(trace: Trace) -> pl.DataFrame:
    return find(trace, find_scopes(trace))


SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"


class Scene:
    """One process with one thread, and what nsysparse finds in it."""

    def __init__(self, schema: str = "3.25") -> None:
        self.builder = TraceBuilder(schema=schema, gpus={0: "x"})
        self.process: Process = self.builder.process(pid=1)
        self.thread: Thread = self.process.thread(tid=1)

    def found(self, folder: Path) -> pl.DataFrame:
        found = found_in(read_trace(self.builder.write(folder / "t.sqlite"), "t", all_gpu_work=False))
        return share_time(found.with_row_index("transfer_id")).drop("transfer_id")

    def call(self, name: str, start: int, *, nbytes: int | None = None, peer: int | None = None, **more: int) -> None:
        payload = None if nbytes is None and not more else "json"
        self.thread.nccl(name, start, start + 10, nbytes=nbytes, peer=peer, payload=payload, **more)

    def kernel(self, launched_at: int, start: int, end: int, name: str = SEND_RECV) -> None:
        self.process.kernel(name, start, end, launch=self.thread.launch(launched_at, launched_at + 2), stream=20)


def test_an_ungrouped_call_owns_the_kernel_launched_inside_it(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclSend", 100, nbytes=4096, peer=1, communicator=2**63 + 1)
    scene.kernel(103, 500, 900)
    scene.call("ncclRecv", 200, nbytes=64, peer=1, communicator=2**63 + 1)
    scene.kernel(203, 1000, 1100)
    found = scene.found(tmp_path)
    assert found.select("side", "bytes", "peer", "time_ns", "kernel_ops").rows() == [
        ("send", 4096, 1, 400, 1),
        ("recv", 64, 1, 100, 1),
    ]
    assert found["communicator"].unique().to_list() == [str(2**63 + 1)]
    assert found["bytes_source"].unique().to_list() == ["payload"]


def test_a_group_shares_its_kernel_by_bytes_exactly(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclGroupStart", 100)
    for index, (name, nbytes, peer) in enumerate(
        [("ncclRecv", 100, 1), ("ncclSend", 100, 1), ("ncclSend", 100, 0), ("ncclSend", 700, 2)]
    ):
        scene.call(name, 120 + 20 * index, nbytes=nbytes, peer=peer)
    scene.call("ncclGroupEnd", 300)
    scene.kernel(303, 1000, 1017)
    found = scene.found(tmp_path).sort("call_start_ns")
    assert found["kernel_ops"].to_list() == [4] * 4
    # 17 ns by 1:1:1:7 is 1.7, 1.7, 1.7, 11.9: rounded down 1, 1, 1, 11; three left for the largest remainders:
    # the 0.9, then two of the equal 0.7 in the order peer 0, then of peer 1 the send before the receive.
    assert found["time_ns"].to_list() == [1, 2, 2, 12]


def test_equal_shares_where_any_size_is_unknown(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclGroupStart", 100)
    scene.call("ncclSend", 120, nbytes=1000, peer=1)
    scene.call("ncclSend", 140)
    scene.call("ncclGroupEnd", 160)
    scene.kernel(163, 1000, 1100)
    assert scene.found(tmp_path)["time_ns"].to_list() == [50, 50]


def test_several_kernels_of_a_group_are_all_its_time(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclGroupStart", 100)
    scene.call("ncclSend", 120, nbytes=300, peer=1)
    scene.call("ncclSend", 140, nbytes=100, peer=2)
    scene.call("ncclGroupEnd", 160)
    scene.kernel(163, 1000, 1100)
    scene.kernel(166, 1200, 1300)
    found = scene.found(tmp_path)
    assert found["time_ns"].to_list() == [150, 50]
    assert found.select("start_ns", "end_ns", "kernel_count").unique().rows() == [(1000, 1300, 2)]


def test_a_kernel_without_call_and_a_call_without_kernel_stay(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclSend", 100, nbytes=4096, peer=1)
    scene.process.kernel(SEND_RECV, 500, 900, correlation=99, stream=20)
    scene.kernel(400, 1000, 1100)
    found = scene.found(tmp_path)
    assert found.select("side", "bytes", "start_ns", "time_ns", "interval_kind").rows() == [
        ("send", 4096, None, None, None),
        (None, None, 1000, 100, "gpu"),
        (None, None, 500, 400, "gpu"),
    ]
    assert found["purpose"].to_list() == [None, None, None]


def test_a_collective_that_runs_as_send_recv_is_not_kv(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclAlltoAll", 100, nbytes=4096, communicator=5)
    scene.kernel(103, 500, 900)
    assert scene.found(tmp_path).select("side", "purpose", "purpose_rule").rows() == [
        (None, "other", "nccl/ncclAlltoAll")
    ]


def test_gather_and_scatter_that_run_as_send_recv_are_not_kv(tmp_path: Path) -> None:
    scene = Scene()
    for start, name in ((100, "ncclGather"), (200, "ncclScatter")):
        scene.call(name, start, nbytes=4096, communicator=5)
        scene.kernel(start + 3, start + 400, start + 450)
    assert scene.found(tmp_path).select("side", "purpose", "purpose_rule").rows() == [
        (None, "other", "nccl/ncclGather"),
        (None, "other", "nccl/ncclScatter"),
    ]


def test_a_put_is_a_send_without_kernel(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclCommInitRank", 50, communicator=9, nranks=2, rank=0, device=0)
    scene.call("ncclGroupStart", 100)
    scene.call("ncclPutSignal", 120, nbytes=4096, peer=1, communicator=9)
    scene.call("ncclSend", 140, nbytes=64, peer=1, communicator=9)
    scene.call("ncclGroupEnd", 160)
    scene.kernel(163, 1000, 1100)
    for start, name in ((300, "ncclSignal"), (320, "ncclWaitSignal")):
        scene.call(name, start)
    found = scene.found(tmp_path)
    assert found.select("side", "bytes", "peer", "rank", "time_ns", "kernel_ops", "kernel_count").rows() == [
        ("send", 4096, 1, 0, None, None, 0),
        ("send", 64, 1, 0, 100, 1, 1),
    ]


def test_a_kernel_inside_a_put_is_not_its_own(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclPutSignal", 100, nbytes=4096, peer=1, communicator=9)
    scene.kernel(103, 500, 900)
    assert scene.found(tmp_path).select("side", "start_ns").rows() == [("send", None), (None, 500)]


def test_a_mixed_group_keeps_its_kernel_whatever_its_name(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclGroupStart", 100)
    scene.call("ncclAllReduce", 120, nbytes=8, communicator=5)
    scene.call("ncclSend", 140, nbytes=100, peer=1)
    scene.call("ncclGroupEnd", 160)
    scene.kernel(163, 1000, 1100, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)")
    found = scene.found(tmp_path)
    assert found.select("side", "time_ns").rows() == [("send", 100)]
    alone = Scene()
    alone.call("ncclAllReduce", 120, nbytes=8, communicator=5)
    alone.kernel(123, 1000, 1100, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)")
    assert alone.found(tmp_path).height == 0


def test_old_kernel_names_are_send_recv_too(tmp_path: Path) -> None:
    for name in (
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm *, unsigned long, ncclWork *)",
        "ncclSendRecvKernel_copy_i8(ncclColl)",
        "void ncclDevKernel_SendRecv",
    ):
        scene = Scene()
        scene.call("ncclSend", 100, nbytes=1, peer=1)
        scene.kernel(103, 500, 900, name)
        assert scene.found(tmp_path)["time_ns"].to_list() == [400], name


def test_torch_texts_in_the_default_domain_are_not_calls(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("ncclSend", 100, 200)
    scene.thread.push_pop("nccl:all_to_all, op_id = 4", 300, 400)
    assert scene.found(tmp_path).height == 0


def test_calls_are_found_without_the_row_that_names_the_domain(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclSend", 100, nbytes=7, peer=1)
    scene.builder.omit_nccl_domain_row()
    assert scene.found(tmp_path)["bytes"].to_list() == [7]


def test_own_rank_self_copies_and_first_uses_follow_from_the_creation(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclCommInitRank", 50, communicator=9, nranks=2, rank=0, device=0)
    for index, peer in enumerate((0, 1, 1)):
        scene.call("ncclSend", 100 + 50 * index, nbytes=8, peer=peer, communicator=9)
    scene.call("ncclSend", 400, nbytes=8, peer=1, communicator=10)
    scene.call("ncclSend", 500, nbytes=8, peer=1)
    found = scene.found(tmp_path)
    assert found.select("rank", "is_self", "is_first_use").rows() == [
        (0, True, True),
        (0, False, True),
        (0, False, False),
        (None, None, False),
        (None, None, None),
    ]


def test_blob_and_json_payloads_say_the_same(tmp_path: Path) -> None:
    frames = []
    for payload in ("json", "json-id", "blob"):
        scene = Scene("3.27")
        scene.thread.nccl("ncclSend", 100, 110, communicator=2**64 - 1, nbytes=8 * 2**30, peer=-1, payload=payload)
        frames.append(scene.found(tmp_path))
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert frames[0].select("communicator", "bytes", "peer").rows() == [(str(2**64 - 1), 8 * 2**30, -1)]


def test_a_process_with_two_ranks_tells_them_by_device(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    process = builder.process(pid=1)
    for rank in (0, 1):
        thread = process.thread(tid=10 + rank)
        thread.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=rank, device=rank)
        thread.nccl("ncclSend" if rank == 0 else "ncclRecv", 100, 110, communicator=9, nbytes=64, peer=1 - rank)
        process.kernel(SEND_RECV, 200, 300, device=rank, launch=thread.launch(102, 104))
    found = found_in(read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False))
    assert found.select("side", "device_id", "rank", "is_self", "is_first_use").rows() == [
        ("send", 0, 0, False, True),
        ("recv", 1, 1, False, True),
    ]


def test_a_group_over_two_devices_has_none(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    thread.nccl("ncclGroupStart", 10, 12)
    thread.nccl("ncclSend", 20, 22, communicator=9, nbytes=1000, peer=1)
    thread.nccl("ncclRecv", 30, 32, communicator=9, nbytes=1000, peer=0)
    thread.nccl("ncclGroupEnd", 40, 60)
    for device in (0, 1):
        launch = thread.launch(42 + 4 * device, 44 + 4 * device)
        process.kernel(SEND_RECV, 100, 200 + device, device=device, launch=launch)
    found = found_in(read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False))
    assert found.select("device_id", "device_count", "kernel_count").unique().rows() == [(None, 2, 2)]
    assert found["time_ns"].sum() == 201


def test_sizes_no_message_can_have_are_unknown_and_counted(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclSend", 100, nbytes=2**60, peer=1)
    trace = read_trace(scene.builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    assert found_in(trace)["bytes"].to_list() == [None]
    assert trace.anomalies["sizes-impossible"] == 1


def test_all_to_all_in_a_group_is_other(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclGroupStart", 100)
    scene.call("ncclAlltoAll", 120, nbytes=64, communicator=5)
    scene.call("ncclGroupEnd", 160)
    scene.kernel(163, 1000, 1100)
    assert scene.found(tmp_path).select("side", "purpose", "purpose_rule").rows() == [
        (None, "other", "nccl/ncclAlltoAll")
    ]


def test_a_group_over_two_communicators_invents_no_rate(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclGroupStart", 100)
    scene.call("ncclAllReduce", 110, nbytes=8, communicator=7)
    scene.call("ncclSend", 130, nbytes=10**9, peer=1, communicator=7)
    scene.call("ncclSend", 150, nbytes=1000, peer=1, communicator=8)
    scene.call("ncclGroupEnd", 170)
    scene.kernel(173, 1_000, 10_001_000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)")
    scene.kernel(176, 1_000, 11_000)
    found = scene.found(tmp_path)
    assert found.select("start_ns", "end_ns", "kernel_count").unique().rows() == [(1_000, 10_001_000, 2)]
    assert found["time_ns"].sum() == 10_010_000


def test_a_call_whose_group_never_ends_has_no_kernel(tmp_path: Path) -> None:
    scene = Scene()
    scene.call("ncclGroupStart", 100)
    scene.call("ncclSend", 120, nbytes=8, peer=1)
    scene.call("ncclSend", 140, nbytes=8, peer=2)
    assert scene.found(tmp_path).select("group_key", "kernel_ops", "time_ns").unique().rows() == [(None, None, None)]


def two_communicators(scene: Scene, at: int, lengths: list[int]) -> None:
    """A group of one send each on communicators 7 and 8, with as many kernels as there are lengths."""
    scene.call("ncclGroupStart", at)
    scene.call("ncclSend", at + 20, nbytes=1000, peer=1, communicator=7)
    scene.call("ncclSend", at + 40, nbytes=1000, peer=1, communicator=8)
    scene.call("ncclGroupEnd", at + 60)
    for index, length in enumerate(lengths):
        launch = scene.thread.launch(at + 62 + 2 * index, at + 63 + 2 * index)
        scene.process.kernel(SEND_RECV, at + 100, at + 100 + length, launch=launch, stream=20 + index)


def test_a_group_with_fewer_kernels_than_communicators_may_lack_some(tmp_path: Path) -> None:
    """The second kernel may still have run when the capture ended, though the first one's stream went on."""
    scene = Scene()
    for at, lengths in ((1_000, [10, 20]), (2_000, [10]), (3_000, [10, 20])):
        two_communicators(scene, at, lengths)
    doubtful = scene.found(tmp_path).group_by("group_key", maintain_order=True).agg(pl.col("is_last").any())
    assert doubtful["is_last"].to_list() == [False, True, True]  # the third has the last kernels of both streams


def test_a_group_with_fewer_kernels_than_its_like_may_lack_some(tmp_path: Path) -> None:
    """Without the names of communicators only other groups of the same calls show it."""
    scene = Scene()
    for at, kernels in ((1_000, 2), (2_000, 1), (3_000, 2)):
        scene.call("ncclGroupStart", at)
        scene.call("ncclSend", at + 20, nbytes=1000, peer=1)
        scene.call("ncclSend", at + 40, nbytes=1000, peer=1)
        scene.call("ncclGroupEnd", at + 60)
        for index in range(kernels):
            launch = scene.thread.launch(at + 62 + 2 * index, at + 63 + 2 * index)
            scene.process.kernel(SEND_RECV, at + 100, at + 110, launch=launch, stream=20 + index)
    doubtful = scene.found(tmp_path).group_by("group_key", maintain_order=True).agg(pl.col("is_last").any())
    assert doubtful["is_last"].to_list() == [False, True, True]


def test_a_rank_is_not_taken_from_another_device_of_the_process(tmp_path: Path) -> None:
    """The creation on device 1 was not recorded: what runs there is not device 0's rank, nor a copy to itself."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    process = builder.process(pid=1)
    for rank in (0, 1):
        thread = process.thread(tid=10 + rank)
        if rank == 0:
            thread.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=0, device=0)
        thread.nccl("ncclSend" if rank == 0 else "ncclRecv", 100, 110, communicator=9, nbytes=64, peer=1 - rank)
        process.kernel(SEND_RECV, 200, 300, device=rank, launch=thread.launch(102, 104))
    found = found_in(read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False))
    assert found.select("side", "rank", "is_self").rows() == [("send", 0, False), ("recv", None, None)]
