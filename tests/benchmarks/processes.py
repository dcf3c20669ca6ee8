"""Whole processes, run in turns: how long each took, how much memory it had at most, and what it printed.

The measuring script itself imports nothing heavy: a child begins as a copy of its parent, whose memory would count
among the child's.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KB = 1024
"""ru_maxrss is in kibibytes on Linux."""
NEARLY = 0.7
"""What failed after so much of its CPU seconds was ended at their limit: shared machines count some as stolen."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process that ended, or was ended at its limit: what it took, what it had at most, its standard output.

    `cpu_seconds` are those of its children, too, as far as it waited for them.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    said: str
    is_cut_off: bool = False


def run(command: Sequence[str], folder: Path, cpu_limit: int | None = None, *, may_fail: bool = False) -> Run:
    """Run one process to its end.

    Args:
        command: What to run.
        folder: Where.
        cpu_limit: CPU seconds after which it, or a process that it started, is ended.
        may_fail: Whether its exit code says nothing, as that of nsys for a help.

    Raises:
        RuntimeError: It failed; the message has the end of its standard error.
    """
    limited = ["/bin/sh", "-c", 'ulimit -t "$0" && exec "$@"', str(cpu_limit)] if cpu_limit else []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.perf_counter()
        process = subprocess.Popen([*limited, *command], cwd=folder, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        used = usage.ru_utime + usage.ru_stime
        is_failed = process.returncode != 0
        is_cut_off = is_failed and cpu_limit is not None and used >= NEARLY * cpu_limit
        if is_failed and not (may_fail or is_cut_off):
            err.seek(0)
            tail = err.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{' '.join(command[:4])} … ended with {process.returncode}: {tail}")
        out.seek(0)
        return Run(took, used, usage.ru_maxrss * KB, out.read().decode(errors="replace"), is_cut_off)


def in_turns(commands: Mapping[str, Sequence[str]], folder: Path, rounds: int) -> dict[str, list[Run]]:
    """Each command once a round, one after the other, so that load of the machine meets all of them."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(run(command, folder))
    return runs


def seconds(runs: Sequence[Run]) -> float:
    """The median of what they took."""
    return statistics.median(each.seconds for each in runs)


def cpu(runs: Sequence[Run]) -> float:
    """The median of their CPU seconds."""
    return statistics.median(each.cpu_seconds for each in runs)


def peak(runs: Sequence[Run]) -> int:
    """The most memory that any of them had, in bytes."""
    return max(each.peak_bytes for each in runs)


def warmed(path: Path) -> Path:
    """The file, read once so that it lies in the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    return path
