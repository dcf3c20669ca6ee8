"""How far values lie from a middle, as shades that go two ways: none near it, and as many below as above."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from nsysparse.document import HeatView
from nsysparse.units import counted

LOOKS = ("heat-low3", "heat-low2", "heat-low1", "heat-mid", "heat-high1", "heat-high2", "heat-high3")
"""Style classes, and tokens, of the shades from the lowest values to the highest."""
EDGES = (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75)
"""Where one shade ends and the next begins, in half-widths of the scale from its middle."""
_SHARE = 0.99
"""The scale reaches as far as this share of the cells: a few far out would take the colour from all others."""
_SAME = 1e-9
_HALVES = (1, 1.2, 1.6, 2, 2.4, 2.8, 3.2, 4, 6, 8, 10)
"""Of a power of ten, with quarters that are round."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A scale from `middle` - `half` to `middle` + `half`; `beyond` cells lie outside it."""

    middle: float
    half: float
    beyond: int

    @property
    def low(self) -> float:
        """The lower end."""
        return self.middle - self.half

    @property
    def high(self) -> float:
        """The upper end."""
        return self.middle + self.half

    def shade(self, value: float) -> int:
        """The place of a value's shade in `LOOKS`."""
        return bisect_right(EDGES, (value - self.middle) / self.half)


def divergence(shown: HeatView) -> Divergence | None:
    """The scale of a view that has a middle: as wide as its values, rounded up, between its least and its most."""
    if shown.middle is None:
        return None
    middle = shown.middle
    away = sorted(abs(value - middle) for row in shown.values for value in row if value is not None)
    usual = away[math.ceil(len(away) * _SHARE) - 1] if away else 0.0
    half = min(shown.most, _rounded_up(usual) if usual > shown.least else shown.least or 1.0)
    return Divergence(middle, half, sum(distance > half for distance in away))


def _rounded_up(value: float) -> float:
    """To a number whose quarters are round, as the legend writes them."""
    unit = 10.0 ** math.floor(math.log10(value))
    return float(f"{unit * next(half for half in _HALVES if half * unit >= value * (1 - _SAME)):.10g}")


def said(scale: Divergence, value: float, unit: str = "") -> str:
    """A value on the scale, with its sign where the scale is one of changes."""
    number = f"{value:+.10g}" if scale.middle == 0 and value else f"{value:.10g}"
    return f"{number} {unit}".rstrip().replace("-", "\u2212")


def legend(shown: HeatView, scale: Divergence) -> list[str]:
    """What each shade stands for, in the order of `LOOKS`, with the unit; the ends say what it means to lie there."""
    stops = [float(f"{scale.middle + at * scale.half:.4g}") for at in (-1.0, *EDGES, 1.0)]
    spans = [f"{said(scale, low)} to {said(scale, high, shown.unit)}" for low, high in pairwise(stops)]
    if scale.beyond:
        spans[0], spans[-1] = (
            f"\u2264 {said(scale, stops[1], shown.unit)}",
            f"\u2265 {said(scale, stops[-2], shown.unit)}",
        )
    below, above = shown.ends
    if below:
        spans[0] = f"{below}: {spans[0]}"
    if above:
        spans[-1] = f"{above}: {spans[-1]}"
    return spans


def clipped(shown: HeatView, scale: Divergence) -> str:
    """How many cells lie beyond the scale, in words; empty if none."""
    if not scale.beyond:
        return ""
    ends = f"{said(scale, scale.low)} to {said(scale, scale.high, shown.unit)}"
    return f"{counted(scale.beyond, 'cell')} outside {ends}: in the deepest shade."


def colour_ticks(scale: Divergence) -> tuple[list[float], list[str]]:
    """Where a colour bar has its numbers, and what they are."""
    values = [scale.low, scale.middle, scale.high]
    texts = [said(scale, float(f"{value:.3g}")) for value in values]
    if scale.beyond:
        texts[0], texts[-1] = f"\u2264 {texts[0]}", f"\u2265 {texts[-1]}"
    return values, texts
