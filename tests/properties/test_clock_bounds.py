"""The lines that fit equal those of a dense grid, and the printed uncertainty holds on random runs."""

from statistics import median

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from two_hosts import run

from nsysparse.clocks import solve
from nsysparse.clocks.feasible import Points, line_under, lower_hull, spread
from nsysparse.clocks.offset import Offset

WHOLE = st.integers(-20, 20)
CLOUD = st.lists(st.tuples(WHOLE, WHOLE), max_size=9)
ENDS = (-20.0, 20.0)
STEEPEST = 4.0


def points(cloud: list[tuple[int, int]]) -> Points:
    return Points(np.array([at for at, _ in cloud], dtype=float), np.array([value for _, value in cloud], dtype=float))


@example(
    above=[(-1, 1), (-6, 2)], below=[(-1, 1)], steepest=STEEPEST
)  # they touch, and rounding lost all slopes but one
@given(CLOUD, CLOUD, st.sampled_from([0.0, STEEPEST]))
def test_the_spread_of_lines_is_that_of_a_dense_grid(
    above: list[tuple[int, int]], below: list[tuple[int, int]], steepest: float
) -> None:
    slopes = np.linspace(-steepest, steepest, 4001)
    upper = np.min([value - slopes * at for at, value in above], axis=0) if above else np.full(4001, np.inf)
    lower = np.max([value - slopes * at for at, value in below], axis=0) if below else np.full(4001, -np.inf)
    fits = upper >= lower
    found = spread(points(above), points(below), steepest, ENDS)
    if found is None:
        assert not (upper > lower + 1e-6).any()
        return
    step = 2 * steepest / 4000 * 45  # what the grid may miss
    for place, end in enumerate(ENDS):
        if fits.any():
            assert found.high[place] >= (upper + slopes * end)[fits].max() - 1e-9
            assert found.low[place] <= (lower + slopes * end)[fits].min() + 1e-9
        near = upper >= lower - step
        assert found.high[place] <= (upper + slopes * end)[near].max() + step
        assert found.low[place] >= (lower + slopes * end)[near].min() - step


@given(CLOUD.filter(bool))
def test_no_point_lies_under_the_hull(cloud: list[tuple[int, int]]) -> None:
    hull, every = lower_hull(points(cloud)), points(cloud)
    assert (np.interp(every.at, hull.at, hull.value) <= every.value + 1e-9).all()
    assert set(zip(hull.at, hull.value, strict=True)) <= set(zip(every.at, every.value, strict=True))
    assert (np.diff(hull.value) / np.diff(hull.at) == np.sort(np.diff(hull.value) / np.diff(hull.at))).all()


@given(CLOUD.filter(bool))
def test_the_line_under_points_is_the_nearest_of_a_grid(cloud: list[tuple[int, int]]) -> None:
    every = points(cloud)
    height, slope = line_under(every, STEEPEST)
    gaps = every.value - height - slope * every.at
    assert (gaps >= -1e-9).all()
    slopes = np.linspace(-STEEPEST, STEEPEST, 401)
    heights = np.min(every.value - slopes[:, None] * every.at, axis=1)
    rest = (every.value - heights[:, None] - slopes[:, None] * every.at).sum(axis=1)
    assert gaps.sum() <= rest.min() + 1e-6


BIG = st.integers(-(10**13), 10**13)
SLOPE = st.floats(-1e-4, 1e-4)


@given(BIG, BIG, BIG, SLOPE, st.integers(0, 10**9))
def test_a_way_there_and_back_loses_no_more_than_a_nanosecond(
    at: int, offset: int, instant: int, slope: float, uncertainty: int
) -> None:
    line = Offset("a", "b", at, offset, slope, uncertainty, "estimated", one_sided=False, knows_drift=True)
    assert abs(line.to_base(instant + line.at(instant)) - instant) <= 1
    assert pl.select(line.expr_to_base(pl.lit(instant, pl.Int64))).item() == line.to_base(instant)
    # 1e13 ns are known to 0.002 ns as a float, and composing rounds once more.
    whole = line.then(line.reversed())
    assert abs(whole.at(instant)) <= 2
    assert whole.uncertainty_ns == 2 * uncertainty


@pytest.mark.parametrize("both_ways", [True, False])
def test_the_true_offset_is_within_the_uncertainty(both_ways: bool) -> None:  # noqa: FBT001
    """At both ends of 100 random runs, each way.

    Within it are 98 runs with transfers both ways, of median uncertainty 35 us (31 to 82), and 99 with one way, of
    median 103 us (34 to 1,740). Those without are where the GPUs' clocks are over 30 us apart, or no message was
    undelayed.
    """
    held, widths = 0, []
    for seed in range(100):
        how = run(seed, two_way=both_ways)
        span = how.spans()
        known = {f"t{place}": clock.anchor for place, clock in enumerate(how.clocks)}
        clocks = solve(known, how.frame(), span=span)
        (row,) = clocks.rows(["t0", "t1"])
        assert (row.method, row.one_sided) == ("estimated", not both_ways)
        offset = clocks.between("t0", "t1")
        assert offset is not None
        held += max(abs(offset.at(at) - how.offset_at(at)) for at in span["t0"]) <= offset.uncertainty_ns
        widths.append(offset.uncertainty_ns)
    assert held >= 95
    assert median(widths) < (100_000 if both_ways else 500_000)
    assert max(widths) < 5_000_000
