"""Rows of `nsys -t nccl`: exact times of single operations, and each kernel still counted once."""

import json
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import analyse, study_traces
from nsysparse.metrics.totals import kernel_count
from nsysparse.scopes import find_scopes
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import TraceBuilder
from nsysparse.transports.nccl import find

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
FACTS = ["side", "bytes", "peer", "start_ns", "end_ns", "time_ns", "call_start_ns", "call_end_ns"]


class Scene:
    """A process with a thread that calls NCCL and one that stands for the GPU."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(schema="3.27", gpus={0: "x"})
        self.process = self.builder.process(pid=1)
        self.thread = self.process.thread(tid=1)
        self.gpu = self.process.thread(tid=9)

    def kernel(self, start: int, end: int, *, device: int = 0) -> None:
        self.process.kernel(SEND_RECV, start, end, stream=20, device=device)

    def trace(self, folder: Path) -> Trace:
        return read_trace(self.builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)

    def found(self, folder: Path) -> pl.DataFrame:
        trace = self.trace(folder)
        return find(trace, find_scopes(trace))


def fused(scene: Scene) -> None:
    """A Send and a Recv that one kernel serves, two channels each; and a kernel that nothing tells of."""
    for name, api, start in (("Send", 7, 100), ("Recv", 8, 120)):
        scene.thread.nccl_trace(name, start, start + 5, apiId=api, commHash="0xff", bytes=4096 * api, peer=1, rank=0)
    for name, api, channel, start, end in (
        ("Send", 7, 0, 1_000, 1_400), ("Send", 7, 1, 1_100, 1_500), ("Recv", 8, 0, 1_200, 1_800),
        ("Recv", 8, 1, 1_300, 1_900),
    ):  # fmt: skip
        scene.gpu.nccl_trace(name, start, end, apiId=api, channelId=channel)
    scene.kernel(995, 1_905)
    scene.kernel(5_000, 5_100)


def test_operations_inside_one_kernel_have_times_of_their_own(tmp_path: Path) -> None:
    scene = Scene()
    fused(scene)
    found = scene.found(tmp_path)
    assert found.select(FACTS).rows() == [
        ("send", 28_672, 1, 1_000, 1_500, 500, 100, 105),
        ("recv", 32_768, 1, 1_200, 1_900, 700, 120, 125),
        (None, None, None, 5_000, 5_100, 100, None, None),
    ]
    assert (
        found.select("communicator", "rank", "is_self", "interval_kind", "bytes_source").rows()[:2]
        == [("255", 0, False, "gpu", "payload")] * 2
    )
    assert (
        found.select("kernel_ops", "kernel_count", "device_id", "stream_id", "channels").rows()[:2]
        == [(2, 1, 0, 20, 8)] * 2
    )
    assert found["group_key"].n_unique() == 2


def test_kernels_count_once_and_times_stay_exact_to_the_end(tmp_path: Path) -> None:
    scene = Scene()
    fused(scene)
    study = study_traces([scene.builder.write(tmp_path / "t.sqlite")], None)
    assert kernel_count(study.transfers) == 2
    assert study.transfers["time_ns"].to_list() == [500, 700, 100]
    totals = analyse([tmp_path / "t.sqlite"]).totals
    assert (totals.kernel_count, totals.fused_kernel_count, totals.bytes) == (2, 1, 61_440)


def test_it_says_that_it_is_experimental(tmp_path: Path) -> None:
    scene = Scene()
    fused(scene)
    assert scene.trace(tmp_path).anomalies["nccl-trace-rows-experimental"] == 1
    legacy = Scene()
    legacy.thread.nccl("ncclSend", 100, 110, nbytes=8, peer=1)
    assert legacy.trace(tmp_path).anomalies["nccl-trace-rows-experimental"] == 0


def test_calls_and_sizes_count_as_recorded(tmp_path: Path) -> None:
    scene = Scene()
    fused(scene)
    facts = scene.trace(tmp_path).capabilities
    assert [facts[name].status for name in ("nccl_calls", "nccl_sizes", "nccl_communicators")] == ["present"] * 3


@pytest.mark.parametrize(
    ("said", "nbytes"),
    [
        ({"Message size [bytes]": 4096}, 4096),
        ({"size": "4096"}, 4096),
        ({"count": 100, "dataType": "ncclBfloat16"}, 200),
        ({"count": 100, "datatype": 7}, 400),
        ({"count": 100, "datatype": "strange"}, None),
        ({"count": 100}, None),
        ({"bytes": 8, "size": 9}, None),
        ({"bytes": 2**60}, None),
        ({"bytes": 2.5}, None),
        ({"args": {"nBytes": 12}}, 12),
    ],
)
def test_spellings_of_the_size(said: dict[str, object], nbytes: int | None, tmp_path: Path) -> None:
    scene = Scene()
    text = json.dumps({"API ID": 7, **said})
    scene.thread.push_pop("Send", 100, 105, domain="NCCL", category=1, jsonText=text)
    assert scene.found(tmp_path)["bytes"].to_list() == [nbytes]


def test_a_row_on_no_thread_is_gpu_work(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl_trace("Send", 100, 105, apiId=7, bytes=64)
    scene.process.thread(tid=0).nccl_trace("Send", 1_000, 1_400, apiId=7)
    assert scene.found(tmp_path).select("start_ns", "end_ns", "call_start_ns").rows() == [(1_000, 1_400, 100)]


def test_a_row_that_alone_names_a_stream_is_gpu_work(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl_trace("Send", 100, 105, apiId=7, bytes=64)
    scene.gpu.nccl_trace("Send", 1_000, 1_400, apiId=7, stream=20)
    # Here the call names its stream, and nothing else was recorded.
    scene.thread.nccl_trace("Send", 200, 205, apiId=8, bytes=64, stream=20)
    assert scene.found(tmp_path).select("start_ns", "end_ns", "call_start_ns").rows() == [
        (1_000, 1_400, 100),
        (None, None, 200),
    ]


def test_rows_that_nothing_tells_apart_give_no_interval_and_one_transfer(tmp_path: Path) -> None:
    scene = Scene()
    for start in (100, 1_000, 1_200):
        scene.thread.nccl_trace("Send", start, start + 5, apiId=7, bytes=64, peer=1)
    assert scene.found(tmp_path).select("bytes", "start_ns", "call_start_ns").rows() == [(64, None, 100)]


def test_one_call_of_many_messages_is_told_apart_by_peer(tmp_path: Path) -> None:
    scene = Scene()
    for peer in (0, 1, 2):
        scene.gpu.nccl_trace("Send", 1_000 + peer, 1_400 + peer, apiId=7, channel=peer, peer=peer)
    scene.gpu.nccl_trace("Send", 1_050, 1_450, apiId=7, channel=3)  # of which of the three?
    found = scene.found(tmp_path)
    assert found.select("peer", "start_ns", "end_ns", "bytes", "call_start_ns").rows() == [
        (peer, 1_000 + peer, 1_400 + peer, None, None) for peer in (0, 1, 2)
    ]


def test_processes_with_the_same_ids_stay_apart(tmp_path: Path) -> None:
    scene = Scene()
    other = scene.builder.process(pid=2)
    scene.thread.nccl_trace("Send", 100, 105, apiId=7, bytes=64)
    other.thread(tid=3).nccl_trace("Send", 1_000, 1_400, apiId=7, channel=0)
    scene.kernel(1_000, 1_400)
    found = scene.found(tmp_path)
    # The first process's kernel has none of its own operations inside, and stays.
    assert found.select("side", "start_ns", "kernel_count").sort("start_ns", "side", nulls_last=True).rows() == [
        ("send", 1_000, 0),
        (None, 1_000, 1),
        ("send", None, 0),
    ]


def test_the_device_tells_which_of_two_kernels_is_meant(tmp_path: Path) -> None:
    scene = Scene()
    for device in (0, 1):
        scene.kernel(1_000, 1_500, device=device)
    scene.gpu.nccl_trace("Send", 1_100, 1_400, apiId=7, channel=0, device=1)
    found = scene.found(tmp_path)
    assert found.select("side", "device_id", "kernel_count").sort("device_id").rows() == [(None, 0, 1), ("send", 1, 1)]


@pytest.mark.parametrize("category", [None, 1])
def test_rows_without_json_or_category_are_not_guessed_at(category: int | None, tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl_trace("Send", 100, 105, category=category)
    scene.gpu.nccl_trace("Send", 1_000, 1_400, category=category)
    scene.kernel(1_000, 1_400)
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace)).select("side", "kernel_count").rows() == [(None, 1)]
    assert trace.anomalies["nccl-trace-rows-unusable"] == (2 if category else 0)


def test_other_domains_and_names_are_left_alone(tmp_path: Path) -> None:
    scene = Scene()
    text = json.dumps({"apiId": 7, "bytes": 64})
    scene.thread.push_pop("Send", 100, 105, domain="mine", category=1, jsonText=text)
    scene.thread.push_pop("Send", 100, 105, category=1, jsonText=text)
    scene.thread.nccl_trace("API Group", 90, 300, apiId=7)
    scene.thread.nccl_trace("KernelLaunch", 200, 300, apiId=7)
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace)).is_empty()
    assert trace.anomalies["payloads-not-decodable"] == 0


def test_the_order_of_rows_does_not_show(tmp_path: Path) -> None:
    frames = []
    for seed in (None, 1, 2):
        scene = Scene()
        fused(scene)
        if seed is not None:
            scene.builder.shuffle(seed)
        frames.append(scene.found(tmp_path))
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_broken_json_is_counted(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("Send", 100, 105, domain="NCCL", category=1, jsonText="{")
    trace = scene.trace(tmp_path)
    assert find(trace, find_scopes(trace)).is_empty()
    assert (trace.anomalies["payloads-not-decodable"], trace.anomalies["nccl-trace-rows-unusable"]) == (1, 1)
