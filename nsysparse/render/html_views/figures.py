"""Figures: each as SVG, with its key and the names beside it."""

from collections.abc import Sequence

from nsysparse.document import (
    BarChart,
    ColumnChart,
    Heatmap,
    HeatView,
    Histogram,
    Lanes,
    Meaning,
    Parts,
    RateBySize,
    Strip,
    Tone,
    Waterfall,
    Way,
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
    part_bar,
    row,
    series_look,
    steps,
    strip,
    throughput_bar,
    way,
)
from nsysparse.render.heat import picture, shade_key, unseen
from nsysparse.render.html_views.base import LONGEST_NAME, LONGEST_TITLE, View, fields_of, said, view
from nsysparse.render.html_views.tables import cell_view
from nsysparse.render.names import shortened, unbroken, visible

_TALL_WAYS_FROM = 40
"""More rows scroll below their heading, so that the ruler and the next section stay within reach."""
_VERDICTS: tuple[tuple[Tone, str], ...] = (("bad", "over"), ("good", "within"), ("doubt", "unresolved"))


def _key(key: Sequence[tuple[Meaning, str]]) -> list[View]:
    return [{"label": visible(text), "look": mark(meaning)} for meaning, text in key]


@view.register
def _(block: BarChart) -> View:
    end = axis_end(block)
    bars = [
        {
            "label": shortened(bar.label, LONGEST_NAME),
            "title": shortened(bar.label, LONGEST_TITLE),
            "detail": unbroken(shortened(bar.detail, 2 * LONGEST_NAME)),
            "verdict": unbroken(visible(bar.verdict)),
            "svg": throughput_bar(bar, end),
        }
        for bar in block.bars
    ]
    return fields_of(block) | {"bars": bars}


@view.register
def _(block: ColumnChart) -> View:
    key = [{"label": visible(series.label), "look": mark(series.meaning)} for series in block.series]
    return fields_of(block) | {"key": key, "svg": columns(block)}


@view.register
def _(block: Strip) -> View:
    tones = {each.tone for each in block.dots}
    key = [{"label": text, "look": f"dot dot-{tone}"} for tone, text in _VERDICTS if tone in tones]
    return fields_of(block) | {"svg": strip(block), "key": key}


@view.register
def _(block: Way) -> View:
    rows = [
        {"label": visible(segment.label), "text": visible(segment.text), "is_judged": is_judged, "svg": svg}
        for segment, is_judged, svg in steps(block)
    ]
    return fields_of(block) | {"note": shortened(block.note, LONGEST_NAME), "svg": way(block), "steps": rows}


@view.register
def _(block: Waterfall) -> View:
    axis = axis_of(block)
    rows = [
        {
            "anchor": line.anchor,
            "cells": [cell_view(cell, column) for cell, column in zip(line.cells, block.columns, strict=True)],
            "svg": row(line, axis, block.unit),
        }
        for line in block.rows
    ]
    return fields_of(block) | {
        "rows": rows,
        "is_tall": len(rows) > _TALL_WAYS_FROM,
        "axis": axis_marks(block, axis),
        "key": _key(block.key),
    }


@view.register
def _(block: Parts) -> View:
    bars = [
        {
            "label": shortened(line.label, LONGEST_NAME),
            "title": shortened(line.label, LONGEST_TITLE),
            "detail": unbroken(visible(line.detail)),
            "svg": part_bar(line),
        }
        for line in block.rows
    ]
    return fields_of(block) | {"bars": bars, "key": _key(block.key)}


@view.register
def _(block: RateBySize) -> View:
    key = [
        {"label": shortened(series.label, 2 * LONGEST_NAME), "look": series_look(place), "fit": series.fit}
        | {"dot": dot(place, "7", 5)}
        for place, series in enumerate(block.series)
    ]
    return fields_of(block) | {"svg": curve(block), "key": key}


@view.register
def _(block: Histogram) -> View:
    # A picture's note is plain text in every format: what the JSON report quotes as code stands without its marks.
    return fields_of(block) | {"svg": histogram(block), "note": said(block.note).replace("`", "")}


@view.register
def _(block: Lanes) -> View:
    return {
        "anchor": block.anchor,
        "caption": visible(block.caption),
        "note": said(block.note),
        "count": len(block.lanes),
        "svg": lanes(block),
        "key": _key(block.key),
    }


@view.register
def _(block: Heatmap) -> View:
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
        "key": [{"look": look, "label": visible(label)} for look, label in shade_key(first)],
        "goes_both_ways": first.middle is not None,
        "unseen": visible(unseen(first)),
        "svg": picture(block),
    }


def _titled(shown: HeatView) -> str:
    """A view with its unit, unless its name begins with it."""
    title, unit = visible(shown.title), visible(shown.unit)
    return title if title.startswith(unit) else f"{title}, {unit}"


def _range(labels: Sequence[str]) -> str:
    return f", {visible(labels[0])} to {visible(labels[-1])}" if labels else ""
