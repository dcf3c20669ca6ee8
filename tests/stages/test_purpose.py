"""KV or not: what ranges say decides, a kernel's name never does."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.purpose import communicators_with_collectives, with_purpose
from nsysparse.scopes import find_scopes
from nsysparse.source.extract import read_trace
from nsysparse.testing import Thread, TraceBuilder
from nsysparse.transports.nccl import find

SEND_RECV = "ncclDevKernel_SendRecv(args)"


def decided(builder: TraceBuilder, folder: Path) -> list[tuple[str, str]]:
    trace = read_trace(builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)
    scopes = find_scopes(trace)
    found = find(trace, scopes).with_row_index("transfer_id").with_columns(pl.col("transfer_id").cast(pl.UInt32))
    return with_purpose(found, scopes, communicators_with_collectives(trace)).select("purpose", "purpose_rule").rows()


def sending(builder: TraceBuilder) -> Thread:
    thread = builder.process(pid=1).thread(tid=1)
    thread.nccl("ncclSend", 100, 110, nbytes=8, peer=1)
    return thread


def test_nothing_around_it_is_unknown(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    sending(builder).push_pop("model.layers.0", 50, 200)
    assert decided(builder, tmp_path) == [("unknown", "no rule matched")]


def test_our_annotation_makes_it_kv_and_the_innermost_word_wins(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    thread = sending(builder)
    thread.push_pop("nccl:all_to_all, op_id = 3", 10, 300)
    thread.push_pop("kv_transfer request=r layer=1", 50, 200, domain="kvx")
    assert decided(builder, tmp_path) == [("kv", "own/kv_transfer")]


def test_all_to_all_of_torch_is_other_only_in_the_default_domain(tmp_path: Path) -> None:
    for domain, expected in ((None, "other"), ("mine", "unknown")):
        builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
        sending(builder).push_pop("nccl:all_to_all, op_id = 3", 50, 200, domain=domain)
        assert decided(builder, tmp_path)[0][0] == expected


def test_a_kernel_without_call_goes_with_its_stream_if_that_is_of_one_mind(tmp_path: Path) -> None:
    for second, expected in ((True, "other"), (False, "unknown")):
        builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
        process = builder.process(pid=1)
        thread = process.thread(tid=1)
        for index, covered in enumerate((True, second)):
            at = 1000 * (index + 1)
            thread.nccl("ncclSend", at, at + 10, nbytes=8, peer=1)
            process.kernel(SEND_RECV, at + 50, at + 60, launch=thread.launch(at + 2, at + 4), stream=20)
            if covered:
                thread.push_pop("nccl:all_to_all, op_id = 3", at - 10, at + 30)
        process.kernel(SEND_RECV, 5000, 5010, correlation=99, stream=20)
        process.kernel(SEND_RECV, 6000, 6010, correlation=98, stream=21)
        lone = decided(builder, tmp_path)[2:]
        assert [purpose for purpose, _ in lone] == [expected, "unknown"]


def grouped(builder: TraceBuilder, calls: list[tuple[str, int]], *, rank: int | None = 0, nranks: int = 4) -> Thread:
    """A group of (call, peer) on communicator 7 with its kernel; `rank` None: its creation was not recorded."""
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    if rank is not None:
        thread.nccl("ncclCommInitRank", 10, 20, communicator=7, nranks=nranks, rank=rank, device=0)
    thread.nccl("ncclGroupStart", 100, 105)
    for index, (name, peer) in enumerate(calls):
        thread.nccl(name, 120 + 10 * index, 125 + 10 * index, communicator=7, nbytes=64, peer=peer)
    thread.nccl("ncclGroupEnd", 900, 950)
    process.kernel(SEND_RECV, 1000, 1100, launch=thread.launch(910, 915), stream=20)
    return thread


ALL_TO_ALL = [(name, peer) for peer in range(4) for name in ("ncclSend", "ncclRecv")]


@pytest.mark.parametrize("kernels", [True, False])
def test_a_group_that_sends_to_itself_and_to_others_is_all_to_all(tmp_path: Path, *, kernels: bool) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    grouped(builder, ALL_TO_ALL)
    if not kernels:
        builder.omit("CUPTI_ACTIVITY_KIND_KERNEL")
    assert decided(builder, tmp_path) == [("other", "nccl/all-to-all-group")] * 8


@pytest.mark.parametrize(
    ("calls", "rank"),
    [
        # A prefill rank that hands over to several decode ranks.
        ([("ncclSend", 1), ("ncclSend", 2), ("ncclSend", 3)], 0),
        # An exchange with one other rank, and a copy to itself.
        ([("ncclSend", 1), ("ncclRecv", 1)], 0),
        ([("ncclSend", 0), ("ncclRecv", 0)], 0),
        # Which rank is its own is not known, nor how many there are.
        (ALL_TO_ALL, None),
    ],
)
def test_groups_of_another_shape_stay_unknown(tmp_path: Path, calls: list[tuple[str, int]], rank: int | None) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    grouped(builder, calls, rank=rank)
    assert set(decided(builder, tmp_path)) == {("unknown", "no rule matched")}


def test_a_group_with_every_rank_is_all_to_all_though_its_own_rank_is_ambiguous(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    thread = grouped(builder, ALL_TO_ALL)
    # A second rank of the same communicator and device in this process: which of both sends is open.
    thread.nccl("ncclCommInitRank", 30, 40, communicator=7, nranks=4, rank=1, device=0)
    assert decided(builder, tmp_path) == [("other", "nccl/all-to-all-group")] * 8


def test_a_range_that_says_kv_wins_over_the_shape_of_its_group(tmp_path: Path) -> None:
    for first, last, annotated in ((90, 960, 8), (115, 127, 1)):  # around the group, around its first call
        builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
        thread = grouped(builder, ALL_TO_ALL)
        thread.push_pop("kv_transfer request=r layer=1", first, last)
        purposes = [purpose for purpose, _ in decided(builder, tmp_path)]
        assert purposes == ["kv"] * annotated + ["unknown"] * (8 - annotated)


def test_sends_on_a_communicator_with_collectives_are_other_unless_a_range_says_kv(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    thread = builder.process(pid=1).thread(tid=1)
    thread.nccl("ncclAllReduce", 10, 20, communicator=7, nbytes=8)
    thread.push_pop("kv_transfer request=r", 290, 320)
    for at, communicator in ((100, 7), (200, 8), (300, 7)):
        thread.nccl("ncclSend", at, at + 10, communicator=communicator, nbytes=8, peer=1)
    thread.nccl("ncclSend", 400, 410, nbytes=8, peer=1)
    assert decided(builder, tmp_path) == [
        ("other", "nccl/collectives-on-communicator"),
        ("unknown", "no rule matched"),
        ("kv", "own/kv_transfer"),
        ("unknown", "no rule matched"),
    ]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("megatron.core.pipeline_parallel.p2p_communication.send_forward", "megatron-pp/p2p-communication"),
        ("eplb: rearrange", "weights/eplb"),
        ("gpu_model_runner: eplb", "weights/eplb"),
        ("ModelRunner.update_weights_from_distributed", "weights/weight-move"),
        ("weight-update", "weights/weight-update"),
        ("nccl:send 0->1", None),
        ("megatron.core.pipeline_parallel.schedules.forward_step", None),
        ("eplbx", None),
        ("offload_weights", None),
        ("kv_cache of lightweight update", None),
    ],
)
def test_ranges_of_other_traffic(tmp_path: Path, text: str, rule: str | None) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    sending(builder).push_pop(text, 50, 200)
    assert decided(builder, tmp_path) == [("other", rule) if rule else ("unknown", "no rule matched")]


def test_a_replay_is_for_what_its_captured_call_was_for_else_for_what_its_launch_is(tmp_path: Path) -> None:
    for around_call, around_launch, expected in (
        ("kv_transfer layer=1", "eplb: rearrange", "own/kv_transfer"),
        ("model.layers.1", "eplb: rearrange", "weights/eplb"),
    ):
        builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
        thread = sending(builder)
        thread.graph_node(1, 105)
        thread.graph_node(11, 150, original=1)
        thread.push_pop(around_call, 90, 120)
        thread.push_pop(around_launch, 900, 1000)
        launch = thread.launch(910, 920, "cudaGraphLaunch_v10000")
        builder.processes[0].kernel(SEND_RECV, 1100, 1200, launch=launch, graphNodeId=11, stream=20)
        assert [rule for _, rule in decided(builder, tmp_path)] == [expected]
