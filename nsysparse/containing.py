"""Which range lies around what: the innermost of the same lane (a thread, a process), found for all at once."""

from collections.abc import Hashable

import numpy as np
import polars as pl

from nsysparse.intervals import Ints, innermost_container

_NONE = np.array([], dtype=np.int64)


def innermost(
    inner: pl.DataFrame, outer: pl.DataFrame, lane: str, *, alone: bool = False, strictly: bool = False
) -> pl.DataFrame:
    """The range of the same lane that started last among those that contain each of the inner intervals.

    Args:
        inner: `item` (an id), the column `lane`, `begin`, `end`; none of the last three null.
        outer: `holder` (an id), the column `lane`, `begin`, `end`, likewise.
        lane: Thread or process.
        alone: Only where no other range of the lane is open during the inner interval.
        strictly: Only ranges that began before it: none that began in the same nanosecond, nor the interval itself.

    Returns:
        `item` and `holder`, for those that lie in one. Of equal ranges the one with the highest id holds.
    """
    holders = tuple(outer[name].to_numpy() for name in ("begin", "end", "holder"))
    begins, finishes = (inner[name].to_numpy() for name in ("begin", "end"))
    lanes = dict(_lanes(outer[lane]))
    held: list[tuple[Ints, Ints]] = [(_NONE, _NONE)]
    for key, part in _lanes(inner[lane]):
        if key not in lanes:
            continue
        rows = _outermost_first(lanes[key], *holders)
        starts, ends = (edge[rows] for edge in holders[:2])
        begin, end = begins[part], finishes[part]
        inside = innermost_container(starts, ends, begin - int(strictly), end)
        hit = inside >= 0
        if alone:
            # One of no length may begin where another ends; what begins with the item's end is not beside it.
            begun = np.searchsorted(starts, np.maximum(end, begin + 1), side="left")
            hit &= begun - np.searchsorted(np.sort(ends), begin, side="right") == 1
        held.append((part[hit], rows[inside[hit]]))
    inner_rows, outer_rows = (np.concatenate(each) for each in zip(*held, strict=True))
    return pl.DataFrame({"item": inner["item"].gather(inner_rows), "holder": outer["holder"].gather(outer_rows)})


def _lanes(lane: pl.Series) -> list[tuple[Hashable, Ints]]:
    """Each lane with the rows in it, in order; the lane of the first row comes first.

    Grouping by polars costs as much for one row as this for a hundred thousand, and traces have few threads.
    """
    keys = lane.to_numpy()
    order = np.argsort(keys, kind="stable")
    parts = np.split(order, np.flatnonzero(keys[order][1:] != keys[order][:-1]) + 1) if len(keys) else []
    return [(keys[rows[0]], rows) for rows in sorted(parts, key=lambda rows: int(rows[0]))]


def _outermost_first(rows: Ints, begin: Ints, end: Ints, holder: Ints) -> Ints:
    """The rows by begin, of equal ones the longest first, and of equal ranges the one with the highest id last."""
    starts, ends, ids = begin[rows], end[rows], holder[rows]
    same, alike = starts[1:] == starts[:-1], ends[1:] == ends[:-1]
    rises = (starts[1:] > starts[:-1]) | (same & (ends[1:] < ends[:-1])) | (same & alike & (ids[1:] > ids[:-1]))
    return rows if bool(rises.all()) else rows[np.lexsort((ids, -ends, starts))]  # as a trace has them, mostly
