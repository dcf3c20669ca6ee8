"""What is kept of one trace: it crosses between processes, and holds no events that nobody asks for."""

import pickle
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rank_files import MS, Run, write_run

from nsysparse.api import Options, analyse, part
from nsysparse.api.part import Part, Task, read_part
from nsysparse.presets.loader import load
from nsysparse.testing import TraceBuilder

RUN = Run(ranks=1, requests=2)


def read_one(path: Path, **options: object) -> Part:
    return read_part(Task(path, path.stem, load(), Options(**options), None, is_alone=False))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.stem: path for path in write_run(tmp_path_factory.mktemp("run"), RUN)}


@pytest.mark.parametrize("overlap", [False, True])
def test_a_part_is_the_same_on_the_other_side(files: dict[str, Path], overlap: bool) -> None:  # noqa: FBT001
    here = read_one(files["decode-0"], overlap=overlap)
    there = pickle.loads(pickle.dumps(here))  # noqa: S301
    assert here.work.height
    assert here.steps.height == RUN.requests
    for field in fields(Part):
        mine, other = getattr(here, field.name), getattr(there, field.name)
        if isinstance(mine, pl.DataFrame):
            assert_frame_equal(mine, other)
        elif field.name == "scopes":
            assert_frame_equal(mine.filter(), other.filter())
        else:
            assert mine == other


def test_numbers_begin_at_zero_in_every_part(files: dict[str, Path]) -> None:
    for name in ("prefill-0", "decode-0"):
        found = read_one(files[name])
        assert found.transfers["transfer_id"].to_list() == list(range(RUN.layers * RUN.requests))
        assert found.steps["step_id"].to_list() == list(range(RUN.requests))
        assert set(found.held["step_id"]) == set(range(RUN.requests))


def test_ranges_and_kernels_that_nobody_asks_for_weigh_nothing(tmp_path: Path) -> None:
    def weight(count: int) -> int:
        builder = TraceBuilder(gpus={0: "NVIDIA H100 80GB HBM3"})
        process = builder.process(pid=7)
        thread = process.thread()
        thread.push_pop("kv_step phase=prefill requests=r0", MS, 900 * MS)
        for number in range(count):
            begin = 2 * MS + number * 1000
            thread.push_pop("model.layers.7", begin, begin + 900)
            process.kernel("gemm", begin, begin + 1000, launch=thread.launch(begin + 10, begin + 20))
        return len(pickle.dumps(read_one(builder.write(tmp_path / f"{count}.sqlite"))))

    few, many = weight(20), weight(2000)
    assert many - few < 2 * (2000 - 20)  # not two bytes for each


@pytest.mark.parametrize(
    "names",
    [
        ("pd-oneprofile",),
        ("pd-two-hosts-prefill", "pd-two-hosts-decode"),
        ("pd-slow-layers",),
    ],
    ids=lambda names: names[0],
)
def test_no_number_of_a_report_needs_the_kernels_that_are_left_out(
    names: tuple[str, ...], sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [sample(f"synthetic/{name}.sqlite") for name in names]
    kept: list[tuple[int, int]] = []
    asked_later = part._asked_later  # noqa: SLF001

    def counted(work: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
        found = asked_later(work, steps)
        kept.append((found.height, work.height))
        return found

    monkeypatch.setattr(part, "_asked_later", counted)
    found = analyse(paths)
    monkeypatch.setattr(part, "_asked_later", lambda work, _: work)
    assert analyse(paths) == found
    assert any(few < all_ for few, all_ in kept)


def test_one_recording_has_one_mark_wherever_it_lies(files: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(files["decode-0"].read_bytes())
    assert read_one(copy).mark == read_one(files["decode-0"]).mark != read_one(files["prefill-0"]).mark
