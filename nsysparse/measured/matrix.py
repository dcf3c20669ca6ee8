"""Square tables of rates between devices, as two tools print them: numbers of devices above and beside the cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from nsysparse.measured.text import number, whole
from nsysparse.units import GB, counted, significant

Pair = tuple[int, int]
_DEVICES = 4096


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rates in GB/s by (row, column), None where none was measured; where its heading stands, counted from 1."""

    line: int
    cells: dict[Pair, float | None]

    def pairs(self) -> dict[Pair, float]:
        """The rates between two different devices, without those that were not measured."""
        return {at: rate for at, rate in self.cells.items() if at[0] != at[1] and rate}

    def measured(self) -> dict[Pair, float]:
        """All rates that were measured: for tables whose rows are no devices."""
        return {at: rate for at, rate in self.cells.items() if rate}


def read_matrix(lines: Sequence[tuple[int, str]], at: int) -> Matrix:
    """The table whose heading is `lines[at]`: the next line names the columns, each further one begins with its row."""
    columns = [whole(word) for word in _words(lines, at + 1) if word not in {"D\\D", "D/D"}][:_DEVICES]
    cells: dict[Pair, float | None] = {}
    for place in range(at + 2, min(len(lines), at + 2 + _DEVICES)):
        words = _words(lines, place)
        row = whole(words[0]) if words else None
        if row is None or not columns or None in columns or len(words) != len(columns) + 1:
            break
        cells |= {(row, to): number(word) for to, word in zip(columns, words[1:], strict=True) if to is not None}
    return Matrix(lines[at][0], cells)


def _words(lines: Sequence[tuple[int, str]], place: int) -> list[str]:
    return lines[place][1].split() if place < len(lines) else []


def middle(rates: dict[Pair, float]) -> float:
    """The median in bytes per second."""
    return median(rates.values()) * GB


def spread(rates: dict[Pair, float], noun: str) -> str:
    """How many there are and how far apart, in GB/s, one sentence."""
    least, most = min(rates.values()), max(rates.values())
    if least == most:
        return f"{counted(len(rates), noun).capitalize()}: {significant(least)} GB/s."
    return f"Median of {counted(len(rates), noun)}, from {significant(least)} to {significant(most)} GB/s."
