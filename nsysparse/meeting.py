"""Which sends and receives may be two sides of one movement, though not enough was recorded to pair them."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from nsysparse.kinds import ANNOTATED, TWO_SIDED
from nsysparse.naming import XFER

FACTS = ["communicator", "bytes", "source", "target", "src_end", "dst_end", "xfer", "tag"]
MOST_CANDIDATES = 4_000_000
"""Pairs of groups that are looked at; hostile traces could ask for billions."""


def meetings(transfers: pl.DataFrame, anomalies: Counter[str]) -> tuple[list[int], list[tuple[int, int, str]]]:
    """Transfers that do not count, because as many on the other side may be the same movements.

    Args:
        transfers: Unpaired sends and receives: `transfer_id`, `sending`, `decided` (whether their purpose is known),
            `transport`, `communicator`, `bytes`, `bytes_source`, `rank`, `peer`, `src_end`, `dst_end`, `match_key`,
            `is_one_sided`, `node`, `device_count`, `call_start_ns`.
        anomalies: Counts groups that are not compared, as there are too many that agree in too little.

    Returns:
        Their ids; and for annotations without size that stand for as many transfers of one size, their id, bytes and
        where these come from.

    A send and a receive may have met where no fact that both know differs (communicator, size, source, destination)
    and their transports allow it, unless one device issued both: its sends and receives go to and come from elsewhere.
    Those that share most facts meet first. The side whose purpose is known stands, then the one whose size is, then the
    one with more, else the receives: decode waits there.
    """
    groups = _groups(transfers)
    waiting = dict(groups.select("group", "ids").iter_rows())
    total = {group: len(ids) for group, ids in waiting.items()}
    weight = {
        group: (decided, sized, total[group], not sending)
        for group, decided, sized, sending in groups.select(
            "group", "decided", pl.col("bytes").is_not_null(), "sending"
        ).iter_rows()
    }
    size = dict(groups.select("group", pl.struct("bytes", "bytes_source", "transport")).iter_rows())
    taken = dict.fromkeys(total, 0)
    silent: list[int] = []
    sizes: list[tuple[int, int, str]] = []
    for send, recv in _candidates(groups, anomalies):
        count = min(total[send] - taken[send], total[recv] - taken[recv])
        if not count:
            continue
        lesser, standing = sorted((send, recv), key=weight.__getitem__)
        silent += waiting[lesser][taken[lesser] : taken[lesser] + count]
        nbytes, source = size[lesser]["bytes"], size[lesser]["bytes_source"]
        unsized = size[standing]["transport"] == ANNOTATED and size[standing]["bytes"] is None
        if unsized and nbytes is not None and total[standing] == total[lesser] == count:
            sizes += [(ident, nbytes, source) for ident in waiting[standing]]
        for group in (send, recv):
            taken[group] += count
    return silent, sizes


def _groups(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers of which the same is known, in order of time, with a number for each group in order of its first."""
    # A tag and the id of an annotation are no two names of one kind: they do not contradict each other.
    is_xfer = pl.col("match_key").str.starts_with(XFER)
    placed = transfers.with_columns(
        xfer=pl.when(is_xfer).then("match_key"),
        tag=pl.when(~is_xfer).then("match_key"),
        is_one_sided=pl.col("is_one_sided").fill_null(value=False) | ~pl.col("transport").is_in(TWO_SIDED),
        source=pl.when("sending").then("rank").otherwise("peer"),
        target=pl.when("sending").then("peer").otherwise("rank"),
    )
    return (
        placed.sort("call_start_ns", "transfer_id", nulls_last=True)
        .group_by(*FACTS, "transport", "is_one_sided", "sending", "decided", "node", maintain_order=True)
        .agg(pl.col("bytes_source").min(), ids="transfer_id", several_devices=(pl.col("device_count") > 1).any())
        .with_row_index("group")
    )


def _meeting_count(sends: pl.DataFrame, recvs: pl.DataFrame, both: list[str]) -> int:
    """How many pairs of groups agree in the facts `both`."""
    if not both:
        return sends.height * recvs.height
    per_key = sends.group_by(both).len("sends").join(recvs.group_by(both).len("recvs"), on=both)
    return int((per_key["sends"].cast(pl.Int64) * per_key["recvs"].cast(pl.Int64)).sum())


def _candidates(groups: pl.DataFrame, anomalies: Counter[str]) -> Iterator[tuple[int, int]]:
    """Groups of sends and of receives that may have met, those that share most facts first."""
    known = [pl.col(fact).is_not_null().alias(f"{fact}_known") for fact in FACTS]
    marked = groups.drop("ids").with_columns(known)
    parts = {
        sending: marked.filter(pl.col("sending") == sending).partition_by([f"{fact}_known" for fact in FACTS])
        for sending in (True, False)
    }
    found = []
    for sends in parts[True]:
        for recvs in parts[False]:
            both = [fact for fact in FACTS if sends[f"{fact}_known"][0] and recvs[f"{fact}_known"][0]]
            if _meeting_count(sends, recvs, both) > MOST_CANDIDATES:
                anomalies["meetings-too-many"] += min(sends.height, recvs.height)
                continue
            met = sends.join(recvs, on=both) if both else sends.join(recvs, how="cross")
            apart = pl.col("node").ne_missing(pl.col("node_right"))
            two_sided = ~pl.col("is_one_sided") & ~pl.col("is_one_sided_right")
            alike = (pl.col("transport") == pl.col("transport_right")) & two_sided
            # A send to a rank and a receive from the same rank would be that rank's copy to itself.
            relayed = pl.lit(value=False)
            if "communicator" in both and not {"source", "target"} & set(both):
                relayed = (pl.col("target") == pl.col("source_right")).fill_null(value=False)
            told = (pl.col("transport") == ANNOTATED) ^ (pl.col("transport_right") == ANNOTATED)
            found.append(
                met.filter(apart | pl.col("several_devices") | pl.col("several_devices_right"))
                .filter(alike | told)
                .filter(~relayed | pl.col("several_devices") | pl.col("several_devices_right"))
                .select("group", "group_right", shared=pl.lit(len(both)))
            )
    if found:
        yield from (
            pl.concat(found).sort("shared", "group", "group_right", descending=[True, False, False])
            .select("group", "group_right").iter_rows()
        )  # fmt: skip


def copy_pairs(transfers: pl.DataFrame) -> pl.DataFrame:
    """Copies, whose row has both ends, beside the annotation with which the other process tells of them.

    Args:
        transfers: Unpaired, with `transfer_id`, `transport`, `side`, `is_self`, `match_key`, `bytes`, `purpose`,
            `process`, `trace_id`, `call_start_ns`.

    Returns:
        `send`, `recv`, `pairing`, `proof`: by a name that both have once, else of one size the k-th with the k-th where
        there are equally many of both, of other processes.
    """
    one = pl.struct("trace_id", "process")
    copies = transfers.filter(
        (pl.col("side") == "copy") & (pl.col("transport") != ANNOTATED)
        & ~pl.col("is_self").fill_null(value=False) & (pl.col("purpose") != "other")
    ).with_columns(place=one)  # fmt: skip
    told = transfers.filter((pl.col("transport") == ANNOTATED) & pl.col("side").is_in(["send", "recv"]))
    told = told.with_columns(place=one)

    def met(copies: pl.DataFrame, told: pl.DataFrame, key: str) -> pl.DataFrame:
        order = pl.struct("call_start_ns", "transfer_id").rank("ordinal").over(key)
        sides = [
            part.filter(pl.col(key).is_not_null()).select(
                key, "transfer_id", "side", "place", k=order, count=pl.len().over(key)
            )
            for part in (copies, told)
        ]
        both = sides[0].join(sides[1], on=[key, "k", "count"])
        return both.filter((pl.col("place") != pl.col("place_right")).all().over(key))

    named = met(copies, told, "match_key").filter(pl.col("count") == 1)
    nameless = [part.filter(pl.col("match_key").is_null()) for part in (copies, told)]
    sized = met(nameless[0], nameless[1], "bytes")
    receives = pl.col("side_right") == "recv"
    return pl.concat(
        [
            part.select(
                send=pl.when(receives).then("transfer_id").otherwise("transfer_id_right"),
                recv=pl.when(receives).then("transfer_id_right").otherwise("transfer_id"),
                pairing=pl.lit(pairing),
                proof=pl.lit(proof, pl.String),
            )
            for part, pairing, proof in ((named, "named", "name"), (sized, "positional", None))
        ]
    )
