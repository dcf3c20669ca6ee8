"""Rates that a trace proves: each a lower bound, so that neither waiting nor buffering can turn into a lie.

NCCL buffers up to `staging_bytes` between two ranks: so much of a message may have crossed before its receive began, or
may still be on its way when its send ends. What surely crossed when:

- all of a message between the start of its send and the end of its receive, where these two surely met;
- all but the buffers while both were there, or while one side of it ran;
- all of it within the interval of a transport that buffers nothing (copies, NIXL, UCX, annotations).

So each movement has `sure_bytes` over an interval. Clocks of two devices differ by up to 30 us: that is added to the
time, never taken from it.
"""

import polars as pl

from nsysparse.alignment import CLOCK, CLOCK_SLACK_NS, END_TOLERANCE_NS, SIZES, START
from nsysparse.intervals import union_lengths
from nsysparse.kinds import COPIES, NCCL
from nsysparse.metrics.measured import Measured
from nsysparse.sides import other_side, perhaps_local

LINK = ["link_key", "transport"]
UNKNOWN_END = "unknown"
# A rank of a communicator that was not recorded: the same number may be another device's in another one.
NAMELESS_PEER = "peer:"
WIRE, DELIVERED, KERNEL = "wire", "delivered", "kernel"
# A longer pause between one side's transfers starts a new burst: the buffers may have filled or drained meanwhile.
PAUSE_NS = 1_000_000
LEAST_IN_BURST = 3
MANY = 8
# Beyond this share of a rate's time that only allows for clocks, the true rate may well be higher.
MOST_ALLOWED = 0.1
_CERTAIN = (START, SIZES, "name")
# Two that only end together may be neighbours in a sequence: then what exceeds the buffers took no longer than this.
_COINCIDENCE_NS = END_TOLERANCE_NS + 2 * CLOCK_SLACK_NS


def with_sure(ended: pl.DataFrame, measured: Measured) -> pl.DataFrame:
    """Movements with what surely crossed in which interval.

    Args:
        ended: Movements.
        measured: All transfers, for the other side of each pair.

    Returns:
        The movements with `sure_bytes`, `sure_start_ns`, `sure_end_ns` on the clock of `sure_clock` (a trace), all null
        where no such interval is known; `slack_ns`, what of the interval allows for clocks; `tight`: whether it holds
        no waiting (the receiver was there first, or nobody waits for anybody, as in copies) and no work for another
        link; and `sure_gb_s`, what all movements of the link prove that have the same interval.
    """
    other = other_side(measured.transfers, "trace_id", "gpu", "start_ns", "end_ns", "staging_bytes", "kernel_ops")
    met = (
        ended.filter(pl.col("transport") == NCCL)
        .join(other, on="transfer_id")
        .filter(pl.col("start_ns").is_not_null() & pl.col("far_start_ns").is_not_null() & pl.col("bytes").is_not_null())
    )
    one_clock = pl.col("far_trace_id") == pl.col("trace_id")
    certain = pl.col("pairing_proof").is_in(_CERTAIN)
    parts = [
        _on_one_clock(met.filter(one_clock & certain)),
        _by_ends(met.filter(one_clock & (pl.col("pairing_proof") == CLOCK))),
        _on_two_clocks(met.filter(~one_clock & certain)),
        _alone(ended.filter((pl.col("transport") != NCCL) & ~called())),
    ]
    sure = ended.join(pl.concat(parts), on="transfer_id", how="left", maintain_order="left")
    local = perhaps_local(measured.transfers).with_columns(is_local=pl.lit(value=True))
    sure = sure.join(local, on="transfer_id", how="left", maintain_order="left")
    alone = (pl.len().over("trace_id", "group_key", *LINK) == pl.col("kernel_ops")) | (
        pl.col("kernel_ops").fill_null(1) == 1
    )
    window = [*LINK, "sure_clock", "sure_start_ns", "sure_end_ns"]
    together = pl.when(has_unknown_end()).then("sure_bytes").otherwise(pl.col("sure_bytes").sum().over(window))
    return sure.with_columns(
        tight=pl.col("tight") & alone & ~has_unknown_end(),
        sure_gb_s=pl.when(pl.col("sure_bytes").is_not_null() & ~proves_nothing()).then(
            together / (pl.col("sure_end_ns") - pl.col("sure_start_ns"))
        ),
    )


def proves_nothing() -> pl.Expr:
    """Movements that prove no rate: of groups of which more kernels may lie beyond the capture, or perhaps local."""
    return pl.col("is_last").fill_null(value=False) | pl.col("is_local").fill_null(value=False)


def has_unknown_end() -> pl.Expr:
    """Movements of a link that may be several: where an end is unknown, rates must not add up over what ran at once."""
    return pl.any_horizontal(
        (pl.col(end) == UNKNOWN_END) | pl.col(end).str.starts_with(NAMELESS_PEER) for end in ("src", "dst")
    )


def called() -> pl.Expr:
    """Movements of which only a call was recorded: what it started may have taken longer."""
    return (pl.col("interval_kind") == "call").fill_null(value=False)


def _slack() -> pl.Expr:
    same = (pl.col("gpu") == pl.col("far_gpu")).fill_null(value=False)
    return pl.when(same).then(pl.lit(0, pl.Int64)).otherwise(pl.lit(CLOCK_SLACK_NS, pl.Int64))


def _beyond_buffers() -> pl.Expr:
    """Bytes of a pair that the buffers between its ends could not hold."""
    return pl.col("bytes") - pl.max_horizontal("staging_bytes", "far_staging_bytes")


def _sides(met: pl.DataFrame) -> pl.DataFrame:
    receiving = pl.col("side") == "recv"
    return met.with_columns(
        send_start=pl.when(receiving).then("far_start_ns").otherwise("start_ns"),
        recv_start=pl.when(receiving).then("start_ns").otherwise("far_start_ns"),
        recv_end=pl.when(receiving).then("end_ns").otherwise("far_end_ns"),
    )


def _sure(
    rows: pl.DataFrame,
    nbytes: pl.Expr,
    between: tuple[pl.Expr, pl.Expr],
    clock: str,
    tight: pl.Expr,
    slack: pl.Expr | None = None,
) -> pl.DataFrame:
    start, end = between
    found = rows.select(
        "transfer_id",
        slack_ns=pl.lit(0, pl.Int64) if slack is None else slack,
        sure_bytes=nbytes,
        sure_start_ns=start,
        sure_end_ns=end,
        sure_clock=pl.col(clock),
        tight=tight,
    )
    return found.filter((pl.col("sure_bytes") > 0) & (pl.col("sure_end_ns") > pl.col("sure_start_ns")))


def _on_one_clock(met: pl.DataFrame) -> pl.DataFrame:
    """All bytes from the send's start on, or those beyond the buffers from the later start on: the greater rate."""
    sides = _sides(met)
    both = pl.max_horizontal("send_start", "recv_start")
    end = pl.col("recv_end") + _slack()
    rest = _beyond_buffers()
    # bytes / (end - send_start) < rest / (end - both), without dividing
    late = rest.cast(pl.Float64) * (end - pl.col("send_start")) > pl.col("bytes").cast(pl.Float64) * (end - both)
    return _sure(
        sides,
        pl.when(late).then(rest).otherwise("bytes"),
        (pl.when(late).then(both).otherwise("send_start"), end),
        "trace_id",
        # A kernel that serves others too may have been busy with these.
        (pl.col("recv_start") <= pl.col("send_start")) & pl.col("kernel_ops").eq_missing(pl.col("far_kernel_ops")),
        _slack(),
    )


def _by_ends(met: pl.DataFrame) -> pl.DataFrame:
    """Beyond the buffers, from the later start on, and no less than a wrong match by one could have taken.

    Only of pairs that end together: most of a lane do, which proves the lane, not those that do not.
    """
    together = (pl.col("end_ns") - pl.col("far_end_ns")).abs() <= END_TOLERANCE_NS
    return _sure(
        _sides(met.filter(together)),
        _beyond_buffers(),
        (pl.max_horizontal("send_start", "recv_start"), pl.col("recv_end") + _COINCIDENCE_NS),
        "trace_id",
        pl.lit(value=False),
    )


def _on_two_clocks(met: pl.DataFrame) -> pl.DataFrame:
    """Beyond the buffers, within the shorter of the two kernels."""
    own = pl.col("end_ns") - pl.col("start_ns")
    shorter = own <= pl.col("far_end_ns") - pl.col("far_start_ns")
    rest = _beyond_buffers()
    own_span, far_span = (pl.col("start_ns"), pl.col("end_ns")), (pl.col("far_start_ns"), pl.col("far_end_ns"))
    return pl.concat(
        [
            _sure(met.filter(shorter), rest, own_span, "trace_id", pl.lit(value=False)),
            _sure(met.filter(~shorter), rest, far_span, "far_trace_id", pl.lit(value=False)),
        ]
    )


def _alone(rows: pl.DataFrame) -> pl.DataFrame:
    rest = pl.col("bytes") - pl.col("staging_bytes")
    # Several copies with pauses between them took longer than they ran.
    tight = pl.col("transport").is_in(COPIES) & (pl.col("time_ns") == pl.col("end_ns") - pl.col("start_ns"))
    return _sure(rows, rest, (pl.col("start_ns"), pl.col("end_ns")), "trace_id", tight)


def wire_rate() -> pl.Expr:
    """GB/s that a movement proves of its link while both sides were there."""
    return pl.col("sure_gb_s")


def kernel_rate() -> pl.Expr:
    """GB/s over a movement's own interval, waiting included; null where buffers could have held all of it."""
    sure, span = pl.col("bytes") - pl.col("staging_bytes"), pl.col("end_ns") - pl.col("start_ns")
    return pl.when((span > 0) & (sure > 0) & ~called() & ~proves_nothing()).then(sure / span)


def link_rates(sure: pl.DataFrame) -> pl.DataFrame:
    """What each link proves, by the best basis that rests on enough of its bytes, else on the most.

    Args:
        sure: Movements from `with_sure`, with the columns `LINK`, without first uses.

    Returns:
        `LINK`, `headline_gb_s`, `headline_basis`, `headline_is_bound` (whether the true rate may well be higher),
        `headline_bytes_share` (of the link's bytes it rests on), `delivered_gb_s` and `link_gb_s`, for links that prove
        any.
    """
    sized = _in_units(sure.filter(pl.col("bytes").is_not_null() & ~proves_nothing()))
    # A part of the movements proves the link's rate as well as all of them; only it must not be a few lucky ones.
    rows = pl.concat(
        [
            _wire(sized.filter("tight")).with_columns(
                _least_of_tight(), is_bound=pl.col("allowed") > MOST_ALLOWED, order=0
            ),
            _wire(sized).with_columns(is_bound=pl.lit(value=True), least=0.5, order=1),
            _delivered(sized).with_columns(is_bound=pl.lit(value=True), least=0.5, order=2),
            _kernel(sized).with_columns(is_bound=pl.lit(value=True), least=0.5, order=3),
        ],
        how="diagonal",
    ).join(sized.group_by(LINK).agg(all_bytes=pl.col("bytes").sum()), on=LINK)
    ranked = rows.with_columns(share=pl.col("covered") / pl.col("all_bytes")).with_columns(
        enough=pl.col("share") >= pl.col("least")
    )
    best = (
        ranked.sort(
            *LINK,
            pl.col("enough").not_(),
            pl.when("enough").then(pl.col("order").cast(pl.Float64)).otherwise(-pl.col("share")),
            "order",
        )
        .group_by(LINK, maintain_order=True)
        .agg(
            headline_gb_s=pl.col("rate").first(),
            headline_basis=pl.col("basis").first(),
            headline_is_bound=pl.col("is_bound").first(),
            headline_bytes_share=pl.col("share").first(),
        )
    )
    for basis, name in ((DELIVERED, "delivered_gb_s"), (KERNEL, "link_gb_s")):
        of_basis = rows.filter(pl.col("basis") == basis).select(*LINK, pl.col("rate").alias(name))
        best = best.join(of_basis, on=LINK, how="left")
    return best


def _in_units(sized: pl.DataFrame) -> pl.DataFrame:
    """Add `apart`: tells apart what must not be added up at once, the movements of a link with an unknown end."""
    return sized.with_columns(apart=pl.when(has_unknown_end()).then("transfer_id"))


def _least_of_tight() -> pl.Expr:
    """The share of a link's bytes from which on its tight movements speak for it: less when they are many."""
    return pl.when(pl.col("count") >= MANY).then(0.1).otherwise(0.25).alias("least")


def _based(rows: pl.DataFrame, basis: str) -> pl.DataFrame:
    """Rows with `sure`, `ns` and `covered` per link as rates of one basis."""
    proven = rows.filter((pl.col("sure") > 0) & (pl.col("ns") > 0))
    return proven.select(*LINK, "covered", "count", basis=pl.lit(basis), rate=pl.col("sure") / pl.col("ns"))


def _wire(sized: pl.DataFrame) -> pl.DataFrame:
    """Sure bytes over the union of their intervals: what shares a window counts it once.

    Where an end is unknown, movements at the same time may have crossed several links: there their times add up.

    Returns:
        Rates of one basis, with `allowed`: the share of the time that only allows for clocks.
    """
    known = sized.filter(pl.col("sure_bytes").is_not_null())
    place = [*LINK, "sure_clock", "apart"]

    def covered(end: pl.Expr, name: str) -> pl.DataFrame:
        spans = known.select(*place, start_ns="sure_start_ns", end_ns=end)
        return union_lengths(spans, place).group_by(LINK).agg(pl.col("union_ns").sum().alias(name))

    sums = known.group_by(LINK).agg(sure=pl.col("sure_bytes").sum(), covered=pl.col("bytes").sum(), count=pl.len())
    times = covered(pl.col("sure_end_ns"), "ns").join(
        covered(pl.max_horizontal("sure_start_ns", pl.col("sure_end_ns") - pl.col("slack_ns")), "bare_ns"), on=LINK
    )
    joined = sums.join(times, on=LINK)
    allowed = joined.select(*LINK, allowed=1 - pl.col("bare_ns") / pl.col("ns"))
    return _based(joined, WIRE).join(allowed, on=LINK)


def bursts(sized: pl.DataFrame) -> pl.DataFrame:
    """Rates of one side's consecutive movements, from the end of the first to the end of the last.

    Args:
        sized: Movements with bytes.

    Returns:
        `LINK`, `sure`, `ns`, `covered`, a row per burst of at least three that proves a rate. Counted are movements
        that began when the first had ended, less what the buffers may have held then.
    """
    lane, runs = _runs(_in_units(sized))
    first_end = pl.col("end_ns").min().over(*lane, "run")
    later = runs.with_columns(first_end=first_end).filter(pl.col("start_ns") >= pl.col("first_end"))
    found = _less_buffers(later, lane, start=pl.col("first_end").first())
    return found.filter((pl.col("count") >= LEAST_IN_BURST - 1) & (pl.col("sure") > 0) & (pl.col("ns") > 0))


def _delivered(sized: pl.DataFrame) -> pl.DataFrame:
    return _based(_summed(bursts(sized)), DELIVERED)


def _kernel(sized: pl.DataFrame) -> pl.DataFrame:
    """All of one side's runs, less what the buffers may hold at a run's edge."""
    lane, runs = _runs(sized)
    found = _less_buffers(runs, lane, start=pl.col("start_ns").min())
    return _based(_summed(found.filter((pl.col("sure") > 0) & (pl.col("ns") > 0))), KERNEL)


def _summed(found: pl.DataFrame) -> pl.DataFrame:
    return found.group_by(LINK).agg(pl.col("sure", "ns", "covered", "count").sum())


def _runs(sized: pl.DataFrame) -> tuple[list[str], pl.DataFrame]:
    """Movements numbered by `run`: the same side of a link on one clock, without long pauses."""
    lane = [*LINK, "trace_id", "side", "apart"]
    timed = sized.filter(pl.col("start_ns").is_not_null() & ~called())
    pause = pl.col("start_ns") - pl.col("end_ns").cum_max().shift(1).over(lane)
    runs = timed.sort("start_ns", "end_ns", "transfer_id").with_columns(
        run=(pause > PAUSE_NS).fill_null(value=False).cum_sum().over(lane)
    )
    return lane, runs


def _less_buffers(runs: pl.DataFrame, lane: list[str], start: pl.Expr) -> pl.DataFrame:
    """Per run its sure bytes, time since `start`, covered bytes and number of movements."""
    run = [*lane, "run"]
    # Each communicator has buffers of its own to each peer; without these names every message may have had its own.
    nameless = pl.col("communicator").is_null() | pl.col("peer").is_null()
    buffers = (
        runs.group_by(*run, "communicator", "peer")
        .agg(
            each=pl.when(nameless).then(pl.col("staging_bytes")).sum(),
            one=pl.col("staging_bytes").max(),
        )
        .group_by(run)
        .agg(spare=pl.max_horizontal("each", "one").sum())
    )
    return (
        runs.group_by(run)
        .agg(covered=pl.col("bytes").sum(), ns=pl.col("end_ns").max() - start, count=pl.len())
        .join(buffers, on=run, nulls_equal=True)
        .with_columns(sure=pl.col("covered") - pl.col("spare"))
    )
