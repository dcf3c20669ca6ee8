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
from nsysparse.leftovers import beside_transfers, copies_beside_posts
from nsysparse.meeting import Met, meetings
from nsysparse.naming import named_pairs
from nsysparse.ranks import NODE, inferred_ranks
from nsysparse.sides import other_side, perhaps_local

OTHER_SIDE = pl.lit("other side: ")


def pair(transfers: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Add `pair_id`, `pairing`, `pairing_proof` and `is_movement` to the transfers of all traces together.

    Args:
        transfers: Columns of `Found`, `transfer_id`, `purpose`, `told_id` and what ranges say of layer and request, of
            any number of traces.
        anomalies: Counts sequences that both sides recorded but that do not agree.

    Returns:
        The same rows in the same order. Of a pair, the receive side stands for the movement, unless only the send
        side's interval was recorded. The purpose that one side knows holds for both.
    """
    ranked = _with_ranks(_with_gpu(transfers), anomalies)
    local = perhaps_local(ranked).height
    if local:
        anomalies["perhaps-copies-to-itself"] += local
    named = named_pairs(ranked, anomalies)
    lanes = _with_lanes(_without(ranked, named))
    aligned = align(lanes, anomalies)
    pairs = pl.concat([named, aligned.select("send", "recv", "pairing", "proof")])
    # What a realigned lane leaves over is known to have its other side outside the capture.
    slid = lanes.join(aligned.filter("slid").select(*LANE).unique(), on=LANE, how="semi", nulls_equal=True)
    seen_twice = lanes.filter(pl.col("side").n_unique().over(LANE) == 2)  # noqa: PLR2004 (both sides)
    left = (
        _without(ranked, pairs)
        .filter(~pl.col("transfer_id").is_in(slid["transfer_id"].implode()))
        .join(seen_twice.select("transfer_id", "source", "target"), on="transfer_id", how="left")
    )
    own_copy = pl.col("is_self").fill_null(value=False)
    sided = left.filter(pl.col("side").is_in(["send", "recv"]))
    compared = _lesser_sides(sided.filter(pl.col("source").is_not_null() | own_copy))
    may_meet = pl.col("side").is_in(["send", "recv", "copy"]) | (pl.col("transport") == ANNOTATED)
    met = meetings(left.filter(pl.col("source").is_null() & ~own_copy & may_meet), anomalies)
    told = met.pairs.with_columns(pairing=pl.lit("positional"), proof=pl.lit(None, dtype=pl.String))
    paired = _join_pairs(ranked, pl.concat([pairs, told]), anomalies)
    counted = _count_movements(paired, compared, met, anomalies)
    _warn_of_annotations(counted, met, anomalies)
    copies = copies_beside_posts(counted)
    if copies:
        anomalies["copies-beside-posts"] += copies
    return counted.drop("node")


def _without(transfers: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    members = pl.concat([pairs["send"], pairs["recv"]])
    return transfers.filter(~pl.col("transfer_id").is_in(members.implode()))


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
            numbered.select(
                "pair_id", "pairing", pairing_proof="proof", transfer_id=role, partner=other, acts_as=pl.lit(role)
            )
            for role, other in (("send", "recv"), ("recv", "send"))
        ]
    )
    joined = transfers.join(members, on="transfer_id", how="left", maintain_order="left")
    partner = transfers.select(
        partner="transfer_id", partner_start="start_ns", partner_purpose="purpose", partner_rule="purpose_rule",
        partner_bytes="bytes", partner_source="bytes_source", partner_transport="transport", partner_side="side",
    )  # fmt: skip
    joined = joined.join(partner, on="partner", how="left", maintain_order="left")
    # An annotation that says KV is surer than one side's surroundings that say otherwise.
    overruled = (pl.col("purpose") == "other") & (pl.col("partner_purpose") == "kv")
    disagree = joined.filter(overruled).height
    if disagree:
        anomalies["sides-disagree-on-purpose"] += disagree
    informs = overruled | ((pl.col("purpose") == "unknown") & pl.col("partner_purpose").is_in(["kv", "other"]))
    receives = pl.col("acts_as") == "recv"
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
        # Of two that do not say their sides nothing tells which is which.
        side=pl.coalesce("side", pl.when(pl.col("partner_side").is_not_null()).then("acts_as")),
        purpose=pl.when(informs).then("partner_purpose").otherwise("purpose"),
        purpose_rule=pl.when(informs).then(OTHER_SIDE + pl.col("partner_rule")).otherwise("purpose_rule"),
        bytes=pl.coalesce("bytes", "partner_bytes"),
        bytes_source=pl.coalesce("bytes_source", "partner_source"),
        is_movement=pl.when(pl.col("pair_id").is_not_null()).then(stands).otherwise(pl.lit(value=True)),
    ).drop(
        "acts_as",
        "partner",
        "partner_start",
        "partner_purpose",
        "partner_rule",
        "partner_bytes",
        "partner_source",
        "partner_transport",
        "partner_side",
    )


def _count_movements(
    transfers: pl.DataFrame, compared: pl.DataFrame, met: Met, anomalies: Counter[str]
) -> pl.DataFrame:
    """Of transfers that may have been seen from both sides but did not pair, let only one side stand.

    What stands learns its purpose from what is silent for it.
    """
    silent = pl.concat([compared["transfer_id"], met.silent["transfer_id"].unique()])
    remote = compared.filter(~pl.col("is_self").fill_null(value=False)).height + met.silent["transfer_id"].n_unique()
    if remote:
        anomalies["movements-counted-by-side"] += remote
    said = transfers.filter(pl.col("purpose") != "unknown").select("transfer_id", "purpose", "purpose_rule")
    told = (
        met.silent.join(said, on="transfer_id", maintain_order="left")
        .unique("standing", keep="first", maintain_order=True)
        .select(told_purpose="purpose", told_rule=OTHER_SIDE + pl.col("purpose_rule"), transfer_id="standing")
    )
    learns = (pl.col("purpose") == "unknown") & pl.col("told_purpose").is_not_null()
    return (
        transfers.join(told, on="transfer_id", how="left", maintain_order="left")
        .with_columns(
            is_movement=pl.col("is_movement") & ~pl.col("transfer_id").is_in(silent.implode()),
            purpose=pl.when(learns).then("told_purpose").otherwise("purpose"),
            purpose_rule=pl.when(learns).then("told_rule").otherwise("purpose_rule"),
        )
        .drop("told_purpose", "told_rule")
    )


def _lesser_sides(both: pl.DataFrame) -> pl.DataFrame:
    """Of a rank's copies to itself, and of each lane whose two sides disagree, the side with fewer transfers.

    On a tie the side whose surroundings say more, and else the receives stand: decode waits there.
    """
    key = ["communicator", "source", "target", "own_copy"]
    both = both.with_columns(
        own_copy=pl.col("is_self").fill_null(value=False),
        decided=pl.col("purpose") != "unknown",
        sending=pl.col("side") == "send",
    )
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


def _warn_of_annotations(transfers: pl.DataFrame, met: Met, anomalies: Counter[str]) -> None:
    """Count annotations that count beside what another source recorded of perhaps the same data."""
    annotated = transfers.filter(pl.col("transport") == ANNOTATED)["transfer_id"]
    told_of = other_side(transfers, "transport").filter(pl.col("far_transport") != ANNOTATED)["transfer_id"]
    stood_for = met.silent.filter(~pl.col("transfer_id").is_in(annotated.implode()))["standing"]
    beside = beside_transfers(
        transfers, pl.concat([told_of, stood_for]), pl.concat([met.silent["transfer_id"], met.silent["standing"]])
    )
    if beside:
        anomalies["annotations-beside-transfers"] += beside
