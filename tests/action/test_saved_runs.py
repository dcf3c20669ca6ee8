"""The action takes for saved analyses what `nsysparse diff` takes for them."""

import importlib.util
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from nsysparse.errors import NsysparseError
from nsysparse.source.inputs import find_runs
from tests.action.conftest import SAMPLE
from tests.action.runner_of_steps import ROOT

SPEC = importlib.util.spec_from_file_location("saved_runs", ROOT / "action/saved_runs.py")
assert SPEC is not None
assert SPEC.loader is not None
SAVED_RUNS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SAVED_RUNS)

FILES = {
    "saved": ["a.json", "A.JSON", "named.txt", "main-1.json", "main-2", "reports/a.json", "reports/B.JSON",
              "beside/a.json", "upper/a.JSON", "mixed/a.json", "folder.json/main.txt", "[x].json"],
    "trace": ["t.sqlite", "T.SQLITE", "named.trace", "rank-0.sqlite", "rank-1.sqlite", "ranks/0.sqlite",
              "capital/0.SQLITE", "mixed/a.sqlite", "ranks.json/0.sqlite", "noted/0.sqlite"],
    "other": ["reports/counts.json", "beside/b.txt", "noted/notes.json"],
}  # fmt: skip
ANSWERS = {
    "a.json": True, "A.JSON": True, "named.txt": True, "main-*": True, "main-*.json": True, "*.json": True,
    "[x].json": True, "reports": True, "reports/": True, "reports/*.JSON": True, "beside": True, "upper": True,
    "main-2": True,
    "t.sqlite": False, "T.SQLITE": False, "named.trace": False, "rank-*": False, "rank-?.sqlite": False,
    "ranks": False, "capital": False, "ranks.json": False, "noted": False,
    "none": False,
}  # fmt: skip
REFUSED = {
    "mixed": True, "mixed/*": True, "folder.json": False, "none-*": False, "none/*.json": False,
    "-": False, "a\0b": False, "n" * 300: False,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("runs")
    for kind, names in FILES.items():
        for name in names:
            (where / name).parent.mkdir(exist_ok=True)
            if kind == "other":
                (where / name).write_text('{"counts": 3}', encoding="utf-8")
            else:
                shutil.copy(saved / "base.json" if kind == "saved" else SAMPLE, where / name)
    (where / "loop").symlink_to("loop")
    return where


@pytest.mark.parametrize("name", ANSWERS)
def test_both_read_a_name_alike(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    with ExitStack() as stack:
        runs = find_runs(name, stack)

    assert {run.is_saved for run in runs} == {SAVED_RUNS.is_saved(name)} == {ANSWERS[name]}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_run_can_be_is_refused_whichever_way_it_goes(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    assert SAVED_RUNS.is_saved(name) is REFUSED[name]
    with ExitStack() as stack, pytest.raises(NsysparseError):
        find_runs(name, stack)


def test_a_loop_of_links_is_left_to_nsysparse(folder: Path) -> None:
    """Python 3.13 finds nothing there, where 3.11 refuses to look: nsysparse has a sentence for both."""
    assert not SAVED_RUNS.is_saved(str(folder / "loop"))
