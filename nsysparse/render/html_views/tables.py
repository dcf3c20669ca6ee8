"""Tables: cells with what they sort by, and how a table is laid out where there is little room."""

from nsysparse.document import Cell, Column, Table
from nsysparse.render.figures import meter
from nsysparse.render.html_views.base import LONGEST_NAME, LONGEST_TITLE, View, coded, fields_of, view
from nsysparse.render.names import sentence, shortened, unbroken, visible

_LONGEST_SORT = 400
_WRAPS_FROM = 32
_PROSE_FROM = 60
"""A table with such a text is a list of rows on a narrow screen, as its columns would be too narrow to read."""
_TALL_FROM = 24
_COMPACT_TO = 7
"""Up to this many columns of short cells, a table is only as wide as it needs."""


@view.register
def _(block: Table) -> View:
    rows = [[cell_view(cell, column) for cell, column in zip(row, block.columns, strict=True)] for row in block.rows]
    is_compact = len(block.columns) <= _COMPACT_TO and not any(cell["look"] == "words" for row in rows for cell in row)
    return fields_of(block) | {
        "rows": rows,
        "is_tall": len(rows) > _TALL_FROM,
        "is_compact": is_compact,
        "stacks": any(cell["is_prose"] for row in rows for cell in row),
        "repeats_title": False,
    }


def cell_view(cell: Cell, column: Column) -> View:
    """A name is cut in the middle and stands whole in the title; a command or a sentence of ours wraps instead."""
    text = shown = shortened(cell.text, LONGEST_NAME) if cell.kind == "name" else sentence(cell.text)
    whole = visible(cell.text)
    if cell.kind == "words":
        shown = coded(unbroken(text))
    if column.align == "right":
        look = "r"
    elif cell.kind == "words":
        look = "words" if len(text) > _WRAPS_FROM else "word"
    else:
        look = cell.kind
    return {
        "text": shown,
        "title": shortened(cell.title or ("" if text == whole else whole), LONGEST_TITLE),
        "sort": shortened(cell.sort, _LONGEST_SORT) if isinstance(cell.sort, str) else _short(cell.sort),
        "tone": cell.tone,
        "is_code": cell.kind != "words" and bool(text),
        "look": look,
        "is_prose": cell.kind != "name" and len(text) > _PROSE_FROM,
        "svg": None if cell.meter is None else meter(cell.meter),
    }


def _short(value: float | None) -> float | None:
    """A number with as many digits as order needs: a table has thousands of them."""
    return float(f"{value:.9g}") if isinstance(value, float) else value
