"""A line through the movements of a link: fixed cost plus bytes over rate.

Small messages are slow because each pays a fixed cost, not because the link is. The line is least squares over the
median time of each message size, of movements whose time holds no waiting for a late receiver and that had the link for
themselves: where others crossed at the same time, small messages would seem to cost what large ones do.
"""

import polars as pl

from nsysparse.metrics.rates import LINK

LEAST_SIZES, LEAST_SPREAD, LEAST_R2 = 3, 4, 0.95


def fits(sure: pl.DataFrame) -> pl.DataFrame:
    """The line of each link that has one.

    Args:
        sure: Movements from `with_sure`, without first uses.

    Returns:
        `LINK`, `fixed_cost_ns` and `fitted_gb_s`; only links with movements of at least three sizes, the largest four
        times the smallest, that lie on a rising line (R² of at least 0.95) with a cost that is not negative.
    """
    whole = (
        pl.col("tight") & (pl.col("sure_bytes") == pl.col("bytes")) & (pl.col("kernel_ops").fill_null(1) == 1)
    ).fill_null(value=False)
    points = (
        _undisturbed(sure)
        .filter(whole)
        .group_by(*LINK, "bytes")
        .agg(
            y=(pl.col("sure_end_ns") - pl.col("sure_start_ns") - pl.col("slack_ns")).median(),
            w=pl.len().cast(pl.Float64),
        )
        .with_columns(x=pl.col("bytes").cast(pl.Float64))
    )
    x, y, w = pl.col("x"), pl.col("y"), pl.col("w")
    means = points.with_columns(
        mean_x=((x * w).sum() / w.sum()).over(LINK), mean_y=((y * w).sum() / w.sum()).over(LINK)
    )
    dx, dy = x - pl.col("mean_x"), y - pl.col("mean_y")
    lines = means.group_by(LINK).agg(
        sizes=pl.len(),
        spread=x.max() / x.min(),
        sxx=(w * dx * dx).sum(),
        sxy=(w * dx * dy).sum(),
        syy=(w * dy * dy).sum(),
        mean_x=pl.col("mean_x").first(),
        mean_y=pl.col("mean_y").first(),
    )
    slope = pl.col("sxy") / pl.col("sxx")
    fixed = pl.col("mean_y") - slope * pl.col("mean_x")
    straight = pl.col("sxy") ** 2 / (pl.col("sxx") * pl.col("syy"))
    return (
        lines.filter((pl.col("sizes") >= LEAST_SIZES) & (pl.col("spread") >= LEAST_SPREAD))
        .with_columns(slope=slope, fixed=fixed, straight=straight)
        .filter((pl.col("slope") > 0) & (pl.col("fixed") >= 0) & (pl.col("straight") >= LEAST_R2))
        .select(*LINK, fixed_cost_ns=pl.col("fixed").round().cast(pl.Int64), fitted_gb_s=1 / pl.col("slope"))
    )


def _undisturbed(sure: pl.DataFrame) -> pl.DataFrame:
    """Movements during which no other of their link ran, of those on one clock."""
    place = [*LINK, "trace_id"]
    timed = sure.filter(pl.col("start_ns").is_not_null()).sort(*place, "start_ns", "end_ns", "transfer_id")
    before = pl.col("end_ns").cum_max().shift(1).over(place)
    after = pl.col("start_ns").shift(-1).over(place)
    free = (before <= pl.col("start_ns")).fill_null(value=True) & (after >= pl.col("end_ns")).fill_null(value=True)
    return timed.filter(free)
