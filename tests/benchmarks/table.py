"""Writes the table of figures in docs/explanation/performance.md, between its markers, from recorded.json.

python tests/benchmarks/table.py [--check]
"""

import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from demands import DEMANDS, Figure, demanded
from nsys_peer import Peer
from record import Record, read

PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/performance.md"
BEGIN, END = "<!-- figures: written by `make docs-write` from tests/benchmarks/recorded.json -->", "<!-- /figures -->"
TIMES = "\N{MULTIPLICATION SIGN}"


def lines(record: Record) -> Iterator[str]:
    """The table, with which versions it was measured, and what nsys took."""
    yield "| what | trace | demand | measured | |"
    yield "|---|---|---|---|---|"
    for name, demand in DEMANDS.items():
        for size in demand.limits:
            yield _row(name, size, record.figures.get(f"{name} {size}"))
    yield ""
    yield from _versions(record.figures)
    yield from _peers(record.peers)


def _row(name: str, size: str, figure: Figure | None) -> str:
    measured = _with_sign(figure.shown()) if figure else "not measured yet"
    verdict = {True: "met", False: "**not yet**", None: ""}[figure.is_met() if figure else None]
    trace = "" if size == "any" else size
    return f"| {DEMANDS[name].what} | {trace} | {_with_sign(demanded(name, size))} | {measured} | {verdict} |"


def _with_sign(text: str) -> str:
    return text.removesuffix(" x") + f" {TIMES}" if text.endswith(" x") else text


def _versions(figures: Mapping[str, Figure]) -> Iterator[str]:
    known = sorted({figure.versions for figure in figures.values() if figure.versions})
    yield from (f"Measured with {each}." for each in known)
    yield from () if not known else ("",)


def _peers(peers: Mapping[str, Peer]) -> Iterator[str]:
    for size, peer in peers.items():
        took = f"{'more than ' * peer.is_cut_off}{peer.seconds:g} s of CPU"
        rest = f"{peer.scans:,.0f} times the three scans of S; answers: {peer.answers}"
        yield f"- `{peer.report}` of nsys {peer.nsys} on {size} took {took}, {rest}."


def page(text: str, record: Record) -> str:
    """The page with its table as the record has it.

    Raises:
        ValueError: The page has not each marker once.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{PAGE.name} needs each of the markers once: {BEGIN} and {END}")
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    body = "\n".join(line for before, line in pairwise(["x", *lines(record)]) if before or line).strip()
    return f"{head}{BEGIN}\n\n{body}\n\n{END}{tail}"


def main(arguments: list[str]) -> int:
    """Write the page, or with --check compare it; returns the exit code."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write(f"{__doc__}")
        return 2
    text = PAGE.read_text(encoding="utf-8")
    current = page(text, read())
    if not arguments:
        PAGE.write_text(current, encoding="utf-8")
    elif text != current:
        sys.stderr.write(f"docs/explanation/{PAGE.name} is not current: run `make docs-write`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
