"""What nsys takes for the same ranges, measured once and kept as a multiple of SQLite's scans in the same run.

nsys takes minutes, so its times are not measured with every run: they are kept as multiples of the three bare scans of
size S, which every run measures. Both are CPU seconds of one core, which a busy machine hardly moves.
"""

import shutil
import statistics
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from demands import Figure
from floors import scans
from processes import Run, run
from whole_commands import Measured

CPU_LIMIT_S = 300
YARDSTICK_ROUNDS = 25
PEERS = {"8k": ("nvtxgpuproj", 3), "S": ("nvtxgpuproj", 1), "M": ("nvtxkernsum", 1)}
"""By size which report of nsys, and how often: what takes minutes is measured once."""
_NEWER = {"nvtxgpuproj": "nvtx_gpu_proj_trace", "nvtxkernsum": "nvtx_kern_sum"}
_ANSWERS = Path(__file__).with_name("nsys_answers.py")


@dataclass(frozen=True, slots=True)
class Peer:
    """nsys on one trace: its CPU seconds, and how many scans of S fit in them.

    `seconds` tell a reader the order of magnitude; ratios are taken by `scans`.
    """

    report: str
    nsys: str
    seconds: float
    scans: float
    rounds: int
    is_cut_off: bool
    answers: str


def yardstick(trace_s: Path, folder: Path) -> tuple[float, float]:
    """Seconds of the three bare scans of S, here and now: on the clock, and of CPU."""
    wall, cpu = map(float, run(scans(trace_s, YARDSTICK_ROUNDS), folder).said.split())
    return wall, cpu


def _reports(nsys: str, folder: Path) -> str:
    return run([nsys, "stats", "--help-reports"], folder, may_fail=True).said


def measure(size: str, trace: Path, trace_s: Path, folder: Path, ranges: Path) -> Peer | None:
    """Run nsys on a copy of the trace and hold its answers against ours; None where nsys is not installed.

    Args:
        size: A key of `PEERS`.
        trace: The trace; nsys sees a copy only.
        trace_s: The trace of size S, for the yardstick.
        folder: For scratch files.
        ranges: What `export --frame nvtx_ranges` wrote of the trace.

    Raises:
        RuntimeError: nsys failed, or its answers differ from ours.
    """
    nsys = shutil.which("nsys")
    if nsys is None:
        return None
    report, rounds = PEERS[size]
    offered = _reports(nsys, folder)
    named = _NEWER[report] if _NEWER[report] in offered else report
    copy = folder / "for-nsys" / trace.name
    copy.parent.mkdir(exist_ok=True)
    shutil.copyfile(trace, copy)
    _, before = yardstick(trace_s, folder)
    command = [nsys, "stats", "-r", named, "--format", "csv", "-o", "-", str(copy)]
    runs = [run(command, copy.parent, CPU_LIMIT_S) for _ in range(rounds)]
    _, after = yardstick(trace_s, folder)
    scan = statistics.mean((before, after))
    took = statistics.median(each.cpu_seconds for each in runs)
    is_cut_off = runs[-1].is_cut_off
    answers = f"cut off at {CPU_LIMIT_S} s" if is_cut_off else _compared(report, runs[-1], ranges, folder)
    shutil.rmtree(copy.parent)
    version = run([nsys, "--version"], folder).said.strip().rsplit(" ", 1)[-1].split("-")[0]
    return Peer(report, version, round(took, 1), round(took / scan, 1), rounds, is_cut_off, answers)


def _compared(report: str, said: Run, ranges: Path, folder: Path) -> str:
    table = folder / "nsys.csv"
    table.write_text(said.said, encoding="utf-8")
    return run([sys.executable, str(_ANSWERS), report, str(table), str(ranges)], folder).said.strip()


def against_nsys(size: str, ours: Measured, peer: Peer | None, yard: tuple[float, float]) -> Figure:
    """How many times faster we are than nsys, by its kept multiple of what the scans of S take now."""
    report, _ = PEERS[size]
    demand = f"projection/{report}"
    if peer is None:
        return Figure(demand, size, None, why="nsys is not installed, and no earlier time of it is recorded")
    scaled, scaled_cpu = (peer.scans * each for each in yard)
    detail = f"{ours.own:.3f} s of its own ({ours.whole:.2f} s whole), nsys {peer.nsys} {scaled:.1f} s"
    kept = f"; {peer.seconds:g} s when measured, {peer.rounds} rounds"
    return Figure(
        demand, size, scaled / ours.own, detail + kept, answers=peer.answers, cpu=scaled_cpu / ours.own_cpu,
        is_lower_bound=peer.is_cut_off,
    )  # fmt: skip


def as_records(peers: Mapping[str, Peer]) -> dict[str, Any]:
    """As kept in the record."""
    return {size: asdict(peer) for size, peer in peers.items()}
