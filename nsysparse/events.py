"""Events that several ranks saw, brought to one clock: which of them counts, and how sure that is."""

from collections.abc import Mapping

import polars as pl

from nsysparse.clocks import Clocks

FIRST, LAST = "min", "max"
ARRIVAL = "arrival"
EVENTS: Mapping[str, str] = {
    ARRIVAL: FIRST,
    "prefill_start": FIRST,
    "prefill_end": LAST,
    "first_send": FIRST,
    "last_recv": LAST,
    "decode_start": FIRST,
    "decode_end": LAST,
    "last_token": LAST,
}
"""The events of a request, and which of several ranks tells when it was."""
EVENT = {"request_id": pl.String, "event": pl.String, "trace_id": pl.String, "at_ns": pl.Int64}
_KEY = ["request_id", "event"]


def agreed(events: pl.DataFrame, clocks: Clocks) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One row for each event of a request: of several ranks' the first, or the last, on one clock.

    Args:
        events: Columns of `EVENT`.
        clocks: Of all traces.

    Returns:
        `EVENT` and `doubt_ns`: how far another rank's may lie beyond it, as far as clocks can tell. And `_KEY` of what
        several traces hold whose clocks could not be aligned, and so is left out; an arrival then is what files tell
        that can be aligned with most.
    """
    of_trace = _of_each_trace(events)
    several = pl.len().over(_KEY) > 1
    single = of_trace.filter(~several).with_columns(doubt_ns=pl.lit(0, pl.Int64))
    ranks = _with_base(of_trace.filter(several), clocks)
    there = on_clock(ranks, "base", clocks)
    aligned = pl.col("on_base").is_not_null()
    known = there.filter(aligned & (aligned.all().over(_KEY) | (pl.col("event") == ARRIVAL)))
    apart = there.join(known, on=_KEY, how="anti").select(_KEY).unique()
    low = pl.col("event").is_in([name for name, which in EVENTS.items() if which == FIRST])
    ahead = pl.when(low).then("on_base").otherwise(-pl.col("on_base"))
    chosen = known.sort(*_KEY, ahead, "trace_id").unique(_KEY, keep="first", maintain_order=True)
    beside = on_clock(
        known.select(*_KEY, "trace_id", "at_ns").join(
            chosen.select(*_KEY, taken="trace_id", taken_ns="at_ns"), on=_KEY, maintain_order="left"
        ),
        "taken",
        clocks,
    )
    sign = pl.when(low).then(-1).otherwise(1)
    beyond = pl.col("apart_ns") + sign * (pl.col("on_base") - pl.col("taken_ns"))
    doubts = beside.group_by(_KEY).agg(
        doubt_ns=pl.when(pl.col("trace_id") != pl.col("taken")).then(beyond.clip(lower_bound=0)).max().fill_null(0)
    )
    settled = chosen.join(doubts, on=_KEY, maintain_order="left")
    return pl.concat([each.select(*EVENT, "doubt_ns") for each in (single, settled)]), apart


def _with_base(ranks: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """Add `base`, of the traces that hold an event the first that can be aligned with most of the others."""
    holders = ranks.group_by(_KEY).agg(holders=pl.col("trace_id").unique().sort().str.join("\n"))
    bases: dict[str, str] = {}
    for joined in holders["holders"].unique():
        traces = joined.split("\n")
        bases[joined] = max(traces, key=lambda one: sum(clocks.between(one, other) is not None for other in traces))
    based = holders.with_columns(base=pl.col("holders").replace_strict(bases, return_dtype=pl.String))
    return ranks.join(based.drop("holders"), on=_KEY, maintain_order="left")


def _of_each_trace(events: pl.DataFrame) -> pl.DataFrame:
    """The one time of each event that the ranks of one trace agree on: the first or the last of theirs."""
    low = pl.col("event").is_in([name for name, which in EVENTS.items() if which == FIRST]).first()
    return events.group_by("request_id", "event", "trace_id").agg(
        at_ns=pl.when(low).then(pl.col("at_ns").min()).otherwise(pl.col("at_ns").max())
    )


def on_clock(rows: pl.DataFrame, base: str, clocks: Clocks) -> pl.DataFrame:
    """Add `on_base`, `at_ns` on the clock of the trace in the column `base`, and `apart_ns`, how far that may be off.

    Null where the two could not be aligned.
    """
    parts = [rows.with_columns(on_base=pl.lit(None, pl.Int64), apart_ns=pl.lit(None, pl.Int64)).clear()]
    for (ours, theirs), part in rows.group_by(base, "trace_id", maintain_order=True):
        offset = clocks.between(str(ours), str(theirs))
        at = pl.lit(None, pl.Int64) if offset is None else offset.expr_to_base(pl.col("at_ns"))
        apart = None if offset is None else offset.uncertainty_ns
        parts.append(part.with_columns(on_base=at, apart_ns=pl.lit(apart, dtype=pl.Int64)))
    return pl.concat(parts)
