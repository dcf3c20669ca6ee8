"""When each request came where on its way to the first token: events, each on the clock of the trace that saw it.

With tensor-parallel ranks an event is that of the rank that was first (starts, the first send) or last (ends, the last
receive, the first decode step's end). Ranks of several traces are compared where their clocks could be aligned.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from nsysparse.clocks import Clocks
from nsysparse.frames import GROUP, Paths
from nsysparse.kinds import TWO_SIDED
from nsysparse.roles import DECODE, PREFILL
from nsysparse.sides import acts_as, other_side

FIRST, LAST = "min", "max"
EVENTS: Mapping[str, str] = {
    "arrival": FIRST,
    "prefill_start": FIRST,
    "prefill_end": LAST,
    "first_send": FIRST,
    "last_recv": LAST,
    "decode_start": FIRST,
    "decode_end": LAST,
    "last_token": LAST,
}
"""The events of a request, and which of several ranks tells when it was."""
_PLACE = ("trace_id", "process")
_EVENT = {"request_id": pl.String, "event": pl.String, "trace_id": pl.String, "at_ns": pl.Int64}


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of requests.

    Attributes:
        transfers: Columns of `Transfers`, of all traces.
        shares: Columns of `Shares`.
        steps: Columns of `Steps`.
        held: Columns of `StepRequests`.
        arrivals: `request_id`, `trace_id`, `at_ns`, as ranges of requests begin on the side that prefills.
    """

    transfers: pl.DataFrame
    shares: pl.DataFrame
    steps: pl.DataFrame
    held: pl.DataFrame
    arrivals: pl.DataFrame


def find_paths(seen: Seen, clocks: Clocks) -> pl.DataFrame:
    """The events of every request that has a transfer or a step: columns of `Paths`, by request.

    Args:
        seen: What is known of them.
        clocks: Of the traces, for ranks that several of them hold.
    """
    steps = seen.held.join(seen.steps, on="step_id")
    sides = kv_sides(seen)
    prefill = steps.filter(phase=PREFILL)
    decode = _where_kv_went(steps.filter(phase=DECODE), prefill, sides)
    first = decode.filter(pl.col("start_ns") == pl.col("start_ns").min().over("request_id", *_PLACE))
    found = [
        seen.arrivals.select("request_id", "trace_id", "at_ns", event=pl.lit("arrival")),
        _times(prefill, "start_ns", "prefill_start"),
        _times(prefill, "end_ns", "prefill_end"),
        _times(sides.filter("leaves"), "start_ns", "first_send"),
        _times(sides.filter("arrives"), "end_ns", "last_recv"),
        _times(first, "start_ns", "decode_start"),
        _times(first, "end_ns", "decode_end"),
        _times(decode, "end_ns", "last_token"),
    ]
    events = pl.concat([each.select(list(_EVENT)) for each in found])
    told = _agreed(_of_each_trace(events), clocks)
    requests = pl.concat([sides["request_id"], steps["request_id"]]).unique().sort()
    paths = pl.DataFrame({"request_id": requests})
    for event in EVENTS:
        mine = told.filter(event=event).select(
            "request_id",
            pl.col("at_ns").alias(f"{event}_ns"),
            pl.col("trace_id").alias(f"{event}_trace"),
            pl.col("doubt_ns").alias(f"{event}_doubt_ns"),
        )
        paths = paths.join(mine, on="request_id", how="left", maintain_order="left")
    for phase, rows in (("prefill", prefill), ("decode", decode)):
        most = rows.group_by("request_id", *_PLACE).len().group_by("request_id").agg(pl.col("len").max())
        paths = paths.join(most.rename({"len": f"{phase}_steps"}), on="request_id", how="left", maintain_order="left")
    counted = paths.with_columns(pl.col("prefill_steps", "decode_steps").fill_null(0).cast(pl.UInt32))
    return Paths.validate(counted.select(Paths.column_names()))


def kv_sides(seen: Seen) -> pl.DataFrame:
    """Every side of the transfers that carry a request's KV from prefill to decode.

    Returns:
        `request_id`, `transfer_id`, `trace_id`, `process`, `gpu`, `rank`, `start_ns`, `end_ns`, `acts_as`, `wire_ns`
        (of all that its kernels serve), `unit` (equal for those that share kernels), and whether its start shows when
        KV `leaves` and its end when it `arrives`. The kernel of a receive begins before anything leaves, and that of a
        send may end before it arrives; where only the side that acts leaves a row, that shows both.
    """
    own = seen.shares.select("transfer_id", "request_id").drop_nulls().unique()
    far = other_side(seen.transfers, "transfer_id").select("transfer_id", far="far_transfer_id")
    both = pl.concat([own, own.join(far, on="transfer_id").select(pl.col("far").alias("transfer_id"), "request_id")])
    forward = {"send": PREFILL, "recv": DECODE}
    way = pl.col("acts_as").replace_strict(forward, default=None, return_dtype=pl.String)
    alone = ~pl.col("transport").is_in(TWO_SIDED) | pl.col("is_one_sided").fill_null(value=False)
    timed = (
        both.join(seen.transfers.with_columns(acts_as=acts_as()), on="transfer_id")
        .join(_group_wire(seen.transfers), on=GROUP, how="left")
        .filter(
            pl.col("start_ns").is_not_null() & ~pl.col("is_self").fill_null(value=False),
            # KV that decode sends back is no part of the way to the first token.
            way.is_null() | pl.col("role").is_null() | (way == pl.col("role")),
        )
        .with_columns(alone=alone, is_call=(pl.col("interval_kind") == "call").fill_null(value=False))
    )
    return timed.select(
        "request_id", "transfer_id", *_PLACE, "gpu", "rank", "start_ns", "end_ns", "acts_as",
        wire_ns=pl.coalesce("group_wire_ns", "wire_ns"),
        unit=pl.coalesce("group_key", -1 - pl.col("transfer_id").cast(pl.Int64)),
        leaves=pl.col("alone") | (pl.col("acts_as") == "send").fill_null(value=False),
        arrives=(pl.col("alone") | (pl.col("acts_as") == "recv").fill_null(value=False)) & ~pl.col("is_call"),
    )  # fmt: skip


def _group_wire(transfers: pl.DataFrame) -> pl.DataFrame:
    """The wire time of kernels that serve several transfers, whole: all of these have the kernels' whole interval."""
    shared = transfers.filter(pl.col("group_key").is_not_null())
    known = pl.when(pl.col("wire_ns").is_not_null().all()).then(pl.col("wire_ns").sum())
    return shared.group_by(GROUP).agg(group_wire_ns=known)


def _where_kv_went(decode: pl.DataFrame, prefill: pl.DataFrame, sides: pl.DataFrame) -> pl.DataFrame:
    """Decode steps of the processes that received a request's KV; where none is known, of all but those that prefilled.

    An engine that prefills may also run a decode step before it hands a request over.
    """
    key = ["request_id", *_PLACE]
    received = sides.filter(pl.col("acts_as") == "recv").select(key).unique()
    knows = received.select("request_id").unique()
    there = decode.join(received, on=key, how="semi", nulls_equal=True)
    elsewhere = decode.join(knows, on="request_id", how="anti")
    return pl.concat([there, elsewhere.join(prefill.select(key).unique(), on=key, how="anti", nulls_equal=True)])


def spans(seen: Seen) -> dict[str, tuple[int, int]]:
    """From when to when things happened in each trace that has transfers, steps or arrivals, on its own clock."""
    parts = [
        seen.transfers.select("trace_id", low=pl.coalesce("start_ns", "call_start_ns"),
                              high=pl.coalesce("end_ns", "call_end_ns")),
        seen.steps.select("trace_id", low="start_ns", high="end_ns"),
        seen.arrivals.select("trace_id", low="at_ns", high="at_ns"),
    ]  # fmt: skip
    edges = pl.concat(parts).drop_nulls().group_by("trace_id").agg(pl.col("low").min(), pl.col("high").max())
    return {trace: (low, high) for trace, low, high in edges.sort("trace_id").iter_rows()}


def _times(rows: pl.DataFrame, column: str, event: str) -> pl.DataFrame:
    return rows.select("request_id", "trace_id", at_ns=column, event=pl.lit(event)).drop_nulls("at_ns")


def _of_each_trace(events: pl.DataFrame) -> pl.DataFrame:
    """The one time of each event that the ranks of one trace agree on: the first or the last of theirs."""
    low = pl.col("event").is_in([name for name, which in EVENTS.items() if which == FIRST]).first()
    return events.group_by("request_id", "event", "trace_id").agg(
        at_ns=pl.when(low).then(pl.col("at_ns").min()).otherwise(pl.col("at_ns").max())
    )


def _agreed(events: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """One row for each event of a request; none where several traces hold it whose clocks could not be aligned.

    Of several the first, or the last, on one clock. `doubt_ns` is how far the others may lie beyond it, as far as
    clocks can tell.
    """
    key = ["request_id", "event"]
    several = pl.len().over(key) > 1
    single = events.filter(~several).with_columns(doubt_ns=pl.lit(0, pl.Int64))
    ranks = events.filter(several).with_columns(base=pl.col("trace_id").min().over(key))
    there = _on_clock(ranks, "base", clocks)
    known = there.filter(pl.col("on_base").is_not_null().all().over(key))
    low = pl.col("event").is_in([name for name, which in EVENTS.items() if which == FIRST])
    ahead = pl.when(low).then("on_base").otherwise(-pl.col("on_base"))
    chosen = known.sort(*key, ahead, "trace_id").unique(key, keep="first", maintain_order=True)
    beside = _on_clock(
        known.select(*key, "trace_id", "at_ns").join(
            chosen.select(*key, taken="trace_id", taken_ns="at_ns"), on=key, maintain_order="left"
        ),
        "taken",
        clocks,
    )
    sign = pl.when(low).then(-1).otherwise(1)
    beyond = pl.col("apart_ns") + sign * (pl.col("on_base") - pl.col("taken_ns"))
    doubts = beside.group_by(key).agg(
        doubt_ns=pl.when(pl.col("trace_id") != pl.col("taken")).then(beyond.clip(lower_bound=0)).max()
    )
    settled = chosen.join(doubts, on=key, maintain_order="left")
    return pl.concat([each.select(*_EVENT, "doubt_ns") for each in (single, settled)])


def _on_clock(rows: pl.DataFrame, base: str, clocks: Clocks) -> pl.DataFrame:
    """Add `on_base`, `at_ns` on the clock of the trace in the column `base`, and `apart_ns`, how far that may be off.

    Null where the two could not be aligned.
    """
    parts = [rows.with_columns(on_base=pl.lit(None, pl.Int64), apart_ns=pl.lit(None, pl.Int64)).clear()]
    for (ours, theirs), part in rows.group_by(base, "trace_id", maintain_order=True):
        offset = clocks.between(str(ours), str(theirs))
        at, apart = (None, None) if offset is None else (offset.expr_to_base(pl.col("at_ns")), offset.uncertainty_ns)
        parts.append(
            part.with_columns(
                on_base=pl.lit(None, pl.Int64) if at is None else at, apart_ns=pl.lit(apart, dtype=pl.Int64)
            )
        )
    return pl.concat(parts)
