"""How what was dropped is noted on the row that stands."""

import polars as pl

# Protocol headers travel with the payload.
MOST_SURPLUS = 0.05


def note(text: pl.Expr) -> pl.Expr:
    """The note behind those that are there already."""
    return pl.concat_str([pl.col("evidence"), text], separator="; ", ignore_nulls=True).replace("", None)
