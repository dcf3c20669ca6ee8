"""Pair sends with receives, so that a movement counts once though both its sides were captured.

Messages between two ranks of a communicator arrive in order: the k-th send meets the k-th receive (`alignment` says
from which on, and whether that is proven). Transfers that carry a name of their own (`match_key`) meet under it
(`naming`). Of what does not pair but may be one movement seen from both sides, the side with more transfers is counted
(`meeting`).
"""

from collections import Counter

import polars as pl

from nsysparse.alignment import LANE, align
from nsysparse.kinds import ANNOTATED, NCCL
from nsysparse.meeting import copy_pairs, meetings
from nsysparse.naming import named_pairs
from nsysparse.ranks import NODE, inferred_ranks


def pair(transfers: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Add `pair_id`, `pairing`, `pairing_proof` and `is_movement` to the transfers of all traces together.

    Args:
        transfers: Columns of `Found` plus `transfer_id` and `purpose`, of any number of traces.
        anomalies: Counts sequences that both sides recorded but that do not agree.

    Returns:
        The same rows in the same order. Of a pair, the receive side stands for the movement, unless only the send
        side's interval was recorded. The purpose that one side knows holds for both.
    """
    ranked = _with_ranks(_with_gpu(transfers), anomalies)
    named = named_pairs(ranked, anomalies)
    members = pl.concat([named["send"], named["recv"]])
    rest = ranked.filter(~pl.col("transfer_id").is_in(members.implode()))
    copied = copy_pairs(rest)
    lanes = _with_lanes(rest)
    aligned = align(lanes, anomalies)
    pairs = pl.concat([named, copied, aligned.select("send", "recv", "pairing", "proof")])
    paired = _join_pairs(ranked, pairs, anomalies)
    # What a realigned lane leaves over is known to have its other side outside the capture.
    slid = lanes.join(aligned.filter("slid").select(*LANE).unique(), on=LANE, how="semi", nulls_equal=True)
    return _count_movements(paired, lanes, slid["transfer_id"], anomalies).drop("node")


def _with_gpu(transfers: pl.DataFrame) -> pl.DataFrame:
    """Where no kernel says on which device a transfer ran: the one its thread or process uses otherwise."""
    known = pl.col("gpu").drop_nulls()

    def usual(*lane: str) -> pl.Expr:
        return pl.when(known.n_unique().over(lane) == 1).then(known.first().over(lane))

    single = pl.col("device_count").fill_null(0) <= 1
    elsewhere = pl.coalesce(usual("trace_id", "process", "thread"), usual("trace_id", "process"))
    return transfers.with_columns(gpu=pl.coalesce("gpu", pl.when(single).then(elsewhere)))


def _with_ranks(transfers: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Own rank where it is not recorded but follows, and `node`."""
    joined = transfers.join(
        inferred_ranks(transfers).with_columns(transport=pl.lit(NCCL)),
        on=["transport", "communicator", *NODE],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    guessed = joined.filter(pl.col("rank").is_null() & ~pl.col("is_sure")).height
    if guessed:
        anomalies["ranks-inferred"] += guessed
    rank = pl.coalesce("rank", "inferred")
    return joined.with_columns(
        rank=rank,
        is_self=pl.coalesce("is_self", rank == pl.col("peer")),
        node=pl.struct(NODE),
    ).drop("inferred", "is_sure")


def _with_lanes(transfers: pl.DataFrame) -> pl.DataFrame:
    """Sends and receives to others with both ranks known: `source`, `target` and their number `k` in issue order."""
    sending = pl.col("side") == "send"
    lanes = transfers.filter(
        (pl.col("transport") == NCCL)
        & pl.col("side").is_in(["send", "recv"])
        & pl.col("rank").is_not_null()
        & pl.col("peer").is_not_null()
        & (pl.col("rank") != pl.col("peer"))
    ).with_columns(
        source=pl.when(sending).then("rank").otherwise("peer"), target=pl.when(sending).then("peer").otherwise("rank")
    )
    # A call whose own rank is not known (a group over several devices) may belong to any lane of its process.
    key = ["communicator", "trace_id", "process"]
    unplaced = transfers.filter(
        (pl.col("transport") == NCCL) & pl.col("side").is_in(["send", "recv"]) & pl.col("rank").is_null()
    ).select(key)
    doubtful = unplaced.unique().with_columns(is_doubtful=pl.lit(value=True))
    lanes = lanes.join(doubtful, on=key, how="left", nulls_equal=True, maintain_order="left").with_columns(
        created=pl.col("created") & pl.col("is_doubtful").is_null()
    )
    order = pl.struct("call_start_ns", "transfer_id").rank("ordinal")
    return lanes.drop("is_doubtful").with_columns(k=order.over(*LANE, "side"))


def _join_pairs(transfers: pl.DataFrame, pairs: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Members of each pair learn bytes and purpose from each other, and which of them stands for the movement."""
    numbered = pairs.sort("recv", "send").with_row_index("pair_id").with_columns(pl.col("pair_id").cast(pl.UInt32))
    members = pl.concat(
        [
            numbered.select("pair_id", "pairing", pairing_proof="proof", transfer_id="send", partner="recv"),
            numbered.select("pair_id", "pairing", pairing_proof="proof", transfer_id="recv", partner="send"),
        ]
    )
    joined = transfers.join(members, on="transfer_id", how="left", maintain_order="left")
    partner = transfers.select(
        partner="transfer_id", partner_start="start_ns", partner_purpose="purpose", partner_rule="purpose_rule",
        partner_bytes="bytes", partner_source="bytes_source", partner_transport="transport",
    )  # fmt: skip
    joined = joined.join(partner, on="partner", how="left", maintain_order="left")
    # An annotation that says KV is surer than one side's surroundings that say otherwise.
    overruled = (pl.col("purpose") == "other") & (pl.col("partner_purpose") == "kv")
    disagree = joined.filter(overruled).height
    if disagree:
        anomalies["sides-disagree-on-purpose"] += disagree
    informs = overruled | ((pl.col("purpose") == "unknown") & pl.col("partner_purpose").is_in(["kv", "other"]))
    receives = pl.col("side") == "recv"
    # What moved the data says more than an annotation does; else the receive side unless only the send side has an
    # interval.
    told, partner_told = (pl.col(name) == ANNOTATED for name in ("transport", "partner_transport"))
    stands = (
        pl.when(told & ~partner_told & pl.col("partner_start").is_not_null())
        .then(pl.lit(value=False))
        .when(~told & partner_told & pl.col("start_ns").is_not_null())
        .then(pl.lit(value=True))
        .when(receives)
        .then(pl.col("start_ns").is_not_null() | pl.col("partner_start").is_null())
        .otherwise(pl.col("start_ns").is_not_null() & pl.col("partner_start").is_null())
    )
    return joined.with_columns(
        purpose=pl.when(informs).then("partner_purpose").otherwise("purpose"),
        purpose_rule=pl.when(informs)
        .then(pl.concat_str(pl.lit("other side: "), "partner_rule"))
        .otherwise("purpose_rule"),
        bytes=pl.coalesce("bytes", "partner_bytes"),
        bytes_source=pl.coalesce("bytes_source", "partner_source"),
        is_movement=pl.when(pl.col("pair_id").is_not_null()).then(stands).otherwise(pl.lit(value=True)),
    ).drop(
        "partner",
        "partner_start",
        "partner_purpose",
        "partner_rule",
        "partner_bytes",
        "partner_source",
        "partner_transport",
    )


def _count_movements(
    transfers: pl.DataFrame, lanes: pl.DataFrame, realigned: pl.Series, anomalies: Counter[str]
) -> pl.DataFrame:
    """Of transfers that may have been seen from both sides but did not pair, let only one side stand."""
    seen_twice = lanes.filter(pl.col("side").n_unique().over(LANE) == 2)  # noqa: PLR2004 (both sides)
    unpaired = (
        transfers.filter(pl.col("pair_id").is_null() & pl.col("side").is_in(["send", "recv"]))
        .filter(~pl.col("transfer_id").is_in(realigned.implode()))
        .join(seen_twice.select("transfer_id", "source", "target"), on="transfer_id", how="left")
        .with_columns(
            own_copy=pl.col("is_self").fill_null(value=False),
            decided=pl.col("purpose") != "unknown",
            sending=pl.col("side") == "send",
        )
    )
    alone = pl.col("source").is_null() & ~pl.col("own_copy")
    compared = _lesser_sides(unpaired.filter(~alone))
    met, sizes = meetings(unpaired.filter(alone), anomalies)
    silent = [*compared["transfer_id"], *met]
    remote = compared.filter(~pl.col("own_copy")).height + len(met)
    if remote:
        anomalies["movements-counted-by-side"] += remote
    learned = pl.DataFrame(sizes, schema=["transfer_id", "met_bytes", "met_source"], orient="row").cast(
        {"transfer_id": pl.UInt32, "met_bytes": pl.Int64, "met_source": pl.String}
    )
    joined = transfers.join(learned, on="transfer_id", how="left", maintain_order="left")
    return joined.with_columns(
        is_movement=pl.col("is_movement") & ~pl.col("transfer_id").is_in(silent),
        bytes=pl.coalesce("bytes", "met_bytes"),
        bytes_source=pl.coalesce("bytes_source", "met_source"),
    ).drop("met_bytes", "met_source")


def _lesser_sides(both: pl.DataFrame) -> pl.DataFrame:
    """Of a rank's copies to itself, and of each lane whose two sides disagree, the side with fewer transfers.

    On a tie the side whose surroundings say more, and else the receives stand: decode waits there.
    """
    key = ["communicator", "source", "target", "own_copy"]
    tally = both.group_by(key).agg(
        sends=pl.col("sending").sum(),
        recvs=(~pl.col("sending")).sum(),
        sends_decided=(pl.col("sending") & pl.col("decided")).sum(),
        recvs_decided=(~pl.col("sending") & pl.col("decided")).sum(),
    )
    doubled = both.join(tally.filter((pl.col("sends") > 0) & (pl.col("recvs") > 0)), on=key, nulls_equal=True)
    more = (pl.col("sends") > pl.col("recvs")) | (
        (pl.col("sends") == pl.col("recvs")) & (pl.col("sends_decided") > pl.col("recvs_decided"))
    )
    return doubled.filter(pl.col("sending") != more)
