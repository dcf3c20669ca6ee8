"""What `with kv_transfer(…)` costs: without a profiler against `with nullcontext()`, and with nsys where it is on PATH.

    python tests/benchmarks/annotate_overhead.py [--gate 1.5]

Without a profiler: the fastest of many short rounds, all statements in turn in each, so that load of the machine
meets all of them. The gate is on `kv_transfer`, with five keywords, over `nullcontext()`, with none. Beside it stands
what any function costs that takes these keywords and hands back a `nullcontext`. Under nsys there is no gate.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import timeit
from contextlib import nullcontext
from pathlib import Path

KEYS = 'op="send", request=request_id, layer=7, bytes=4096, peer=1'
ROUNDS, CALLS = 200, 2000
STATEMENTS = {
    "nullcontext": "with nullcontext(): pass",
    "keywords": f"with empty({KEYS}): pass",
    "kv_transfer": f"with kv_transfer({KEYS}): pass",
    "kv_transfer_start": f"end(kv_transfer_start({KEYS}))",
}
UNDER_NSYS = "--under-nsys"


def empty(**_keys: object) -> nullcontext[None]:
    """The least that takes the keywords and gives a context."""
    return nullcontext()


def measure(rounds: int) -> dict[str, float]:
    """Nanoseconds a statement, the fastest round of each."""
    from nsysparse import annotate

    names = {name: getattr(annotate, name) for name in annotate.__all__}
    names |= {"nullcontext": nullcontext, "empty": empty, "request_id": "cmpl-7f1a-0"}
    timers = {name: timeit.Timer(statement, globals=names) for name, statement in STATEMENTS.items()}
    fastest = dict.fromkeys(STATEMENTS, float("inf"))
    for _ in range(rounds):
        for name, timer in timers.items():
            fastest[name] = min(fastest[name], timer.timeit(CALLS) / CALLS * 1e9)
    print(f"ranges go through: {annotate.writes_through()}")
    for name, nanoseconds in fastest.items():
        print(
            f"  {name:18} {nanoseconds:8.0f} ns  {nanoseconds / fastest['nullcontext']:6.2f} x nullcontext", flush=True
        )
    return fastest


def under_nsys(nsys: str) -> None:
    """The same in a process that nsys started."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "-o", f"{folder}/t"]
        command += [sys.executable, __file__, UNDER_NSYS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in done.stdout.splitlines() if line.startswith("ranges") or line.endswith("x nullcontext")]
    print("\n".join(said) or f"nsys could not be used: {done.stderr[-200:]}")


def main() -> int:
    """Measure, print, and fail when the gate is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", type=float, default=1.5)
    parser.add_argument(UNDER_NSYS, action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.under_nsys:
        measure(3)
        return 0
    os.environ["KVX_NVTX"] = "0"
    fastest = measure(ROUNDS)
    ratio = fastest["kv_transfer"] / fastest["nullcontext"]
    beside = fastest["kv_transfer"] / fastest["keywords"]
    print(f"without a profiler: {ratio:.2f} x nullcontext (at most {asked.gate:g}), {beside:.2f} x keywords")
    nsys = shutil.which("nsys")
    if nsys is None:
        print("nsys is not on PATH: not measured under it")
    else:
        del os.environ["KVX_NVTX"]
        under_nsys(nsys)
    return int(ratio > asked.gate)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(main())
