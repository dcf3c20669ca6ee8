"""Two runs per row on one axis from zero: where the middle eight tenths lie as a line, the median as a mark on it."""

from collections.abc import Callable

from markupsafe import Markup

from nsysparse.document import Meaning, Range, RangeRow, Ranges
from nsysparse.render.figures.bars import references
from nsysparse.render.figures.scale import mark, side, ticks
from nsysparse.render.figures.tones import UNKNOWN, told
from nsysparse.render.names import shortened
from nsysparse.render.svg import chart, element, horizontal, label, percent, pixels, rect, vertical
from nsysparse.units import significant

_BASE_Y, _CANDIDATE_Y, _ROW, _REFERENCES = 12, 36, 48, 22
"""In pixels; the page sets its words beside both lines by the same numbers."""
_THICK = 6
_UNKNOWN = 10
_AXIS_ROOM = 1.06
_AXIS = 24
_DOT = "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z"
_AT_LEAST = "M-5 -6L6 0L-5 6z"
"""Points to where the true value may lie."""
_KEY_RING = "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"
_KEY_BEAD = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"
_KEY_AT_LEAST = "M-4 -4L5 0L-4 4z"

At = Callable[[float], float]


def ranges_end(shown: Ranges) -> float:
    """The common right end of all rows with their references, in their unit."""
    values = [
        value
        for row in shown.rows
        for run in (row.base, row.candidate)
        for value in (row.line_rate, row.practical, *((run.p50, run.p90) if run else ()))
        if value
    ]
    return max(values, default=1.0) * _AXIS_ROOM


def range_row(row: RangeRow, shown: Ranges) -> Markup:
    """The base above the candidate, and a thread from the base's median down to where the candidate's would be."""
    at = _placing(ranges_end(shown))
    height = _ROW + (_REFERENCES if row.line_rate or row.practical else 0)
    marks = _grid(shown, at)
    if row.line_rate and row.practical:
        start = at(row.practical)
        marks.append(rect(start, at(row.line_rate) - start, 0, _ROW, look="hatch-soft"))
    if row.base is not None and row.candidate is not None:
        marks.append(vertical(at(row.base.p50), _BASE_Y, _CANDIDATE_Y + _THICK, "thread"))
    marks += _run(row.base, shown.base_name, at, _BASE_Y, "mark-compute", "ring")
    marks += _run(row.candidate, shown.candidate_name, at, _CANDIDATE_Y, mark(shown.meaning), _bead(shown.meaning))
    marks += references(row.practical, row.line_rate, at, top=0, bottom=_ROW)
    return chart(height, *marks, label=f"{shortened(row.label, 80)}: {told(row)}")


def range_axis(shown: Ranges) -> Markup:
    """The ruler of all rows, from zero."""
    at = _placing(ranges_end(shown))
    marks = [horizontal(1, 0, 100, "axis"), label(0, 18, "0", look="tick")]
    for tick in ticks(ranges_end(shown)):
        marks += [
            vertical(at(tick), 1, 5, "axis"),
            label(at(tick), 18, f"{tick:g}", anchor=side(at(tick)), look="tick"),
        ]
    return chart(_AXIS, *marks, label="")


def base_mark() -> Markup:
    """The mark of a base's median, for a key."""
    return _mark("7", 5, _KEY_RING, "ring")


def candidate_mark(meaning: Meaning) -> Markup:
    """The mark of a candidate's median, for a key."""
    return _mark("7", 5, _KEY_BEAD, _bead(meaning))


def spread_mark() -> Markup:
    """The line from p10 to p90, for a key."""
    return element("rect", y=5 - _THICK // 2, width=14, height=_THICK, class_=mark("compute"))


def bound_mark() -> Markup:
    """The mark of a lower bound, for a key."""
    return _mark("7", 5, _KEY_AT_LEAST, "ring")


def _bead(meaning: Meaning) -> str:
    return f"bead {mark(meaning)}"


def _placing(end: float) -> At:
    return lambda value: min(max(value / end * 100, 0), 100)


def _grid(shown: Ranges, at: At) -> list[Markup]:
    lines = [vertical(at(tick), 0, _ROW, "grid") for tick in ticks(ranges_end(shown))]
    return [*lines, vertical(0, 0, _ROW, "axis")]


def _run(run: Range | None, name: str, at: At, y: float, line: str, look: str) -> list[Markup]:
    """One run's line and mark; what is not known is hatched over all of the axis."""
    said = shortened(name, 40)
    if run is None:
        return [rect(0, 100, y - _UNKNOWN / 2, _UNKNOWN, look="mark-unknown", title=f"{said}: {UNKNOWN}")]
    ends = [
        f"{place} {significant(value)}" for place, value in (("p10", run.p10), ("p90", run.p90)) if value is not None
    ]
    low = run.p50 if run.p10 is None else run.p10
    high = run.p50 if run.p90 is None else run.p90
    marks = [rect(0, at(low), y - 1, 2, look=line)]
    if high > low:
        marks.append(rect(at(low), at(high) - at(low), y - _THICK / 2, _THICK, look=line))
    marks.append(_mark(percent(at(run.p50)), y, _AT_LEAST if run.is_bound else _DOT, look))
    return [element("g", element("title", ", ".join([f"{said}: {run.text}", *ends])), *marks)]


def _mark(x: str, y: float, shape: str, look: str) -> Markup:
    drawn = element("path", d=shape, class_=look)
    return element("svg", drawn, x=x, y=pixels(y), width="1", height="1", overflow="visible")
