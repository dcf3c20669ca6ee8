"""What comparing two saved reports costs, against making one of them, as whole commands in the same run.

Both start Python and write JSON; only one reads a trace. The ratio of medians is the result, seconds are not.

    python tests/benchmarks/diff_ratio.py [--trace TRACE] [--runs 5] [--gate 0.35]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from floors import tool
from processes import in_turns, seconds

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces/synthetic/pd-oneprofile.sqlite"


def main() -> int:
    """Measure, print, and fail when the gate is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, default=SAMPLE, help="default: the smallest sample with layers")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gate", type=float, default=0.35)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make = tool("report", str(asked.trace.resolve()), "-q", "-o", "saved.json", "--force")
        commands = {"report": make, "diff": tool("diff", "saved.json", "saved.json", "-q", "-o", "diff.json")}
        runs = in_turns(commands, Path(folder), asked.runs)
    medians = {name: seconds(each) for name, each in runs.items()}
    ratio = medians["diff"] / medians["report"]
    for name, median in medians.items():
        print(f"{name:7} {median:6.2f} s   (median of {asked.runs})")
    print(f"ratio   {ratio:6.2f}     (at most {asked.gate:g})")
    return int(ratio > asked.gate)


if __name__ == "__main__":
    sys.exit(main())
