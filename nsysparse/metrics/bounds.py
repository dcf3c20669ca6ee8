"""The rate that a trace proves: a lower bound, waiting included, that no buffering can turn into a lie.

Between the first of two kernels that met to start and the last to end, all of the message crossed: its bytes over that
span are a bound. That two met is sure only in a sequence recorded from its start. Of one side alone this is not so.
NCCL buffers up to `staging_bytes` between two ranks: these may have crossed before a receive began, or may cross after
a send ended. What exceeds them crossed while the kernel ran.
"""

import polars as pl

from nsysparse.intervals import union_lengths
from nsysparse.metrics.measured import Measured

LINK = ["link_key", "transport"]
# A longer pause between one side's kernels starts a new run: the buffers may have filled or drained meanwhile.
PAUSE_NS = 1_000_000


def with_spans(ended: pl.DataFrame, measured: Measured) -> pl.DataFrame:
    """Movements with the span in which their bytes crossed, and the bytes that may have crossed outside it.

    Args:
        ended: Movements.
        measured: All transfers, for the other side of each pair.

    Returns:
        The movements with `span_start_ns`, `span_end_ns` and `spare_bytes` (0 where two
        kernels on one clock surely met).
    """
    # By position, or where the capture may have begun between a send and its receive, the two need not have met.
    sure = pl.col("start_ns").is_not_null() & pl.col("pairing_proof").is_in(["start", "sizes"])
    sides = measured.transfers.filter(sure).select("pair_id", "trace_id", "start_ns", "end_ns", partner="transfer_id")
    met = ended.select("transfer_id", "pair_id", "trace_id", own_start="start_ns", own_end="end_ns").join(
        sides, on=["pair_id", "trace_id"]
    )
    hulls = (
        met.filter(pl.col("partner") != pl.col("transfer_id"))
        .filter(pl.col("own_start").is_not_null())
        .select(
            "transfer_id",
            hull_start=pl.min_horizontal("own_start", "start_ns"),
            hull_end=pl.max_horizontal("own_end", "end_ns"),
        )
    )
    joined = ended.join(hulls, on="transfer_id", how="left", maintain_order="left")
    return joined.with_columns(
        span_start_ns=pl.coalesce("hull_start", "start_ns"),
        span_end_ns=pl.coalesce("hull_end", "end_ns"),
        spare_bytes=pl.when(pl.col("hull_start").is_not_null()).then(0).otherwise("staging_bytes"),
    ).drop("hull_start", "hull_end")


def movement_rate() -> pl.Expr:
    """GB/s that each movement's span proves; null without size or span, or where buffers could have held all of it."""
    sure, span = pl.col("bytes") - pl.col("spare_bytes"), pl.col("span_end_ns") - pl.col("span_start_ns")
    return pl.when((span > 0) & (sure > 0)).then(sure / span)


def link_rates(spanned: pl.DataFrame) -> pl.DataFrame:
    """GB/s that each link proves, from the pairs or from one side's runs, whichever carried more bytes.

    Args:
        spanned: From `with_spans`, with the columns `LINK`.

    Returns:
        `LINK` and `bound_gb_s`, for links that prove any.
    """
    known = spanned.filter(pl.col("bytes").is_not_null() & pl.col("span_start_ns").is_not_null())
    paired, single = known.filter(pl.col("spare_bytes") == 0), known.filter(pl.col("spare_bytes") > 0)
    return (
        pl.concat([_of_pairs(paired), _of_runs(single)])
        .filter((pl.col("sure") > 0) & (pl.col("ns") > 0))
        .sort(*LINK, "sure", descending=[False, False, True])
        .group_by(LINK, maintain_order=True)
        .agg(bound_gb_s=(pl.col("sure") / pl.col("ns")).first())
    )


def _of_pairs(paired: pl.DataFrame) -> pl.DataFrame:
    spans = paired.select(*LINK, "trace_id", start_ns="span_start_ns", end_ns="span_end_ns")
    covered = union_lengths(spans, [*LINK, "trace_id"]).group_by(LINK).agg(ns=pl.col("union_ns").sum())
    return paired.group_by(LINK).agg(sure=pl.col("bytes").sum()).join(covered, on=LINK).select(*LINK, "sure", "ns")


def _of_runs(single: pl.DataFrame) -> pl.DataFrame:
    """One side's consecutive movements without long pauses, less what the buffers may hold at a run's edge."""
    lane = [*LINK, "trace_id", "side"]
    pause = pl.col("span_start_ns") - pl.col("span_end_ns").cum_max().shift(1).over(lane)
    runs = single.sort("span_start_ns", "span_end_ns", "transfer_id").with_columns(
        run=(pause > PAUSE_NS).fill_null(value=False).cum_sum().over(lane)
    )
    # Each communicator has buffers of its own to each peer; without these names every message may have had its own.
    nameless = pl.col("communicator").is_null() | pl.col("peer").is_null()
    buffers = (
        runs.group_by(*lane, "run", "communicator", "peer")
        .agg(
            pl.when(nameless).then(pl.col("spare_bytes")).sum().alias("each"),
            pl.col("spare_bytes").max().alias("one"),
        )
        .group_by(*lane, "run")
        .agg(spare=pl.max_horizontal("each", "one").sum())
    )
    sure = (
        runs.group_by(*lane, "run")
        .agg(pl.col("bytes").sum(), ns=pl.col("span_end_ns").max() - pl.col("span_start_ns").min())
        .join(buffers, on=[*lane, "run"], nulls_equal=True)
        .with_columns(sure=pl.col("bytes") - pl.col("spare"))
        .filter(pl.col("sure") > 0)
    )
    return sure.group_by(LINK).agg(pl.col("sure").sum(), pl.col("ns").sum()).select(*LINK, "sure", "ns")
