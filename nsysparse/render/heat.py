"""How a heatmap's values become shades, and the picture of it that stands without scripts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from nsysparse.document import Heatmap, HeatView
from nsysparse.render.divergence import LOOKS, clipped, divergence, legend
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
    """The first view's cells as one path per shade; runs of one shade are one stroke, so that 20,000 stay small.

    Where the scale has a middle, what is unknown is hatched: no shade and no blank would be unlike the middle enough.
    """
    first = heatmap.views[0]
    looks, shade = _shading(first)
    strokes: list[list[str]] = [[] for _ in looks]
    for y, row in enumerate(first.values):
        for place, start, length in _runs(row, shade):
            strokes[place].append(f"M{start} {y}.5h{length}")
    paths = [element("path", d="".join(each), class_=look) for look, each in zip(looks, strokes, strict=True) if each]
    height = str(min(420, max(96, 14 * len(heatmap.y))))
    cells = element(
        "svg",
        element("title", f"{heatmap.caption}, {first.unit}"),
        *paths,
        class_="heat",
        viewBox=f"0 0 {max(1, len(heatmap.x))} {max(1, len(heatmap.y))}",
        preserveAspectRatio="none",
        width="100%",
        height=height,
        role="img",
    )
    if first.middle is None:
        return cells
    ground = element("rect", width="100%", height="100%", class_="mark-unknown")
    return element("svg", ground, cells, class_="chart", width="100%", height=height)


def _shading(shown: HeatView) -> tuple[Sequence[str], Callable[[float], int]]:
    """Style classes of the shades, and the place among them of a value's."""
    if (both_ways := divergence(shown)) is not None:
        return LOOKS, both_ways.shade
    scale = shade_scale(shown)
    return [f"heat-{shade}" for shade in range(SHADES)], lambda value: min(SHADES - 1, int(scale.place(value) * SHADES))


def _runs(row: Sequence[float | None], shade: Callable[[float], int]) -> list[tuple[int, int, int]]:
    shades = [None if value is None else shade(value) for value in row]
    runs, start = [], 0
    for place, group in groupby(shades):
        length = sum(1 for _ in group)
        if place is not None:
            runs.append((place, start, length))
        start += length
    return runs


def shade_key(shown: HeatView) -> list[tuple[str, str]]:
    """The style class of each shade, and what it stands for, with the unit."""
    if (both_ways := divergence(shown)) is not None:
        return list(zip(LOOKS, legend(shown, both_ways), strict=True))
    return [(f"heat-{at}", f"\u2264 {limit} {shown.unit}") for at, limit in enumerate(shade_limits(shown))]


def unseen(shown: HeatView) -> str:
    """How cells look of which nothing is known, and which lie beyond the scale."""
    if (both_ways := divergence(shown)) is None:
        return "Blank: not observed."
    return f"Hatched: unknown. {clipped(shown, both_ways)}".rstrip()


def shade_limits(shown: HeatView) -> list[str]:
    """What each shade stands for, e.g. `up to 1.2`, in the view's unit."""
    scale = shade_scale(shown)
    return [f"{float(f'{scale.value((shade + 1) / SHADES):.2g}'):.10g}" for shade in range(SHADES)]
