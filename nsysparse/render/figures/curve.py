"""Rate against message size: dots with whiskers, fitted curves, and both references."""

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from nsysparse.document import Fit, RateBySize, SizeRate
from nsysparse.render.figures.scale import ticks
from nsysparse.render.svg import chart, element, horizontal, label, percent, pixels, plane, rect, vertical
from nsysparse.units import byte_scale, human_bytes, significant

_TOP, _BASE, _HEIGHT = 34, 262, 306
_LEFT, _RIGHT = 5.5, 98.0
_DOTS = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5.2L5 3.8H-5z",
    "M0 -5.6L5.6 0L0 5.6L-5.6 0z",
    "M0 5.2L5 -3.8H-5z",
    "M-1.8 -5h3.6v3.2h3.2v3.6h-3.2v3.2h-3.6v-3.2h-3.2v-3.6h3.2z",
)
"""So many series have a shape and a colour of their own, as colour alone is no sign; then they repeat."""
_STEPS = 48
_SAME = 2
"""Fewer points make no line."""
_MOST_TICKS = 7
_FINE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
"""Of a power of ten, for axes of less than one."""
_MARGIN = 1.25


def curve(shown: RateBySize) -> Markup:
    """Sizes on a logarithmic axis, rates from zero."""
    points = [point for series in shown.series for point in series.points]
    low = min(point.size for point in points) / _MARGIN
    high = max(point.size for point in points) * _MARGIN
    largest = max(max(point.spread.p90, point.spread.p50) for point in points)
    fitted = [_by_line(series.fit, high) for series in shown.series if series.fit is not None]
    top = max(largest, shown.line_rate or 0, shown.practical or 0, *fitted) * 1.08

    def across(size: float) -> float:
        return _LEFT + math.log(size / low) / math.log(high / low) * (_RIGHT - _LEFT)

    def up(rate: float) -> float:
        return _BASE - rate / top * (_BASE - _TOP)

    marks = [label(0, 14, "GB/s", look="tick")]
    for tick in ticks(top):
        marks += [
            horizontal(up(tick), _LEFT, _RIGHT, "grid"),
            label(_LEFT, up(tick) + 4, f"{tick:g}", anchor="end", look="tick", dx=-8),
        ]
    marks.append(horizontal(_BASE, _LEFT, _RIGHT, "axis"))
    for size in _size_ticks(low, high):
        marks += [
            vertical(across(size), _BASE, _BASE + 4, "axis"),
            label(across(size), _BASE + 18, _round(size), anchor="middle", look="tick"),
        ]
    marks.append(label(_RIGHT, _HEIGHT - 4, "message size, logarithmic", anchor="end", look="tick"))
    marks += _references(shown, up)
    marks += _ceiling(shown.ceiling, low, high, top)
    for place, series in enumerate(shown.series):
        if series.fit is not None:
            marks.append(_fitted(series.fit, low, high, top, series_look(place)))
        marks += [_point(point, across, up, place) for point in series.points]
    marks += _named(shown, up)
    said = "; ".join(f"{significant(point.spread.p50)} GB/s at {human_bytes(point.size)}" for point in points[:12])
    return chart(_HEIGHT, *marks, label=f"{shown.caption}: {said}")


def series_look(place: int) -> str:
    """The style class of a series' dots and strokes."""
    return f"series-{place % len(_DOTS)}"


def dot(place: int, x: str, y: float, *, is_bound: bool = False) -> Markup:
    """The dot of a series, at `x` as SVG writes it and `y` in pixels."""
    look = f"pt {series_look(place)}{' pt-bound' if is_bound else ''}"
    shape = element("path", d=_DOTS[place % len(_DOTS)], class_=look)
    return element("svg", shape, x=x, y=pixels(y), width="1", height="1", overflow="visible")


def _round(size: int) -> str:
    scale = byte_scale([size])
    return f"{size / scale.per_unit:g} {scale.unit}"


def _size_ticks(low: float, high: float) -> list[int]:
    """Powers of ten of bytes, with others between where they are few; at least two unless the sizes nearly agree."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in (_FINE, (1, 2, 5), (1, 3), (1,)):
        found = [round(factor * 10**power) for power in range(first, last + 1) for factor in factors]
        inside = [size for size in dict.fromkeys(found) if low <= size <= high and size >= 1]
        if len(inside) <= _MOST_TICKS:
            break
    return inside


def _references(shown: RateBySize, up: Callable[[float], float]) -> list[Markup]:
    marks = []
    if shown.line_rate and shown.practical:
        top, bottom = up(shown.line_rate), up(shown.practical)
        marks.append(rect(_LEFT, _RIGHT - _LEFT, top, bottom - top, look="hatch-soft"))
    if shown.practical:
        marks += [horizontal(up(shown.practical), _LEFT, _RIGHT, "pracref")]
    if shown.line_rate:
        marks += [horizontal(up(shown.line_rate), _LEFT, _RIGHT, "lineref")]
    return marks


def _named(shown: RateBySize, up: Callable[[float], float]) -> list[Markup]:
    """The names of both references, over what crosses them."""
    marks = []
    if shown.practical:
        said = f"practical ceiling {shown.practical:.4g}"
        marks.append(label(_LEFT, up(shown.practical) + 16, said, look="lbl halo", dx=6))
    if shown.line_rate:
        marks.append(label(_LEFT, up(shown.line_rate) - 6, f"line rate {shown.line_rate:.4g}", look="lbl halo", dx=6))
    return marks


def _ceiling(curve: Sequence[tuple[int, float]], low: float, high: float, top: float) -> list[Markup]:
    """The rates that a benchmark reached, straight between two sizes on this axis, as far as it went."""
    inside = [(size, rate) for size, rate in curve if low <= size <= high]
    if len(inside) < _SAME:
        return []
    places = [
        f"{math.log(size / low) / math.log(high / low) * 1000:.1f} {1000 - min(rate / top, 1) * 1000:.1f}"
        for size, rate in inside
    ]
    path = element("path", element("title", "measured ceiling"), d="M" + "L".join(places), class_="fit ceiling")
    return [plane(_LEFT, _RIGHT - _LEFT, _TOP, _BASE - _TOP, path)]


def _fitted(fit: Fit, low: float, high: float, top: float, look: str) -> Markup:
    """The curve that the line through times makes of rates."""
    places = []
    for step in range(_STEPS + 1):
        size = low * (high / low) ** (step / _STEPS)
        rate = _by_line(fit, size)
        places.append(f"{step / _STEPS * 1000:.0f} {1000 - rate / top * 1000:.1f}")
    path = element("path", element("title", fit.text), d="M" + "L".join(places), class_=f"fit {look}")
    return plane(_LEFT, _RIGHT - _LEFT, _TOP, _BASE - _TOP, path)


def _by_line(fit: Fit, size: float) -> float:
    """The rate that the line makes of a size; it only rises."""
    return size / (fit.fixed_ns + size / fit.gb_s)


def _point(point: SizeRate, across: Callable[[float], float], up: Callable[[float], float], place: int) -> Markup:
    x, spread = across(point.size), point.spread
    bound = "≥ " if point.is_bound else ""
    said = (
        f"{human_bytes(point.size)}, {point.count:,} messages: p50 {bound}{significant(spread.p50)} GB/s,"
        f" p10 {significant(spread.p10)}, p90 {significant(spread.p90)}"
    )
    return element(
        "g",
        element("title", said),
        vertical(x, up(spread.p90), up(spread.p10), f"whisker thin {series_look(place)}"),
        dot(place, percent(x), up(spread.p50), is_bound=point.is_bound),
    )
