"""Whole commands on traces of growing size: time without imports against bare scans, growth, and peak memory."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from demands import Figure
from floors import IMPORTS, scans, tool
from processes import Run, cpu, in_turns, peak, run, seconds

SCANS_A_ROUND = {"8k": 25, "S": 9}
"""Scans of small files take milliseconds: each round takes the median of several."""
LEAST_SHARE = 0.1
"""Of a whole command at least this much counts as its own: below it the difference of two medians is noise."""
GB = 1e9
COMMANDS = ("projection", "report")


@dataclass(frozen=True, slots=True)
class Measured:
    """One command on one trace: seconds of its own, whole and of the imports, of the scans, and its peak in bytes.

    What ends in `cpu` are CPU seconds.
    """

    own: float
    own_cpu: float
    scans_cpu: float
    whole: float
    imports: float
    scans: float
    peak_bytes: int
    rounds: int

    def shown(self) -> str:
        """The medians, for a reader."""
        of = f"{self.whole:.2f} s whole, imports {self.imports:.2f} s, scans {self.scans:.3f} s"
        return f"{of}, peak {self.peak_bytes / GB:.2f} GB, {self.rounds} rounds"


def _arguments(command: str, trace: Path) -> list[str]:
    if command == "report":
        return ["report", str(trace), "--no-config", "--force", "-q", "-o", "report.html"]
    return ["export", str(trace), "--frame", "nvtx_ranges", "--no-config", "--force", "-q", "-o", "ranges.parquet"]


def own(whole: list[Run], imports: list[Run], of: Callable[[Sequence[Run]], float]) -> float:
    """What a command takes beside its imports, by medians of the clock or of CPU."""
    return max(of(whole) - of(imports), LEAST_SHARE * of(whole))


def measure(trace: Path, folder: Path, rounds: int, names: Sequence[str] = COMMANDS) -> dict[str, Measured]:
    """Some of `COMMANDS` on one trace; their outputs stay in the folder."""
    commands = {name: tool(*_arguments(name, trace)) for name in names}
    commands |= {"imports": IMPORTS, "scans": scans(trace, SCANS_A_ROUND.get(trace.stem, 1))}
    runs = in_turns(commands, folder, rounds)
    scanned, of_cpu = (statistics.median(float(each.said.split()[at]) for each in runs["scans"]) for at in (0, 1))
    return {
        name: Measured(
            own=own(runs[name], runs["imports"], seconds), own_cpu=own(runs[name], runs["imports"], cpu),
            scans_cpu=of_cpu, whole=seconds(runs[name]), imports=seconds(runs["imports"]),
            scans=scanned, peak_bytes=peak(runs[name]), rounds=rounds,
        )
        for name in names
    }  # fmt: skip


def against_scans(size: str, measured: dict[str, Measured]) -> list[Figure]:
    """Each command against the bare scans of the same file."""
    return [
        Figure(f"{name}/scans", size, it.own / it.scans, it.shown(), cpu=it.own_cpu / it.scans_cpu)
        for name, it in measured.items()
    ]


def growth(size: str, measured: dict[str, Measured], smaller: dict[str, Measured]) -> list[Figure]:
    """Each command's time against that on the smaller trace."""
    return [
        Figure(
            f"growth/{name}", size, it.own / smaller[name].own, f"{it.own:.2f} s, {smaller[name].own:.2f} s",
            cpu=it.own_cpu / smaller[name].own_cpu,
        )
        for name, it in measured.items()
    ]  # fmt: skip


def memory(size: str, measured: dict[str, Measured], trace: Path) -> list[Figure]:
    """Each command's peak against the size of the file."""
    whole = trace.stat().st_size
    return [
        Figure(f"memory/{name}", size, it.peak_bytes / whole, f"{it.peak_bytes / GB:.2f} of {whole / GB:.2f} GB")
        for name, it in measured.items()
    ]


def many(size: str, traces: Sequence[Path], folder: Path) -> Figure:
    """The peak of one report on many files, read by two processes, against the size of all of them."""
    whole = sum(trace.stat().st_size for trace in traces)
    asked = ["report", *map(str, traces), "--jobs", "2", "--no-config", "--force", "-q", "-o", "many.html"]
    took = run(tool(*asked), folder)
    of = f"{took.peak_bytes / GB:.2f} of {whole / GB:.2f} GB, {took.seconds:.0f} s"
    return Figure("ranks/memory", size, took.peak_bytes / whole, of)


def footprint(size: str, measured: dict[str, Measured], trace: Path) -> list[Figure]:
    """Each command's peak in GB."""
    of = f"a file of {trace.stat().st_size / GB:.1f} GB"
    return [Figure(f"bytes/{name}", size, it.peak_bytes / GB, of) for name, it in measured.items()]
