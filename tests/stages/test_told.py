"""What one process recorded and the annotation of another tells of counts once, alone or as the sum of its parts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from evidence_scenes import SEND_RECV, require_order_not_to_show

from nsysparse.api import Study, study_traces
from nsysparse.testing import Process, Thread, TraceBuilder

US, MIB = 1000, 2**20
BESIDE = "annotations-beside-transfers"


@dataclass
class Scene:
    """A prefill process on gpu0, a decode process on gpu1, in one file."""

    builder: TraceBuilder = field(
        default_factory=lambda: TraceBuilder(schema="3.25", gpus={0: "x", 1: "x"}, duration=2_000_000 * US)
    )
    prefill: Process = field(init=False)
    decode: Process = field(init=False)
    p: Thread = field(init=False)
    d: Thread = field(init=False)

    def __post_init__(self) -> None:
        self.prefill, self.decode = self.builder.process(pid=100), self.builder.process(pid=200)
        self.p, self.d = self.prefill.thread(), self.decode.thread()

    def posts(self, *sizes: int | None, at: int = 100, done: int = 300, op: str = "write") -> None:
        """NIXL transfers, one begun 15 us after the other: writes of prefill, or reads of decode."""
        thread, own, other = (self.p, "prefill", "decode") if op == "write" else (self.d, "decode", "prefill")
        for index, nbytes in enumerate(sizes):
            begin, handle = (at + 15 * index) * US, 0x7F00_0000_1000 + 256 * (at + index)
            thread.nixl_post(op, begin, begin + 10 * US, agent=own, handle=handle, nbytes=nbytes, remote=other)  # type: ignore[arg-type]
            thread.nixl_complete((done + index) * US, agent=own, handle=handle)

    def copies(self, *sizes: int, at: int = 100, ends: tuple[int, int] = (0, 1)) -> None:
        """Peer copies that prefill makes on its device, one 100 us after the other."""
        for index, nbytes in enumerate(sizes):
            begin = (at + 100 * index) * US
            launch = self.p.launch(begin + 2 * US, begin + 5 * US)
            self.prefill.copy(
                "PtoP", nbytes, begin + 20 * US, begin + 80 * US, device=0, launch=launch,
                src_device=ends[0], dst_device=ends[1],
            )  # fmt: skip

    def told(self, said: str, begin: int, end: int, *, by: str = "d", style: str = "start_end") -> None:
        getattr(getattr(self, by), style)(f"kv_transfer {said}", begin * US, end * US)


Build = Callable[[Scene], None]


def studied(build: Build, folder: Path) -> Study:
    scene = Scene()
    build(scene)
    return study_traces([scene.builder.write(folder / "t.sqlite")], None)


def counted(study: Study) -> list[tuple[str, int | None]]:
    rows = study.transfers.filter("is_movement").sort("call_start_ns", "transfer_id")
    return rows.select("transport", "bytes").rows()


def fewer_told_than_copied(scene: Scene) -> None:
    scene.copies(*[MIB] * 5)
    for layer in range(1, 5):
        scene.told(f"op=recv layer={layer} bytes={MIB}", 100 + 100 * layer, 190 + 100 * layer)


def told_of_copies_and_a_write(scene: Scene) -> None:
    scene.copies(MIB, MIB)
    scene.posts(MIB, at=400, done=480)
    for index, at in enumerate((100, 200, 400)):
        scene.told(f"op=recv request=r{index} bytes={MIB}", at, at + 90)


def a_name_on_one_side(scene: Scene) -> None:
    scene.copies(MIB)
    scene.told(f"op=recv xfer=k bytes={MIB}", 100, 195)


def a_copy_told_without_size(scene: Scene) -> None:
    scene.copies(MIB)
    scene.told("op=recv request=r1", 100, 195)


def a_copy_the_other_way_beside(scene: Scene) -> None:
    scene.copies(MIB)
    scene.copies(MIB, at=900, ends=(1, 0))
    scene.told(f"op=recv bytes={MIB}", 100, 195)


def told_of_nothing_of_this(scene: Scene) -> None:
    scene.copies(MIB, ends=(1, 0))
    scene.told(f"op=recv bytes={MIB}", 100, 195)


def long_after_a_copy(scene: Scene) -> None:
    scene.copies(MIB)
    scene.told(f"op=recv bytes={MIB}", 800_000, 800_100)


def long_after_a_write(scene: Scene) -> None:
    scene.posts(MIB)
    scene.told(f"op=recv bytes={MIB}", 800_000, 800_100)


def over_before_it_was_sent(scene: Scene) -> None:
    scene.told(f"op=recv bytes={MIB}", 100, 200)
    scene.told(f"op=put bytes={MIB}", 800_000, 800_100, by="p")


def of_other_requests(scene: Scene) -> None:
    scene.told(f"op=put request=r1 bytes={MIB}", 100, 300, by="p")
    scene.told(f"op=recv request=r2 bytes={MIB}", 100, 300)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (fewer_told_than_copied, [("memcpy", MIB)] * 5),
        (told_of_copies_and_a_write, [("memcpy", MIB)] * 2 + [("nixl", MIB)]),
        (a_name_on_one_side, [("memcpy", MIB)]),
        (a_copy_told_without_size, [("memcpy", MIB)]),
        (a_copy_the_other_way_beside, [("memcpy", MIB)] * 2),
        (told_of_nothing_of_this, [("annotated", MIB), ("memcpy", MIB)]),
        (long_after_a_copy, [("memcpy", MIB), ("annotated", MIB)]),
        (long_after_a_write, [("nixl", MIB), ("annotated", MIB)]),
        (over_before_it_was_sent, [("annotated", MIB)] * 2),
        (of_other_requests, [("annotated", MIB)] * 2),
    ],
)
def test_what_is_told_is_found_by_size_direction_and_time(
    build: Build, expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    study = studied(build, tmp_path)
    assert counted(study) == expected
    assert not study.anomalies[BESIDE]


def test_what_is_told_names_the_copy_of_its_own_time(tmp_path: Path) -> None:
    study = studied(fewer_told_than_copied, tmp_path)
    rows = study.transfers.filter("is_movement").sort("call_start_ns")
    assert rows["layer"].to_list() == [None, 1, 2, 3, 4]
    assert rows["purpose"].to_list() == ["unknown", *["kv"] * 4]


def writes_in_a_call(scene: Scene) -> None:
    scene.told(f"op=put request=r1 bytes={6 * MIB}", 99, 150, by="p", style="push_pop")
    scene.posts(MIB, 2 * MIB, 3 * MIB)
    scene.told(f"op=recv request=r1 bytes={6 * MIB}", 50, 350)


def writes_of_one_name(scene: Scene) -> None:
    scene.told(f"op=put xfer=k bytes={6 * MIB}", 99, 350, by="p")
    scene.posts(MIB, 2 * MIB, 3 * MIB)
    scene.told(f"op=recv xfer=k bytes={6 * MIB}", 50, 350)


def writes_of_several_names(scene: Scene) -> None:
    for layer in range(2):
        at = 100 + 300 * layer
        scene.told(f"op=put xfer=k{layer} bytes={2 * MIB}", at - 1, at + 50, by="p", style="push_pop")
        scene.posts(MIB, MIB, at=at, done=at + 100)
        scene.told(f"op=recv xfer=k{layer} bytes={2 * MIB}", at - 10, at + 120)


def writes_told_by_time_alone(scene: Scene) -> None:
    scene.posts(MIB, MIB)
    scene.told(f"op=recv bytes={2 * MIB}", 50, 350)


def copies_in_a_call(scene: Scene) -> None:
    scene.told(f"op=put bytes={2 * MIB}", 99, 210, by="p", style="push_pop")
    scene.copies(MIB, MIB)
    scene.told(f"op=recv bytes={2 * MIB}", 50, 350)


def layers_told_by_one_side(scene: Scene) -> None:
    for layer in range(4):
        scene.told(f"op=put request=r1 layer={layer} bytes={(1 + layer) * MIB}", 100 + 10 * layer, 300, by="p")
    scene.told(f"op=recv request=r1 layer=0-3 bytes={10 * MIB}", 50, 350)


def a_write_told_by_layers(scene: Scene) -> None:
    scene.told(f"op=put request=r1 bytes={3 * MIB}", 99, 350, by="p")
    scene.posts(3 * MIB)
    for layer in range(3):
        scene.told(f"op=recv request=r1 layer={layer} bytes={MIB}", 90, 320 + layer)


def chunks_of_a_request(scene: Scene) -> None:
    for chunk in range(3):
        text = f"nixlWrite rid=42 chunk={chunk} bytes={MIB}"
        scene.p.start_end(text, (100 + 20 * chunk) * US, 400 * US, domain="trtllm.disagg.bounce")
    scene.told(f"op=recv request=42 bytes={3 * MIB}", 50, 450)


def a_group_of_sends(scene: Scene) -> None:
    scene.told(f"op=send request=r1 bytes={3 * MIB}", 98, 150, by="p", style="push_pop")
    scene.p.nccl("ncclGroupStart", 99 * US, 100 * US)
    for index, nbytes in enumerate((MIB, 2 * MIB)):
        at = 100 + 5 * index
        scene.p.nccl("ncclSend", at * US, (at + 4) * US, communicator=7, nbytes=nbytes, peer=1)
    scene.p.nccl("ncclGroupEnd", 120 * US, 140 * US)
    scene.prefill.kernel(SEND_RECV, 150 * US, 350 * US, device=0, stream=20, launch=scene.p.launch(125 * US, 130 * US))
    scene.told(f"op=recv request=r1 bytes={3 * MIB}", 50, 450)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (writes_in_a_call, [("nixl", MIB), ("nixl", 2 * MIB), ("nixl", 3 * MIB)]),
        (writes_of_one_name, [("nixl", MIB), ("nixl", 2 * MIB), ("nixl", 3 * MIB)]),
        (writes_of_several_names, [("nixl", MIB)] * 4),
        (writes_told_by_time_alone, [("nixl", MIB)] * 2),
        (copies_in_a_call, [("memcpy", MIB)] * 2),
        (layers_told_by_one_side, [("annotated", (1 + layer) * MIB) for layer in range(4)]),
        (a_write_told_by_layers, [("nixl", 3 * MIB)]),
        (chunks_of_a_request, [("trtllm-bounce", MIB)] * 3),
        (a_group_of_sends, [("nccl", MIB), ("nccl", 2 * MIB)]),
    ],
)
def test_parts_on_one_side_and_their_sum_on_the_other_count_once(
    build: Build, expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    study = studied(build, tmp_path)
    assert counted(study) == expected
    assert study.transfers.filter("is_movement")["purpose"].unique().to_list() == ["kv"]
    assert not study.anomalies["lanes-that-do-not-pair"]
    assert not study.anomalies[BESIDE]


def sum_that_does_not_fit(scene: Scene) -> None:
    scene.posts(MIB, MIB)
    scene.told(f"op=recv bytes={5 * MIB}", 50, 350)


def waited_for_elsewhere(scene: Scene) -> None:
    scene.posts(MIB)
    scene.prefill.thread(tid=101).push_pop(f"kv_transfer op=put bytes={MIB + MIB // 2}", 99 * US, 310 * US)


@pytest.mark.parametrize("build", [sum_that_does_not_fit, waited_for_elsewhere])
def test_an_annotation_that_may_count_twice_is_warned_of(build: Build, tmp_path: Path) -> None:
    study = studied(build, tmp_path)
    assert "annotated" in {transport for transport, _ in counted(study)}
    assert study.anomalies[BESIDE] == 1


def neither_says_its_side(scene: Scene) -> None:
    for by in ("p", "d"):
        scene.told(f"bytes={MIB} xfer=q", 100, 300, by=by)


def one_says_its_side(scene: Scene) -> None:
    scene.told(f"op=put bytes={MIB} xfer=q", 100, 300, by="p")
    scene.told(f"bytes={MIB} xfer=q", 100, 310)


def a_named_write_and_no_side(scene: Scene) -> None:
    scene.told(f"op=put bytes={MIB} xfer=q", 99, 301, by="p")
    scene.posts(MIB)
    scene.told(f"bytes={MIB} xfer=q", 100, 310)


def a_write_and_no_side(scene: Scene) -> None:
    scene.posts(MIB)
    scene.told(f"bytes={MIB} request=r1", 100, 310)


@pytest.mark.parametrize(
    ("build", "sides", "pairing"),
    [
        (neither_says_its_side, {None}, "named"),
        (one_says_its_side, {"send", "recv"}, "named"),
        (a_named_write_and_no_side, {"send", "recv"}, "named"),
        (a_write_and_no_side, {"send", "recv"}, "positional"),
    ],
)
def test_a_side_that_is_not_said_is_what_the_other_is_not(
    build: Build, sides: set[str | None], pairing: str, tmp_path: Path
) -> None:
    study = studied(build, tmp_path)
    assert [nbytes for _, nbytes in counted(study)] == [MIB]
    assert set(study.transfers["side"]) == sides
    assert set(study.transfers["pairing"]) == {pairing}


def sizes_of_writes(scene: Scene) -> None:
    for index in range(3):
        at = 100 + 500 * index
        scene.posts((1 + index) * MIB, at=at, done=at + 100)
        scene.told(f"op=recv request=r{index}", at - 20, at + 110)


def sizes_of_reads(scene: Scene) -> None:
    for index in range(3):
        at = 100 + 500 * index
        scene.posts((1 + index) * MIB, at=at, done=at + 100, op="read")
        scene.told(f"op=send request=r{index}", at - 20, at + 110, by="p")


def sizes_of_messages(scene: Scene) -> None:
    for index in range(3):
        at = (100 + 500 * index) * US
        scene.p.ucx("ucp_tag_send_nbx", at, at + 100, done=at + 90 * US, nbytes=(1 + index) * MIB, tag=index + 1)
        scene.told(f"op=recv request=r{index}", 80 + 500 * index, 210 + 500 * index)


@pytest.mark.parametrize("build", [sizes_of_writes, sizes_of_reads, sizes_of_messages])
def test_known_sizes_stand_and_learn_what_the_other_side_names(build: Build, tmp_path: Path) -> None:
    study = studied(build, tmp_path)
    rows = study.transfers.filter("is_movement").sort("call_start_ns")
    assert rows["bytes"].to_list() == [MIB, 2 * MIB, 3 * MIB]
    assert rows["request_id"].to_list() == ["r0", "r1", "r2"]
    assert set(rows["purpose"]) == {"kv"}


def kernels_without_calls(scene: Scene, *sides: str) -> None:
    for op, thread, process, device in (
        ("send", scene.p, scene.prefill, 0), ("recv", scene.d, scene.decode, 1),
    ):  # fmt: skip
        if op in sides:
            thread.push_pop(f"kv_transfer op={op} bytes={MIB}", 99 * US, 110 * US)
            launch = thread.launch(102 * US, 105 * US)
            process.kernel(SEND_RECV, 120 * US, 320 * US, device=device, stream=20, launch=launch)


@pytest.mark.parametrize("sides", [("send",), ("send", "recv")])
def test_a_kernel_without_its_call_has_side_and_size_of_the_annotation(sides: tuple[str, ...], tmp_path: Path) -> None:
    study = studied(lambda scene: kernels_without_calls(scene, *sides), tmp_path)
    assert counted(study) == [("nccl", MIB)]
    assert set(study.transfers["side"]) == set(sides)
    assert not study.anomalies["annotations-around-both-sides"]


@pytest.mark.parametrize("build", [fewer_told_than_copied, writes_of_one_name, layers_told_by_one_side, sizes_of_reads])
def test_the_order_of_rows_does_not_show(build: Build, tmp_path: Path) -> None:
    def built() -> TraceBuilder:
        scene = Scene()
        build(scene)
        return scene.builder

    require_order_not_to_show(built, tmp_path)


FAR = 2**60


def ranges_for_years(scene: Scene) -> None:
    for index in range(20):
        scene.p.start_end(f"kv_transfer op=put bytes=4096 xfer=o{index}", -FAR + index, FAR + index)


def messages_for_years(scene: Scene) -> None:
    for index in range(20):
        begin = -FAR + index
        scene.p.ucx("ucp_put_nbx", begin, begin + 10, done=FAR + index, nbytes=8192, address=index)


def posts_for_years(scene: Scene) -> None:
    for index in range(20):
        begin, handle = -FAR + 100 * index, 0x7F00_0000_1000 + 256 * index
        scene.p.nixl_post("write", begin, begin + 10, agent="a", handle=handle, nbytes=MIB, remote="b")
        scene.p.nixl_complete(FAR + index, agent="a", handle=handle)


@pytest.mark.parametrize(
    ("build", "warned"),
    [
        (ranges_for_years, "ranges-with-impossible-times"),
        (messages_for_years, "ucx-rows-with-impossible-times"),
        (posts_for_years, "nixl-never-completed"),
    ],
)
def test_what_lasts_for_years_is_in_no_sum(build: Build, warned: str, tmp_path: Path) -> None:
    study = studied(build, tmp_path)
    assert study.anomalies[warned] == 20
    assert study.transfers["time_ns"].drop_nulls().sum() == 0
