"""Several traces at once: the same bytes for any number of processes, and one bad file costs no more than itself."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path

import pytest
import slow_reading
from commands import call
from rank_files import Run, write_run
from test_progress import on_a_terminal, screen

from nsysparse import machine
from nsysparse.api import AFTER_READING, Options, Stage, analyse, running
from nsysparse.api.part import Part, Task
from nsysparse.api.processes import run_in_processes
from nsysparse.api.running import read_all
from nsysparse.errors import InputError, UsageError

RUN = Run(ranks=1, requests=2)


@pytest.fixture
def run(tmp_path: Path) -> list[Path]:
    """A router's file, one of prefill and one of decode, in a folder of their own."""
    (tmp_path / "run").mkdir()
    return write_run(tmp_path / "run", RUN)


def tasks(paths: Sequence[Path]) -> list[Task]:
    return [Task(path, path.stem, (), Options(), None, is_alone=False) for path in paths]


@pytest.mark.parametrize(
    "asked",
    [
        ("report", "run", "-f", "json", "-o", "-"),
        ("export", "run", "--frame", "nvtx_ranges"),
        ("diff", "run", "run", "-f", "json", "-o", "-"),
    ],
    ids=lambda asked: asked[0],
)
def test_any_number_of_processes_writes_the_same_bytes(asked: tuple[str, ...], run: list[Path], tmp_path: Path) -> None:
    assert len(run) == 3
    told = [call(*asked, "--jobs", jobs, cwd=tmp_path) for jobs in ("1", "2")]
    assert [(each.returncode, each.stderr) for each in told] == [(0, "")] * 2
    assert told[0].stdout == told[1].stdout != ""


def test_files_are_counted_as_they_are_read(run: list[Path]) -> None:
    told: list[str] = []
    analyse(run, Options(jobs=2), told.append)
    assert told[:4] == ["reading 3 files", "1 of 3 files read", "2 of 3 files read", "3 of 3 files read"]
    stages = [each for each in told if isinstance(each, Stage)]
    assert [(each.done, each.of) for each in stages] == [(0, 6), (1, 6), (2, 6), (3, 6), (3, 6), (4, 6)]
    told.clear()
    analyse(run, Options(), told.append)
    assert told[:2] == ["reading router.sqlite (0 of 3 files read)", "reading prefill-0.sqlite (1 of 3 files read)"]
    assert AFTER_READING == 3


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_that_cannot_be_read_costs_no_more_than_itself(jobs: str, tmp_path: Path) -> None:
    bad = tmp_path / "run" / "mid\x1b[31mdle.sqlite"
    bad.write_text("no database")
    done = call("report", "run", "-f", "json", "-o", "r.json", "--jobs", jobs, cwd=tmp_path)
    assert done.returncode == 1
    said = done.stderr.splitlines()
    assert said[0] == "nsysparse: mid⟨1B⟩[31mdle.sqlite: not a SQLite database (or encrypted)."
    assert said[-3:] == [
        "Wrote r.json",
        "nsysparse: 1 of 4 files could not be read: the report is of the others alone.",
        "  It is no answer about the whole run.",
    ]
    report = json.loads((tmp_path / "r.json").read_text())
    first = report["warnings"][0]
    assert (first["code"], first["count"]) == ("traces-unreadable", 1)
    assert first["message"].endswith(": mid\x1b[31mdle.sqlite: not a SQLite database (or encrypted).")
    assert [each["trace_id"] for each in report["traces"]] == ["decode-0", "prefill-0", "router"]
    bad.unlink()
    whole = json.loads(call("report", "run", "-f", "json", "-o", "-", cwd=tmp_path).stdout)
    assert report["totals"] == whole["totals"]
    assert "Partial. Files of this run that could not be read" in done.stdout  # of the summary
    part = call("report", "run", "--time-range", "..500ms", "-f", "markdown", "-o", "-", cwd=tmp_path).stdout
    assert "> **Partial.** Traces of which only a part of the time was read" in part


def test_on_a_terminal_it_stands_above_the_bar(run: list[Path], tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    asked = ("report", *run, "empty.sqlite", "-f", "json", "-o", "-")
    code, out, told = on_a_terminal("", *asked, cwd=tmp_path)
    assert (code, len(json.loads(out)["traces"])) == (1, 3)
    lines = [line for line in screen(told) if line]
    assert lines[0] == "nsysparse: empty.sqlite: the file is empty."
    assert lines[-2].startswith("nsysparse: 1 of 4 files could not be read")
    assert "4/7 " in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)  # the bar went on


def test_pages_name_what_is_missing(run: list[Path], tmp_path: Path) -> None:
    (tmp_path / "run" / "empty.sqlite").touch()
    for name in ("r.html", "r.md", "r.txt"):
        assert call("report", *run, "run/empty.sqlite", "-o", name, cwd=tmp_path).returncode == 1
        assert "empty.sqlite: the file is empty" in (tmp_path / name).read_text()


def test_an_export_goes_on_and_a_gate_does_not_hide_it(run: list[Path], tmp_path: Path) -> None:
    whole = call("export", *run, "--frame", "transfers", cwd=tmp_path).stdout
    (tmp_path / "bad.sqlite").touch()
    done = call("export", *run, "bad.sqlite", "--frame", "transfers", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, whole)
    assert "1 of 4 files could not be read: the export is of the others alone." in done.stderr
    gated = call("report", *run, "bad.sqlite", "--fail-over-threshold", "-f", "text", "-q", cwd=tmp_path)
    assert gated.returncode == 1
    assert gated.stderr.startswith("nsysparse: bad.sqlite: the file is empty.\n")  # errors are said to the quiet, too


def test_nothing_that_can_be_read_is_an_error_and_so_is_one_alone(tmp_path: Path) -> None:
    for name in ("a.sqlite", "b.sqlite"):
        (tmp_path / name).touch()
    alone = call("report", "a.sqlite", cwd=tmp_path)
    assert (alone.returncode, alone.stdout) == (1, "")
    assert alone.stderr.splitlines()[0] == "nsysparse: a.sqlite: the file is empty."
    both = call("report", "a.sqlite", "b.sqlite", cwd=tmp_path)
    assert (both.returncode, both.stdout) == (1, "")
    assert both.stderr.splitlines()[-2] == "nsysparse: None of the 2 files can be read."
    assert not (tmp_path / "reports").exists()


def test_a_comparison_does_not_go_on(run: list[Path], tmp_path: Path) -> None:
    (tmp_path / "run" / "zzz.sqlite").touch()
    done = call("diff", "run", str(run[0]), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[0] == "nsysparse: zzz.sqlite: the file is empty."


def test_who_reads_is_said_once(tmp_path: Path) -> None:
    done = call("report", "x.sqlite", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("nsysparse: --jobs and --scheduler: ")


def test_one_recording_twice_is_refused_by_several_processes_too(run: list[Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(run[1].read_bytes())
    done = call("report", *run, copy, "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 1
    assert "copy.sqlite and prefill-0.sqlite hold the same recording." in done.stderr


# --- processes --------------------------------------------------------------------------------------------------------


def test_a_process_that_dies_costs_its_file_alone(run: list[Path]) -> None:
    run[0].with_name("prefill-0.dies").touch()
    found = dict(run_in_processes(slow_reading.read, tasks(run), 2))
    assert isinstance(found[0], Part)
    assert isinstance(found[1], InputError)
    assert found[1].message == "prefill-0.sqlite: the process that read it died (SIGKILL)."
    assert isinstance(found[2], Part)
    assert multiprocessing.active_children() == []


def test_an_idle_process_that_dies_costs_nothing(run: list[Path]) -> None:
    results = run_in_processes(slow_reading.read, tasks(run), 1)
    next(results)
    (idle,) = multiprocessing.active_children()
    idle.kill()
    idle.join()
    assert [isinstance(told, Part) for _, told in results] == [True, True]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(("told", "threads"), [("", 8), ("3", 3), ("64", 8), ("0", 8), ("many", 8)])
def test_threads_are_as_many_as_polars_is_told(told: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 8)
    monkeypatch.setenv("POLARS_MAX_THREADS", told)
    assert machine.threads() == threads


def test_errors_come_over_unchanged(run: list[Path]) -> None:
    with pytest.raises(UsageError) as odd:
        list(run_in_processes(slow_reading.complain, tasks(run[:1]), 2))
    assert (odd.value.message, odd.value.hint, odd.value.exit_code) == ("router is odd.", "Make it even.", 2)
    with pytest.raises(LookupError, match="router") as bug:
        list(run_in_processes(slow_reading.fail, tasks(run[:1]), 2))
    assert "raise LookupError(task.trace_id)" in bug.value.__notes__[0]  # for -vv
    assert multiprocessing.active_children() == []


def test_processes_share_the_cores(run: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    monkeypatch.setattr(machine, "cores", lambda: 8)
    assert [told for _, told in run_in_processes(slow_reading.threads, tasks(run), 2)] == ["4"] * 3


def test_nobody_is_left_behind_when_the_caller_stops(run: list[Path]) -> None:
    for name in ("router", "prefill-0"):
        run[0].with_name(f"{name}.waits").touch()
    runs = run_in_processes(slow_reading.read, tasks([*run[:2], run[2]]), 2)
    run[0].with_name("router.waits").unlink()
    next(runs)
    runs.close()
    assert multiprocessing.active_children() == []


def test_ctrl_c_is_for_nobody_but_the_caller(run: list[Path]) -> None:
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]  # noqa: SLF001 (as before the first process)
    assert [told for _, told in run_in_processes(slow_reading.hears_interrupts, tasks(run), 2)] == [False] * 3


def test_ctrl_c_ends_all_processes_with_one_line(run: list[Path], tmp_path: Path) -> None:
    names = ("router", "prefill-0")
    for name in names:
        run[0].with_name(f"{name}.waits").touch()
    asked = ["report", *map(str, run), "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", slow_reading.COMMAND, *asked],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=slow_reading.environment(),
        start_new_session=True,
    )  # fmt: skip
    children = [slow_reading.reader(run[0].with_name(f"{name}.pid")) for name in names]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=60)
    assert (out, err.strip(), process.returncode) == ("", "nsysparse: interrupted", 130)
    for child in children:
        assert not is_running(child)


def is_running(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


# --- how many ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "cores", "memory", "jobs"),
    [
        ([2**20] * 64, 8, 2**36, 8),
        ([2**19] * 8, 8, 2**36, 1),  # too little to be worth a start
        ([2**30] * 3, 8, 2**36, 3),  # no more than files
        ([2**30] * 64, 8, 2**36, 8),  # no more than cores
        ([2**33, *[2**20] * 63], 8, 2**36, 2),  # half of 64 GiB holds what reading two of the largest takes
        ([2**40] * 2, 8, 2**36, 1),  # one at least
    ],
)
def test_how_many_processes_are_sensible(
    sizes: list[int], cores: int, memory: int, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{place}.sqlite" for place in range(len(sizes))]
    monkeypatch.setattr(machine, "cores", lambda: cores)
    monkeypatch.setattr(machine, "memory", lambda: memory)
    known = dict(zip(paths, sizes, strict=True))
    monkeypatch.setattr(running, "_size", known.__getitem__)
    assert running._sensible(paths) == jobs  # noqa: SLF001


def test_this_machine_has_cores_and_memory(tmp_path: Path) -> None:
    assert machine.cores() >= 1
    assert machine.memory() > 2**28
    assert running._size(tmp_path / "none.sqlite") == 0  # noqa: SLF001


def test_what_cannot_be_read_stops_a_caller_who_wants_all(run: list[Path]) -> None:
    run[1].write_bytes(b"")
    with pytest.raises(InputError, match=r"prefill-0.sqlite: the file is empty"):
        read_all(slow_reading.read, tasks(run), Options(jobs=2), lambda _: None)
    assert multiprocessing.active_children() == []
