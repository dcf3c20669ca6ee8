"""Directed links: what crossed each, how fast at least, and what it could have done."""

import polars as pl

from nsysparse.analysis import Link, MessageSize
from nsysparse.intervals import union_lengths
from nsysparse.metrics.measured import Measured, busy_total, distribution, interval_rate, known_sum, steady
from nsysparse.theory.links import Peak
from nsysparse.theory.predict import line_rate_ns, practical_ns
from nsysparse.units import gb_s

UNKNOWN_END = "unknown"


def with_ends(measured: Measured) -> pl.DataFrame:
    """Movements with `src` and `dst`: `trace:gpuN` where the device is known, else `communicator:rank`, else unknown.

    A call whose kernel was not recorded ran on the one device that its process uses for the same communicator.
    """
    lane = ["trace_id", "process", "communicator"]
    devices = pl.col("device_id").drop_nulls()
    usual = pl.when(devices.n_unique().over(lane) == 1).then(devices.first().over(lane))
    ends = measured.transfers.filter(pl.col("side").is_in(["send", "recv"])).with_columns(
        device_id=pl.coalesce("device_id", usual)
    )
    ends = ends.with_columns(
        end=pl.when(pl.col("device_id").is_not_null())
        .then(pl.concat_str("trace_id", pl.lit(":gpu"), "device_id"))
        .when(pl.col("communicator").is_not_null() & pl.col("rank").is_not_null())
        .then(pl.concat_str("communicator", pl.lit(":"), "rank"))
    )
    per_pair = {
        side: ends.filter((pl.col("side") == side) & pl.col("pair_id").is_not_null()).select(
            "pair_id", pl.col("end").alias(f"pair_{side}")
        )
        for side in ("send", "recv")
    }
    own = ends.select("transfer_id", "end")
    far = pl.when(pl.col("communicator").is_not_null() & pl.col("peer").is_not_null()).then(
        pl.concat_str("communicator", pl.lit(":"), "peer")
    ).when(pl.col("peer").is_not_null()).then(pl.concat_str(pl.lit("peer:"), "peer"))  # fmt: skip
    movements = measured.movements.join(own, on="transfer_id", how="left", maintain_order="left")
    for side in ("send", "recv"):
        movements = movements.join(per_pair[side], on="pair_id", how="left", maintain_order="left")
    sends, receives = pl.col("side") == "send", pl.col("side") == "recv"
    return movements.with_columns(
        src=pl.coalesce("pair_send", pl.when(sends).then("end").when(receives).then(far), pl.lit(UNKNOWN_END)),
        dst=pl.coalesce("pair_recv", pl.when(receives).then("end").when(sends).then(far), pl.lit(UNKNOWN_END)),
    ).with_columns(link_key=pl.concat_str("src", pl.lit("->"), "dst"))


def links(ended: pl.DataFrame, peak: Peak | None) -> tuple[Link, ...]:
    """One entry per directed link and transport, sorted by key.

    Args:
        ended: From `with_ends`.
        peak: What the user says the links are; None leaves theory unknown.
    """
    grouped = ended.sort("link_key", "transport").group_by("link_key", "transport", maintain_order=True)
    return tuple(_link(str(key), str(transport), rows, peak) for (key, transport), rows in grouped)


def message_sizes(ended: pl.DataFrame) -> tuple[MessageSize, ...]:
    """How many movements of each size crossed each link."""
    sizes = ended.filter(pl.col("bytes").is_not_null()).group_by("link_key", "bytes").len("count")
    return tuple(
        MessageSize(link_key=key, bytes=nbytes, count=count, wire_gb_s=None)
        for key, nbytes, count in sizes.sort("link_key", "bytes").iter_rows()
    )


def _covered(movements: pl.DataFrame) -> int:
    """Nanoseconds in which at least one of these movements ran, on whichever side: the union on each file's clock."""
    return int(union_lengths(movements, ["trace_id"])["union_ns"].sum())


def _link(key: str, transport: str, rows: pl.DataFrame, peak: Peak | None) -> Link:
    nbytes, busy_ns = known_sum(rows["bytes"]), busy_total(rows)
    sized = rows.filter(pl.col("bytes").is_not_null() & pl.col("start_ns").is_not_null())
    rates = sized.select(interval_rate().alias("rate"))["rate"]
    counted = steady(sized)
    # All of these bytes crossed within the union of these intervals, so the wire was at least this fast.
    headline = gb_s(known_sum(counted["bytes"]), _covered(counted)) if counted.height else None
    communicators = rows["communicator"].unique()
    pairings = rows["pairing"].drop_nulls().unique().sort().to_list()
    return Link(
        link_key=key,
        link_name=peak.name if peak else None,
        transport=transport,
        src=rows["src"][0],
        dst=rows["dst"][0],
        communicator=communicators[0] if len(communicators) == 1 else None,
        pairing=" and ".join(pairings) if pairings and not rows["pairing"].null_count() else None,
        movement_count=rows.height,
        bytes=nbytes,
        busy_ns=busy_ns,
        link_gb_s=gb_s(known_sum(sized["bytes"]), _covered(sized)) if sized.height else None,
        wire_gb_s=None,
        kernel_gb_s=distribution(counted.select(interval_rate().alias("rate"))["rate"]),
        delivered_gb_s=None,
        headline_gb_s=headline,
        headline_basis="kernel" if headline is not None else None,
        peak_gb_s=peak.gb_s if peak else None,
        peak_source=peak.source if peak else None,
        practical_gb_s=peak.practical_gb_s if peak else None,
        practical_source=peak.practical_source if peak else None,
        efficiency=headline / peak.gb_s if peak and headline is not None else None,
        theoretical_ns=line_rate_ns(nbytes, peak) if peak and nbytes is not None else None,
        practical_ns=practical_ns(nbytes, peak) if peak and nbytes is not None else None,
        observed_ns=busy_ns,
        fixed_cost_ns=None,
        fitted_gb_s=None,
        inconsistent_count=int((rates > peak.gb_s).sum()) if peak else 0,
    )
