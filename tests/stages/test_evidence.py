"""What a range announces and another source recorded counts once; what is something else stays."""

from pathlib import Path

import polars as pl
import pytest
from evidence_scenes import (
    MIB,
    SEND_RECV,
    A,
    B,
    Scene,
    movements,
    named,
    post,
    require_order_not_to_show,
    started,
    studied,
)

from nsysparse.api import Study, analyse, study_traces
from nsysparse.testing import Thread, TraceBuilder

BOUNCE = "trtllm.disagg.bounce"
SCENES: dict[str, Scene] = {}


def scene(build: Scene) -> Scene:
    """A scene that the test of all scenes sees as well."""
    SCENES[build.__name__] = build
    return build


@scene
def around_a_send() -> TraceBuilder:
    builder, process, thread = started()
    thread.push_pop("kv_transfer op=send layer=3 request=r1 bytes=4096", 100, 200)
    thread.nccl("ncclSend", 110, 150, communicator=7, nbytes=4096, peer=1)
    process.kernel(SEND_RECV, 300, 400, launch=thread.launch(120, 122))
    return builder


def test_an_annotation_around_a_send_is_the_send(tmp_path: Path) -> None:
    study = studied(around_a_send, tmp_path)
    assert movements(study) == [("nccl", 4096, "annotated")]
    assert named(study) == [(3, "exact", "r1", "exact")]
    assert study.transfers["time_ns"].to_list() == [100]


@scene
def spanning_a_post() -> TraceBuilder:
    builder, _, thread = started()
    thread.start_end("kv_transfer op=put layer=3 request=r1 bytes=4096", 90, 900)
    post(thread, 100, 850)
    return builder


def test_a_start_end_annotation_tells_the_post_its_size_and_names(tmp_path: Path) -> None:
    study = studied(spanning_a_post, tmp_path)
    assert movements(study) == [("nixl", 4096, "annotated")]
    assert named(study) == [(3, "exact", "r1", "exact")]
    columns = ("bytes_source", "purpose", "purpose_rule", "time_ns")
    assert study.transfers.select(columns).rows() == [("annotation", "kv", "own/kv_transfer", 750)]


@scene
def posts_one_after_the_other() -> TraceBuilder:
    builder, _, thread = started()
    for layer, handle, at in ((0, A, 100), (1, B, 200)):
        thread.start_end(f"kv_transfer op=put layer={layer} request=r1 bytes={4096 + layer}", at, at + 700)
        post(thread, at + 10, at + 650, handle=handle)
    return builder


def test_a_post_belongs_to_the_annotation_that_began_last(tmp_path: Path) -> None:
    study = studied(posts_one_after_the_other, tmp_path)
    assert movements(study) == [("nixl", 4096, "annotated"), ("nixl", 4097, "annotated")]
    assert named(study) == [(0, "exact", "r1", "exact"), (1, "exact", "r1", "exact")]


def both_announced_before(first: int, second: int) -> TraceBuilder:
    """Two annotations begin, then their two posts follow in the same order."""
    builder, _, thread = started()
    for layer, nbytes in enumerate((first, second)):
        thread.start_end(f"kv_transfer op=put layer={layer} bytes={nbytes}", 100 + 10 * layer, 900 + layer)
    post(thread, 130, 800, nbytes=first, handle=A)
    post(thread, 150, 850, nbytes=second, handle=B)
    return builder


@scene
def sizes_tell_which() -> TraceBuilder:
    return both_announced_before(4096, 8192)


@scene
def nothing_tells_which() -> TraceBuilder:
    return both_announced_before(4096, 4096)


def test_of_several_annotations_sizes_tell_which_is_about_a_post(tmp_path: Path) -> None:
    study = studied(sizes_tell_which, tmp_path)
    assert movements(study) == [("nixl", 4096, "annotated"), ("nixl", 8192, "annotated")]
    assert [row[:2] for row in named(study)] == [(0, "exact"), (1, "exact")]


def test_of_annotations_alike_each_counts_once_and_none_is_guessed(tmp_path: Path) -> None:
    study = studied(nothing_tells_which, tmp_path)
    assert movements(study) == [("nixl", 4096, "annotated")] * 2
    assert named(study) == [(None, None, None, None)] * 2


@scene
def two_posts_in_one() -> TraceBuilder:
    builder, _, thread = started()
    thread.start_end("kv_transfer op=put layer=3 bytes=12288", 90, 900)
    post(thread, 100, 800, nbytes=4096, handle=A)
    post(thread, 200, 850, nbytes=8192, handle=B)
    return builder


def test_an_annotation_may_be_about_several_posts(tmp_path: Path) -> None:
    study = studied(two_posts_in_one, tmp_path)
    assert movements(study) == [("nixl", 4096, "annotated"), ("nixl", 8192, "annotated")]
    assert [row[:2] for row in named(study)] == [(3, "exact")] * 2


@scene
def another_size() -> TraceBuilder:
    builder, _, thread = started()
    thread.start_end("kv_transfer op=put layer=3 bytes=5000", 90, 900)
    post(thread, 100, 850, nbytes=4096)
    return builder


def test_an_annotation_of_another_size_is_another_transfer(tmp_path: Path) -> None:
    study = studied(another_size, tmp_path)
    assert movements(study) == [("annotated", 5000, None), ("nixl", 4096, None)]


def on_another_thread(*announced: tuple[int, int]) -> TraceBuilder:
    builder, process, thread = started()
    for layer, (start, end) in enumerate(announced):
        process.thread(tid=2).start_end(f"kv_transfer op=put layer={layer} bytes=4096", start, end)
    post(thread, 100, 850, nbytes=4096)
    return builder


@scene
def alone_on_another_thread() -> TraceBuilder:
    return on_another_thread((50, 900), (200, 950))


@scene
def several_on_another_thread() -> TraceBuilder:
    return on_another_thread((50, 900), (60, 950))


def test_the_only_annotation_open_in_the_process_is_about_the_post(tmp_path: Path) -> None:
    study = studied(alone_on_another_thread, tmp_path)
    assert movements(study) == [("nixl", 4096, "annotated"), ("annotated", 4096, None)]
    assert named(study)[0][:2] == (0, "exact")


def test_of_several_open_on_another_thread_one_of_its_size_is_taken_without_its_names(tmp_path: Path) -> None:
    study = studied(several_on_another_thread, tmp_path)
    assert movements(study) == [("annotated", 4096, None), ("nixl", 4096, "annotated")]
    assert named(study)[1][:2] == (None, None)


@scene
def bounce_write() -> TraceBuilder:
    builder, process, thread = started()
    thread.start_end("nixlWrite rid=42 chunk=0 bytes=65536", 90, 900, end_thread=process.thread(tid=2), domain=BOUNCE)
    post(thread, 100, 850, nbytes=65536)
    return builder


@scene
def annotated_bounce_write() -> TraceBuilder:
    builder = bounce_write()
    Thread(builder.processes[0], builder.processes[0].thread(tid=1).global_tid).start_end(
        "kv_transfer op=put layer=5 request=r42 bytes=65536", 80, 950
    )
    return builder


def test_a_bounce_write_posted_through_nixl_keeps_its_request(tmp_path: Path) -> None:
    study = studied(bounce_write, tmp_path)
    assert movements(study) == [("nixl", 65536, "trtllm-bounce")]
    assert named(study) == [(None, None, "42", "exact")]
    assert study.transfers["purpose_rule"].to_list() == ["trtllm-bounce/nixlWrite"]


def test_three_sources_of_one_movement_count_once(tmp_path: Path) -> None:
    study = studied(annotated_bounce_write, tmp_path)
    assert movements(study) == [("nixl", 65536, "trtllm-bounce; annotated")]
    # The nearer range names the request, the other one the layer: the post lies inside both.
    assert named(study)[0][2:] == ("42", "exact")
    assert named(study)[0][0] == 5


def nested(outer: int, inner: tuple[int, ...], leaf: int | None = None) -> TraceBuilder:
    builder, _, thread = started()
    thread.push_pop(f"kv_transfer op=send layer=0-1 bytes={outer}", 100, 1_000)
    for index, nbytes in enumerate(inner):
        at = 200 + 300 * index
        thread.push_pop(f"kv_transfer op=send layer={index} bytes={nbytes}", at, at + 200)
    if leaf is not None:
        thread.push_pop(f"kv_transfer op=send layer=0 bytes={leaf}", 210, 220)
    return builder


@scene
def parts_add_up() -> TraceBuilder:
    return nested(100, (40, 60))


@scene
def parts_do_not_add_up() -> TraceBuilder:
    return nested(100, (40, 50))


@scene
def parts_of_parts() -> TraceBuilder:
    return nested(100, (40, 60), leaf=40)


@scene
def parts_of_parts_that_do_not_add_up() -> TraceBuilder:
    return nested(100, (40, 50), leaf=40)


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (parts_add_up, [40, 60]),
        (parts_do_not_add_up, [100]),
        (parts_of_parts, [40, 60]),
        (parts_of_parts_that_do_not_add_up, [100]),
    ],
)
def test_nested_annotations_count_once(build: Scene, sizes: list[int], tmp_path: Path) -> None:
    assert [row[1] for row in movements(studied(build, tmp_path))] == sizes


@scene
def annotated_offload() -> TraceBuilder:
    builder, process, thread = started()
    thread.push_pop("kv_transfer op=offload layer=3 request=r1 bytes=30", 100, 400)
    for at, nbytes in ((110, 10), (120, 20)):
        process.copy("DtoH", nbytes, at + 400, at + 405, launch=thread.launch(at, at + 2))
    return builder


def test_an_annotated_offload_is_its_copies(tmp_path: Path) -> None:
    study = studied(annotated_offload, tmp_path)
    assert movements(study) == [("host-staged", 30, "annotated")]
    assert named(study) == [(3, "exact", "r1", "exact")]


@scene
def beside_a_control_message() -> TraceBuilder:
    builder, _, thread = started()
    thread.start_end(f"kv_transfer op=put request=r1 bytes={MIB}", 1_000, 90_000)
    thread.ucx("ucp_put_nbx", 1_100, 1_200, done=80_000, nbytes=MIB, address=0x10)
    thread.ucx("ucp_am_send_nbx", 1_300, 1_310, done=80_500, nbytes=64, address=0x99)
    return builder


@scene
def only_a_control_message() -> TraceBuilder:
    builder, _, thread = started()
    thread.push_pop(f"kv_transfer op=put request=r1 bytes={MIB}", 1_000, 90_000)
    thread.ucx("ucp_am_send_nbx", 80_000, 80_100, done=80_500, nbytes=64)
    return builder


@scene
def only_a_self_copy() -> TraceBuilder:
    builder, process, thread = started()
    thread.push_pop(f"kv_transfer op=put request=r1 bytes={MIB}", 1_000, 90_000)
    process.copy("DtoD", MIB, 3_000, 5_000, launch=thread.launch(1_500, 1_800), src_device=0, dst_device=0)
    return builder


def packed(nbytes: int) -> TraceBuilder:
    builder, process, thread = started()
    thread.push_pop(f"kv_transfer op=put request=r1 bytes={MIB}", 1_000, 9_000)
    process.copy("DtoD", nbytes, 3_000, 5_000, launch=thread.launch(1_500, 1_800))
    return builder


@scene
def packed_and_posted() -> TraceBuilder:
    builder = packed(MIB)
    post(Thread(builder.processes[0], builder.processes[0].thread(tid=1).global_tid), 5_500, 90_000, nbytes=MIB)
    return builder


@scene
def packed_in_part() -> TraceBuilder:
    return packed(MIB // 2)


@pytest.mark.parametrize(
    ("build", "counted"),
    [
        (beside_a_control_message, [("ucx", MIB, "annotated")]),
        (only_a_control_message, [("annotated", MIB, None)]),
        (only_a_self_copy, [("annotated", MIB, None)]),
        (packed_and_posted, [("nixl", MIB, "annotated")]),
        (packed_in_part, [("annotated", MIB, f"memcpy x1 ({MIB // 2} bytes)")]),
    ],
)
def test_control_and_preparation_neither_stand_for_a_range_nor_count(
    build: Scene, counted: list[tuple[object, ...]], tmp_path: Path
) -> None:
    study = studied(build, tmp_path)
    standing = study.transfers.filter(pl.col("purpose") != "other", ~pl.col("is_self").fill_null(value=False))
    assert standing.select("transport", "bytes", "evidence").rows() == counted
    assert not study.anomalies["annotated-bytes-differ"]


@scene
def spanning_in_a_call() -> TraceBuilder:
    builder, _, thread = started()
    thread.push_pop("kv_transfer op=put request=r1 layer=3 bytes=4096", 1_000, 90_000)
    thread.start_end("kv_transfer op=put request=r1 layer=3 bytes=4096", 2_000, 80_000)
    return builder


def in_flight(*texts: str) -> TraceBuilder:
    builder, _, thread = started()
    thread.start_end(f"kv_transfer op=put {texts[0]}", 1_000, 90_000)
    for index, text in enumerate(texts[1:]):
        thread.start_end(f"kv_transfer op=put {text}", 2_000 + 40_000 * index, 40_000 + 40_000 * index)
    return builder


@scene
def chunks_of_a_whole() -> TraceBuilder:
    return in_flight(
        "request=r1 layer=0-1 bytes=8192", "request=r1 layer=0 bytes=4096", "request=r1 layer=1 bytes=4096"
    )


@scene
def alike_in_flight() -> TraceBuilder:
    return in_flight("request=r1 layer=0 bytes=4096", "request=r1 layer=1 bytes=4096")


@pytest.mark.parametrize(
    ("build", "sizes"),
    [(spanning_in_a_call, [4096]), (chunks_of_a_whole, [4096, 4096]), (alike_in_flight, [4096, 4096])],
)
def test_start_end_annotations_told_twice_count_once(build: Scene, sizes: list[int], tmp_path: Path) -> None:
    assert [row[1] for row in movements(studied(build, tmp_path))] == sizes


@scene
def the_other_direction() -> TraceBuilder:
    builder, _, thread = started()
    thread.start_end("kv_transfer op=recv request=r9 bytes=4096", 1_000, 90_000)
    post(thread, 2_000, 60_000, nbytes=4096)
    return builder


def test_an_annotation_of_the_other_direction_is_another_transfer(tmp_path: Path) -> None:
    study = studied(the_other_direction, tmp_path)
    assert {row[2] for row in movements(study)} == {None}
    assert study.transfers.height == 2


@scene
def never_closed() -> TraceBuilder:
    builder, _, thread = started()
    thread.push_pop("kv_transfer op=put request=r1 layer=3 bytes=4096", 1_000, None)
    for index in range(3):
        post(thread, 2_000 + 10_000 * index, 9_000 + 10_000 * index, nbytes=4096, handle=A + index)
    return builder


def test_a_range_that_nobody_closed_is_about_one_call_of_its_size(tmp_path: Path) -> None:
    study = studied(never_closed, tmp_path)
    assert movements(study) == [("nixl", 4096, "annotated"), ("nixl", 4096, None), ("nixl", 4096, None)]
    assert [row[0] for row in named(study)] == [3, None, None]
    assert study.transfers["purpose"].to_list() == ["kv", "unknown", "unknown"]


@scene
def posted_by_workers() -> TraceBuilder:
    builder, process, thread = started()
    for request, nbytes in ((1, 8192), (2, 4096)):
        text = f"nixlWrite rid={request} chunk=0 bytes={nbytes}"
        thread.start_end(text, 1_000 * request, 90_000 + request, domain=BOUNCE)
        post(process.thread(tid=4 + request), 3_000 * request, 80_000, nbytes=nbytes, handle=A + request)
    return builder


def test_sizes_tell_which_range_is_about_the_post_of_a_worker(tmp_path: Path) -> None:
    study = studied(posted_by_workers, tmp_path)
    assert movements(study) == [("nixl", 8192, "trtllm-bounce"), ("nixl", 4096, "trtllm-bounce")]
    assert [row[2] for row in named(study)] == ["1", "2"]


@pytest.mark.parametrize("name", SCENES)
def test_the_order_of_rows_does_not_show(name: str, tmp_path: Path) -> None:
    require_order_not_to_show(SCENES[name], tmp_path)


def across_files(folder: Path, *, said: str, prefill_said: str | None = None) -> Study:
    """A prefill file with a NIXL write of 4096 bytes, a decode file with an annotation only."""
    prefill, _, thread = started()
    if prefill_said is not None:
        thread.start_end(prefill_said, 90, 900)
    post(thread, 100, 850, nbytes=4096)
    decode = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=100_000)
    decode.process(pid=2).thread(tid=2).start_end(said, 5_000, 6_000)
    paths = [prefill.write(folder / "prefill.sqlite"), decode.write(folder / "decode.sqlite")]
    assert analyse(paths).totals.bytes == 4096
    return study_traces(paths, None)


@pytest.mark.parametrize("name", ["", " xfer=r1-3"])
@pytest.mark.parametrize("size", ["", " bytes=4096"])
def test_a_write_and_the_annotation_of_its_receiver_are_one_movement(name: str, size: str, tmp_path: Path) -> None:
    study = across_files(tmp_path, said=f"kv_transfer op=recv layer=3{size}{name}")
    assert study.transfers["is_movement"].sum() == 1


def test_a_name_on_both_sides_pairs_the_write_with_the_annotation(tmp_path: Path) -> None:
    named_so = "kv_transfer op={} request=r1 xfer=r1-3"
    study = across_files(
        tmp_path, said=named_so.format("recv") + " layer=3", prefill_said=named_so.format("put") + " bytes=4096"
    )
    assert study.transfers["pairing"].to_list() == ["named", "named"]
    # The library's own row stands for the movement, and learns from the other side.
    assert movements(study) == [("nixl", 4096, "annotated")]
    assert named(study) == [(3, "exact", "r1", "exact")]
