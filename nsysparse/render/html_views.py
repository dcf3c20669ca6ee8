"""Each block kind as the HTML template draws it: texts made visible, names shortened, figures drawn."""

from dataclasses import fields
from functools import singledispatch
from typing import Any

from markupsafe import Markup, escape

from nsysparse.analysis import ADVICE
from nsysparse.document import (
    Abstention,
    BarChart,
    Block,
    Callout,
    Cell,
    Column,
    ColumnChart,
    Definitions,
    Facts,
    Heatmap,
    Table,
    is_command,
)
from nsysparse.render.figures import axis_end, columns, mark, throughput_bar
from nsysparse.render.heat import picture, shade_limits
from nsysparse.render.names import sentence, shortened, unbroken, visible
from nsysparse.render.svg import element

View = dict[str, Any]

LONGEST_TITLE = 500
_LONGEST_NAME = 48
_LONGEST_SORT = 400
_WRAPS_FROM = 32
_PROSE_FROM = 60
"""A table with such a text is a list of rows on a narrow screen, as its columns would be too narrow to read."""
_TALL_FROM = 24
_COMPACT_TO = 7
"""Up to this many columns of short cells, a table is only as wide as it needs."""
_MOST_FACTS_IN_A_ROW = 6
_GLYPHS = {"bad": "▲", "good": "✓", "doubt": "≈"}


@singledispatch
def view(block: Block) -> View:
    """A block's own fields, as sentences; kinds that need more have their own function below."""
    return _fields(block)


def _fields(item: object) -> View:
    values = {field.name: getattr(item, field.name) for field in fields(item)}  # type: ignore[arg-type]
    return {name: _said(value) if isinstance(value, str) else value for name, value in values.items()}


def _said(text: str) -> str:
    """A sentence as it wraps on the page."""
    return unbroken(sentence(text))


def _coded(text: str) -> Markup:
    """A text of ours in which what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(element("code", part) if place % 2 else escape(part) for place, part in enumerate(parts))


@view.register
def _(block: Abstention) -> View:
    return _fields(block) | _advice(block.fix)


def _advice(advice: str) -> View:
    """A command is to be copied whole, anything else is read."""
    command = is_command(advice)
    return {"fix": visible(advice) if command else _coded(_said(advice)), "is_command": command}


@view.register
def _(block: Callout) -> View:
    number, _, unit = visible(block.figure).partition(" ")
    text, _, command = block.text.partition(ADVICE)
    return _fields(block) | {
        "number": number,
        "unit": unit,
        "glyph": _GLYPHS.get(block.tone, "?"),
        "text": _said(text),
        **_advice(command),
    }


@view.register
def _(block: Facts) -> View:
    count = len(block.items)
    rows = -(-count // _MOST_FACTS_IN_A_ROW)
    return {"facts": [_fields(fact) for fact in block.items], "per_row": -(-count // rows) if rows else 1}


@view.register
def _(block: Definitions) -> View:
    return {"terms": [_fields(item) for item in block.items]}


@view.register
def _(block: Table) -> View:
    rows = [[_cell(cell, column) for cell, column in zip(row, block.columns, strict=True)] for row in block.rows]
    is_compact = len(block.columns) <= _COMPACT_TO and not any(cell["look"] == "words" for row in rows for cell in row)
    return _fields(block) | {
        "rows": rows,
        "is_tall": len(rows) > _TALL_FROM,
        "is_compact": is_compact,
        "stacks": any(cell["is_prose"] for row in rows for cell in row),
        "repeats_title": False,
    }


def _cell(cell: Cell, column: Column) -> View:
    """A name is cut in the middle and stands whole in the title; a command or a sentence of ours wraps instead."""
    text = shown = shortened(cell.text, _LONGEST_NAME) if cell.kind == "name" else sentence(cell.text)
    whole = visible(cell.text)
    if cell.kind == "words":
        shown = _coded(unbroken(text))
    if column.align == "right":
        look = "r"
    elif cell.kind == "words":
        look = "words" if len(text) > _WRAPS_FROM else "word"
    else:
        look = cell.kind
    return {
        "text": shown,
        "title": shortened(cell.title or ("" if text == whole else whole), LONGEST_TITLE),
        "sort": shortened(cell.sort, _LONGEST_SORT) if isinstance(cell.sort, str) else cell.sort,
        "tone": cell.tone,
        "is_code": cell.kind != "words" and bool(text),
        "look": look,
        "is_prose": cell.kind != "name" and len(text) > _PROSE_FROM,
    }


@view.register
def _(block: BarChart) -> View:
    end = axis_end(block)
    bars = [
        {
            "label": shortened(bar.label, _LONGEST_NAME),
            "title": shortened(bar.label, LONGEST_TITLE),
            "detail": unbroken(shortened(bar.detail, 2 * _LONGEST_NAME)),
            "verdict": unbroken(visible(bar.verdict)),
            "svg": throughput_bar(bar, end),
        }
        for bar in block.bars
    ]
    return _fields(block) | {"bars": bars}


@view.register
def _(block: ColumnChart) -> View:
    key = [{"label": visible(series.label), "look": mark(series.meaning)} for series in block.series]
    return _fields(block) | {"key": key, "svg": columns(block)}


@view.register
def _(block: Heatmap) -> View:
    # Plotly and numpy take a third of a second to load, and only a heatmap needs them.
    from nsysparse.render.charts import heatmap_json

    return {
        "anchor": block.anchor,
        "caption": visible(block.caption),
        "unit": visible(block.unit),
        "dropped": visible(block.dropped),
        "rows": len(block.y),
        "across": f"{len(block.x):,} {visible(block.x_title)}",
        "down": f"{visible(block.y_title)} {shortened(block.y[0], 20)} to {shortened(block.y[-1], 20)}",
        "limits": shade_limits(block),
        "svg": picture(block),
        "json": json_block(heatmap_json(block)),
    }


def json_block(text: str) -> Markup:
    """JSON that may stand inside a script element: no character of it can end the element or a line."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (escaped above)
