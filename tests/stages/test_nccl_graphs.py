"""Sends and receives captured into CUDA graphs: each replay moves what the captured call says, the capture nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import study_traces
from nsysparse.scopes import find_scopes
from nsysparse.sharing import share_time
from nsysparse.source.extract import read_trace
from nsysparse.source.graph_nodes import roots
from nsysparse.source.trace import Trace
from nsysparse.testing import Process, Thread, TraceBuilder
from nsysparse.transports.nccl import find

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"


def read(builder: TraceBuilder, folder: Path) -> Trace:
    return read_trace(builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)


def found_in(trace: Trace) -> pl.DataFrame:
    return share_time(find(trace, find_scopes(trace)).with_row_index("transfer_id")).drop("transfer_id")


class Scene:
    """One process whose thread captures and replays graphs."""

    def __init__(self, schema: str = "3.25", builder: TraceBuilder | None = None, pid: int = 1) -> None:
        self.builder = builder or TraceBuilder(schema=schema, gpus={0: "x"})
        self.process: Process = self.builder.process(pid=pid)
        self.thread: Thread = self.process.thread(tid=1)

    def capture(self, at: int, node: int, *, clone: int, nbytes: int = 4096, call: str = "ncclSend") -> None:
        """An ungrouped call on communicator 7 to peer 1, captured as `node`; instantiated as `clone`."""
        self.thread.nccl(call, at, at + 10, communicator=7, nbytes=nbytes, peer=1)
        self.thread.graph_node(node, at + 5)
        self.thread.graph_node(clone, at + 50)
        self.thread.graph_node(clone, at + 50, original=node)

    def replay(self, at: int, *runs: tuple[int, int, int]) -> None:
        """A launch of a graph that runs nodes, each from when to when."""
        launch = self.thread.launch(at, at + 5, "cudaGraphLaunch_v10000")
        for node, start, end in runs:
            self.process.kernel(SEND_RECV, start, end, stream=20, launch=launch, graphNodeId=node)

    def found(self, folder: Path) -> pl.DataFrame:
        return found_in(read(self.builder, folder))


@pytest.mark.parametrize("schema", ["3.0", "3.7", "3.25", "3.27"])
def test_a_call_captured_once_moves_its_bytes_in_each_replay(tmp_path: Path, schema: str) -> None:
    scene = Scene(schema)
    scene.capture(100, 1, clone=11)
    for index in range(3):
        scene.replay(1000 + 100 * index, (11, 1040 + 100 * index, 1060 + 101 * index))
    found = scene.found(tmp_path)
    assert found.select("side", "bytes", "peer", "communicator", "call_start_ns", "call_end_ns", "time_ns").rows() == [
        ("send", 4096, 1, "7", 1000, 1005, 20),
        ("send", 4096, 1, "7", 1100, 1105, 21),
        ("send", 4096, 1, "7", 1200, 1205, 22),
    ]
    assert found.select("captured_start_ns", "captured_end_ns", "captured_thread").unique().rows() == [
        (100, 110, scene.thread.global_tid)
    ]
    assert found["group_key"].n_unique() == 3
    assert found.select("kernel_ops", "kernel_count").unique().rows() == [(1, 1)]


def test_a_call_launched_directly_has_no_captured_call(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl("ncclSend", 100, 110, nbytes=8, peer=1, communicator=7)
    scene.process.kernel(SEND_RECV, 200, 300, launch=scene.thread.launch(103, 105), stream=20)
    assert scene.found(tmp_path).select("captured_start_ns", "captured_thread", "call_start_ns").rows() == [
        (None, None, 100)
    ]


def test_a_captured_group_shares_the_time_of_its_kernels_in_each_replay(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl("ncclGroupStart", 100, 105)
    for index, (name, nbytes) in enumerate([("ncclSend", 300), ("ncclRecv", 100)]):
        scene.thread.nccl(name, 120 + 20 * index, 130 + 20 * index, communicator=7, nbytes=nbytes, peer=1)
    scene.thread.nccl("ncclGroupEnd", 200, 250)
    for node in (1, 2):
        scene.thread.graph_node(node, 210 + node)
        scene.thread.graph_node(10 + node, 300, original=node)
    # Two kernels of 10 and 30 ns, then of 20 and 60: 3:1 of 40 is 30 and 10, of 80 it is 60 and 20.
    scene.replay(1000, (11, 1010, 1020), (12, 1015, 1045))
    scene.replay(2000, (12, 2005, 2065), (11, 2010, 2030))
    found = scene.found(tmp_path)
    assert found.select("side", "call_start_ns", "start_ns", "end_ns", "time_ns").rows() == [
        ("send", 1000, 1010, 1045, 30),
        ("recv", 1000, 1010, 1045, 10),
        ("send", 2000, 2005, 2065, 60),
        ("recv", 2000, 2005, 2065, 20),
    ]
    assert found.select("kernel_ops", "kernel_count").unique().rows() == [(2, 2)]
    assert found.group_by("group_key").len()["len"].to_list() == [2, 2]


def test_two_graphs_keep_their_calls_apart_in_the_order_of_launches(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11, nbytes=1000)
    scene.capture(300, 2, clone=12, nbytes=2000)
    scene.replay(1000, (12, 1100, 1110))
    scene.replay(2000, (11, 2100, 2110))
    scene.replay(3000, (12, 3100, 3110))
    assert scene.found(tmp_path)["bytes"].to_list() == [2000, 1000, 2000]


def test_calls_of_one_graph_stand_in_the_order_of_issue_though_they_ran_in_another(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11, nbytes=1000)
    scene.capture(300, 2, clone=12, nbytes=2000)
    scene.replay(1000, (12, 1100, 1110), (11, 1200, 1210))
    assert scene.found(tmp_path).select("bytes", "start_ns").rows() == [(1000, 1200), (2000, 1100)]


def test_a_node_that_runs_twice_in_one_launch_moved_twice(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11, nbytes=1000)
    scene.replay(1000, (11, 1100, 1110), (11, 1200, 1230))
    assert scene.found(tmp_path).select("bytes", "time_ns", "kernel_count").rows() == [(1000, 10, 1), (1000, 30, 1)]


def test_a_clone_of_a_clone_leads_to_the_captured_call(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11)
    scene.thread.graph_node(21, 400, original=11)
    scene.replay(1000, (21, 1100, 1110))
    assert scene.found(tmp_path).select("side", "bytes").rows() == [("send", 4096)]


def test_a_kernel_whose_capture_was_not_recorded_is_of_unknown_side(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.graph_node(11, 50, original=1)  # the capture that made node 1 lies before the recording
    scene.replay(1000, (11, 1100, 1110))
    found = scene.found(tmp_path)
    assert found.select("side", "bytes", "call_start_ns", "time_ns", "captured_start_ns").rows() == [
        (None, None, 1000, 10, None)
    ]
    assert read(scene.builder, tmp_path).capabilities["graph_nodes"].status == "partial"


def test_without_rows_of_nodes_the_kernels_stay_and_the_capability_says_why(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11)
    scene.replay(1000, (11, 1100, 1110))
    scene.builder.omit("CUDA_GRAPH_NODE_EVENTS")
    trace = read(scene.builder, tmp_path)
    assert found_in(trace).select("side", "bytes", "time_ns").rows() == [("send", 4096, None), (None, None, 10)]
    fact = trace.capabilities["graph_nodes"]
    assert (fact.status, "1 SendRecv kernel ran in CUDA graphs whose making was not recorded" in fact.reason) == (
        "partial",
        True,
    )


def test_a_table_of_whole_graphs_is_not_taken_for_one_of_nodes(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11)
    scene.builder.row("CUDA_GRAPH_EVENTS", start=5, end=5, globalTid=scene.thread.global_tid, graphId=1)
    scene.replay(1000, (11, 1100, 1110))
    assert scene.found(tmp_path).height == 1
    old = TraceBuilder(schema="3.7", gpus={0: "x"})
    old.omit("CUDA_GRAPH_EVENTS", "graphNodeId")
    other = Scene(builder=old)
    other.capture(100, 1, clone=11)
    assert other.found(tmp_path)["call_start_ns"].to_list() == [100]


def test_a_captured_call_without_any_replay_moved_nothing(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11)
    scene.thread.nccl("ncclSend", 500, 510, communicator=7, nbytes=16, peer=1)
    assert scene.found(tmp_path)["bytes"].to_list() == [16]


def test_processes_with_the_same_ids_do_not_mix(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    scenes = [Scene(builder=builder, pid=pid) for pid in (1, 2)]
    for scene, nbytes in zip(scenes, (1000, 2000), strict=True):
        scene.capture(100, 1, clone=11, nbytes=nbytes)
        scene.replay(1000, (11, 1100, 1110))  # the first correlation id of each process
    found = found_in(read(builder, tmp_path))
    assert found.select(pl.col("thread") - pl.col("captured_thread"), "bytes").rows() == [(0, 1000), (0, 2000)]
    assert found["thread"].to_list() == [scene.thread.global_tid for scene in scenes]


def test_replays_of_both_sides_pair_in_the_order_of_launches(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for rank, call in enumerate(("ncclSend", "ncclRecv")):
        scene = Scene(builder=builder, pid=rank + 1)
        scene.thread.nccl("ncclCommInitRank", 10, 20, communicator=7, nranks=2, rank=rank, device=0)
        for index, (at, nbytes) in enumerate(((100, 1000), (300, 2000))):
            scene.thread.nccl(call, at, at + 10, communicator=7, nbytes=nbytes, peer=1 - rank)
            scene.thread.graph_node(index + 1, at + 5)
            scene.thread.graph_node(index + 11, 400, original=index + 1)
        for index in range(3):
            at = 1000 * (index + 1)
            scene.replay(at, (11, at + 100, at + 110), (12, at + 200, at + 220))
    study = study_traces([builder.write(tmp_path / "t.sqlite")], None)
    transfers = study.transfers
    assert transfers["pairing"].unique().to_list() == ["fifo"]
    assert not study.anomalies["lanes-that-do-not-pair"]
    counted = transfers.filter("is_movement").sort("call_start_ns", "captured_start_ns")
    assert counted.select("side", "bytes", "start_ns", "pairing_proof").rows() == [
        ("recv", nbytes, 1000 * replay + offset, "start")
        for replay in (1, 2, 3)
        for nbytes, offset in ((1000, 100), (2000, 200))
    ]


def test_the_order_of_rows_in_the_file_does_not_show(tmp_path: Path) -> None:
    frames = []
    for seed in (None, 1, 2):
        scene = Scene()
        scene.capture(100, 1, clone=11, nbytes=1000)
        scene.capture(300, 2, clone=12, nbytes=2000, call="ncclRecv")
        for index in range(5):
            at = 1000 * (index + 1)
            scene.replay(at, (11, at + 10, at + 20), (12, at + 15, at + 30))
        if seed is not None:
            scene.builder.shuffle(seed)
        frames.append(scene.found(tmp_path))
    assert frames[0].height == 10
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_no_replay_is_a_first_use_and_neither_is_what_follows_a_capture(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl("ncclCommInitRank", 10, 20, communicator=7, nranks=2, rank=0, device=0)
    scene.capture(100, 1, clone=11)
    scene.replay(1000, (11, 1100, 1110))
    scene.thread.nccl("ncclSend", 2000, 2010, communicator=7, nbytes=8, peer=1)
    scene.process.kernel(SEND_RECV, 2100, 2200, launch=scene.thread.launch(2003, 2005), stream=20)
    assert scene.found(tmp_path).select("rank", "is_self", "is_first_use").rows() == [(0, False, False)] * 2


def test_a_captured_collective_is_other_in_each_replay(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl("ncclAlltoAll", 100, 110, communicator=7, nbytes=64)
    scene.thread.graph_node(1, 105)
    scene.thread.graph_node(11, 150, original=1)
    for at in (1000, 2000):
        scene.replay(at, (11, at + 10, at + 20))
    assert (
        scene.found(tmp_path).select("side", "purpose_rule", "captured_start_ns").rows()
        == [(None, "nccl/ncclAlltoAll", 105)] * 2
    )


def test_launches_that_are_not_recorded_are_still_told_apart(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11)
    for index, correlation in enumerate((77, 78)):
        at = 1000 * (index + 1)
        scene.process.kernel(SEND_RECV, at, at + 10, stream=20, correlation=correlation, graphNodeId=11)
    found = scene.found(tmp_path)
    assert found.select("bytes", "start_ns", "call_start_ns", "thread").rows() == [
        (4096, 1000, None, None),
        (4096, 2000, None, None),
    ]


def test_lineage_ends_where_no_clone_is_and_refuses_circles_and_two_originals() -> None:
    edges = [(1, None), (2, 1), (3, 2), (4, 3), (5, 6), (6, 5), (7, 5), (8, 1), (8, 9), (9, None), (10, 99)]
    nodes = pl.DataFrame(
        [(0, node, original) for node, original in edges],
        schema={"process": pl.Int64, "graph_node_id": pl.Int64, "original_node_id": pl.Int64},
        orient="row",
    )
    found = dict(roots(nodes).select("graph_node_id", "root_node_id").iter_rows())
    assert found == {1: 1, 2: 1, 3: 1, 4: 1, 9: 9, 10: 99, 99: 99}


def test_nodes_without_thread_or_with_impossible_times_are_left_out_and_counted(tmp_path: Path) -> None:
    scene = Scene()
    scene.capture(100, 1, clone=11)
    scene.replay(1000, (11, 1100, 1110))
    path = scene.builder.write(tmp_path / "t.sqlite")
    with closing(sqlite3.connect(path)) as file, file:  # the second commits, only the first closes
        row = "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (?, ?, 0, ?, 0, 5, NULL)"
        file.executemany(row, [(5, 5, None), (9, 3, scene.thread.global_tid)])
    trace = read_trace(path, "t", all_gpu_work=False)
    assert found_in(trace)["bytes"].to_list() == [4096]
    assert (
        trace.anomalies["graph-nodes-without-thread"],
        trace.anomalies["graph-nodes-with-impossible-times"],
    ) == (1, 1)


def test_whole_graphs_hide_nccl_and_the_capability_says_so(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl("ncclSend", 100, 110, communicator=7, nbytes=64, peer=1)
    scene.process.graph(1000, 2000, launch=scene.thread.launch(900, 910, "cudaGraphLaunch_v10000"))
    fact = read(scene.builder, tmp_path).capabilities["graph_nodes"]
    assert fact.status == "absent"
    assert "--cuda-graph-trace=node" in fact.fix
    assert "no kernel was recorded of 1 call of ncclSend and ncclRecv" in fact.reason
