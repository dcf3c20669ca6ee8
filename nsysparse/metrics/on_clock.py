"""Events of requests on the clock of one trace, and when those of another clock may have been instead."""

import polars as pl

from nsysparse.clocks import Clocks
from nsysparse.instants import EARLIEST, Instants

EVENTS = (
    "arrival",
    "prefill_start",
    "prefill_end",
    "first_send",
    "last_recv",
    "decode_start",
    "decode_end",
    "last_token",
)
_BEFORE_DECODE = EVENTS[:5]


def on_clock(paths: pl.DataFrame, base: str, clocks: Clocks) -> pl.DataFrame:
    """The events of requests on the clock of one trace; null where their own could not be aligned with it.

    An event of another clock is null too where it is no further from when KV had arrived here (or, where that is not
    known, decoding began here) than the two clocks may be apart: then it is not known which came first.

    Args:
        paths: Columns of `Paths`.
        base: The trace.
        clocks: Of all traces.

    Returns:
        `request_id`, the `EVENTS`, and for each its `…_low` and `…_high`: between which it was, also where it is not
        known what it came before; null where it is of this clock, or not aligned.
    """
    here = [pl.when(pl.col(f"{name}_trace") == base).then(f"{name}_ns") for name in ("last_recv", "decode_start")]
    anchored = paths.with_columns(anchor=pl.coalesce(here))
    found = [_on_clock(anchored, name, base, clocks) for name in EVENTS]
    return pl.concat([paths.select("request_id"), *found], how="horizontal")


def _on_clock(paths: pl.DataFrame, name: str, base: str, clocks: Clocks) -> pl.DataFrame:
    times = paths.select("anchor", at=f"{name}_ns", where=f"{name}_trace").with_row_index("row")
    own = times.filter(where=base).select("row", "at", low=pl.lit(None, pl.Int64), high=pl.lit(None, pl.Int64))
    parts = [own]
    for (other,), rows in times.filter(pl.col("where") != base).group_by("where", maintain_order=True):
        offset = clocks.between(base, str(other))
        if offset is not None:
            doubt = offset.uncertainty_ns
            there = rows.with_columns(at=offset.expr_to_base(pl.col("at")))
            apart = ((pl.col("anchor") - pl.col("at")).abs() > doubt).fill_null(value=True)
            parts.append(
                there.select("row", at=pl.when(apart).then("at"), low=pl.col("at") - doubt, high=pl.col("at") + doubt)
            )
    told = times.select("row").join(pl.concat(parts), on="row", how="left", maintain_order="left")
    return told.select(pl.col("at").alias(name), pl.col("low", "high").name.prefix(f"{name}_"))


def doubtful(requests: pl.DataFrame, others: pl.DataFrame, homes: pl.DataFrame) -> Instants | None:
    """When it depends on the clocks of other files what the requests of a device were doing.

    That is within the doubt of each event of theirs; of one that is left out, as it is not known what came first, also
    from the end of prefill and from when KV was sent, which then stands for it. Of a request of which the clocks leave
    open which step here is its first, it is the whole life.

    Args:
        requests: From `on_clock`, those that decode on the device or receive there, and `first_recv`.
        others: The same, those that may be meant for any device.
        homes: `request_id` and `end_ns` of all decode steps on the device.

    Returns:
        None where all of it is of one clock.
    """
    instead = pl.min_horizontal(pl.coalesce("first_send", "first_recv"), "prefill_end")
    parts = [_windows(requests, name, instead) for name in _BEFORE_DECODE]
    parts += [_windows(others, name, pl.lit(None, pl.Int64)) for name in ("arrival", "prefill_start", "last_token")]
    candidates = homes.join(requests, on="request_id").filter(pl.col("decode_start_low").is_not_null())
    open_to = pl.col("end_ns").is_between(pl.col("decode_start_low"), pl.col("decode_start_high"), closed="right")
    came = pl.min_horizontal("arrival", "prefill_start", "arrival_low", "prefill_start_low").fill_null(EARLIEST)
    lasting = candidates.filter(open_to.any().over("request_id")).with_columns(came=came)
    parts.append(
        lasting.group_by("request_id").agg(low=pl.col("came").min(), high=pl.col("end_ns").max()).select("low", "high")
    )
    spans = pl.concat(parts)
    return None if spans.is_empty() and candidates.is_empty() else Instants.covered(spans, "low", "high")


def _windows(rows: pl.DataFrame, name: str, instead: pl.Expr) -> pl.DataFrame:
    """Within which an event of another file was; where it is left out, from what stands for it."""
    low, high = pl.col(f"{name}_low"), pl.col(f"{name}_high")
    since = pl.when(pl.col(name).is_null()).then(pl.min_horizontal(low, instead)).otherwise(low)
    return rows.filter(low.is_not_null()).select(low=since, high=high)
