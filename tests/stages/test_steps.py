"""Steps: which ranges are one, whose requests they hold, and from when to when their compute ran."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import Options, Study, study_traces
from nsysparse.testing import Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"


class Scene:
    """One process with two devices whose main thread launches what it is told to."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "x"}, duration=10**6)
        self.process = self.builder.process(pid=1)
        self.main = self.process.thread(tid=1)

    def kernel(self, launched: int, start: int, end: int, *, name: str = "gemm", device: int = 0) -> None:
        launch = self.main.launch(launched, launched + 2)
        self.process.kernel(name, start, end, device=device, launch=launch)

    def study(self, folder: Path, **options: object) -> Study:
        return study_traces([self.builder.write(folder / "t.sqlite")], Options(**options))  # type: ignore[arg-type]

    def steps(self, folder: Path, **options: object) -> list[tuple[str, int, int, bool]]:
        return self.study(folder, **options).engine.steps.select("phase", "start_ns", "end_ns", "is_projected").rows()

    def held(self, folder: Path, **options: object) -> list[tuple[int, str]]:
        return self.study(folder, **options).engine.held.rows()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_step_lasts_from_its_first_to_its_last_compute(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=prefill requests=a", 100, 200)
    scene.kernel(110, 150, 250)
    scene.kernel(120, 260, 900)
    scene.kernel(205, 950, 990)  # launched after it
    assert scene.steps(tmp_path) == [("prefill", 150, 900, True)]


def test_kernels_of_nccl_do_not_make_a_step_longer(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=prefill requests=a", 100, 200)
    scene.kernel(110, 150, 250)
    scene.kernel(120, 260, 9_000, name=SEND_RECV)
    assert scene.steps(tmp_path) == [("prefill", 150, 250, True)]


def test_a_graph_recorded_whole_is_compute(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 200)
    scene.process.graph(300, 700, launch=scene.main.launch(120, 130))
    assert scene.steps(tmp_path) == [("decode", 300, 700, True)]


def test_without_gpu_work_a_step_is_its_range(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 200)
    assert scene.steps(tmp_path) == [("decode", 100, 200, False)]


def test_work_on_two_devices_is_of_none(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 200)
    scene.kernel(110, 150, 250)
    scene.kernel(120, 260, 400, device=1)
    (step,) = scene.study(tmp_path).engine.steps.rows(named=True)
    assert (step["start_ns"], step["end_ns"], step["device"]) == (150, 400, None)


def test_ranges_within_a_step_are_about_the_same_step(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 300)
    scene.main.push_pop("kv_step phase=decode requests=b,c", 120, 280)
    scene.main.push_pop("kv_step phase=decode requests=d", 300, 400)
    assert scene.steps(tmp_path) == [("decode", 100, 300, False), ("decode", 300, 400, False)]
    assert scene.held(tmp_path) == [(0, "a"), (0, "b"), (0, "c"), (1, "d")]


def test_a_prefill_within_a_decode_is_a_step_of_its_own(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 300)
    scene.main.push_pop("kv_step phase=prefill requests=b", 120, 280)
    assert scene.steps(tmp_path) == [("decode", 100, 300, False), ("prefill", 120, 280, False)]


def test_layers_and_transfers_that_say_a_phase_are_no_steps(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_layer layer=3 phase=prefill", 100, 200)
    assert scene.steps(tmp_path) == []


def _pushed(thread: Thread) -> None:
    thread.push_pop("request:r7", 90, 210)


def _started(thread: Thread) -> None:
    thread.start_end("kv_request request=r7", 90, 210)


def _two_started(thread: Thread) -> None:
    _started(thread)
    thread.start_end("kv_request request=r8", 95, 205)


@pytest.mark.parametrize(
    ("around", "requests"),
    [(_pushed, [(0, "r7")]), (_started, [(0, "r7")]), (_two_started, [])],
    ids=["a range of the thread", "the only one open in the process", "two open: nothing says whose"],
)
def test_a_step_that_names_none_is_of_the_request_around_it(
    around: Callable[[Thread], None], requests: list[tuple[int, str]], scene: Scene, tmp_path: Path
) -> None:
    around(scene.main)
    scene.main.push_pop("prefill", 100, 200)
    assert scene.held(tmp_path) == requests


def test_an_iteration_that_computes_nothing_is_not_of_the_request_around_it(scene: Scene, tmp_path: Path) -> None:
    """An engine polls while it waits for KV: that is no step of the request that it waits for."""
    _started(scene.main)
    scene.main.push_pop("kv_step phase=decode requests=", 100, 120)
    assert scene.held(tmp_path) == []
    scene.main.push_pop("kv_step phase=decode requests=", 130, 160)
    scene.kernel(140, 170, 180)
    assert scene.held(tmp_path) == [(0, "r7")]
    assert not scene.study(tmp_path).anomalies["steps-without-work"]  # of nobody's request


def test_an_iteration_that_names_who_waits_is_no_step_of_theirs(scene: Scene, tmp_path: Path) -> None:
    """Nothing ran in it on a GPU, as does in the process's other steps of that phase."""
    scene.main.push_pop("kv_step phase=decode requests=r7", 100, 120)
    scene.main.push_pop("kv_step phase=prefill requests=r7", 121, 125)
    scene.main.push_pop("kv_step phase=decode requests=r7", 130, 160)
    scene.kernel(140, 170, 180)
    assert scene.steps(tmp_path) == [("prefill", 121, 125, False), ("decode", 170, 180, True)]
    assert scene.study(tmp_path).anomalies["steps-without-work"] == 1


def test_encoded_ids_are_decoded(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a%2Cb,c%20d", 100, 200)
    assert scene.held(tmp_path) == [(0, "a,b"), (0, "c d")]


def test_a_mixed_step_is_what_its_process_is(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=mixed requests=a,b", 100, 200)
    undecided = scene.study(tmp_path)
    assert undecided.engine.steps.is_empty()
    assert undecided.anomalies["steps-of-unknown-phase"] == 1
    assert scene.steps(tmp_path, roles={"t": "prefill"}) == [("prefill", 100, 200, False)]
    assert scene.steps(tmp_path, roles={"t": "decode"}) == [("decode", 100, 200, False)]


def test_ranges_that_cross_or_never_close_are_no_steps(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 300)
    scene.main.push_pop("kv_step phase=decode requests=b", 200, 400)
    scene.main.push_pop("kv_step phase=decode requests=c", 500, None)
    assert scene.steps(tmp_path) == []


@pytest.mark.parametrize("end", [None, 10**6], ids=["no end", "the recording's end"])
def test_the_step_in_which_the_recording_ends_lasts_as_long_as_its_compute(
    end: int | None, scene: Scene, tmp_path: Path
) -> None:
    """A range that was closed at the very end looks like one that was not, so both are taken alike."""
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 400)
    scene.kernel(110, 150, 250)
    scene.main.push_pop("kv_step phase=decode requests=a,b", 500, end)
    scene.kernel(510, 550, 650)
    scene.kernel(520, 660, 800)
    assert scene.steps(tmp_path) == [("decode", 150, 250, True), ("decode", 550, 800, True)]
    assert scene.held(tmp_path) == [(0, "a"), (1, "a"), (1, "b")]


def test_a_step_that_lost_its_end_is_none(scene: Scene, tmp_path: Path) -> None:
    """Others of its thread begin after it, so work until the end of the recording is not its own."""
    scene.main.push_pop("kv_step phase=decode requests=a", 100, None)
    scene.kernel(110, 150, 250)
    scene.main.push_pop("kv_step phase=prefill requests=b", 500, 600)
    scene.kernel(510, 550, 650)
    other = scene.process.thread(tid=2)
    other.push_pop("kv_step phase=prefill requests=c", 700, 800)
    scene.process.kernel("gemm", 750, 790, launch=other.launch(710, 712))
    assert scene.steps(tmp_path) == [("prefill", 550, 650, True), ("prefill", 750, 790, True)]


def test_of_two_steps_that_never_close_the_one_that_began_last_counts(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, None)
    scene.kernel(110, 150, 250)
    scene.main.push_pop("kv_step phase=decode requests=b", 500, None)
    scene.kernel(510, 550, 650)
    assert scene.steps(tmp_path) == [("decode", 550, 650, True)]
    assert scene.held(tmp_path) == [(0, "b")]


def test_kernels_of_one_name_and_grid_have_one_shape(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 200)
    for at, name in enumerate(("gemm", "gemm", "softmax")):
        scene.kernel(110 + 5 * at, 300 + 10 * at, 305 + 10 * at, name=name)
    launch = scene.main.launch(130, 132)
    scene.process.kernel("gemm", 400, 410, launch=launch, gridX=99)
    work = scene.study(tmp_path).traces[0].work.sort("start_ns")
    first, second, third, fourth = work["shape"]
    assert first == second
    assert len({first, third, fourth}) == 3
    assert work["is_compute"].all()


def test_shapes_are_numbers_by_name_whatever_ids_and_order_the_file_has(tmp_path: Path) -> None:
    """Names are given in another order, so with other ids, and the rows too; one name stands under two ids."""
    told = []
    for folder, turned in (("a", False), ("b", True)):
        scene = Scene()
        for name in ("softmax", "gemm") if turned else ("gemm", "softmax"):
            scene.builder.store.string(name)
        scene.main.push_pop("kv_step phase=decode requests=a", 100, 200)
        rows = [("gemm", 2, 300), ("softmax", 1, 310), ("gemm", 1, 320), ("gemm", 2, 330)]
        for at, (name, grid, start) in reversed(list(enumerate(rows))) if turned else enumerate(rows):
            launch = scene.main.launch(110 + 5 * at, 112 + 5 * at)
            scene.process.kernel(name, start, start + 5, launch=launch, gridX=grid)
        if turned:
            scene.builder.sql("INSERT INTO StringIds VALUES (9999, 'gemm')")
            scene.builder.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 9999 WHERE start = 330")
        (tmp_path / folder).mkdir()
        told.append(scene.study(tmp_path / folder).traces[0].work["shape"].to_list())
    assert told == [[1, 2, 0, 1], [1, 2, 0, 1]]


def test_a_kernel_whose_name_the_file_lacks_has_a_shape(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_step phase=decode requests=a", 100, 200)
    for at in range(3):
        scene.kernel(110 + 5 * at, 300 + 10 * at, 305 + 10 * at)
    scene.builder.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 777, shortName = 778 WHERE start = 300")
    assert scene.study(tmp_path).traces[0].work["shape"].to_list() == [1, 0, 0]


def test_kernels_are_read_only_where_ranges_tell_of_steps(scene: Scene, tmp_path: Path) -> None:
    scene.main.push_pop("kv_transfer request=a", 100, 200)
    scene.kernel(110, 150, 250)
    trace = scene.study(tmp_path).traces[0]
    assert trace.work.is_empty()
    assert isinstance(trace.work, pl.DataFrame)
