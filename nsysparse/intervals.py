"""Interval algebra on sorted numpy arrays. Intervals are half-open [start, end) in nanoseconds.

Everything is n·log n and free of assumptions about nesting: traces hold overlapping and wrongly nested ranges.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def union_length(starts: Ints, ends: Ints) -> int:
    """Nanoseconds covered by at least one interval.

    Args:
        starts: Interval starts, any order.
        ends: Their ends, same length, each >= its start.
    """
    if len(starts) == 0:
        return 0
    order = np.argsort(starts, kind="stable")
    first, last = starts[order], np.maximum.accumulate(ends[order])
    # What an interval adds beyond all that came before it.
    covered_to = np.concatenate([first[:1], last[:-1]])
    return int(np.maximum(last - np.maximum(first, covered_to), 0).sum())


def union_lengths(intervals: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """`union_length` of the intervals of each group at once.

    Args:
        intervals: `start_ns`, `end_ns` (end >= start) and the columns `by`.
        by: What tells groups apart, at least one column.

    Returns:
        `by` and `union_ns`, a row per group, in no particular order.
    """
    ordered = intervals.sort(*by, "start_ns", "end_ns")
    # One without a recorded end covers nothing.
    unit, ends = groups_in_order(ordered, by), ordered["end_ns"].fill_null(ordered["start_ns"]).to_numpy()
    starts = np.maximum(ordered["start_ns"].to_numpy(), reach_before(unit, ends))
    added = pl.Series(np.maximum(ends - starts, 0), dtype=pl.Int64)
    firsts = ordered.with_columns(unit=pl.Series(unit), union_ns=added).group_by("unit")
    return firsts.agg(pl.col(by).first(), pl.col("union_ns").sum()).drop("unit")


def groups_in_order(ordered: pl.DataFrame, by: list[str]) -> Ints:
    """The number of each row's group, from 0, in rows that are sorted by the columns `by` (null equals null)."""
    new = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in by)
    number: Ints = ordered.select(new.cast(pl.Int64).cum_sum()).to_series().to_numpy()
    return number - number[:1]


def reach_before(unit: Ints, ends: Ints) -> Ints:
    """The latest end among the earlier intervals of the same group; for the first of a group the lowest integer.

    Args:
        unit: Numbers of groups, rising from 0.
        ends: Ends in nanoseconds, of any size: ranks take their place, so that a group's number can stand before them.
    """
    count = len(ends)
    if count == 0:
        return ends
    order = np.argsort(ends, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    highest = np.maximum.accumulate(unit * count + rank) - unit * count
    reach: Ints = np.concatenate([[np.iinfo(np.int64).min], ends[order[highest[:-1]]]])
    reach[1:][unit[1:] != unit[:-1]] = np.iinfo(np.int64).min
    return reach


def merge(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The same instants as intervals that neither touch nor overlap, in order.

    Args:
        starts: Interval starts, any order.
        ends: Their ends, same length, each >= its start.
    """
    if len(starts) == 0:
        return starts, ends
    order = np.argsort(starts, kind="stable")
    first, reach = starts[order], np.maximum.accumulate(ends[order])
    opens = np.flatnonzero(np.concatenate([[True], first[1:] > reach[:-1]]))
    last = np.concatenate([opens[1:], [len(first)]]) - 1
    return first[opens], reach[last]


def coverage(starts: Ints, ends: Ints, until: Ints) -> Ints:
    """How much of each time axis up to `until` is covered by intervals that do not overlap.

    Args:
        starts: Starts in order, from `merge`.
        ends: Their ends.
        until: Instants, any order.

    Returns:
        Nanoseconds covered before each instant; the difference of two is what is covered between them.
    """
    if len(starts) == 0:
        return np.zeros(len(until), dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(ends - starts)])
    index = np.searchsorted(starts, until, side="right")
    current = np.maximum(index - 1, 0)
    surplus = np.where(index > 0, np.maximum(ends[current] - until, 0), 0)
    covered: Ints = (before[index] - surplus).astype(np.int64)
    return covered


def open_around(starts: Ints, ends: Ints) -> Ints:
    """For intervals sorted by (start, -end): how many of the earlier ones are still open when each starts.

    For properly nested intervals this is the nesting depth. Intervals of no length hold nothing open.
    """
    lasting = ends > starts
    begun = np.concatenate([[0], np.cumsum(lasting)[:-1]]).astype(np.int64)
    # Ends of nested intervals are nearly in order, of which this way of sorting makes use.
    ended = np.searchsorted(np.sort(ends[lasting], kind="stable"), starts, side="right")
    depth: Ints = begun - ended
    return depth


def innermost_container(starts: Ints, ends: Ints, inner_starts: Ints, inner_ends: Ints) -> Ints:
    """Index of the interval with the latest start that contains each inner interval; -1 where none does.

    Args:
        starts: Container starts, sorted by (start, -end), so that of equal starts the shortest comes last.
        ends: Container ends.
        inner_starts: Starts of the intervals to place, any order.
        inner_ends: Their ends.

    "The last index before a position whose end is large enough" is answered for all inner intervals at once on a
    tree of maxima. The indices before a position split into blocks of 1, 2, 4 … read from right to left off its binary
    digits; the first block that holds an answer is then descended, the later half first.
    """
    tree = _tree_of_maxima(ends)
    before = np.searchsorted(starts, inner_starts, side="right").astype(np.int64)  # in blocks of the current height
    node = np.full(len(inner_starts), -1, dtype=np.int64)
    height_of = np.zeros(len(inner_starts), dtype=np.int64)
    searching = np.flatnonzero(before > 0)
    for height, maxima in enumerate(tree):
        block = searching[before[searching] % 2 == 1]
        hit = block[maxima[before[block] - 1] >= inner_ends[block]]
        node[hit], height_of[hit] = before[hit] - 1, height
        searching = searching[node[searching] < 0]
        before[searching] //= 2
        searching = searching[before[searching] > 0]
    for height in range(len(tree) - 1, 0, -1):
        going = np.flatnonzero((node >= 0) & (height_of == height))
        later = node[going] * 2 + 1
        lower = tree[height - 1]
        holds = (later < len(lower)) & (lower[np.minimum(later, len(lower) - 1)] >= inner_ends[going])
        node[going] = np.where(holds, later, later - 1)
        height_of[going] = height - 1
    return node


def crossings(starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which intervals overlap another one without either holding the other.

    Args:
        starts: Interval starts, sorted by (start, -end).
        ends: Their ends, each >= its start.

    Where all nest, as many begin inside an interval as end inside it: that settles nearly all threads at once.
    """
    first, stop = np.arange(len(starts)) + 1, np.searchsorted(starts, ends, side="left")
    by_end = np.argsort(ends, kind="stable")
    in_order = ends[by_end]
    opened, closed = np.searchsorted(in_order, starts, side="right"), np.searchsorted(in_order, ends, side="left")
    if bool((np.maximum(stop - first, 0) == np.maximum(closed - opened, 0)).all()):
        return np.zeros(len(starts), dtype=np.bool_)
    # One that begins inside and ends after; one that ends inside and began before.
    latest = run_extremes(ends, ends, first, stop)[1]
    earliest = run_extremes(starts[by_end], starts[by_end], opened, closed)[0]
    return ((stop > first) & (latest > ends)) | ((closed > opened) & (earliest < starts))


def _tree_of_maxima(values: Ints) -> list[Ints]:
    tree = [values]
    while len(tree[-1]) > 1:  # an odd level is padded by a value that never answers
        lower = tree[-1]
        if len(lower) % 2:
            lower = np.concatenate([lower, [np.iinfo(np.int64).min]])
        tree.append(np.maximum(lower[0::2], lower[1::2]))
    return tree


def monotone_chains(ends: Ints) -> Ints:
    """Split intervals sorted by start into as few chains as possible whose ends never fall; the chain of each.

    One thread's calls rarely overlap, so nearly always there is one chain and the loop never runs.
    """
    if _never_falls(ends):
        return np.zeros(len(ends), dtype=np.int64)
    from bisect import bisect_right

    tails: list[int] = []  # negated last ends, rising: patience sorting
    chain = np.empty(len(ends), dtype=np.int64)
    for index, end in enumerate(ends.tolist()):
        place = bisect_right(tails, -end - 1)
        if place == len(tails):
            tails.append(-end)
        else:
            tails[place] = -end
        chain[index] = place
    return chain


def run_extremes(low: Ints, high: Ints, first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Minimum of `low` and maximum of `high` over each run [first, stop) of positions.

    Runs may overlap and nest without limit: a sparse table is built one level at a time and each run is answered at
    the level of its length, so the cost is n·log n and never positions times depth. Where neither ever falls, as of
    what ran one after the other, the ends of a run hold both. Empty runs give (0, 0).
    """
    minima, maxima = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
    length = stop - first
    filled = np.flatnonzero(length > 0)
    if len(filled) == 0:
        return minima, maxima
    if _never_falls(low) and _never_falls(high):
        minima[filled], maxima[filled] = low[first[filled]], high[stop[filled] - 1]
        return minima, maxima
    level = np.frexp(length[filled].astype(np.float64))[1] - 1  # floor(log2(length)): exact below 2^53
    width = 1
    for current in range(int(level.max()) + 1):
        runs = filled[level == current]
        left, right = first[runs], stop[runs] - width
        minima[runs] = np.minimum(low[left], low[right])
        maxima[runs] = np.maximum(high[left], high[right])
        low, high = np.minimum(low[:-width], low[width:]), np.maximum(high[:-width], high[width:])
        width *= 2
    return minima, maxima


def _never_falls(values: Ints) -> bool:
    return bool((values[1:] >= values[:-1]).all())
