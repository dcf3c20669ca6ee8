"""Which range lies around what: the innermost of the same lane (a thread, a process), found for all at once."""

import numpy as np
import polars as pl

from nsysparse.intervals import innermost_container


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
    lanes = {key: rows for (key,), rows in outer.group_by(lane, maintain_order=True)}
    found = [pl.DataFrame(schema={"item": inner.schema["item"], "holder": outer.schema["holder"]})]
    for (key,), part in inner.group_by(lane, maintain_order=True):
        if key not in lanes:
            continue
        rows = lanes[key].sort("begin", "end", "holder", descending=[False, True, False])
        starts, ends, begin, end = (side[edge].to_numpy() for side in (rows, part) for edge in ("begin", "end"))
        inside = innermost_container(starts, ends, begin - int(strictly), end)
        hit = inside >= 0
        if alone:
            # One of no length may begin where another ends; what begins with the item's end is not beside it.
            begun = np.searchsorted(starts, np.maximum(end, begin + 1), side="left")
            hit &= begun - np.searchsorted(np.sort(ends), begin, side="right") == 1
        holders = rows["holder"].gather(inside[hit])
        found.append(pl.DataFrame({"item": part["item"].filter(pl.Series(hit)), "holder": holders}))
    return pl.concat(found)
