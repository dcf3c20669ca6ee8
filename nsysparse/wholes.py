"""Transfers that together may be what the other side tells of as one: parts of a whole, compared by their sum."""

from collections.abc import Iterator

import polars as pl

from nsysparse.containing import innermost
from nsysparse.naming import MOST_DEVIATION

BY_XFER, BY_OWNER, BY_REQUEST = "xfer", "told_id", "request_text"
_PLACE = ("trace_id", "process")
_SAID = ("gpu", "rank", "peer", "xfer", "request")


def units(rows: pl.DataFrame, key: str) -> tuple[pl.DataFrame, dict[int, list[int]]]:
    """Rows of one place and direction with the same `key`, each group as one row of their sum.

    Args:
        rows: As `meeting` compares them.
        key: `BY_XFER` or `BY_REQUEST`, by which annotations group as well, or `BY_OWNER`: the range that announced the
            rows, whose parts are compared with single annotations.

    Returns:
        Rows with the same columns as far as they are compared, numbered by `transfer_id`; the ids of each one's parts.
        None where not every part has a size.
    """
    parts = rows.with_columns(unit=pl.col(key).cast(pl.String))
    if key == BY_OWNER:
        alone = pl.concat_str(pl.lit("#"), "transfer_id")
        parts = parts.with_columns(unit=pl.when("is_told").then(alone).otherwise("unit"))
    grouped = (
        parts.filter(pl.col("unit").is_not_null())
        .group_by("unit", *_PLACE, "is_told", "is_open", "is_copy", "acts_as", maintain_order=True)
        .agg(
            *(pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name) for name in _SAID),
            pl.col("transport").first(),
            pl.col("several").any(),
            pl.col("decided").all(),
            pl.col("begin").min(),
            pl.col("end").max(),
            bytes=pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum()),
            members="transfer_id",
            layer=pl.lit(None, dtype=pl.String),
        )
        .filter(pl.col("bytes").is_not_null())
        .sort("begin", pl.col("members").list.first())
        .with_row_index("transfer_id")
    )
    return grouped.drop("members"), dict(grouped.select("transfer_id", "members").iter_rows())


def contained(rows: pl.DataFrame) -> Iterator[tuple[int, list[int]]]:
    """Annotations, and what another process of their file recorded inside them that adds up to their size.

    Args:
        rows: As `meeting` compares them.

    Yields:
        The id of an annotation, and those of the parts; none twice.
    """
    sized = rows.filter(pl.col("bytes").is_not_null())
    used: set[int] = set()
    for side, other in (("recv", "send"), ("send", "recv")):
        may_be = {name: pl.col("acts_as").fill_null(name) == name for name in (side, other)}
        told = sized.filter("is_told", may_be[side], pl.col("interval_kind") == "host")
        parts = sized.filter(~pl.col("is_told"), may_be[other], pl.col("end_ns").is_not_null())
        for ident, members in _adding_up(told, parts):
            if not used & {ident, *members}:
                used |= {ident, *members}
                yield ident, members


def _adding_up(told: pl.DataFrame, parts: pl.DataFrame) -> Iterator[tuple[int, list[int]]]:
    held = innermost(
        parts.select("trace_id", "begin", "end", item="transfer_id"),
        told.select("trace_id", "begin", "end", holder="transfer_id"),
        "trace_id",
    )
    said = told.select(holder="transfer_id", said="bytes", holder_process="process")
    sums = (
        parts.select("process", "bytes", item="transfer_id")
        .join(held, on="item", maintain_order="left")
        .join(said, on="holder", maintain_order="left")
        .filter(pl.col("process") != pl.col("holder_process"))
        .group_by("holder", "process", "said", maintain_order=True)
        .agg(pl.col("bytes").sum(), "item")
    )
    fits = (pl.col("bytes") - pl.col("said")).abs() <= MOST_DEVIATION * pl.max_horizontal("bytes", "said")
    yield from sums.filter(fits).select("holder", "item").iter_rows()
