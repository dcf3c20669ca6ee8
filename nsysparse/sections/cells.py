"""Table columns out of values: fixed decimals, the unit in the title, unknown sorted last and never shown as zero.

A column is built whole, because decimals and unit depend on all its values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nsysparse.document import Cell, CellKind, Column, Table, Tone, is_command
from nsysparse.units import FINEST_PERCENT, UNKNOWN, Scale, byte_scale, decimals_for, fixed, share, share_within, within

NOT_KNOWN = Cell(UNKNOWN, tone="muted")
NOT_APPLICABLE = Cell("\u2013", tone="muted")
"""There is nothing to know here."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A column with its cells, one per row of the table."""

    column: Column
    cells: Sequence[Cell]

    @property
    def is_unknown(self) -> bool:
        """Whether there are rows, but nothing is known in any of them."""
        return NOT_KNOWN in self.cells and self.says_nothing

    @property
    def says_nothing(self) -> bool:
        """Whether there are rows, but no value in any of them."""
        return bool(self.cells) and all(cell in (NOT_KNOWN, NOT_APPLICABLE) for cell in self.cells)

    def applying(self, where: Sequence[bool]) -> "Filled":
        """The column with a dash instead of “unknown” in the rows where it does not apply."""
        cells = [
            NOT_APPLICABLE if cell == NOT_KNOWN and not applies else cell
            for cell, applies in zip(self.cells, where, strict=True)
        ]
        return replace(self, cells=cells)


def numbers(
    title: str,
    values: Sequence[float | None],
    *,
    term: str = "",
    minor: bool = False,
    unit: str = "",
    beside: Sequence[float | None] = (),
) -> Filled:
    """Numbers with common decimals, so many that the smallest shows three digits (but three decimals at most).

    `beside` are values of other columns that must have the same decimals, to be compared with.
    """
    decimals = decimals_for([*values, *beside])
    cells = [NOT_KNOWN if value is None else Cell(fixed(value, decimals), sort=value) for value in values]
    return Filled(Column(title, "right", term, minor, unit), cells)


def rates(
    title: str,
    values: Sequence[float | None],
    *,
    term: str = "",
    minor: bool = False,
    bounds: Sequence[bool] = (),
    beside: Sequence[float | None] = (),
) -> Filled:
    """Rates in GB/s; where `bounds` is true, it is a lower bound and carries "≥"; `beside` as in `numbers`."""
    return _marked(numbers(title, values, term=term, minor=minor, unit="GB/s", beside=beside), bounds)


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
) -> Filled:
    """Durations in nanoseconds, shown in the unit of `scale` (one per table, so that its columns compare)."""
    shown = [None if value is None else value / scale.per_unit for value in values_ns]
    return numbers(title, shown, term=term, minor=minor, unit=scale.unit)


def doubtful(
    title: str,
    values_ns: Sequence[int | None],
    doubts_ns: Sequence[int | None],
    scale: Scale,
    *,
    term: str = "",
    minor: bool = False,
) -> Filled:
    """Durations that rest on two clocks, each no finer than these may be apart (`nsysparse.units.within`)."""
    cells = [
        NOT_KNOWN
        if value is None
        else Cell(within(value / scale.per_unit, (doubt or 0) / scale.per_unit), sort=value / scale.per_unit)
        for value, doubt in zip(values_ns, doubts_ns, strict=True)
    ]
    return Filled(Column(title, "right", term, minor, scale.unit), cells)


def doubtful_shares(
    title: str,
    values: Sequence[float | None],
    bounds: Sequence[tuple[float | None, float | None]],
    *,
    term: str = "",
) -> Filled:
    """Parts of one as percentages, each no finer than its least and greatest value allow."""
    cells = []
    for value, (low, high) in zip(values, bounds, strict=True):
        if value is None:
            cells.append(NOT_KNOWN)
            continue
        doubt = 0.0 if low is None or high is None else max(high - value, value - low)
        plain = doubt * 100 < FINEST_PERCENT
        cells.append(Cell(share(value, 1) if plain else share_within(value, doubt), sort=value))
    return Filled(Column(title, "right", term), cells)


def sizes(title: str, values: Sequence[int | None], *, term: str = "", minor: bool = False) -> Filled:
    """Bytes, in the decimal unit that fits the largest."""
    scale = byte_scale(values)
    shown = [None if value is None else value / scale.per_unit for value in values]
    return numbers(title, shown, term=term, minor=minor, unit=scale.unit)


def shares(
    title: str, values: Sequence[float | None], *, term: str = "", minor: bool = False, bounds: Sequence[bool] = ()
) -> Filled:
    """Parts of one as percentages with common decimals; lower bounds as in `rates`."""
    whole = all(round(value * 100, 9).is_integer() for value in values if value is not None)
    cells = [NOT_KNOWN if value is None else Cell(share(value, 0 if whole else 1), sort=value) for value in values]
    return _marked(Filled(Column(title, "right", term, minor), cells), bounds)


def names(title: str, values: Sequence[str | None], *, term: str = "", minor: bool = False) -> Filled:
    """Identifiers and names from the trace."""
    cells = [NOT_KNOWN if value is None else Cell(value, sort=value, kind="name") for value in values]
    return Filled(Column(title, "left", term, minor), cells)


def commands(title: str, values: Sequence[str]) -> Filled:
    """What a reader may copy and run, or advice in words; an empty text is an empty cell."""
    kinds: list[CellKind] = ["command" if is_command(value) else "words" for value in values]
    cells = [Cell(value, sort=value or None, kind=kind) for value, kind in zip(values, kinds, strict=True)]
    return Filled(Column(title), cells)


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
    kept = [each for each in filled if not each.says_nothing]
    blank = [each.column.title for each in filled if each.is_unknown]
    notes = [dropped] if dropped else []
    if blank:
        notes.append(f"Unknown in every row, so not shown: {', '.join(blank)}.")
    rows = [list(row) for row in zip(*(each.cells for each in kept), strict=True)]
    return Table(caption, [each.column for each in kept], rows, anchor, " ".join(notes), folded)
