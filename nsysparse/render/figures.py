"""The figures that stand without scripts: throughput bars and stacked columns, as SVG."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from nsysparse.document import Bar, BarChart, ColumnChart, Meaning
from nsysparse.render.names import shortened
from nsysparse.render.svg import chart, element, horizontal, label, percent, pixels, rect, vertical
from nsysparse.units import significant

_AXIS_ROOM = 1.2
"""Room right of the largest value or whisker, for the label of its reference line."""
_BAR_TOP, _BAR_HEIGHT, _BAR_ROW = 22, 24, 68
_LEFT_SHARE, _RIGHT_SHARE = 30, 30
"""Below these percentages of the axis there is no room for a label left of a mark."""

_TOP, _BASE, _COLUMNS_HEIGHT = 42, 232, 270
_PLOT_LEFT, _PLOT_RIGHT = 7.0, 100.0
_WIDEST_COLUMN, _TICKS_WIDTH = 64, 48
"""In pixels. A chart of few columns is only as wide as they need, so that it is not mostly empty."""
_MOST_IN_NARROW = 12
_FEW = 8
_CUT_FROM = 2.5
"""A column this many times as high as nine tenths of the others is cut, so that the others can be read."""


def mark(meaning: Meaning) -> str:
    """The style class of a mark with this meaning."""
    return f"mark-{meaning}"


def axis_end(chart_: BarChart) -> float:
    """The common right end of all bars of a chart with their whiskers and references, in its unit."""
    values = [
        value
        for bar in chart_.bars
        for value in (bar.value, bar.line_rate, bar.practical, bar.spread.p90 if bar.spread else None)
        if value
    ]
    return max(values, default=1.0) * _AXIS_ROOM


def throughput_bar(bar: Bar, end: float) -> Markup:
    """Observed against both references: bar to the value, whisker p10 to p90, both references named on the line."""

    def at(value: float) -> float:
        return min(max(value / end * 100, 0), 100)

    middle = _BAR_TOP + _BAR_HEIGHT / 2
    marks = [rect(0, 100, _BAR_TOP, _BAR_HEIGHT, look="track")]
    if bar.value is None:
        marks.append(rect(0, 100, _BAR_TOP, _BAR_HEIGHT, look="mark-unknown", title="unknown"))
        marks.append(label(0, 16, bar.text, look="lbl unk"))
    else:
        if bar.line_rate and bar.practical:
            start = at(bar.practical)
            marks.append(rect(start, at(bar.line_rate) - start, _BAR_TOP, _BAR_HEIGHT, look="hatch-soft"))
        look = "mark-bound" if bar.is_bound else "mark-wire"
        marks.append(rect(0, at(bar.value), _BAR_TOP + 3, _BAR_HEIGHT - 6, look=look, title=bar.text))
        if bar.spread:
            low, mid, high = at(bar.spread.p10), at(bar.spread.p50), at(bar.spread.p90)
            marks_at = (("p10", bar.spread.p10), ("p50", bar.spread.p50), ("p90", bar.spread.p90))
            said = ", ".join(f"{name} {significant(value)}" for name, value in marks_at)
            whisker = element(
                "g",
                element("title", said),
                horizontal(middle, low, high, "halo-line"),
                horizontal(middle, low, high, "whisker"),
                *(vertical(x, middle - 4, middle + 4, "whisker") for x in (low, high)),
                vertical(mid, middle - 6, middle + 6, "median"),
            )
            marks.append(whisker)
        x = at(bar.value)
        is_far = x > _LEFT_SHARE
        marks.append(label(x, 16, bar.text, anchor="end" if is_far else "start", look="lbl strong"))
    marks += _references(bar, at(bar.line_rate or 0), at(bar.practical or 0))
    return chart(_BAR_ROW, *marks, label=f"{shortened(bar.label, 80)}: {bar.text}. {bar.verdict}".rstrip())


def _references(bar: Bar, line: float, ceiling: float) -> list[Markup]:
    bottom, text = _BAR_TOP + _BAR_HEIGHT, _BAR_TOP + _BAR_HEIGHT + 18
    marks = []
    names = []
    if bar.practical:
        marks.append(vertical(ceiling, _BAR_TOP - 2, bottom + 6, "pracref"))
        names.append(f"ceiling {bar.practical:.3g}")
    if bar.line_rate:
        marks.append(vertical(line, _BAR_TOP - 4, bottom + 6, "lineref"))
        names.append(f"line rate {bar.line_rate:.4g}")
    if not names:
        return []
    right = max(line, ceiling)
    is_right = right > 100 - _RIGHT_SHARE
    marks.append(
        label(
            right,
            text,
            " · ".join(names),
            anchor="end" if is_right else "start",
            look="lbl ref",
            dx=4 if is_right else 0,
        )
    )
    return marks


def columns(chart_: ColumnChart) -> Markup:
    """Stacked columns from zero; a column that would flatten the rest is cut, marked and written out."""
    count = len(chart_.labels)
    narrow = _TICKS_WIDTH + count * _WIDEST_COLUMN if count <= _MOST_IN_NARROW else None
    left = _PLOT_LEFT if narrow is None else _TICKS_WIDTH / narrow * 100
    totals = [sum(series.values[at] for series in chart_.series) for at in range(count)]
    top = _visible_top(totals)
    step = (_PLOT_RIGHT - left) / max(count, 1)
    marks = [label(0, 14, chart_.y_title, look="tick")]
    for tick in _ticks(top):
        y = _height(tick, top)
        marks += [
            horizontal(y, left, _PLOT_RIGHT, "grid"),
            label(left, y + 4, f"{tick:g}", anchor="end", look="tick", dx=-8),
        ]
    for at, total in enumerate(totals):
        marks.append(_column(chart_, at, total, top, left + at * step, step * 0.8))
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


def _height(value: float, top: float) -> float:
    return _BASE - value / top * (_BASE - _TOP)


def _ticks(top: float, most: int = 4) -> list[float]:
    """Round numbers from zero to `top`, without zero: the axis line says it."""
    step = 10.0 ** math.floor(math.log10(top / most))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if top / (step * factor) <= most)
    return [place * step for place in range(1, int(top / step + 1e-9) + 1)]


def _column(chart_: ColumnChart, at: int, total: float, top: float, x: float, width: float) -> Markup:
    parts = [f"{series.label} {significant(series.values[at])}" for series in chart_.series if series.values[at]]
    below = 0.0
    marks = []
    for series in chart_.series:
        low, high = min(below, top), min(below + series.values[at], top)
        below += series.values[at]
        if high > low:
            y = _height(high, top)
            marks.append(rect(x, width, y, _height(low, top) - y, look=mark(series.meaning)))
    if total > top:
        slashes = element("path", d="M-2 9l14 -6M-2 14l14 -6", class_="break")
        marks += [
            element("svg", slashes, x=percent(x), y=pixels(_TOP + 10), width="12", height="18", overflow="visible"),
            label(x, _TOP - 6, f"{chart_.x_title} {chart_.labels[at]}: {significant(total)}", look="lbl strong"),
        ]
    unit = chart_.y_title.partition(",")[0]
    title = element("title", f"{chart_.x_title} {chart_.labels[at]}: {significant(total)} {unit} ({', '.join(parts)})")
    return element("g", title, *marks)
