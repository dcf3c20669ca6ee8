"""Counts between edges on a logarithmic axis, with bands of their own meaning on the same axis."""

import math
from collections.abc import Callable

from markupsafe import Markup

from nsysparse.document import Band, Histogram
from nsysparse.render.figures.scale import side
from nsysparse.render.svg import chart, horizontal, label, rect, vertical

_TOP, _BASE, _HEIGHT = 56, 220, 262
_LEFT, _RIGHT = 1.0, 99.0
_MOST_TICKS = 14
_INSIDE_FROM = 22
"""Pixels; a lower column has its count above it."""
_NOTHING = 0.5
"""Where a bin of nothing begins: zero has no place on a logarithmic axis, but what is counted there must be seen."""


def histogram(shown: Histogram) -> Markup:
    """Hollow columns: what they stand on, the bands, must be seen through them."""
    first = max(shown.edges[0], 1)
    low, high = first / 1.15, float(shown.edges[-1])
    for band in shown.bands:
        low, high = min(low, max(band.low, 1) / 1.2), max(high, band.high * 1.2)
    if not shown.edges[0]:
        low = min(low, _NOTHING)
    span = math.log(high / low) or 1.0

    def across(value: float) -> float:
        return _LEFT + math.log(min(max(value, low), high) / low) / span * (_RIGHT - _LEFT)

    most = max(shown.counts, default=0) or 1
    marks = [mark for place, band in enumerate(shown.bands) for mark in _band(band, across, place)]
    for count, start, end in zip(shown.counts, shown.edges, shown.edges[1:], strict=False):
        if not count:
            continue
        height = count / most * (_BASE - _TOP)
        x = across(start)
        title = f"{start:,} to {end - 1:,}: {count:,}"
        marks.append(rect(x, across(end) - x, _BASE - height, height, look="bin", title=title))
        y = _BASE - height + 16 if height > _INSIDE_FROM else _BASE - height - 5
        marks.append(label((x + across(end)) / 2, y, f"{count:,}", anchor="middle", look="lbl halo"))
    marks.append(horizontal(_BASE, 0, 100, "axis"))
    every = max(1, math.ceil(len(shown.edges) / _MOST_TICKS))
    for edge in shown.edges[::every]:
        x = across(max(edge, low))
        marks += [vertical(x, _BASE, _BASE + 4, "axis"), label(x, _BASE + 18, f"{edge:,}", anchor=side(x), look="tick")]
    marks.append(label(100, _HEIGHT - 6, shown.x_title, anchor="end", look="tick"))
    bands = "; ".join(f"{band.label} {band.text}" for band in shown.bands)
    return chart(_HEIGHT, *marks, label=f"{shown.caption}: {sum(shown.counts):,}. {bands}".rstrip(". "))


def _band(band: Band, across: Callable[[float], float], place: int) -> list[Markup]:
    left, right = across(band.low), across(band.high)
    middle = (left + right) / 2
    anchor = side(middle, 12)
    at = left if anchor == "start" else right if anchor == "end" else middle
    y = 12 if place % 2 == 0 else 34
    return [
        rect(left, max(right - left, 0.3), y + 20, _BASE - y - 20, look=f"band band-{band.tone}"),
        label(at, y, band.label, anchor=anchor, look="lbl strong halo"),
        label(at, y + 15, band.text, anchor=anchor, look="tick halo"),
    ]
