"""Stacked columns, one per category, as SVG."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from nsysparse.document import ColumnChart
from nsysparse.render.figures.scale import mark, ticks
from nsysparse.render.svg import chart, element, horizontal, label, percent, pixels, rect
from nsysparse.units import significant

_TOP, _ROOM, _BASE, _COLUMNS_HEIGHT = 26, 16, 216, 254
"""In pixels; above a column that is cut there is room for its number."""
_PLOT_LEFT, _PLOT_RIGHT = 7.0, 100.0
_WIDEST_COLUMN, _TICKS_WIDTH = 64, 48
"""In pixels. A chart of few columns is only as wide as they need, so that it is not mostly empty."""
_MOST_IN_NARROW = 12
_FEW = 8
_CUT_FROM = 2.5
"""A column this many times as high as nine tenths of the others is cut, so that the others can be read."""


def columns(chart_: ColumnChart) -> Markup:
    """Stacked columns from zero; a column that would flatten the rest is cut, marked and written out."""
    count = len(chart_.labels)
    narrow = _TICKS_WIDTH + count * _WIDEST_COLUMN if count <= _MOST_IN_NARROW else None
    left = _PLOT_LEFT if narrow is None else _TICKS_WIDTH / narrow * 100
    totals = [sum(series.values[at] for series in chart_.series) for at in range(count)]
    top = _visible_top(totals)
    roof = _TOP + (_ROOM if max(totals, default=0) > top else 0)
    step = (_PLOT_RIGHT - left) / max(count, 1)
    marks = [label(0, 14, chart_.y_title, look="tick")]
    for tick in ticks(top):
        y = _height(tick, top, roof)
        marks += [
            horizontal(y, left, _PLOT_RIGHT, "grid"),
            label(left, y + 4, f"{tick:g}", anchor="end", look="tick", dx=-8),
        ]
    for at, total in enumerate(totals):
        marks.append(_column(chart_, at, total, (top, roof), left + at * step, step * 0.8))
    marks.append(horizontal(_BASE, left, _PLOT_RIGHT, "axis"))
    every = max(1, math.ceil(count / 10))
    marks += [
        label(left + (at + 0.4) * step, _BASE + 16, chart_.labels[at], anchor="middle", look="tick")
        for at in range(0, count, every)
    ]
    marks.append(label(_PLOT_RIGHT, _BASE + 34, chart_.x_title, anchor="end", look="tick"))
    return chart(_COLUMNS_HEIGHT, *marks, label=chart_.caption, width=narrow)


def _visible_top(totals: Sequence[float]) -> float:
    ordered = sorted(totals)
    largest = ordered[-1] if ordered else 0
    if len(ordered) >= _FEW:
        usual = ordered[int(len(ordered) * 0.9) - 1]
        if usual and largest > usual * _CUT_FROM:
            return usual * 1.3
    return largest or 1.0


def _height(value: float, top: float, roof: float) -> float:
    return _BASE - value / top * (_BASE - roof)


def _column(chart_: ColumnChart, at: int, total: float, ends: tuple[float, float], x: float, width: float) -> Markup:
    top, roof = ends
    parts = [f"{series.label} {significant(series.values[at])}" for series in chart_.series if series.values[at]]
    below = 0.0
    marks = []
    for series in chart_.series:
        low, high = min(below, top), min(below + series.values[at], top)
        below += series.values[at]
        if high > low:
            y = _height(high, top, roof)
            marks.append(rect(x, width, y, _height(low, top, roof) - y, look=mark(series.meaning)))
    if total > top:
        slashes = element("path", d="M-2 9l14 -6M-2 14l14 -6", class_="break")
        marks += [
            element("svg", slashes, x=percent(x), y=pixels(roof + 10), width="12", height="18", overflow="visible"),
            label(x, roof - 6, f"{chart_.x_title} {chart_.labels[at]}: {significant(total)}", look="lbl strong"),
        ]
    unit = chart_.y_title.partition(",")[0]
    title = element("title", f"{chart_.x_title} {chart_.labels[at]}: {significant(total)} {unit} ({', '.join(parts)})")
    return element("g", title, *marks)
