"""Measures what docs/explanation/performance.md demands, prints a line a figure, records or checks the ratios.

    python tests/benchmarks/bench.py [--sizes 8k,S,M,L] [--cache FOLDER] [--rounds 5] [--record] [--peers]
    python tests/benchmarks/bench.py --check [--slack 0.6] [--demands-only]

`--record` writes recorded.json beside this file, `--peers` measures nsys again (minutes), `--check` measures small
traces only and fails where a demand is missed that the recorded figure meets, or a ratio is worse than the recorded one
by more than a quarter. What fails is measured again, twice at most, and the best counts: what got slower is slow each
time, a busy machine is not.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import whole_commands
from demands import CI_SLACK, DEMANDS, Figure, demanded, failures, missing
from nsys_peer import PEERS, Peer, against_nsys, yardstick
from nsys_peer import measure as measure_nsys
from processes import run, warmed
from record import Record, read, updated, write
from starting import starting

SIZES = ("8k", "S", "M", "L", "XL")
SMALL, ALL = ("8k", "S"), ("8k", "S", "M", "L")
PARTS = ("start", "reading", "commands", "ranks")
SEED = 1
"""That of large_trace.py, which this script does not import."""
RANKS, OF_RANK = 64, "S"
"""Files of one run, and how large each is."""
COMMANDS_OF = ("projection", "report", "growth", "memory", "bytes")
"""What the names of figures begin with that whole commands give."""
ATTEMPTS = 3
READING_ROUNDS = {"S": 25}
"""Reading S takes tens of milliseconds: more rounds than elsewhere cost nothing."""
_HERE = Path(__file__).resolve().parent
Measure = Callable[[str], Iterator[Figure]]


@dataclass
class Bench:
    """One run of the measurements: traces by size, a scratch folder, and what has been measured of the commands."""

    cache: Path
    scratch: Path
    rounds: int
    peers: dict[str, Peer]
    renew_peers: bool = False
    measured: dict[str, dict[str, whole_commands.Measured]] = field(default_factory=dict)

    def trace(self, size: str, seed: int = SEED) -> Path:
        """The trace of a size and a seed, made where it is not there yet, and in the page cache."""
        name = size if seed == SEED else f"{size}-{seed}"
        path = self.cache / f"{name}.sqlite"
        # In a process of its own: this one stays small (processes.py says why).
        asked = [size, "--cache", str(self.cache), "--seed", str(seed), "--name", name]
        said = run([sys.executable, str(_HERE / "large_trace.py"), *asked], self.scratch).said
        print("".join(f"{line}\n" for line in said.splitlines() if line.startswith("wrote")), end="", flush=True)
        return warmed(path)

    def reading(self, size: str) -> Iterator[Figure]:
        """How fast the tables are read."""
        rounds = READING_ROUNDS.get(size, self.rounds)
        command = [sys.executable, str(_HERE / "reading.py"), str(self.trace(size)), "--rounds", str(rounds)]
        took = json.loads(run([*command, "--slow-rounds", str(self.rounds)], self.scratch).said)
        (ours, ours_cpu), (scan, scan_cpu) = took["scan"]["ours"], took["scan"]["scan"]
        said, equal = f"{ours:.3f} s, scans {scan:.3f} s, {rounds} rounds", "equal: sums and rows of three tables"
        yield Figure("reading/scan", size, ours / scan, said, equal, cpu=ours_cpu / scan_cpu)
        (ours, ours_cpu), (other, other_cpu) = took["sqlalchemy"]["ours"], took["sqlalchemy"]["sqlalchemy"]
        said, equal = (
            f"{ours:.3f} s, SQLAlchemy {other:.2f} s, {self.rounds} rounds",
            "equal: every row of three tables",
        )
        yield Figure("reading/sqlalchemy", size, other / ours, said, equal, cpu=other_cpu / ours_cpu)

    def commands(self, size: str) -> Iterator[Figure]:
        """Whole commands on one trace, and the projection against nsys's where it is held against that."""
        trace = self.trace(size)
        wanted = {f"{demand} {size}" for demand, each in DEMANDS.items() if size in each.limits}
        named = [name for name in whole_commands.COMMANDS if any(name in each for each in wanted)]
        it = self.measured[size] = whole_commands.measure(trace, self.scratch, self.rounds, named)
        figures = [*whole_commands.against_scans(size, it), *whole_commands.memory(size, it, trace)]
        figures += whole_commands.footprint(size, it, trace)
        if "M" in self.measured:
            figures += whole_commands.growth(size, it, self.measured["M"])
        yield from (each for each in figures if each.name in wanted)
        if size in PEERS:
            trace_s = self.trace("S")
            if self.renew_peers or size not in self.peers:
                found = measure_nsys(size, trace, trace_s, self.scratch, self.scratch / "ranges.parquet")
                self.peers |= {size: found} if found else {}
            yield against_nsys(size, it["projection"], self.peers.get(size), yardstick(trace_s, self.scratch))

    def ranks(self, size: str) -> Iterator[Figure]:
        """What many files of one run cost."""
        traces = [self.trace(OF_RANK, seed) for seed in range(SEED, SEED + RANKS)]
        yield whole_commands.many(size, traces, self.scratch)

    def start(self, _size: str) -> Iterator[Figure]:
        """What starting costs."""
        yield from starting(self.scratch, self.rounds)


def parts(bench: Bench, sizes: tuple[str, ...], only: str | None) -> list[tuple[str, Measure]]:
    """What is measured one after the other: of which size, and how."""
    found: list[tuple[str, str, Measure]] = [
        ("start", "any", bench.start),
        *(("reading", size, bench.reading) for size in sizes if size in DEMANDS["reading/scan"].limits),
        *(("commands", size, bench.commands) for size in sizes),
        *(("ranks", of_all, bench.ranks) for of_all in DEMANDS["ranks/memory"].limits if "L" in sizes),
    ]
    return [(size, part) for name, size, part in found if only in {None, name}]


def wanted(sizes: tuple[str, ...], only: str | None) -> list[str]:
    """Names of all figures that a run with these sizes measures."""
    named = {
        "start": ("start",),
        "reading": ("reading",),
        "commands": COMMANDS_OF,
        "ranks": ("ranks",),
        None: ("start", "reading", *COMMANDS_OF, "ranks"),
    }
    asked = {"any", *sizes, *(DEMANDS["ranks/memory"].limits if "L" in sizes else ())}
    return [
        f"{demand} {size}"
        for demand, each in DEMANDS.items()
        for size in each.limits
        if size in asked and demand.partition("/")[0] in named[only]
    ]


def line(figure: Figure, recorded: Figure | None, slack: float) -> str:
    """What is printed of a figure: its demand, the ratio, what it was when recorded, medians, and equal answers."""
    met = {True: "met", False: "NOT YET", None: ""}[figure.is_met()]
    if figure.is_met() is False and figure.is_met(slack):
        met = "slack"  # missed by no more than is allowed here
    was = f"recorded {recorded.shown()}" if recorded and recorded.value is not None else ""
    demand = demanded(figure.demand, figure.size)
    cells = f"{figure.name:27} {demand:12} {figure.shown():>9}  {met:7} {was:18}"
    of_cpu = f"{figure.cpu:.3g} in CPU seconds; " if figure.cpu else ""
    return f"{cells} {of_cpu}{figure.detail}" + (f"; answers {figure.answers}" if figure.answers else "")


def measured(bench: Bench, asked: argparse.Namespace, recorded: Mapping[str, Figure]) -> tuple[list[Figure], list[str]]:
    """All figures, and what of them does not stand after so many attempts."""
    found: list[Figure] = []
    failed: list[str] = []
    sizes = SMALL if asked.check else tuple(asked.sizes.split(","))
    slack = asked.slack or (CI_SLACK if asked.check else 1.0)
    attempts = ATTEMPTS if asked.check else 1
    for size, part in parts(bench, sizes, asked.only):
        best: dict[str, Figure] = {}
        for attempt in range(attempts):
            for figure in part(size):
                if figure.name not in best or figure.is_better_than(best[figure.name]):
                    best[figure.name] = figure
                print(line(figure, recorded.get(figure.name), slack), flush=True)
            wrong = [
                each
                for it in best.values()
                for each in failures(it, recorded.get(it.name), slack, demands_only=asked.demands_only)
            ]
            if not wrong:
                break
            if attempt + 1 < attempts:
                print("  once more: " + "; ".join(wrong), flush=True)
        found += best.values()
        failed += wrong
    return found, failed + missing(wanted(sizes, asked.only), found, recorded)


def main() -> int:
    """Measure; 1 where something fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(ALL), help="of 8k, S, M, L, XL; default: all but XL")
    parser.add_argument("--cache", type=Path, help="where traces lie or are written; default: a temporary folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="write the ratios to recorded.json")
    parser.add_argument("--peers", action="store_true", help="measure nsys again")
    parser.add_argument("--check", action="store_true", help="small traces only; failing ones are measured again")
    parser.add_argument(
        "--demands-only", action="store_true", help="the record only says which demands are not met yet"
    )
    parser.add_argument("--only", choices=PARTS, help="a part of the figures")
    parser.add_argument("--slack", type=float, help=f"default: 1, with --check {CI_SLACK}")
    asked = parser.parse_args()
    if unknown := set(asked.sizes.split(",")) - set(SIZES):
        parser.error(f"no size: {', '.join(sorted(unknown))}")
    kept: Record = read()
    with tempfile.TemporaryDirectory(prefix="nsysparse-bench-") as scratch:
        bench = Bench(
            (asked.cache or Path(scratch)).resolve(), Path(scratch), asked.rounds, dict(kept.peers), asked.peers
        )
        figures, failed = measured(bench, asked, kept.figures)
    if asked.record:
        fresh = {size: peer for size, peer in bench.peers.items() if peer != kept.peers.get(size)}
        write(updated(read(), figures, fresh))  # another run may have recorded other figures meanwhile
    print("\n".join(failed) or "all figures stand")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
