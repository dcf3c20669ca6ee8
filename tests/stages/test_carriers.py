"""Copies and messages that carried out a transfer of a library are evidence for it; others count for themselves."""

from pathlib import Path

import pytest
from evidence_scenes import (
    MIB,
    SEND_RECV,
    A,
    B,
    Scene,
    movements,
    peer_copy,
    post,
    require_order_not_to_show,
    started,
    studied,
)

from nsysparse.api import analyse, study_traces
from nsysparse.testing import TraceBuilder

SCENES: dict[str, Scene] = {}


def scene(build: Scene) -> Scene:
    """A scene that the test of all scenes sees as well."""
    SCENES[build.__name__] = build
    return build


def carried(nbytes: int | None, *puts: int) -> TraceBuilder:
    builder, _, thread = started()
    post(thread, 1_000, 90_000, nbytes=nbytes)
    for index, size in enumerate(puts):
        at = 1_001 + index
        thread.ucx("ucp_put_nbx", at, at + 1, done=80_000, nbytes=size, address=0x1000 * (index + 1))
    return builder


@scene
def carried_by_ucx() -> TraceBuilder:
    builder = carried(2 * MIB, MIB, MIB)
    builder.processes[0].thread(tid=9).ucx("ucp_am_send_nbx", 5_000, 5_010, done=6_000, nbytes=64)
    return builder


@scene
def ucx_carries_more() -> TraceBuilder:
    return carried(MIB, MIB, MIB)


@scene
def size_from_ucx() -> TraceBuilder:
    return carried(None, MIB, MIB)


def test_messages_that_carry_a_nixl_transfer_are_evidence(tmp_path: Path) -> None:
    study = studied(carried_by_ucx, tmp_path)
    assert movements(study) == [("nixl", 2 * MIB, f"ucx x3 ({2 * MIB + 64} bytes)")]
    assert not study.anomalies["rows-beside-a-transfer"]


def test_messages_that_carry_more_than_the_transfer_are_kept_and_warned_of(tmp_path: Path) -> None:
    path = ucx_carries_more().write(tmp_path / "t.sqlite")
    study = study_traces([path], None)
    assert movements(study) == [("nixl", MIB, None), ("ucx", MIB, None), ("ucx", MIB, None)]
    (warned,) = [row for row in analyse([path]).warnings if row.code == "rows-beside-a-transfer"]
    assert warned.count == 2


def test_a_transfer_of_unknown_size_has_that_of_what_carried_it(tmp_path: Path) -> None:
    study = studied(size_from_ucx, tmp_path)
    assert movements(study) == [("nixl", 2 * MIB, f"ucx x2 ({2 * MIB} bytes)")]
    assert study.transfers["bytes_source"].to_list() == ["ucx"]


@scene
def carried_by_copies() -> TraceBuilder:
    builder, process, thread = started()
    post(thread, 1_000, 90_000, nbytes=2 * MIB)
    worker = process.thread(tid=2)
    for at in (2_000, 40_000):
        peer_copy(process, worker, at, (at + 100, at + 30_000), MIB)
    return builder


def test_copies_that_carry_a_nixl_transfer_are_evidence(tmp_path: Path) -> None:
    assert movements(studied(carried_by_copies, tmp_path)) == [("nixl", 2 * MIB, f"memcpy x2 ({2 * MIB} bytes)")]


def concurrent(*puts: int) -> TraceBuilder:
    builder, _, thread = started()
    post(thread, 1_000, 60_000, nbytes=MIB, handle=A)
    post(thread, 2_000, 90_000, nbytes=2 * MIB, handle=B)
    for index, size in enumerate(puts):
        at = 3_000 + 10 * index
        thread.ucx("ucp_put_nbx", at, at + 1, done=50_000, nbytes=size, address=0x1000 * (index + 1))
    return builder


@scene
def concurrent_and_carried() -> TraceBuilder:
    return concurrent(MIB, 2 * MIB)


@scene
def concurrent_and_more() -> TraceBuilder:
    return concurrent(MIB, 2 * MIB, MIB)


def test_concurrent_transfers_together_hold_what_carries_them(tmp_path: Path) -> None:
    study = studied(concurrent_and_carried, tmp_path)
    assert [row[:2] for row in movements(study)] == [("nixl", MIB), ("nixl", 2 * MIB)]
    more = studied(concurrent_and_more, tmp_path)
    assert [row[0] for row in movements(more)] == ["nixl", "nixl", "ucx", "ucx", "ucx"]
    assert more.anomalies["rows-beside-a-transfer"] == 3


@scene
def nccl_by_copies() -> TraceBuilder:
    """NCCL_P2P_USE_CUDA_MEMCPY: a proxy thread copies while the kernel runs; the application copies for itself."""
    builder, process, thread = started()
    proxy, own = process.thread(tid=2), process.thread(tid=3)
    for index, at in enumerate((1_000, 40_000)):
        launch = thread.launch(at + 5, at + 7)
        thread.nccl("ncclSend", at, at + 10, communicator=7, nbytes=2 * MIB, peer=1)
        process.kernel(SEND_RECV, at + 100, at + 30_000, stream=20, launch=launch)
        for part in (0, 1):
            begin = at + 1_000 + 10_000 * part
            peer_copy(process, proxy, begin, (begin + 10, begin + 9_000), MIB)
        # Of the application's copies the second runs while no kernel of NCCL does.
        peer_copy(process, own, at + 500 + 32_000 * index, (at + 600 + 32_000 * index, at + 700 + 32_000 * index), 999)
    return builder


def test_copies_of_nccls_own_threads_are_its_sends(tmp_path: Path) -> None:
    study = studied(nccl_by_copies, tmp_path)
    assert movements(study) == [
        ("nccl", 2 * MIB, f"memcpy x2 ({2 * MIB} bytes)"),
        ("memcpy", 999, None),
        ("nccl", 2 * MIB, f"memcpy x2 ({2 * MIB} bytes)"),
        ("memcpy", 999, None),
    ]


@scene
def ucx_by_copies() -> TraceBuilder:
    builder, process, thread = started()
    thread.ucx("ucp_put_nbx", 1_000, 1_010, done=50_000, nbytes=MIB)
    peer_copy(process, thread, 1_005, (2_000, 40_000), MIB)
    peer_copy(process, thread, 60_000, (61_000, 70_000), MIB)  # after it
    return builder


def test_a_copy_that_carries_a_message_is_evidence(tmp_path: Path) -> None:
    assert movements(studied(ucx_by_copies, tmp_path)) == [
        ("ucx", MIB, f"memcpy x1 ({MIB} bytes)"),
        ("memcpy", MIB, None),
    ]


@scene
def over_inside_their_calls() -> TraceBuilder:
    builder, _, thread = started()
    thread.nixl_post("write", 1_000, 1_500, agent="prefill", handle=A, nbytes=2 * MIB, remote="decode")
    thread.nixl_complete(90_000, agent="prefill", handle=A)
    for at in (1_100, 1_200):
        thread.ucx("ucp_put_nbx", at, at + 50, done=None, nbytes=MIB, address=at)
    return builder


@scene
def never_completed() -> TraceBuilder:
    builder, _, thread = started()
    thread.nixl_post("write", 1_000, 1_500, agent="prefill", handle=A, nbytes=2 * MIB, remote="decode")
    for at in (1_100, 1_200):
        thread.ucx("ucp_put_nbx", at, at + 50, done=80_000, nbytes=MIB, address=at)
    return builder


@scene
def annotated_and_carried_by_a_copy() -> TraceBuilder:
    builder, process, thread = started()
    thread.push_pop(f"kv_transfer op=put request=r1 bytes={MIB}", 1_000, 9_000)
    thread.nixl_post("write", 2_000, 7_000, agent="prefill", handle=A, nbytes=MIB, remote="decode")
    thread.nixl_complete(90_000, agent="prefill", handle=A)
    peer_copy(process, thread, 3_000, (10_000, 50_000), MIB)
    return builder


@scene
def weights_beside_a_write() -> TraceBuilder:
    builder, process, thread = started()
    worker = process.thread(tid=7)
    post(thread, 1_000, 90_000, nbytes=MIB)
    worker.push_pop("update_weights", 2_000, 3_000)
    peer_copy(process, worker, 2_100, (10_000, 50_000), MIB)
    return builder


@scene
def a_thread_with_ranges_beside_nccl() -> TraceBuilder:
    builder, process, thread = started()
    worker = process.thread(tid=9)
    thread.nccl("ncclSend", 1_000, 1_900, communicator=7, nbytes=2 * MIB, peer=1)
    process.kernel(SEND_RECV, 2_000, 90_000, stream=20, launch=thread.launch(1_500, 1_600))
    worker.push_pop("decode", 3_000, 4_000)
    peer_copy(process, worker, 3_100, (10_000, 50_000), MIB)
    return builder


@scene
def more_than_the_one_it_lies_in() -> TraceBuilder:
    builder, process, thread = started()
    post(thread, 1_000, 50_000, nbytes=MIB, handle=A)
    post(thread, 30_000, 90_000, nbytes=20 * MIB, handle=B)
    for at in (2_000, 12_000):
        peer_copy(process, process.thread(tid=2), at, (at + 100, at + 5_000), MIB)
    return builder


def without_kernel(call: str, *, grouped: bool = False, by: int = 1) -> TraceBuilder:
    """Copy engines move what NCCL sends: the call, or the end of its group, issues the copy."""
    builder, process, thread = started()
    if grouped:
        thread.nccl("ncclGroupStart", 900, 950)
    thread.nccl(call, 1_000, 1_900, communicator=7, nbytes=MIB, peer=1)
    if grouped:
        thread.nccl("ncclGroupEnd", 2_000, 3_000)
    at = 2_500 if grouped else 1_500
    peer_copy(process, process.thread(tid=by), at, (10_000, 50_000), MIB)
    return builder


@scene
def put_by_a_copy() -> TraceBuilder:
    return without_kernel("ncclPutSignal")


@scene
def put_in_a_group_by_a_copy() -> TraceBuilder:
    return without_kernel("ncclPutSignal", grouped=True)


@scene
def sent_by_a_copy_of_nccls_thread() -> TraceBuilder:
    return without_kernel("ncclSend", by=9)


@scene
def a_copy_after_a_put() -> TraceBuilder:
    builder, process, thread = started()
    thread.nccl("ncclPutSignal", 1_000, 1_900, communicator=7, nbytes=MIB, peer=1)
    peer_copy(process, thread, 2_500, (10_000, 50_000), MIB)
    return builder


@pytest.mark.parametrize(
    ("build", "counted"),
    [
        (put_by_a_copy, [("nccl", MIB, f"memcpy x1 ({MIB} bytes)")]),
        (put_in_a_group_by_a_copy, [("nccl", MIB, f"memcpy x1 ({MIB} bytes)")]),
        (sent_by_a_copy_of_nccls_thread, [("nccl", MIB, f"memcpy x1 ({MIB} bytes)")]),
        (a_copy_after_a_put, [("nccl", MIB, None), ("memcpy", MIB, None)]),
        (over_inside_their_calls, [("nixl", 2 * MIB, f"ucx x2 ({2 * MIB} bytes)")]),
        (never_completed, [("nixl", 2 * MIB, f"ucx x2 ({2 * MIB} bytes)")]),
        (annotated_and_carried_by_a_copy, [("nixl", MIB, f"memcpy x1 ({MIB} bytes); annotated")]),
        (weights_beside_a_write, [("nixl", MIB, None), ("memcpy", MIB, None)]),
        (a_thread_with_ranges_beside_nccl, [("nccl", 2 * MIB, None), ("memcpy", MIB, None)]),
        (
            more_than_the_one_it_lies_in,
            [("nixl", MIB, None), ("memcpy", MIB, None), ("memcpy", MIB, None), ("nixl", 20 * MIB, None)],
        ),
    ],
)
def test_what_is_evidence_and_what_counts(build: Scene, counted: list[tuple[object, ...]], tmp_path: Path) -> None:
    assert movements(studied(build, tmp_path)) == counted


@pytest.mark.parametrize("name", SCENES)
def test_the_order_of_rows_does_not_show(name: str, tmp_path: Path) -> None:
    require_order_not_to_show(SCENES[name], tmp_path)


@scene
def ends_after_the_mark() -> TraceBuilder:
    """The device's clock and the host's poll differ by some microseconds."""
    builder, process, thread = started()
    post(thread, 1_000, 60_000, nbytes=MIB)
    peer_copy(process, process.thread(tid=2), 5_000, (10_000, 75_000), MIB)
    return builder


@scene
def long_after_the_mark() -> TraceBuilder:
    builder, process, thread = started()
    post(thread, 1_000, 20_000, nbytes=MIB)
    peer_copy(process, process.thread(tid=2), 5_000, (21_000, 75_000), MIB)
    return builder


@scene
def into_the_device_that_writes() -> TraceBuilder:
    builder, process, thread = started()
    post(thread, 1_000, 90_000, nbytes=MIB)
    launch = process.thread(tid=2).launch(5_000, 5_002)
    process.copy("PtoP", MIB, 10_000, 50_000, launch=launch, src_device=1, dst_device=0)
    return builder


@pytest.mark.parametrize(
    ("build", "counted"),
    [
        (ends_after_the_mark, [("nixl", MIB, f"memcpy x1 ({MIB} bytes)")]),
        (long_after_the_mark, [("nixl", MIB, None), ("memcpy", MIB, None)]),
        (into_the_device_that_writes, [("nixl", MIB, None), ("memcpy", MIB, None)]),
    ],
)
def test_what_carried_a_write_ends_with_it_and_goes_its_way(
    build: Scene, counted: list[tuple[object, ...]], tmp_path: Path
) -> None:
    assert movements(studied(build, tmp_path)) == counted


@pytest.mark.parametrize(("nbytes", "short"), [(MIB, 0), (10 * MIB, 1)])
def test_copies_that_are_less_than_what_they_lie_in_are_warned_of(nbytes: int, short: int, tmp_path: Path) -> None:
    builder, process, thread = started()
    post(thread, 1_000, 90_000, nbytes=nbytes)
    peer_copy(process, process.thread(tid=2), 5_000, (10_000, 50_000), MIB)
    study = study_traces([builder.write(tmp_path / "t.sqlite")])
    assert movements(study) == [("nixl", nbytes, f"memcpy x1 ({MIB} bytes)")]
    assert study.anomalies["copies-short-of-a-transfer"] == short


@pytest.mark.parametrize(("begins", "warned"), [(20_000, 1), (95_000, 0)])
def test_a_copy_of_the_receiver_while_a_post_runs_is_warned_of(begins: int, warned: int, tmp_path: Path) -> None:
    """UCX lets the receiver fetch what was posted: nothing in the file ties its copy to the post."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "x"}, duration=10**6)
    post(builder.process(pid=1).thread(tid=1), 1_000, 60_000, nbytes=MIB)
    receiver = builder.process(pid=2)
    peer_copy(receiver, receiver.thread(tid=2), begins, (begins + 100, begins + 9_000), MIB)
    study = study_traces([builder.write(tmp_path / "t.sqlite")])
    assert study.transfers["is_movement"].sum() == 2
    assert study.anomalies["copies-beside-posts"] == warned
