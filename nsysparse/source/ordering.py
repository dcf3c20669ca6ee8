"""The total order of events: by when they began, and by all that is known of those that began together."""

from collections.abc import Sequence

import numpy as np
import polars as pl


def in_total_order(events: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """The events by these columns, nulls last; equal rows as they were given.

    Few events begin together, so only those are compared by all columns: sorting everything by a dozen columns takes
    longer than reading it.

    Args:
        events: At least the columns `order`.
        order: First an integer column without nulls.
    """
    began = events[order[0]].to_numpy()
    rows = np.argsort(began, kind="stable")
    again = began[rows[1:]] == began[rows[:-1]]
    if again.any():
        tied = np.flatnonzero(np.concatenate([[False], again]) | np.concatenate([again, [False]]))
        alike = events.select(order)[rows[tied]].with_row_index(" place")
        placed = alike.sort(*order, " place", nulls_last=True)[" place"].to_numpy()
        rows[tied] = rows[tied[placed]]
    return events[rows]
