"""Horizontal bars from zero: throughput against both references, and the small bars that stand beside a number."""

from collections.abc import Callable

from markupsafe import Markup

from nsysparse.document import Bar, BarChart, Meter
from nsysparse.render.figures.scale import mark
from nsysparse.render.names import shortened
from nsysparse.render.svg import chart, element, horizontal, label, rect, vertical
from nsysparse.units import significant

_AXIS_ROOM = 1.2
"""Room right of the largest value or whisker, for the label of its reference line."""
_BAR_TOP, _BAR_HEIGHT, _BAR_ROW = 22, 24, 68
_LEFT_SHARE, _RIGHT_SHARE = 30, 30
"""Below these percentages of the axis there is no room for a label left of a mark."""
_METER = 14


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
    marks += references(bar.practical, bar.line_rate, at, top=_BAR_TOP, bottom=_BAR_TOP + _BAR_HEIGHT)
    return chart(_BAR_ROW, *marks, label=f"{shortened(bar.label, 80)}: {bar.text}. {bar.verdict}".rstrip())


def references(
    practical: float | None, line_rate: float | None, at: Callable[[float], float], *, top: float, bottom: float
) -> list[Markup]:
    """Lines from above `top` to below `bottom` where the references lie, dashed and solid, and their names below."""
    marks = []
    names = []
    if practical:
        marks.append(vertical(at(practical), top - 1, bottom + 6, "pracref"))
        names.append(f"ceiling {practical:.3g}")
    if line_rate:
        marks.append(vertical(at(line_rate), top - 1, bottom + 6, "lineref"))
        names.append(f"line rate {line_rate:.4g}")
    if not names:
        return []
    right = max(at(line_rate or 0), at(practical or 0))
    is_right = right > 100 - _RIGHT_SHARE
    marks.append(
        label(
            right,
            bottom + 18,
            " · ".join(names),
            anchor="end" if is_right else "start",
            look="lbl ref",
            dx=4 if is_right else 0,
        )
    )
    return marks


def meter(shown: Meter) -> Markup:
    """A short bar on a track, with a line where a reference or the value before lies; the text beside it says more."""

    def at(value: float) -> float:
        return min(max(value / shown.end * 100, 0), 100) if shown.end else 0.0

    marks = [rect(0, 100, 3, 8, look="track")]
    if shown.value is None:
        marks.append(rect(0, 100, 3, 8, look="mark-unknown"))
    else:
        marks.append(rect(0, at(shown.value), 3, 8, look=mark(shown.meaning)))
        if shown.line is not None and shown.value > shown.line and shown.meaning == "gap":
            marks.append(rect(at(shown.line), at(shown.value) - at(shown.line), 3, 8, look="mark-worse"))
    if shown.ceiling is not None:
        marks.append(vertical(at(shown.ceiling), 0, _METER, "pracref"))
    if shown.line is not None:
        marks.append(vertical(at(shown.line), 0, _METER, "lineref"))
    return chart(_METER, *marks, label="")
