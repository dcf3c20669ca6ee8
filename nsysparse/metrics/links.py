"""Directed links: what crossed each, how fast, and what it could have done."""

from typing import Any

import polars as pl

from nsysparse.analysis import Link, MessageSize, SizeCeiling
from nsysparse.kinds import HOST
from nsysparse.metrics.fit import fits
from nsysparse.metrics.measured import Measured, busy, distribution_of, distributions, known_sum_expr, steady
from nsysparse.metrics.rates import LINK, NAMELESS_PEER, UNKNOWN_END, called, kernel_rate, link_rates, wire_rate
from nsysparse.theory.links import Peak, line_rate_ns, practical_ns
from nsysparse.theory.references import References
from nsysparse.units import GB


def with_ends(measured: Measured) -> pl.DataFrame:
    """Movements with `src` and `dst`: `trace:gpuN` where a device is known, else `communicator:rank`, else unknown."""
    ends = measured.transfers.filter(pl.col("side").is_in(["send", "recv"])).with_columns(
        end=pl.when(pl.col("gpu").is_not_null())
        .then(pl.concat_str("trace_id", pl.lit(":"), "gpu"))
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
    ).when(pl.col("peer").is_not_null()).then(pl.concat_str(pl.lit(NAMELESS_PEER), "peer"))  # fmt: skip
    movements = measured.movements.join(own, on="transfer_id", how="left", maintain_order="left")
    for side in ("send", "recv"):
        movements = movements.join(per_pair[side], on="pair_id", how="left", maintain_order="left")
    sends, receives = pl.col("side") == "send", pl.col("side") == "recv"
    source = pl.when(sends).then("end").when(receives).then(far)
    target = pl.when(receives).then("end").when(sends).then(far)
    return movements.with_columns(
        src=pl.coalesce("src_end", "pair_send", source, pl.lit(UNKNOWN_END)),
        dst=pl.coalesce("dst_end", "pair_recv", target, pl.lit(UNKNOWN_END)),
    ).with_columns(link_key=pl.concat_str("src", pl.lit("->"), "dst"))


def links(sure: pl.DataFrame, known: References) -> tuple[Link, ...]:
    """One entry per directed link and transport, sorted by key.

    Args:
        sure: Movements from `with_ends` and `with_sure`.
        known: What the links between GPUs are, as far as that is known.
    """
    counted = steady(sure)
    ends = sure.select("src", "dst").unique().rows()
    peaks = {f"{src}->{dst}": known.between(src, dst) for src, dst in ends if HOST not in (src, dst)}
    rates_known = {key: peak.gb_s for key, peak in peaks.items() if peak}
    most = pl.col("link_key").replace_strict(rates_known, default=float("inf"), return_dtype=pl.Float64)
    fast = ((wire_rate() > most) | (kernel_rate() > most)).fill_null(value=False)
    sums = sure.group_by(LINK).agg(
        pl.col("src", "dst").first(),
        known_sum_expr("bytes"),
        movement_count=pl.len(),
        communicators=pl.col("communicator").unique(),
        pairings=pl.col("pairing").unique().sort(),
        too_fast=fast.sum(),
    )
    timed = sure.filter(pl.col("start_ns").is_not_null())
    rates = counted.with_columns(kernel_rate=kernel_rate(), wire_rate=wire_rate())
    rows = sums
    for part in (
        busy(timed, LINK),
        busy(timed.filter(~called()), LINK).rename({"busy_ns": "observed_ns"}),
        link_rates(counted),
        fits(counted),
        distributions(rates, LINK, "kernel_rate"),
        distributions(rates, LINK, "wire_rate"),
    ):
        rows = rows.join(part, on=LINK, how="left")
    # What is known is the wire between GPUs: a link that ends at the host is another, and has no peak here.
    return tuple(_link(row, peaks.get(row["link_key"])) for row in rows.sort(LINK).iter_rows(named=True))


def message_sizes(sure: pl.DataFrame) -> tuple[MessageSize, ...]:
    """How many movements of each size crossed each link, and how fast."""
    key = [*LINK, "bytes"]
    rows = sure.filter(pl.col("bytes").is_not_null()).group_by(key).len("count")
    rates = steady(sure).with_columns(wire_rate=wire_rate(), kernel_rate=kernel_rate())
    for column in ("wire_rate", "kernel_rate"):
        rows = rows.join(distributions(rates, key, column), on=key, how="left")
    return tuple(
        MessageSize(
            link_key=row["link_key"],
            transport=row["transport"],
            bytes=row["bytes"],
            count=row["count"],
            wire_gb_s=distribution_of(row["wire_rate"]),
            kernel_gb_s=distribution_of(row["kernel_rate"]),
        )
        for row in rows.sort(key).iter_rows(named=True)
    )


def _link(row: dict[str, Any], peak: Peak | None) -> Link:
    nbytes, communicators = row["bytes"], row["communicators"]
    headline = row["headline_gb_s"]
    too_fast = peak is not None and headline is not None and headline > peak.gb_s
    return Link(
        link_key=row["link_key"],
        link_name=peak.name if peak else None,
        transport=row["transport"],
        src=row["src"],
        dst=row["dst"],
        communicator=communicators[0] if len(communicators) == 1 else None,
        pairing=None if None in row["pairings"] else " and ".join(row["pairings"]),
        movement_count=row["movement_count"],
        bytes=nbytes,
        busy_ns=row["busy_ns"],
        link_gb_s=row["link_gb_s"],
        wire_gb_s=distribution_of(row["wire_rate"]),
        kernel_gb_s=distribution_of(row["kernel_rate"]),
        delivered_gb_s=row["delivered_gb_s"],
        headline_gb_s=headline,
        headline_basis=row["headline_basis"],
        headline_is_bound=row["headline_is_bound"],
        headline_bytes_share=row["headline_bytes_share"],
        peak_gb_s=peak.gb_s if peak else None,
        peak_source=peak.source if peak else None,
        practical_gb_s=peak.practical_gb_s if peak else None,
        practical_source=peak.practical_source if peak else None,
        practical_curve=tuple(SizeCeiling(size, rate / GB) for size, rate in peak.practical_curve) if peak else (),
        efficiency=headline / peak.gb_s if peak and headline is not None else None,
        theoretical_ns=line_rate_ns(nbytes, peak) if peak and nbytes is not None else None,
        practical_ns=practical_ns(nbytes, peak) if peak and nbytes is not None else None,
        observed_ns=row["observed_ns"],
        fixed_cost_ns=row["fixed_cost_ns"],
        fitted_gb_s=row["fitted_gb_s"],
        inconsistent_count=max(row["too_fast"], int(too_fast)) if peak else 0,
    )
