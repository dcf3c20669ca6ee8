"""Transfers that carry a name of their own: which send and which receive are one movement because both say so.

A name that several movements share (one tag for all messages) is none: it says only who may belong to whom.
"""

from collections import Counter

import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.kinds import ANNOTATED

NAME = "name"
MOST_DEVIATION = 0.05
"""What the sizes of two sides of one name may differ by: headers are counted on one side only."""
XFER = "xfer:"
"""Keys that an annotation gives to one transfer; tags of UCX may be constants."""
_NAMED = ["match_key", "named_src", "named_dst"]
_SIDES = ("send", "recv")


def named_pairs(transfers: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Pairs of transfers whose two sides carry the same name of their own.

    Args:
        transfers: `transfer_id`, `trace_id`, `process`, `transport`, `side`, `is_self`, `purpose`, `match_key`,
            `src_end`, `dst_end`, `node`, `bytes`, `interval_kind`, `start_ns`, `end_ns`, `call_start_ns`.
        anomalies: Counts names whose sides differ in size, and names used again whose sequences do not agree.

    Returns:
        `send`, `recv` (transfer ids), `pairing`, `proof`: null for names used again, whose k-th meet the k-th, since a
        capture that cut off the first of one side shifts them all.
    """
    met = _met(_with_names(transfers))
    same_size = (pl.col("bytes") == pl.col("bytes_right")).fill_null(value=True)
    apart = (pl.col("bytes") - pl.col("bytes_right")).abs() / pl.max_horizontal("bytes", "bytes_right")
    close = same_size | (apart <= MOST_DEVIATION).fill_null(value=True)
    # A call need not last as long as what it started, so its end says nothing of the message's.
    ended = pl.when(pl.col("interval_kind_right").ne_missing("call")).then("end_ns_right")
    began = pl.coalesce("start_ns", "call_start_ns")
    one_clock = pl.col("trace_id") == pl.col("trace_id_right")
    too_early = (one_clock & ~pl.col("is_guessed") & (ended < began - CLOCK_SLACK_NS)).fill_null(value=False)
    elsewhere = pl.col("node").ne_missing(pl.col("node_right")) | pl.col("match_key").str.starts_with(XFER)
    judged = met.with_columns(once=(pl.col("sends") == 1) & (pl.col("recvs") == 1)).with_columns(
        same_size=same_size,
        close=close,
        possible=pl.when("once").then(elsewhere & ~too_early).otherwise(
            (pl.col("sends") == pl.col("recvs"))
            & (same_size & ~too_early & pl.col("node").ne_missing(pl.col("node_right"))).all().over(_NAMED)
        ),
    )  # fmt: skip
    differ = judged.filter(pl.col("once") & pl.col("possible") & ~pl.col("same_size")).height
    if differ:
        anomalies["named-sizes-differ"] += differ
    # Of an annotation's name, one on one side may tell of the sum of several on the other: that is compared later.
    summed = pl.col("match_key").str.starts_with(XFER) & (pl.min_horizontal("sends", "recvs") == 1)
    disagreeing = judged.filter(~pl.col("once") & ~pl.col("possible") & ~summed).select(_NAMED).unique().height
    if disagreeing:
        anomalies["lanes-that-do-not-pair"] += disagreeing
    return judged.filter(pl.col("possible") & pl.col("close")).select(
        "send", "recv", pairing=pl.lit("named"), proof=pl.when("once").then(pl.lit(NAME))
    )


def _with_names(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers with a name and whether they act as send or receive, and those ends that belong to the name.

    Messages of one tag between other workers have another name. An end counts where all that carry the key know it: a
    receive may know only where it is. Ends of different transports are named by different rules, so they say nothing.
    """
    moving = ~pl.col("is_self").fill_null(value=False) & (pl.col("purpose") != "other")
    carrying = transfers.filter(pl.col("match_key").is_not_null() & (pl.col("side").ne_missing("copy") | moving))
    named = _with_roles(carrying).filter(pl.col("acts_as").is_not_null())
    comparable = pl.col("transport").n_unique().over("match_key") == 1
    by_target = comparable & pl.col("dst_end").is_not_null().all().over("match_key")
    placed = named.with_columns(named_dst=pl.when(by_target).then("dst_end"))
    known = pl.col("src_end").is_not_null().all().over("match_key", "named_dst")
    return placed.with_columns(named_src=pl.when(comparable & known).then("src_end"))


def _with_roles(named: pl.DataFrame) -> pl.DataFrame:
    """Which are sends and which receives: of a name that two processes carry once each, one is what the other is not.

    An annotation need not say its side, and a copy has both. Where neither tells, the first is taken for the send:
    `is_guessed`.
    """
    two = pl.col("match_key").str.starts_with(XFER) & (pl.len().over("match_key") == 2)  # noqa: PLR2004 (two sides)
    two &= pl.struct("trace_id", "process").n_unique().over("match_key") == 2  # noqa: PLR2004 (of two processes)
    # A copy tells nothing of another copy.
    two &= (pl.col("transport") == ANNOTATED).any().over("match_key")
    own = pl.when(pl.col("side").is_in(_SIDES)).then("side")
    # With one known side the lowest of the two is that one.
    known = own.min().over("match_key")
    other = pl.when(known == "send").then(pl.lit("recv")).when(known == "recv").then(pl.lit("send"))
    order = pl.struct("call_start_ns", "transfer_id").rank("ordinal").over("match_key")
    guessed = pl.when(order == 1).then(pl.lit("send")).otherwise(pl.lit("recv"))
    return named.with_columns(
        acts_as=pl.coalesce(own, pl.when(two).then(pl.coalesce(other, guessed))), is_guessed=two & known.is_null()
    )


def _met(named: pl.DataFrame) -> pl.DataFrame:
    """The k-th send of a name beside its k-th receive, with how many there are."""
    order = pl.struct("call_start_ns", "transfer_id").rank("ordinal")
    keyed = named.with_columns(
        k=order.over(*_NAMED, "acts_as"),
        sends=(pl.col("acts_as") == "send").sum().over(_NAMED),
        recvs=(pl.col("acts_as") == "recv").sum().over(_NAMED),
    )
    facts = ["trace_id", "node", "is_guessed", "bytes", "interval_kind", "start_ns", "end_ns", "call_start_ns"]
    sends = keyed.filter(acts_as="send").select(*_NAMED, "k", "sends", "recvs", *facts, send="transfer_id")
    receives = keyed.filter(acts_as="recv").select(*_NAMED, "k", *facts, recv="transfer_id")
    return sends.join(receives, on=[*_NAMED, "k"], nulls_equal=True)
