"""Traces read by a real Dask scheduler and its workers, each a process of its own on loopback."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import slow_reading
from commands import run as command
from rank_files import Run, write_run

from nsysparse.api import cluster as of_cluster
from nsysparse.api.cluster import INSTALL, run_on_cluster
from nsysparse.api.outcome import Outcome
from nsysparse.errors import NsysparseError

RUN = Run(ranks=1, requests=2)
PATIENCE_S = 120
PATCHED = """
import nsysparse.api.cluster as cluster
{}
from nsysparse.cli import main
main()
"""


@dataclass
class Cluster:
    """A scheduler and its workers."""

    folder: Path
    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def grow(self) -> None:
        """One worker more, of one thread and without a nanny that would start it again."""
        here = self.folder / f"worker-{len(self.workers)}"
        here.mkdir()
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(here))
        self.workers.append(dask(here, "worker", self.address, *options))
        wait_for("Registered to", here / "log")


def dask(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments], cwd=folder, env=slow_reading.environment() | environment,
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def wait_for(text: str, log: Path) -> str:
    until = time.monotonic() + PATIENCE_S
    while text not in (told := log.read_text()):
        assert time.monotonic() < until, told
        time.sleep(0.1)
    return told


def started(folder: Path, workers: int, **environment: str) -> Cluster:
    process = dask(folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", **environment)
    told = wait_for("Scheduler at:", folder / "log")
    address = next(word for word in told.partition("Scheduler at:")[2].split() if word.startswith("tcp://"))
    cluster = Cluster(folder, address, process)
    for _ in range(workers):
        cluster.grow()
    return cluster


def stop(cluster: Cluster) -> None:
    for process in (*cluster.workers, cluster.scheduler):
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = started(tmp_path_factory.mktemp("cluster"), workers=2)
    yield found
    stop(found)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "run").mkdir()
    return write_run(tmp_path / "run", RUN)


def patched(lines: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line with something changed."""
    return subprocess.run(
        [sys.executable, "-c", PATCHED.format(lines), *arguments], cwd=cwd, env=slow_reading.environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def asked(folder: Path, output: str, *more: str) -> tuple[str, ...]:
    return "report", str(folder), "-f", "json", "-o", output, "-q", *more


def test_the_bytes_are_those_of_one_process_and_a_bad_file_costs_itself(
    cluster: Cluster, files: list[Path], tmp_path: Path
) -> None:
    folder = files[0].parent
    assert command(*asked(folder, "here.json"), cwd=tmp_path).returncode == 0
    done = command(*asked(Path("run"), "there.json", "--scheduler", cluster.address), cwd=tmp_path)  # a relative path
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    (folder / "odd.sqlite").write_text("no database")
    (folder / "gone.sqlite").symlink_to("nowhere")  # as what a worker does not see
    command(*asked(folder, "here.json"), cwd=tmp_path)
    done = command(*asked(folder, "there.json", "--scheduler", cluster.address), cwd=tmp_path)
    assert done.returncode == 1
    assert "nsysparse: odd.sqlite: not a SQLite database (or encrypted).\n" in done.stderr
    assert "nsysparse: gone.sqlite: the Dask worker on " in done.stderr
    assert "cannot see it.\n  Workers read traces themselves: put them where all see them" in done.stderr
    assert done.stderr.splitlines()[-2].startswith("nsysparse: 2 of 5 files could not be read")


def test_a_worker_that_is_killed_costs_a_retry(files: list[Path], tmp_path: Path) -> None:
    """The file that it was reading is read by the other one."""
    (tmp_path / "own").mkdir()
    own = started(tmp_path / "own", workers=2)
    try:
        command(*asked(files[0].parent, "here.json"), cwd=tmp_path)
        files[1].with_suffix(".waits").touch()
        code = [sys.executable, "-c", slow_reading.COMMAND]
        process = subprocess.Popen(
            [*code, *asked(files[0].parent, "there.json", "--scheduler", own.address)], cwd=tmp_path, text=True,
            env=slow_reading.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        reading = slow_reading.reader(files[1].with_suffix(".pid"))
        assert reading in {each.pid for each in own.workers}
        os.kill(reading, signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said) == (0, "")
        assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    finally:
        stop(own)


def test_a_file_that_kills_its_workers_costs_itself_and_ctrl_c_ends_with_one_line(
    files: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "own").mkdir()
    own = started(tmp_path / "own", workers=2, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    try:
        files[1].with_suffix(".dies").touch()
        more = asked(files[0].parent, "r.json", "--scheduler", own.address)
        done = subprocess.run(
            [sys.executable, "-c", slow_reading.COMMAND, *more], cwd=tmp_path, env=slow_reading.environment(),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        said = done.stderr.splitlines()
        assert said[0] == "nsysparse: prefill-0.sqlite: the Dask workers that read it died, one after the other."
        assert said[2].startswith("nsysparse: 1 of 3 files could not be read")
        files[2].with_suffix(".waits").touch()
        process = subprocess.Popen(
            [sys.executable, "-c", slow_reading.COMMAND, *more], cwd=tmp_path, env=slow_reading.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        slow_reading.reader(files[2].with_suffix(".pid"))
        process.send_signal(signal.SIGINT)
        _, interrupted = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, interrupted.strip()) == (130, "nsysparse: interrupted")
    finally:
        stop(own)


def test_a_cluster_without_workers_and_one_that_goes_away(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    own = started(tmp_path / "own", workers=0)
    try:
        more = ("--scheduler", own.address)
        done = patched("cluster.WORKERS_S = 1", *asked(files[0].parent, "r.json", *more), cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr == (
            f"nsysparse: The Dask scheduler at {own.address} has no worker, and none joined within 1 s.\n"
            f"  Start one: dask worker {own.address}\n"
        )
        own.grow()
        files[1].with_suffix(".waits").touch()
        process = subprocess.Popen(
            [sys.executable, "-c", "import nsysparse.api.cluster as c; c.CONNECT_S = 2\n" + slow_reading.COMMAND,
             *asked(files[0].parent, "r.json", *more)], cwd=tmp_path, text=True,
            env=slow_reading.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        slow_reading.reader(files[1].with_suffix(".pid"))
        own.scheduler.kill()
        _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 1
        assert said.startswith(f"nsysparse: The Dask cluster at {own.address} ")
        assert "Traceback" not in said
    finally:
        stop(own)


def test_another_version_is_refused(cluster: Cluster, files: list[Path], tmp_path: Path) -> None:
    more = asked(files[0].parent, "r.json", "--scheduler", cluster.address)
    done = patched("cluster.__version__ = '99.0'", *more, cwd=tmp_path)
    assert done.returncode == 1
    first, advice = done.stderr.splitlines()
    assert first.startswith("nsysparse: The Dask scheduler has nsysparse ")
    assert first.endswith(" where this one has 99.0.")
    assert advice == "  Install the same versions on every machine of the cluster."


def test_where_nobody_listens_it_is_said_after_a_while(files: list[Path], tmp_path: Path) -> None:
    more = asked(files[0].parent, "r.json", "--scheduler", "tcp://127.0.0.1:1")
    done = patched("cluster.CONNECT_S = 1", *more, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("nsysparse: No Dask scheduler answers at tcp://127.0.0.1:1 within 1 s")
    assert done.stderr.count("\n") == 2


def test_an_address_that_is_none_is_no_bug(files: list[Path], tmp_path: Path) -> None:
    for address in ("", "tcp://", "nonsense://x:1", "tcp://localhost:port"):
        done = patched("cluster.CONNECT_S = 1", *asked(files[0].parent, "r.json", "--scheduler", address), cwd=tmp_path)
        assert done.returncode in (1, 2), address
        assert "internal error" not in done.stderr, address
        assert done.stderr.startswith("nsysparse: "), address


def test_without_dask_the_command_that_brings_it_is_named(files: list[Path], tmp_path: Path) -> None:
    lacking = "import sys; sys.modules['distributed'] = None"
    done = patched(lacking, *asked(files[0].parent, "r.json", "--scheduler", "tcp://127.0.0.1:1"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].startswith("nsysparse: --scheduler needs Dask, which is not installed")
    assert done.stderr.splitlines()[1] == f"  {INSTALL}"


def test_dask_is_not_loaded_without_a_scheduler(files: list[Path], tmp_path: Path) -> None:
    told = "import atexit, sys; atexit.register(lambda: print(sorted({'dask', 'distributed'} & set(sys.modules))))"
    done = patched(told.replace("cluster", ""), *asked(files[0].parent, "r.json", "--jobs", "2"), cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_error_of_a_file_is_none_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's disk that fails raises what a lost connection raises."""

    def told(*_: object) -> Iterator[tuple[int, Outcome]]:
        yield 0, Outcome(error=OSError("the disk failed"))

    def lost(*_: object) -> Iterator[tuple[int, Outcome]]:
        yield 0, Outcome(result="read")
        raise OSError("the connection failed")

    monkeypatch.setattr(of_cluster, "_connected", nullcontext)
    monkeypatch.setattr(of_cluster, "_require_same", lambda _client: None)
    monkeypatch.setattr(of_cluster, "_gathered", told)
    with pytest.raises(OSError, match="the disk failed"):
        list(run_on_cluster(len, ["a"], "tcp://x:1"))
    monkeypatch.setattr(of_cluster, "_gathered", lost)
    runs = run_on_cluster(len, ["a", "b"], "tcp://x:1")
    assert next(runs) == (0, "read")
    with pytest.raises(NsysparseError, match=r"The Dask cluster at tcp://x:1 went away \(OSError\)"):
        next(runs)
