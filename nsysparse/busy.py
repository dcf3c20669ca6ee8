"""When compute ran on which device: parts of one frame, cut out without grouping millions of rows by texts."""

from itertools import pairwise

import polars as pl

_KEY = ["trace_id", "device"]


def by_device(compute: pl.DataFrame) -> dict[tuple[str, str], pl.DataFrame]:
    """The rows of each device of each trace, in their order.

    Args:
        compute: Columns of `Compute`; where the rows of a device follow on each other, as there, nothing is copied.
    """
    changes = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in _KEY)
    firsts = compute.select(_KEY).with_row_index("row").filter(changes)
    found: dict[tuple[str, str], list[pl.DataFrame]] = {}
    runs = pairwise([*firsts["row"].to_list(), compute.height])
    for (row, stop), key in zip(runs, firsts.select(_KEY).iter_rows(), strict=True):
        found.setdefault(key, []).append(compute.slice(row, stop - row))
    return {key: pl.concat(parts) for key, parts in found.items()}
