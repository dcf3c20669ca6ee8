"""Levels of detail: the same marks, merged the more the coarser, so that as many are drawn as a reader can tell apart.

At the threshold `w` a mark takes in what follows it on its lane, of its kind, before `w` ns have passed since the end
of all that it holds. But for what overlaps, nothing joins a mark across a multiple of `CELL` · `w`: what comes evenly,
with pauses of one length, would be many marks below that length and a single one above. Nothing is lost: `busy_ns` is
the time within a mark that is covered, `count` is how many stretches it holds. At 0 only what overlaps is one mark.
"""

from bisect import bisect_left
from collections.abc import Iterable

import polars as pl

FINEST_MARKS = 15_000
"""Of the finest level at most."""
ALL_MARKS = 20_000
"""Of all levels together at most."""
COARSE_MARKS = 600
"""A level of no more is coarse enough."""
FACTOR = 4
"""From one threshold to the next, so that the cells of one lie within those of the next."""
CELL = 16
"""How many thresholds long what is drawn as one may be, where nothing in it overlaps."""
MARK = pl.Schema({
    "lane": pl.UInt32,
    "kind": pl.UInt32,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "busy_ns": pl.Int64,
    "count": pl.UInt32,
    "request": pl.UInt32,
})  # fmt: skip
"""The columns of a level's marks; `request` is null unless all that a mark holds is of one request."""

_UNIT = ["lane", "kind"]
_NEVER = (1 << 63) - 1  # the pause before the first of a lane and kind: no threshold reaches it
_THRESHOLDS = (0, *(FACTOR**power for power in range(30)))


def levels(stretches: pl.DataFrame, apart: Iterable[pl.DataFrame] = ()) -> list[tuple[int, pl.DataFrame]]:
    """Thresholds in ns and the marks that they leave, the coarsest first.

    The finest is the first of the ladder 0, 1, 4, 16, … that leaves no more than `FINEST_MARKS`. A coarser one is kept
    where it halves the marks and leaves room for others, and none beyond the first that is coarse enough.

    Args:
        stretches: `lane`, `kind`, `start_ns` (>= 0), `end_ns` (>= start), `request`, in any order; of at most
            `FINEST_MARKS` lanes and kinds.
        apart: Stretches of further lanes and kinds, the columns likewise, all of one in one frame: each is merged at
            once as far as no level could tell its marks apart, so that no more than one is held as rows.

    Returns:
        Frames with the columns `MARK`, sorted by lane, start, end and kind; no level where there is no stretch.
    """
    parts = [_as_coarse(_in_order(each)) for each in (stretches, *apart) if each.height]
    if not parts:
        return []
    # What leaves too many marks of a part does so of all, and marks merge to what their stretches would.
    coarsest = max(threshold for threshold, _ in parts)
    rows = pl.concat([marks for _, marks in parts])
    place = bisect_left(_THRESHOLDS, -FINEST_MARKS, lo=_THRESHOLDS.index(coarsest), key=lambda each: -_left(rows, each))
    found = [(_THRESHOLDS[place], _merged(rows, _THRESHOLDS[place]))]
    total = found[0][1].height
    for threshold in _THRESHOLDS[place + 1 :]:
        marks = found[-1][1]
        if marks.height <= COARSE_MARKS:
            break
        if (count := _left(marks, threshold)) <= min(marks.height // 2, (ALL_MARKS - total) * 3 // 4):
            found.append((threshold, _merged(marks, threshold)))
            total += count
    order = ["lane", "start_ns", "end_ns", "kind", "request"]
    return [(each, marks.sort(order).select(list(MARK)).cast(MARK)) for each, marks in reversed(found)]


def _as_coarse(rows: pl.DataFrame) -> tuple[int, pl.DataFrame]:
    """The first threshold of the ladder that leaves no more than `FINEST_MARKS`, and the marks that it leaves."""
    place = bisect_left(_THRESHOLDS, -FINEST_MARKS, key=lambda each: -_left(rows, each))
    return _THRESHOLDS[place], _merged(rows, _THRESHOLDS[place])


def _in_order(stretches: pl.DataFrame) -> pl.DataFrame:
    """Marks of one stretch each, by lane and kind, then in time.

    With `pause`, since the end of all that came before on the lane and kind, and `before`, the start of the last that
    did: the thresholds decide by these of what a mark begins with, so marks merge to what their stretches would.
    """
    reach = pl.col("end_ns").cum_max().shift(1)
    parts = stretches.partition_by(_UNIT, as_dict=True)  # to sort each by two columns is faster than all by four
    return pl.concat(
        parts[unit]
        .sort("start_ns", "end_ns")
        .with_columns(
            busy_ns=(pl.col("end_ns") - pl.max_horizontal("start_ns", reach)).clip(lower_bound=0),
            count=pl.lit(1, pl.UInt32),
            pause=(pl.col("start_ns") - reach).fill_null(_NEVER),
            before=pl.col("start_ns").shift(1).fill_null(0),
        )
        for unit in sorted(parts)
    )


def _opens(threshold: int) -> pl.Expr:
    """Whether a mark stays apart from the one before."""
    if threshold == 0:
        return pl.col("pause") >= 0
    cell, last = (pl.col(name) // (CELL * threshold) for name in ("start_ns", "before"))
    return (pl.col("pause") >= threshold) | ((pl.col("pause") >= 0) & (cell != last))


def _left(rows: pl.DataFrame, threshold: int) -> int:
    """How many marks a threshold leaves."""
    return int(rows.select(_opens(threshold).sum()).item())


def _merged(rows: pl.DataFrame, threshold: int) -> pl.DataFrame:
    """Marks merged, in their order."""
    request = pl.col("request")
    alike = (request.null_count() == 0) & (request.min() == request.max())
    marks = rows.with_columns(mark=_opens(threshold).cum_sum()).group_by("mark", maintain_order=True)
    return marks.agg(
        pl.col(*_UNIT, "start_ns", "pause", "before").first(),
        pl.col("end_ns").max(),
        pl.col("busy_ns", "count").sum(),
        pl.when(alike).then(request.min()).alias("request"),
    )
