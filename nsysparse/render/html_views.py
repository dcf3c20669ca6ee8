"""Each block kind as the HTML template draws it: texts made visible, names shortened, figures drawn."""

import json
import re
from collections.abc import Sequence
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
    Fact,
    Facts,
    Heatmap,
    HeatView,
    Histogram,
    Lanes,
    Meter,
    Parts,
    Ranked,
    Ranking,
    RateBySize,
    Strip,
    Table,
    Tone,
    Waterfall,
    Way,
    is_command,
)
from nsysparse.render.figures import (
    axis_end,
    axis_marks,
    axis_of,
    columns,
    curve,
    dot,
    histogram,
    lanes,
    mark,
    meter,
    part_bar,
    row,
    series_look,
    steps,
    strip,
    throughput_bar,
    way,
)
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
_TALL_WAYS_FROM = 40
"""More rows scroll below their heading, so that the ruler and the next section stay within reach."""
_COMPACT_TO = 7
"""Up to this many columns of short cells, a table is only as wide as it needs."""
_MOST_FACTS_IN_A_ROW = 6
_LONGEST_NOTE, _LEAST_CLAUSE = 120, 30
_CLAUSE = re.compile(r"[:;,] ")
_VERDICTS: tuple[tuple[Tone, str], ...] = (("bad", "over"), ("good", "within"), ("doubt", "unresolved"))
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
    number, _, unit = visible(block.figure).rpartition(" ")
    text, _, command = block.text.partition(ADVICE)
    return _fields(block) | {
        "number": number or unit,
        "unit": unit if number else "",
        "glyph": _GLYPHS.get(block.tone, "?"),
        "text": _said(text),
        **_advice(command),
    }


@view.register
def _(block: Facts) -> View:
    count = len(block.items)
    rows = -(-count // _MOST_FACTS_IN_A_ROW)
    return {"facts": [_fact(fact) for fact in block.items], "per_row": -(-count // rows) if rows else 1}


def _fact(fact: Fact) -> View:
    note, more = _begun(_said(fact.note))
    return _fields(fact) | {"note": note, "more": more, "svg": None if fact.meter is None else meter(fact.meter)}


def _begun(note: str) -> tuple[str, str]:
    """A note that would tower over its neighbours as its first clause and the rest; else whole."""
    if len(note) <= _LONGEST_NOTE:
        return note, ""
    ends = [found.end() for found in _CLAUSE.finditer(note) if _LEAST_CLAUSE <= found.end() <= _LONGEST_NOTE]
    end = ends[0] if ends else note.rfind(" ", 0, _LONGEST_NOTE) + 1
    return note[:end].rstrip(), note[end:]


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
        "svg": None if cell.meter is None else meter(cell.meter),
    }


@view.register
def _(block: Ranking) -> View:
    end = max((item.cost for item in block.items if item.cost is not None), default=0.0)
    return _fields(block) | {"ranked": [_ranked(item, end) for item in block.items]}


def _ranked(item: Ranked, end: float) -> View:
    bar = Meter(item.cost, end or 1.0, item.meaning)
    return _fields(item) | {
        "is_known": item.cost is not None,
        "advice": _coded(_said(item.advice)),
        "evidence": _coded(_said(item.evidence)),
        "title": _coded(_said(item.title)),
        "svg": None if item.cost is None else meter(bar),
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
def _(block: Strip) -> View:
    tones = {dot.tone for dot in block.dots}
    key = [{"label": text, "look": f"dot dot-{tone}"} for tone, text in _VERDICTS if tone in tones]
    return _fields(block) | {"svg": strip(block), "key": key}


@view.register
def _(block: Way) -> View:
    rows = [
        {"label": visible(segment.label), "text": visible(segment.text), "is_judged": is_judged, "svg": svg}
        for segment, is_judged, svg in steps(block)
    ]
    return _fields(block) | {"note": shortened(block.note, _LONGEST_NAME), "svg": way(block), "steps": rows}


@view.register
def _(block: Waterfall) -> View:
    axis = axis_of(block)
    rows = [
        {
            "anchor": line.anchor,
            "cells": [_cell(cell, column) for cell, column in zip(line.cells, block.columns, strict=True)],
            "svg": row(line, axis, block.unit),
        }
        for line in block.rows
    ]
    return _fields(block) | {
        "rows": rows,
        "is_tall": len(rows) > _TALL_WAYS_FROM,
        "axis": axis_marks(block, axis),
        "key": [{"label": visible(text), "look": mark(meaning)} for meaning, text in block.key],
        "json": json_block(_ways_json(block)),
    }


def _ways_json(block: Waterfall) -> str:
    """What an opened row shows beside its figure."""
    return json.dumps(
        {
            "profile": block.profile_title,
            "labels": list(block.profile_labels),
            "rows": {
                line.anchor: {
                    "name": shortened(line.name, LONGEST_TITLE),
                    "segments": [
                        [each.label, mark(each.meaning), visible(each.text)]
                        for each in (*reversed(line.before), *line.after)
                    ],
                    "notes": [_said(note) for note in line.notes],
                    "profile": [None if value is None else float(f"{value:.3g}") for value in line.profile],
                }
                for line in block.rows
            },
        },
        separators=(",", ":"),
    )


@view.register
def _(block: Parts) -> View:
    bars = [
        {
            "label": shortened(line.label, _LONGEST_NAME),
            "title": shortened(line.label, LONGEST_TITLE),
            "detail": unbroken(visible(line.detail)),
            "svg": part_bar(line),
        }
        for line in block.rows
    ]
    key = [{"label": visible(text), "look": mark(meaning)} for meaning, text in block.key]
    return _fields(block) | {"bars": bars, "key": key}


@view.register
def _(block: RateBySize) -> View:
    key = [
        {"label": shortened(series.label, 2 * _LONGEST_NAME), "look": series_look(place), "fit": series.fit}
        | {"dot": dot(place, "7", 5)}
        for place, series in enumerate(block.series)
    ]
    return _fields(block) | {"svg": curve(block), "key": key}


@view.register
def _(block: Histogram) -> View:
    # A picture's note is plain text in every format: what the JSON report quotes as code stands without its marks.
    return _fields(block) | {"svg": histogram(block), "note": _said(block.note).replace("`", "")}


@view.register
def _(block: Lanes) -> View:
    from nsysparse.render.charts import lanes_json

    return {
        "anchor": block.anchor,
        "caption": visible(block.caption),
        "note": _said(block.note),
        "count": len(block.lanes),
        "svg": lanes(block),
        "key": [{"label": visible(text), "look": mark(meaning)} for meaning, text in block.key],
        "json": json_block(lanes_json(block)),
    }


@view.register
def _(block: Heatmap) -> View:
    # Plotly and numpy take a third of a second to load, and only these figures need them.
    from nsysparse.render.charts import heatmap_json

    first = block.views[0]
    return {
        "anchor": block.anchor,
        "caption": visible(block.caption),
        "unit": visible(first.unit),
        "views": [_titled(each) for each in block.views],
        "dropped": visible(block.dropped),
        "rows": len(block.y),
        "across": f"{len(block.x):,} {visible(block.x_title)}{_range(block.x_labels)}",
        "down": f"{visible(block.y_title)} {shortened(block.y[0], 20)} to {shortened(block.y[-1], 20)}",
        "limits": shade_limits(first),
        "svg": picture(block),
        "json": json_block(heatmap_json(block)),
    }


def _titled(shown: HeatView) -> str:
    """A view with its unit, unless its name begins with it."""
    title, unit = visible(shown.title), visible(shown.unit)
    return title if title.startswith(unit) else f"{title}, {unit}"


def _range(labels: Sequence[str]) -> str:
    return f", {visible(labels[0])} to {visible(labels[-1])}" if labels else ""


def json_block(text: str) -> Markup:
    """JSON that may stand inside a script element: no character of it can end the element or a line."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (escaped above)
