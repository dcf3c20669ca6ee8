"""How a report grows with the number of files of one run: as the files do, or the gate fails.

Every run has a router's file and so many ranks of prefill and of decode, each a file of the same size. Times are CPU
seconds of one thread; `growth` is time per file against that of the smallest run.

    python tests/benchmarks/files.py [--ranks 2,4,8,16] [--requests 100] [--gate 1.5]
"""

import os

os.environ["POLARS_MAX_THREADS"] = "1"  # before polars is imported: times are those of one core

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rank_files import Run, write_run

from nsysparse.analysis import Verdict
from nsysparse.api import analyse


def seconds(run: Run) -> tuple[int, float, Verdict]:
    """How many files, the CPU seconds of their analysis, and its verdict."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_run(Path(folder), run)
        start = time.process_time()
        found = analyse(files)
        return len(files), time.process_time() - start, found.verdict


def main() -> int:
    """Print a row for every size; 1 where one took more per file than the gate allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="2,4,8,16")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--gate", type=float, default=1.5)
    asked = parser.parse_args()
    seconds(Run(ranks=1, requests=2))  # what only the first run pays
    print(f"{'files':>6} {'seconds':>8} {'per file':>9} {'growth':>7}")
    base, worst = 0.0, 0.0
    for ranks in map(int, asked.ranks.split(",")):
        count, took, verdict = seconds(Run(ranks=ranks, layers=8, requests=asked.requests))
        if verdict.known_count != asked.requests:
            raise SystemExit(f"{count} files: {verdict.known_count} of {asked.requests} requests were judged")
        base = base or took / count
        worst = max(worst, took / count / base)
        print(f"{count:>6} {took:>8.2f} {took / count:>9.3f} {took / count / base:>6.2f}x")
    return int(worst > asked.gate)


if __name__ == "__main__":
    sys.exit(main())
