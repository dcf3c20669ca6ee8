"""How a heatmap's values become shades, and the picture of it that stands without scripts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from nsysparse.document import Heatmap, HeatView
from nsysparse.render.svg import element

SHADES = 6
_LOG_FROM = 20
"""Where the largest value is this many times the smallest, a linear scale hides most cells."""
_LEAST_SPAN = 2.0
"""A scale with a floor goes up to twice it at least, so that noise above it does not look like structure."""


@dataclass(frozen=True, slots=True)
class ShadeScale:
    """From a value to 0…1; linear from zero, or logarithmic where the values span more than a linear scale shows."""

    low: float
    high: float
    is_log: bool

    def place(self, value: float) -> float:
        """Where `value` lies between no colour (0) and full colour (1)."""
        if not self.is_log:
            return min(1.0, max(0.0, value / self.high))
        clamped = min(self.high, max(self.low, value))
        return math.log(clamped / self.low) / math.log(self.high / self.low)

    def value(self, place: float) -> float:
        """The value at a place between 0 and 1."""
        return self.low * (self.high / self.low) ** place if self.is_log else self.high * place


def shade_scale(shown: HeatView) -> ShadeScale:
    """The scale that shows the structure of these values; from its floor on, where a view has one."""
    known = [value for row in shown.values for value in row if value is not None and value > 0]
    low, high = min(known, default=1.0), max(known, default=1.0)
    if shown.floor is not None:
        return ShadeScale(shown.floor, max(high, shown.floor * _LEAST_SPAN), is_log=True)
    return ShadeScale(low, high, high > low * _LOG_FROM)


def picture(heatmap: Heatmap) -> Markup:
    """The first view's cells as one path per shade; runs of one shade are one stroke, so that 20,000 stay small."""
    first = heatmap.views[0]
    scale = shade_scale(first)
    strokes: list[list[str]] = [[] for _ in range(SHADES)]
    for y, row in enumerate(first.values):
        for shade, start, length in _runs(row, scale):
            strokes[shade].append(f"M{start} {y}.5h{length}")
    paths = [element("path", d="".join(each), class_=f"heat-{shade}") for shade, each in enumerate(strokes) if each]
    return element(
        "svg",
        element("title", f"{heatmap.caption}, {first.unit}"),
        *paths,
        class_="heat",
        viewBox=f"0 0 {max(1, len(heatmap.x))} {max(1, len(heatmap.y))}",
        preserveAspectRatio="none",
        width="100%",
        height=str(min(420, max(96, 14 * len(heatmap.y)))),
        role="img",
    )


def _runs(row: Sequence[float | None], scale: ShadeScale) -> list[tuple[int, int, int]]:
    shades = [None if value is None else min(SHADES - 1, int(scale.place(value) * SHADES)) for value in row]
    runs, start = [], 0
    for shade, group in groupby(shades):
        length = sum(1 for _ in group)
        if shade is not None:
            runs.append((shade, start, length))
        start += length
    return runs


def shade_limits(shown: HeatView) -> list[str]:
    """What each shade stands for, e.g. `up to 1.2`, in the view's unit."""
    scale = shade_scale(shown)
    return [f"{float(f'{scale.value((shade + 1) / SHADES):.2g}'):.10g}" for shade in range(SHADES)]
