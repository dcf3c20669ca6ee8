"""Divide whole numbers without losing or inventing one: the largest-remainder rule."""

from collections.abc import Sequence

import polars as pl


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Whole parts of `total` in proportion to `weights`; they add up to `total` exactly.

    Each part is rounded down, then the units that are left go to the largest remainders, the earlier of equal ones
    first. All weights zero means equal parts.

    Args:
        total: What to divide, >= 0.
        weights: Non-negative, at least one.
    """
    whole = sum(weights)
    if whole == 0:
        weights, whole = [1] * len(weights), len(weights)
    parts = [total * weight // whole for weight in weights]
    left = total - sum(parts)
    by_remainder = sorted(range(len(weights)), key=lambda index: -(total * weights[index] % whole))
    for index in by_remainder[:left]:
        parts[index] += 1
    return parts


def apportioned(rows: pl.DataFrame) -> pl.DataFrame:
    """`apportion` for many groups at once; where a group has a weight that is null, equal parts.

    Args:
        rows: `group`, `total` (the same in all rows of a group, >= 0) and `weight`, in the order that equal remainders
            go by.

    Returns:
        The rows, in no particular order, with `row` (their number) and `part` instead of `total` and `weight`.
    """
    # Products of 64-bit numbers need twice as many bits, and nothing may be rounded.
    weight, total = pl.col("weight").cast(pl.Int128), pl.col("total").cast(pl.Int128)
    whole = pl.col("weight").sum().over("group")
    return (
        rows.lazy()  # one query, as this is asked of a few rows many times
        .with_row_index("row")
        .with_columns(weight=pl.when(pl.col("weight").null_count().over("group") == 0).then(weight).otherwise(1))
        .with_columns(weight=pl.when(whole > 0).then("weight").otherwise(1))
        .with_columns(whole=whole, product=total * pl.col("weight"))
        .with_columns(part=pl.col("product") // pl.col("whole"), rest=pl.col("product") % pl.col("whole"))
        .with_columns(left=pl.col("total") - pl.col("part").sum().over("group"))
        .sort("group", "rest", "row", descending=[False, True, False])
        .with_columns(place=pl.int_range(pl.len()).over("group"))
        .with_columns(part=(pl.col("part") + (pl.col("place") < pl.col("left"))).cast(pl.Int64))
        .drop("weight", "total", "whole", "product", "rest", "left", "place")
        .collect()
    )
