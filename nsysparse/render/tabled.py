"""Figures as tables, for formats that can draw only these: the same values, nothing more."""

from functools import singledispatch

from nsysparse.document import (
    Block,
    Cell,
    Column,
    Histogram,
    Meter,
    Parts,
    Range,
    Ranges,
    Ranking,
    Table,
    Waterfall,
    Way,
)
from nsysparse.render.figures.tones import UNKNOWN, judged
from nsysparse.render.names import shortened

_LONGEST_TITLE = 24
"""Of a column that has the name of a file."""


@singledispatch
def as_table(block: Block) -> Table | None:
    """A figure's values as rows; None for what is no figure, or has a form of its own or a table beside it."""
    del block
    return None


@as_table.register
def _(block: Ranking) -> Table:
    units = {item.unit for item in block.items}
    columns = [
        Column("Cost", "right", unit=units.pop() if len(units) == 1 else ""),
        Column("Finding"),
        Column("What to do"),
        Column("Evidence", minor=True),
    ]
    rows = [
        [Cell(item.text, item.cost), Cell(item.title), Cell(item.advice), Cell(item.evidence)] for item in block.items
    ]
    return Table(block.caption, columns, rows, block.anchor, block.dropped)


@as_table.register
def _(block: Waterfall) -> Table:
    return Table(block.caption, block.columns, [row.cells for row in block.rows], block.anchor, block.dropped)


@as_table.register
def _(block: Way) -> Table:
    longest = max((segment.value or 0 for segment in block.segments), default=0) or 1.0
    rows = [[Cell(segment.label), _bar(segment.value, longest), Cell(segment.text)] for segment in block.segments]
    note = f"{block.bracket_text}."
    columns = [Column("Segment"), Column(""), Column("Time", "right")]
    return Table(block.caption, columns, rows, block.anchor, note)


@as_table.register
def _(block: Parts) -> Table:
    rows = [
        [Cell(row.label, kind="name"), Cell("; ".join(f"{part.label} {part.text}" for part in row.parts))]
        for row in block.rows
    ]
    return Table(block.caption, [Column("Device"), Column("Its time")], rows, block.anchor, block.dropped)


@as_table.register
def _(block: Ranges) -> Table:
    columns = [
        Column(""),
        Column(shortened(block.base_name, _LONGEST_TITLE), "right"),
        Column(shortened(block.candidate_name, _LONGEST_TITLE), "right"),
        Column("Change", "right"),
    ]
    rows = [
        [Cell(row.label, kind="name"), _median(row.base), _median(row.candidate), Cell(judged(row), tone=row.tone)]
        for row in block.rows
    ]
    if any(row.note for row in block.rows):
        columns.append(Column("Note", minor=True))
        rows = [[*cells, Cell(row.note)] for cells, row in zip(rows, block.rows, strict=True)]
    notes = " ".join(note for note in (block.note, block.dropped) if note)
    return Table(block.caption, columns, rows, block.anchor, notes)


def _median(run: Range | None) -> Cell:
    return Cell(UNKNOWN) if run is None else Cell(run.text, run.p50)


@as_table.register
def _(block: Histogram) -> Table:
    most = max(block.counts, default=0) or 1
    rows = [
        [Cell(f"{low:,} to {high - 1:,}"), _bar(count, most), Cell(f"{count:,}")]
        for count, low, high in zip(block.counts, block.edges, block.edges[1:], strict=False)
    ]
    bands = "; ".join(f"{band.label}: {band.text}" for band in block.bands)
    note = " ".join(part for part in (f"{bands}." if bands else "", block.note) if part)
    columns = [Column(block.x_title), Column(""), Column("Count", "right")]
    return Table(block.caption, columns, rows, block.anchor, note)


def _bar(value: float | None, whole: float) -> Cell:
    return Cell("", meter=Meter(value, whole, "count"))
