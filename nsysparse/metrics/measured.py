"""What the metrics are computed from, and how sums and unions treat what is unknown."""

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from nsysparse.analysis import DEFAULT_PURPOSE, PURPOSES, Distribution
from nsysparse.frames import Counters
from nsysparse.intervals import union_lengths
from nsysparse.kinds import COPIES

WIRE_PARTS = ("wire_ns", "peer_wait_ns", "exposed_wire_ns", "exposed_wait_ns", "overlapped_ns")
DEVICE = ["trace_id", "gpu"]
QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Measured:
    """Attributed transfers, seen three ways.

    Attributes:
        transfers: Every transfer, each side by itself.
        movements: One row per movement of the counted purposes, without copies to the own rank.
        shares: How `movements` divide over layers and requests.
        excluded: One row per movement of another purpose, without copies to the own rank.
        purposes: Those counted: kv and unknown, unless others were asked for.
        counters: What hardware counters sampled meanwhile (`nsysparse.frames.Counters`).
    """

    transfers: pl.DataFrame
    movements: pl.DataFrame
    shares: pl.DataFrame
    excluded: pl.DataFrame
    purposes: tuple[str, ...] = PURPOSES[DEFAULT_PURPOSE]
    counters: pl.DataFrame = field(default_factory=Counters.create_empty)

    @property
    def counted(self) -> pl.DataFrame:
        """Transfers of the counted purposes, each side by itself, copies to the own rank among them."""
        return self.transfers.filter(pl.col("purpose").is_in(self.purposes))

    @property
    def left_out(self) -> pl.DataFrame:
        """Transfers of other purposes, likewise."""
        return self.transfers.filter(~pl.col("purpose").is_in(self.purposes))


def select(
    transfers: pl.DataFrame,
    shares: pl.DataFrame,
    purpose: str = DEFAULT_PURPOSE,
    counters: pl.DataFrame | None = None,
) -> Measured:
    """Sort transfers into what totals count and what they leave out.

    Args:
        transfers: Columns of `Transfers`.
        shares: Columns of `Shares`.
        purpose: A key of `PURPOSES`: which purposes count.
        counters: Columns of `Counters`.
    """
    standing = transfers.filter(pl.col("is_movement") & ~pl.col("is_self").fill_null(value=False))
    counts = pl.col("purpose").is_in(PURPOSES[purpose])
    movements = standing.filter(counts)
    return Measured(
        transfers=transfers,
        movements=movements,
        shares=shares.join(movements.select("transfer_id"), on="transfer_id", how="semi"),
        excluded=standing.filter(~counts),
        purposes=PURPOSES[purpose],
        counters=Counters.create_empty() if counters is None else counters,
    )


def names_device(end: str) -> pl.Expr:
    """Whether an end (`src_end`, `dst_end`) can be a device: copies know theirs, others have it from their kernels.

    Agents and workers are called what their program likes, also like a device.
    """
    return pl.col(end).is_null() | pl.col("transport").is_in(COPIES)


def known_sum(values: pl.Series) -> int | None:
    """Sum of the known values: 0 of nothing, None where some are unknown and the others add up to nothing."""
    total = int(values.sum())
    return None if values.null_count() and not total else total


def known_sum_expr(column: str) -> pl.Expr:
    """`known_sum` inside a group_by."""
    total = pl.col(column).sum()
    return pl.when((total != 0) | (pl.col(column).null_count() == 0)).then(total).alias(column)


def busy(intervals: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Time covered by at least one interval per device, and of the devices the longest.

    Args:
        intervals: `trace_id`, `gpu`, `start_ns`, `end_ns` and the columns `by`; rows without an interval
            cover nothing.
        by: What to tell apart; empty for one number over all.

    Returns:
        `by` and `busy_ns`, a row for each group with at least one interval.
    """
    timed = intervals.filter(pl.col("start_ns").is_not_null())
    per_device = union_lengths(timed, [*by, *DEVICE]).rename({"union_ns": "busy_ns"})
    if not by:
        return per_device.select(pl.col("busy_ns").max())
    return per_device.group_by(by).agg(pl.col("busy_ns").max())


def busy_total(intervals: pl.DataFrame) -> int | None:
    """`busy` over all intervals; None when none has a time."""
    value = busy(intervals, [])["busy_ns"][0]
    return None if value is None else int(value)


def distribution(values: pl.Series) -> Distribution | None:
    """Percentiles of the known values, linear between ranks; None when there are none."""
    known = values.drop_nulls()
    if not len(known):
        return None
    marks = {name: _real(known.quantile(q, "linear")) for name, q in QUANTILES.items()}
    return Distribution(count=len(known), **marks, min=_real(known.min()), max=_real(known.max()))


def distributions(rows: pl.DataFrame, by: list[str], column: str) -> pl.DataFrame:
    """Percentiles of the known values of one column per group, as a struct column of its name.

    Groups without values have no row; `distribution_of` makes a `Distribution` of a struct.
    """
    values = pl.col(column)
    marks = [values.quantile(q, "linear").alias(name) for name, q in QUANTILES.items()]
    extremes = [values.min().alias("min"), values.max().alias("max"), values.len().alias("count")]
    found = rows.filter(values.is_not_null()).group_by(by).agg(*marks, *extremes)
    return found.select(*by, pl.struct(pl.exclude(by)).alias(column))


def distribution_of(marks: dict[str, Any] | None) -> Distribution | None:
    """What a row of `distributions` holds; None where a group has no row."""
    return Distribution(**marks) if marks else None


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def steady(movements: pl.DataFrame) -> pl.DataFrame:
    """Movements that count in rates: without first uses, which pay for connection set-up."""
    return movements.filter(~pl.col("is_first_use").fill_null(value=False))
