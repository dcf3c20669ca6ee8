"""Which lines θ(t) = a + b·t keep between points above and points below, and how far they spread.

For a slope b the height a lies between `max(l - b·t)` of the points below and `min(u - b·t)` of those above. The first
is convex and the second concave in b, each bent only where b is the slope of an edge of their convex hulls (Moon,
Skelly and Towsley, INFOCOM 1999), so all extremes lie at finitely many slopes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROUNDINGS = 4  # of a product and a sum, on either side
_MOST_SIFTED = 64  # passes; what is left after them is sorted out point by point


@dataclass(frozen=True, slots=True)
class Points:
    """Values at instants, both in ns from some origin."""

    at: Floats
    value: Floats

    @classmethod
    def of(cls, *parts: tuple[Floats, Floats]) -> "Points":
        """Of several arrays of instants and values."""
        if not parts:
            return cls(np.empty(0), np.empty(0))
        return cls(*(np.concatenate([part[side] for part in parts]).astype(np.float64) for side in (0, 1)))

    def and_also(self, other: "Points") -> "Points":
        """Both."""
        return Points.of((self.at, self.value), (other.at, other.value))


@dataclass(frozen=True, slots=True)
class Spread:
    """The least and the greatest θ of all lines that fit, at two instants; infinite where nothing bounds them."""

    low: tuple[float, float]
    high: tuple[float, float]


def lower_hull(points: Points) -> Points:
    """The points whose connection from left to right lies under all others, by rising instant."""
    order = np.lexsort((points.value, points.at))
    at, value = points.at[order], points.value[order]
    first = np.ones(len(at), dtype=bool)
    first[1:] = at[1:] != at[:-1]
    at, value = at[first], value[first]
    for _ in range(_MOST_SIFTED):
        # A point on or over the line between its neighbours is no corner, whichever others go too.
        over = _turns(at, value) <= 0
        if not over.any():
            return Points(at, value)
        kept = np.concatenate([[True], ~over, [True]])
        at, value = at[kept], value[kept]
    corners: list[int] = []
    for here in range(len(at)):
        while len(corners) > 1 and _turn(at, value, corners[-2], corners[-1], here) <= 0:
            corners.pop()
        corners.append(here)
    return Points(at[corners], value[corners])


def _turns(at: Floats, value: Floats) -> Floats:
    """Above 0 where a point lies under the line between its neighbours."""
    run, rise = np.diff(at), np.diff(value)
    return np.asarray(run[:-1] * rise[1:] - rise[:-1] * run[1:])


def _turn(at: Floats, value: Floats, a: int, b: int, c: int) -> float:
    return float((at[b] - at[a]) * (value[c] - value[b]) - (value[b] - value[a]) * (at[c] - at[b]))


def spread(upper: Points, lower: Points, steepest: float, ends: tuple[float, float]) -> Spread | None:
    """How far the lines spread that lie on or under all `upper` and on or over all `lower` points.

    Args:
        upper: Points that θ does not exceed.
        lower: Points that it does not fall below.
        steepest: The greatest slope up or down.
        ends: The two instants.

    Returns:
        None where no line fits.
    """
    above, mirrored = lower_hull(upper), lower_hull(Points(lower.at, -lower.value))
    slopes = np.concatenate([_edges(above), -_edges(mirrored), [-steepest, steepest]])
    slopes = np.unique(slopes[np.abs(slopes) <= steepest])
    slopes = _where_they_fit(slopes, above, mirrored)
    if len(slopes) == 0:
        return None
    highest, lowest = _highest(above, slopes), _lowest(mirrored, slopes)
    low = tuple(float((lowest + slopes * end).min()) for end in ends)
    high = tuple(float((highest + slopes * end).max()) for end in ends)
    return Spread((low[0], low[1]), (high[0], high[1]))


def _where_they_fit(slopes: Floats, above: Points, mirrored: Points) -> Floats:
    """Those of the slopes at which some line fits, and the slopes between them from or up to which one does."""
    room = _highest(above, slopes) - _lowest(mirrored, slopes)
    # Where points above and below touch there is no room over a stretch, and rounding would decide: that lines fit
    # claims less.
    fits = room >= -_rounding(slopes, above, mirrored)
    changes = np.flatnonzero(fits[1:] != fits[:-1])
    # Between two neighbours the room is a straight line.
    part = np.clip(room[changes] / (room[changes] - room[changes + 1]), 0, 1)
    edges = slopes[changes] + part * (slopes[changes + 1] - slopes[changes])
    return np.concatenate([slopes[fits], edges])


def _rounding(slopes: Floats, *hulls: Points) -> float:
    """By how much differences of heights may be off."""
    steepest = float(np.abs(slopes).max(initial=0))
    sizes = [np.abs(hull.value).max(initial=0) + steepest * np.abs(hull.at).max(initial=0) for hull in hulls]
    return _ROUNDINGS * float(np.finfo(np.float64).eps) * float(sum(sizes))


def _edges(hull: Points) -> Floats:
    return np.asarray(np.diff(hull.value) / np.diff(hull.at), dtype=np.float64)


def _highest(above: Points, slopes: Floats) -> Floats:
    """For each slope the highest `a` under a lower hull: the corner between edges less and more steep touches first."""
    if len(above.at) == 0:
        return np.full(len(slopes), np.inf)
    corner = np.searchsorted(_edges(above), slopes)
    return np.asarray(above.value[corner] - slopes * above.at[corner])


def _lowest(mirrored: Points, slopes: Floats) -> Floats:
    return -_highest(mirrored, -slopes)


def line_under(points: Points, steepest: float) -> tuple[float, float]:
    """Of the lines on or under all points the one nearest to them in the sum: its height at 0 and its slope.

    It is the edge of the lower hull under the mean of the instants; a steeper one than allowed is turned about.
    """
    hull = lower_hull(points)
    edges = _edges(hull)
    if len(edges) == 0:
        return float(hull.value[0]), 0.0
    place = int(np.clip(np.searchsorted(hull.at, points.at.mean(), side="right") - 1, 0, len(edges) - 1))
    slope = float(np.clip(edges[place], -steepest, steepest))
    return float((hull.value - slope * hull.at).min()), slope
