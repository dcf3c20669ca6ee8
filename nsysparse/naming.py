"""Transfers that carry a name of their own: which send and which receive are one movement because both say so.

A name that several movements share (one tag for all messages) is none: it says only who may belong to whom.
"""

from collections import Counter

import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS

NAME = "name"
MOST_DEVIATION = 0.05
"""What the sizes of two sides of one name may differ by: headers are counted on one side only."""
XFER = "xfer:"
"""Keys that an annotation gives to one transfer; tags of UCX may be constants."""
_NAMED = ["match_key", "named_src", "named_dst"]


def named_pairs(transfers: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Pairs of transfers whose two sides carry the same name of their own.

    Args:
        transfers: `transfer_id`, `trace_id`, `transport`, `side`, `match_key`, `src_end`, `dst_end`, `node`, `bytes`,
            `interval_kind`, `start_ns`, `end_ns`, `call_start_ns`.
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
    too_early = (one_clock & (ended < began - CLOCK_SLACK_NS)).fill_null(value=False)
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
    disagreeing = judged.filter(~pl.col("once") & ~pl.col("possible")).select(_NAMED).unique().height
    if disagreeing:
        anomalies["lanes-that-do-not-pair"] += disagreeing
    return judged.filter(pl.col("possible") & pl.col("close")).select(
        "send", "recv", pairing=pl.lit("named"), proof=pl.when("once").then(pl.lit(NAME))
    )


def _with_names(transfers: pl.DataFrame) -> pl.DataFrame:
    """Sends and receives with a name, and those ends that belong to it.

    Messages of one tag between other workers have another name. An end counts where all that carry the key know it: a
    receive may know only where it is. Ends of different transports are named by different rules, so they say nothing.
    """
    named = transfers.filter(pl.col("match_key").is_not_null() & pl.col("side").is_in(["send", "recv"]))
    comparable = pl.col("transport").n_unique().over("match_key") == 1
    by_target = comparable & pl.col("dst_end").is_not_null().all().over("match_key")
    placed = named.with_columns(named_dst=pl.when(by_target).then("dst_end"))
    known = pl.col("src_end").is_not_null().all().over("match_key", "named_dst")
    return placed.with_columns(named_src=pl.when(comparable & known).then("src_end"))


def _met(named: pl.DataFrame) -> pl.DataFrame:
    """The k-th send of a name beside its k-th receive, with how many there are."""
    order = pl.struct("call_start_ns", "transfer_id").rank("ordinal")
    keyed = named.with_columns(
        k=order.over(*_NAMED, "side"),
        sends=(pl.col("side") == "send").sum().over(_NAMED),
        recvs=(pl.col("side") == "recv").sum().over(_NAMED),
    )
    facts = ["trace_id", "node", "bytes", "interval_kind", "start_ns", "end_ns", "call_start_ns"]
    sends = keyed.filter(side="send").select(*_NAMED, "k", "sends", "recvs", *facts, send="transfer_id")
    receives = keyed.filter(side="recv").select(*_NAMED, "k", *facts, recv="transfer_id")
    return sends.join(receives, on=[*_NAMED, "k"], nulls_equal=True)
