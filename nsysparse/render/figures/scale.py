"""What all figures share: the class of a mark, round numbers on an axis."""

import math
from collections.abc import Sequence

from nsysparse.document import Meaning


def mark(meaning: Meaning) -> str:
    """The style class of a mark with this meaning."""
    return f"mark-{meaning}"


def ticks(top: float, most: int = 4) -> list[float]:
    """Round numbers from zero to `top`, without zero: the axis line says it."""
    if top <= 0:
        return []
    step = round_step(top, most)
    return [place * step for place in range(1, int(top / step + 1e-9) + 1)]


def round_step(span: float, most: int = 4) -> float:
    """The least round number of which no more than `most` fit into `span`."""
    step = 10.0 ** math.floor(math.log10(span / most))
    return step * next(factor for factor in (1, 2, 2.5, 5, 10) if span / (step * factor) <= most)


def usual_top(values: Sequence[float], share: float = 0.95, room: float = 1.25) -> float:
    """Where an axis may end so that few outliers do not flatten the rest: the largest, or `room` over most of them."""
    ordered = sorted(values)
    if not ordered:
        return 1.0
    usual = ordered[min(len(ordered) - 1, int(len(ordered) * share))] * room
    return min(ordered[-1], usual) or 1.0


def side(x: float, margin: float = 3.0) -> str:
    """How a text at `x` percent is anchored so that it stays inside the figure."""
    return "start" if x < margin else "end" if x > 100 - margin else "middle"
