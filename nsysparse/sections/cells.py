"""Table columns out of values: fixed decimals, the unit in the title, unknown sorted last and never shown as zero.

A column is built whole, because decimals and unit depend on all its values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nsysparse.document import Cell, Column, Table, Tone
from nsysparse.units import UNKNOWN, Scale, byte_scale, decimals_for, fixed, human_share

NOT_KNOWN = Cell(UNKNOWN, tone="muted")


@dataclass(frozen=True, slots=True)
class Filled:
    """A column with its cells, one per row of the table."""

    column: Column
    cells: Sequence[Cell]

    @property
    def is_unknown(self) -> bool:
        """Whether there are rows, but nothing is known in any of them."""
        return bool(self.cells) and all(cell == NOT_KNOWN for cell in self.cells)


def numbers(
    title: str,
    values: Sequence[float | None],
    *,
    term: str = "",
    minor: bool = False,
    unit: str = "",
    digits: int = 2,
) -> Filled:
    """Numbers with common decimals, so many that the smallest shows `digits` digits."""
    decimals = decimals_for(values, digits)
    cells = [NOT_KNOWN if value is None else Cell(fixed(value, decimals), sort=value) for value in values]
    return Filled(Column(title, "right", term, minor, unit), cells)


def rates(
    title: str, values: Sequence[float | None], *, term: str = "", minor: bool = False, bounds: Sequence[bool] = ()
) -> Filled:
    """Rates in GB/s, three digits as everywhere; where `bounds` is true, it is a lower bound and carries "≥"."""
    return _marked(numbers(title, values, term=term, minor=minor, unit="GB/s", digits=3), bounds)


def _marked(plain: Filled, bounds: Sequence[bool]) -> Filled:
    """The column with "≥" before what is a lower bound."""
    if not any(bounds):
        return plain
    cells = [
        replace(cell, text=f"≥ {cell.text}") if is_bound and cell != NOT_KNOWN else cell
        for cell, is_bound in zip(plain.cells, bounds, strict=True)
    ]
    return Filled(plain.column, cells)


def times(
    title: str,
    values_ns: Sequence[int | None],
    scale: Scale,
    *,
    term: str = "",
    minor: bool = False,
    digits: int = 2,
) -> Filled:
    """Durations in nanoseconds, shown in the unit of `scale` (one per table, so that its columns compare)."""
    shown = [None if value is None else value / scale.per_unit for value in values_ns]
    return numbers(title, shown, term=term, minor=minor, unit=scale.unit, digits=digits)


def sizes(title: str, values: Sequence[int | None], *, term: str = "", minor: bool = False) -> Filled:
    """Bytes, in the decimal unit that fits the largest."""
    scale = byte_scale(values)
    shown = [None if value is None else value / scale.per_unit for value in values]
    return numbers(title, shown, term=term, minor=minor, unit=scale.unit)


def shares(
    title: str, values: Sequence[float | None], *, term: str = "", minor: bool = False, bounds: Sequence[bool] = ()
) -> Filled:
    """Parts of one as percentages; lower bounds as in `rates`."""
    cells = [NOT_KNOWN if value is None else Cell(human_share(value), sort=value) for value in values]
    return _marked(Filled(Column(title, "right", term, minor), cells), bounds)


def names(title: str, values: Sequence[str | None], *, term: str = "", minor: bool = False) -> Filled:
    """Identifiers and names from the trace."""
    cells = [NOT_KNOWN if value is None else Cell(value, sort=value, kind="name") for value in values]
    return Filled(Column(title, "left", term, minor), cells)


def commands(title: str, values: Sequence[str]) -> Filled:
    """What a reader may copy and run; an empty text is an empty cell."""
    return Filled(Column(title), [Cell(value, sort=value or None, kind="command") for value in values])


def texts(
    title: str,
    values: Sequence[str | None],
    *,
    term: str = "",
    minor: bool = False,
    tones: Sequence[Tone] | None = None,
) -> Filled:
    """Words of ours; an empty text is an empty cell, None is unknown."""
    each_tone: Sequence[Tone] = tones or ["plain"] * len(values)
    cells = [
        NOT_KNOWN if value is None else Cell(value, sort=value or None, tone=tone)
        for value, tone in zip(values, each_tone, strict=True)
    ]
    return Filled(Column(title, "left", term, minor), cells)


def table(caption: str, filled: Sequence[Filled], anchor: str, *, dropped: str = "", folded: bool = False) -> Table:
    """A table of these columns; one in which nothing is known is named below instead of repeating "unknown"."""
    kept = [each for each in filled if not each.is_unknown]
    blank = [each.column.title for each in filled if each.is_unknown]
    notes = [dropped] if dropped else []
    if blank:
        notes.append(f"Unknown in every row, so not shown: {', '.join(blank)}.")
    rows = [list(row) for row in zip(*(each.cells for each in kept), strict=True)]
    return Table(caption, [each.column for each in kept], rows, anchor, " ".join(notes), folded)
