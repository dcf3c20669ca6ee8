"""How much the whole report costs, against the least that any such tool must do in the same run.

The floor is a fresh Python that imports polars, sqlalchemy and plotly and scans the three big tables once in SQLite.
Both are whole processes with a warm page cache, run in turns; the ratio of medians is the result, seconds are not.

    python tests/benchmarks/report_ratio.py [--trace TRACE] [--runs 5] [--gate 4]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nsysparse.testing import TraceBuilder

FLOOR = """
import sqlite3, sys
import plotly.graph_objects, polars, sqlalchemy
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for table in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"):
    connection.execute(f'SELECT sum("end" - start) FROM {table}').fetchone()
"""
KERNELS = 100_000
LAYERS = 80


def size_s(path: Path) -> Path:
    """A trace of 100,000 kernels in 4 processes: layers nested in steps, a Send or Recv in every tenth layer."""
    builder = TraceBuilder(schema="3.25", gpus=dict.fromkeys(range(4), "synthetic GPU"))
    per_layer = 6
    for rank in range(4):
        process = builder.process(pid=4000 + 17 * rank)
        thread = process.thread(tid=4000 + 17 * rank)
        now = 1_000_000
        for step in range(KERNELS // (4 * LAYERS * per_layer)):
            begin = now
            for layer in range(LAYERS):
                layer_begin = now
                for part in range(per_layer):
                    sending = part == 0 and layer % 10 == 0
                    if sending:
                        name = "ncclSend" if (layer // 10 + rank) % 2 else "ncclRecv"
                        thread.nccl(name, now, now + 900)
                    else:
                        thread.push_pop(f"part {part}", now, now + 900)
                    launch = thread.launch(now + 100, now + 200)
                    thread.launch(now + 300, now + 400, name="cudaEventRecord_v3020")
                    kernel = "ncclDevKernel_SendRecv(args)" if sending else f"gemm_{part}"
                    process.kernel(kernel, now + 5_000, now + 5_800, device=rank, launch=launch)
                    now += 1_000
                thread.push_pop(f"model.layers.{layer}", layer_begin - 10, now - 20)
                now += 100
            thread.push_pop(f"step {step}", begin - 50, now)
            now += 1_000
    return builder.write(path)


def seconds(command: list[str], folder: str) -> float:
    """Wall-clock time of one whole process."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> int:
    """Measure, print, and fail when the gate is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, help="default: a synthetic one of size S")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gate", type=float, default=4.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = asked.trace.resolve() if asked.trace else size_s(Path(folder) / "S.sqlite")
        commands = {
            "floor": [sys.executable, "-c", FLOOR, str(trace)],
            "report": [sys.executable, "-m", "nsysparse", "report", str(trace), "--force", "-q"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(asked.runs):
            for name, command in commands.items():
                times[name].append(seconds(command, folder))
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["report"] / medians["floor"]
    for name, median in medians.items():
        print(f"{name:7} {median:6.2f} s   (median of {asked.runs})")
    print(f"ratio   {ratio:6.2f}     (at most {asked.gate:g})")
    return int(ratio > asked.gate)


if __name__ == "__main__":
    sys.exit(main())
