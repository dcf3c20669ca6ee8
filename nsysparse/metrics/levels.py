"""Levels of detail: the same marks, merged the more the coarser, so that as many are drawn as a reader can tell apart.

At the threshold `w` a mark takes in what follows it on its lane, of its kind, before `w` ns have passed since the end of
all that it holds. Nothing is lost thereby: `busy_ns` is the time within it that is covered, `count` what it holds. At 0
only what overlaps is one mark, as it would be drawn over itself.
"""

import polars as pl

FINEST_MARKS = 15_000
"""Of the finest level at most."""
ALL_MARKS = 20_000
"""Of all levels together at most."""
COARSE_MARKS = 600
"""A level of no more is coarse enough."""
FACTOR = 4
"""From one threshold to the next."""
MARK = {
    "lane": pl.UInt32,
    "kind": pl.UInt8,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "busy_ns": pl.Int64,
    "count": pl.UInt32,
    "request": pl.UInt32,
}
"""The columns of a level's marks; `request` is null unless all that a mark holds is of one request."""

_UNIT = ["lane", "kind"]
_NEVER = (1 << 63) - 1  # the pause before the first of a lane and kind: no threshold reaches it
_THRESHOLDS = (0, *(FACTOR**power for power in range(32)))


def levels(stretches: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """Thresholds in ns and the marks that they leave, the coarsest first.

    The finest is the first of the ladder 0, 1, 4, 16, … that leaves no more than `FINEST_MARKS`. A coarser one is kept
    where it halves the marks and leaves room for others, and none beyond the first that is coarse enough.

    Args:
        stretches: `lane`, `kind`, `start_ns`, `end_ns` (end >= start), `request`, in any order; at most `FINEST_MARKS`
            different lanes and kinds.

    Returns:
        Frames with the columns `MARK`, sorted by lane, start, end and kind; no level where there is no stretch.
    """
    if stretches.is_empty():
        return []
    rows = _with_pauses(stretches)
    pauses = rows["pause"].sort()
    finest = next(each for each in _THRESHOLDS if _left(pauses, each) <= FINEST_MARKS)
    found = [(finest, _merged(rows, finest))]
    total, pauses = found[0][1].height, found[0][1]["pause"].sort()
    for threshold in (each for each in _THRESHOLDS if each > finest):
        marks = found[-1][1]
        if marks.height <= COARSE_MARKS:
            break
        if (count := _left(pauses, threshold)) <= min(marks.height // 2, (ALL_MARKS - total) * 3 // 4):
            found.append((threshold, _merged(marks, threshold)))
            total += count
    order = ["lane", "start_ns", "end_ns", "kind", "request"]
    return [(each, marks.sort(order).select(list(MARK)).cast(MARK)) for each, marks in reversed(found)]


def _with_pauses(stretches: pl.DataFrame) -> pl.DataFrame:
    """Marks of one stretch each, in order, with `pause`: since the end of all that came before on the lane and kind."""
    reach = pl.col("end_ns").cum_max().shift(1)
    parts = stretches.partition_by(_UNIT, as_dict=True)  # to sort each by two columns is faster than all by four
    return pl.concat(
        parts[unit]
        .sort("start_ns", "end_ns")
        .with_columns(
            busy_ns=(pl.col("end_ns") - pl.max_horizontal("start_ns", reach)).clip(lower_bound=0),
            count=pl.lit(1, pl.UInt32),
            pause=(pl.col("start_ns") - reach).fill_null(_NEVER),
        )
        for unit in sorted(parts)
    )


def _left(pauses: pl.Series, threshold: int) -> int:
    """How many marks a threshold leaves, of pauses in order."""
    return len(pauses) - int(pauses.search_sorted(threshold, side="left"))


def _merged(rows: pl.DataFrame, threshold: int) -> pl.DataFrame:
    """Marks in order of lane, kind and time, merged; with the pause before each."""
    if int(rows["pause"].min()) >= threshold:
        return rows
    opens = rows.with_columns(mark=(pl.col("pause") >= threshold).cum_sum())
    request = pl.col("request")
    alike = (request.null_count() == 0) & (request.min() == request.max())
    return opens.group_by("mark", maintain_order=True).agg(
        pl.col(*_UNIT, "start_ns", "pause").first(),
        pl.col("end_ns").max(),
        pl.col("busy_ns", "count").sum(),
        pl.when(alike).then(request.min()).alias("request"),
    ).drop("mark")  # fmt: skip
