"""Time on the wire and time spent waiting for the peer, per transfer.

An NCCL kernel runs from its launch to its end, whether its peer is there or not. Only while both kernels run can the
message cross: that is `wire_ns`, the rest of the kernel's time is `peer_wait_ns`. Both are times, not a rate: what was
buffered before the second kernel began crossed outside it (see `metrics.rates` for rates).

A kernel that serves several transfers has one wire time: while any of its peers was there. It is shared among its
transfers as its time is, so wire and waiting of each add up to its time, exactly.
"""

import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.exchanges import sure_to_meet
from nsysparse.frames import GROUP
from nsysparse.intervals import union_lengths
from nsysparse.kinds import COPIES, NCCL
from nsysparse.sharing import divide
from nsysparse.sides import other_side

WINDOW, MIN_DURATION, OWN_INTERVAL = "window", "min-duration", "own-interval"


def windows(met: pl.DataFrame) -> pl.DataFrame:
    """When both sides were there: `trace_id`, `group_key`, `start_ns`, `end_ns`, a row as often as a group met another.

    Args:
        met: From `exchanges`.

    Only what is proven to have met, or by position; not what was over before the other side began.
    """
    present = sure_to_meet(met).filter(pl.col("both_present_ns") > 0)
    window = {
        "start_ns": pl.max_horizontal("a_start_ns", "b_start_ns"),
        "end_ns": pl.min_horizontal("a_end_ns", "b_end_ns"),
    }
    ends = [present.select("trace_id", group_key=f"{end}_group_key", **window) for end in ("a", "b")]
    return pl.concat(ends)


def with_wire(transfers: pl.DataFrame, present: pl.DataFrame) -> pl.DataFrame:
    """Add `wire_ns`, `wire_basis`, `wire_reason`, `wire_uncertainty_ns` and `peer_wait_ns`.

    Args:
        transfers: Paired, with their shares of time.
        present: Their `windows`.

    Returns:
        The same rows in the same order. `wire_reason` says why `wire_ns` is null. `wire_uncertainty_ns` is how far the
        clocks of the two devices may be apart, where a window rests on both.
    """
    alone = pl.col("transport") != NCCL
    called = (pl.col("interval_kind") == "call").fill_null(value=False)
    own = alone & pl.col("start_ns").is_not_null() & ~called
    groups = _groups(transfers, present)
    known = transfers.join(groups, on=GROUP, how="left", maintain_order="left")
    shared = divide(
        known.filter((pl.col("kernel_ops") > 1) & pl.col("group_wire_ns").is_not_null()),
        total=pl.col("group_wire_ns").first(),
        weight="time_ns",
    ).rename({"part": "shared_wire_ns"})
    wired = known.join(shared, on="transfer_id", how="left", maintain_order="left").with_columns(
        wire_ns=pl.when(own).then("time_ns").otherwise(
            pl.when(pl.col("kernel_ops") > 1).then("shared_wire_ns").otherwise("group_wire_ns")
        )
    )  # fmt: skip
    has_wire = pl.col("wire_ns").is_not_null()
    return wired.with_columns(
        wire_basis=pl.when(own).then(pl.lit(OWN_INTERVAL)).when(has_wire).then("group_basis"),
        wire_uncertainty_ns=pl.when(own).then(pl.lit(0, pl.Int64)).when(has_wire).then("group_uncertainty_ns"),
        wire_reason=pl.when(has_wire)
        .then(None)
        .when(pl.col("start_ns").is_null())
        .then(pl.lit("no-interval"))
        .when(called)
        .then(pl.lit("call-only"))
        .otherwise(pl.col("group_reason").fill_null("unpaired")),
        # A host interval does not show whether it waited; a copy waits for nobody.
        peer_wait_ns=pl.when(own & ~pl.col("transport").is_in(COPIES))
        .then(None)
        .otherwise(pl.col("time_ns") - pl.col("wire_ns")),
    ).drop("group_wire_ns", "group_basis", "group_uncertainty_ns", "group_reason", "shared_wire_ns")


def _groups(transfers: pl.DataFrame, present: pl.DataFrame) -> pl.DataFrame:
    """Per group of kernels `group_wire_ns`, its basis and uncertainty, or the reason why there is none."""
    served = transfers.filter(
        (pl.col("transport") == NCCL) & pl.col("group_key").is_not_null() & pl.col("start_ns").is_not_null()
    )
    remote = served.filter(~pl.col("is_self").fill_null(value=False))
    partner = _partners(transfers)
    sides = remote.join(partner, on="transfer_id", how="left")
    window = pl.min_horizontal("end_ns", "far_end_ns") - pl.max_horizontal("start_ns", "far_start_ns")
    one_clock = pl.col("far_trace_id") == pl.col("trace_id")
    facts = sides.with_columns(window=pl.when(one_clock).then(window), one_clock=one_clock)
    tally = facts.group_by(GROUP).agg(
        any_paired=pl.col("pair_id").is_not_null().any(),
        paired=(pl.col("pair_id").is_not_null() & pl.col("far_start_ns").is_not_null()).all(),
        proven=pl.col("pairing_proof").is_not_null().all(),
        one_clock=pl.col("one_clock").fill_null(value=False).all(),
        eager=(pl.col("window") <= 0).any(),
        far_groups=pl.struct("far_trace_id", "far_group_key").n_unique(),
        far_ns=pl.col("far_kernels_ns").first(),
        sure_bytes=pl.col("bytes").sum(),
        staging=pl.max_horizontal("staging_bytes", "far_staging_bytes").max(),
        same_gpu=(pl.col("gpu") == pl.col("far_gpu")).fill_null(value=False).all(),
    )
    sized = served.group_by(GROUP).agg(
        sized=pl.col("bytes").is_not_null().all() | (pl.len() == 1), own_ns=pl.col("time_ns").sum()
    )
    rows = sized.join(tally, on=GROUP, how="left").join(union_lengths(present, GROUP), on=GROUP, how="left")
    # Without a pair there is a window only where kernels met by position.
    positional = pl.col("union_ns").is_not_null() & ~pl.col("any_paired").fill_null(value=False)
    by_window = pl.col("paired") & pl.col("proven") & pl.col("one_clock") & ~pl.col("eager")
    by_length = (
        pl.col("paired") & pl.col("proven") & ~pl.col("one_clock") & (pl.col("far_groups") == 1)
        & (pl.col("sure_bytes") > pl.col("staging"))
    )  # fmt: skip
    raw = pl.when(positional | by_window).then("union_ns").when(by_length).then("far_ns")
    return rows.select(
        *GROUP,
        # Kernels of a group may overlap or leave pauses: never more than they ran.
        group_wire_ns=pl.when(pl.col("sized")).then(pl.min_horizontal(raw, "own_ns")),
        group_basis=pl.when(positional | by_window).then(pl.lit(WINDOW)).when(by_length).then(pl.lit(MIN_DURATION)),
        group_uncertainty_ns=pl.when(positional | (by_window & ~pl.col("same_gpu")))
        .then(pl.lit(CLOCK_SLACK_NS, pl.Int64))
        .when(by_window)
        .then(pl.lit(0, pl.Int64)),
        group_reason=pl.when(~pl.col("paired").fill_null(value=False) & ~positional)
        .then(pl.lit("unpaired"))
        .when(~pl.col("proven") & ~positional)
        .then(pl.lit("unproven"))
        .when(~pl.col("sized"))
        .then(pl.lit("sizes-unknown"))
        .when(pl.col("one_clock") & pl.col("eager"))
        .then(pl.lit("eager"))
        .otherwise(pl.lit("two-clocks")),
    ).with_columns(
        # min_horizontal passes over nulls: without a basis there is no wire time.
        group_wire_ns=pl.when(pl.col("group_basis").is_not_null()).then("group_wire_ns")
    )


def _partners(transfers: pl.DataFrame) -> pl.DataFrame:
    """Per paired transfer its other side: file, device, interval, group and the length of the group's kernels."""
    lengths = (
        transfers.filter(pl.col("group_key").is_not_null()).group_by(GROUP).agg(kernels_ns=pl.col("time_ns").sum())
    )
    return other_side(
        transfers.join(lengths, on=GROUP, how="left"),
        "trace_id", "gpu", "start_ns", "end_ns", "group_key", "staging_bytes", "kernels_ns",
    )  # fmt: skip
