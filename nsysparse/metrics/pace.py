"""How fast a decode device was while KV arrived, and while none did: its tokens, and its kernels."""

import polars as pl

from nsysparse.analysis import Distribution
from nsysparse.instants import Instants
from nsysparse.metrics.measured import distribution
from nsysparse.units import NS_PER_MS

_LEAST_KERNELS = 8
"""Of one shape, on either side, before their times are compared."""


def token_times(
    steps: pl.DataFrame, held: pl.DataFrame, receives: Instants
) -> tuple[Distribution | None, Distribution | None]:
    """Times from the end of one decode step to the end of the next, in ms, with and without KV arriving meanwhile.

    A token of a request takes that long, so both steps must hold a request in common. Where either names none, they
    count if the pause between them is no longer than the first of them. What delays a step for a newcomer delays all
    others in it, so that is part of it. A receive that only waits for its sender counts as arriving.

    Args:
        steps: Rows of `placed` that are decode steps on the device.
        held: Columns of `StepRequests`.
        receives: When KV was received on the device.

    Returns:
        The two distributions, None for one without any period.
    """
    ordered = steps.sort("process", "start_ns", "end_ns", "step_id").with_row_index("at")
    here = held.join(ordered.select("step_id", "at"), on="step_id").select("request_id", "at")
    common = here.join(here.with_columns(pl.col("at") + 1), on=["request_id", "at"], how="semi")["at"].unique()
    names = pl.col("step_id").is_in(held["step_id"].unique().implode())
    before = {name: pl.col(name).shift(1).over("process") for name in ("start_ns", "end_ns")}
    both_named = names & names.shift(1).over("process")
    close = pl.col("start_ns") - before["end_ns"] <= before["end_ns"] - before["start_ns"]
    shares = pl.when(both_named).then(pl.col("at").is_in(common.implode())).otherwise(close)
    periods = ordered.select("end_ns", since=before["end_ns"], shares=shares).filter(
        pl.col("shares") & (pl.col("end_ns") > pl.col("since"))
    )
    met = pl.Series(receives.within(periods["since"].to_numpy(), periods["end_ns"].to_numpy()), dtype=pl.Int64) > 0
    length = (periods["end_ns"] - periods["since"]) / NS_PER_MS
    return distribution(length.filter(met)), distribution(length.filter(~met))


def slowdown(work: pl.DataFrame, steps: pl.DataFrame, receives: Instants) -> tuple[float | None, int]:
    """The time of compute kernels while KV was received over that of the same kernels while none was.

    Kernels within the device's decode steps, of one name and grid. Those count as slowed of which a receive covers at
    least half; the others must not meet any. Shapes with at least 8 kernels on each side are compared by their
    medians and weighed by the slowed kernels: Σ count · median with, over Σ count · median without.

    Args:
        work: Columns of `Work`, of the device.
        steps: Rows of `placed` that are decode steps on it.
        receives: When KV was received on it.

    Returns:
        The ratio, None where no shape qualifies, and the number of slowed kernels that it rests on.
    """
    kernels = work.filter("is_compute", pl.col("shape").is_not_null()).select("shape", "start_ns", "end_ns")
    starts, ends = kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()
    length = ends - starts
    inside = Instants.covered(steps).within(starts, ends) == length
    met = receives.within(starts, ends)
    sided = pl.DataFrame(
        {
            "shape": kernels["shape"],
            "ns": length,
            "slowed": 2 * met >= length,
            "use": inside & ((met == 0) | (2 * met >= length)),
        }
    )
    slow, free = pl.col("ns").filter("slowed"), pl.col("ns").filter(~pl.col("slowed"))
    shapes = (
        sided.filter("use")
        .group_by("shape")
        .agg(count=slow.len(), free_count=free.len(), slow=slow.median(), free=free.median())
        .filter(pl.min_horizontal("count", "free_count") >= _LEAST_KERNELS)
        .sort("shape")
    )
    if shapes.is_empty():
        return None, 0
    count = pl.col("count")
    total = shapes.select(count.sum(), slow=(count * pl.col("slow")).sum(), free=(count * pl.col("free")).sum())
    used, slowed, alone = total.row(0)
    return slowed / alone, used
