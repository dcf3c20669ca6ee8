"""Which steps of a request are of its way to the first token: those of the server that decoded it first.

A request may be prefilled again, move on to another decode server, or have its last tokens recomputed where it decodes:
none of that is on the way. Ranks of one server run the same step at the same time.
"""

from dataclasses import dataclass

import polars as pl

from nsysparse.analysis import DECODE, PREFILL
from nsysparse.clocks import Clocks
from nsysparse.crossings import PLACE
from nsysparse.events import on_clock

_AT = ["request_id", *PLACE]


@dataclass(frozen=True, slots=True)
class OnTheWay:
    """The steps and sides of transfers that are on requests' ways.

    Attributes:
        prefill: Prefill steps with their requests: columns of `Steps` and `request_id`.
        decode: Decode steps of the first server.
        first: Of these the first of each process.
        sides: From `kv_sides`.
    """

    prefill: pl.DataFrame
    decode: pl.DataFrame
    first: pl.DataFrame
    sides: pl.DataFrame


def on_the_way(steps: pl.DataFrame, sides: pl.DataFrame, clocks: Clocks) -> OnTheWay:
    """What is on the way of each request.

    Args:
        steps: Steps with their requests.
        sides: From `kv_sides`.
        clocks: Of all traces.
    """
    prefill = steps.filter(phase=PREFILL)
    everywhere = _where_kv_went(steps.filter(phase=DECODE), prefill, sides)
    ranks = _first_server(everywhere, sides, clocks)
    decode = everywhere.join(ranks.select(_AT), on=_AT, how="semi", nulls_equal=True)
    first = decode.filter(pl.col("start_ns") == pl.col("start_ns").min().over(_AT))
    begun = _begun(first, clocks)
    elsewhere = prefill.join(ranks.select(_AT), on=_AT, how="anti", nulls_equal=True)
    alone = prefill.join(elsewhere.select("request_id").unique(), on="request_id", how="anti")
    before = _not_after(pl.concat([elsewhere, alone]), begun, "start_ns", "began_ns", clocks)
    gone = everywhere.join(ranks.select(_AT), on=_AT, how="anti", nulls_equal=True).select(_AT).unique()
    carried = sides.join(gone, on=_AT, how="anti", nulls_equal=True)
    return OnTheWay(before, decode, first, _not_after(carried, begun, "start_ns", "done_ns", clocks))


def _where_kv_went(decode: pl.DataFrame, prefill: pl.DataFrame, sides: pl.DataFrame) -> pl.DataFrame:
    """Decode steps of the processes that received a request's KV; where none is known, of all but those that prefilled.

    An engine that prefills may also run a decode step before it hands a request over. Where one process does both, all
    of its decode steps count.
    """
    received = sides.filter(pl.col("acts_as") == "recv").select(_AT).unique()
    there = decode.join(received, on=_AT, how="semi", nulls_equal=True)
    left = decode.join(received.select("request_id").unique(), on="request_id", how="anti")
    elsewhere = left.join(prefill.select(_AT).unique(), on=_AT, how="anti", nulls_equal=True)
    same = left.join(elsewhere.select("request_id").unique(), on="request_id", how="anti")
    return pl.concat([there, elsewhere, same])


def _first_server(decode: pl.DataFrame, sides: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """The ranks of the server that decoded each request first: `_AT`.

    Their first step overlaps the earliest one of all, or their KV had begun to arrive when that began, as that of later
    stages of a pipeline has, and that of a server to which a request moves on has not. Where clocks cannot tell, all.
    """
    firsts = decode.sort("start_ns", "end_ns").group_by(_AT, maintain_order=True).first()
    several = pl.len().over("request_id") > 1
    got = sides.filter(pl.col("acts_as") == "recv").group_by(_AT).agg(got_ns=pl.col("start_ns").min())
    ranks = firsts.filter(several).join(got, on=_AT, how="left", nulls_equal=True)
    there = ranks.with_columns(base=pl.col("trace_id").min().over("request_id"))
    for column in ("got_ns", "end_ns", "start_ns"):
        placed = on_clock(there.drop("apart_ns", strict=False).with_columns(at_ns=column), "base", clocks)
        there = placed.with_columns(pl.col("on_base").alias(column)).drop("on_base")
    known = pl.col("start_ns").is_not_null().all().over("request_id")
    leader_end = pl.col("end_ns").sort_by("start_ns").first().over("request_id")
    together = pl.col("start_ns") <= leader_end + pl.col("apart_ns")
    served = pl.col("got_ns") <= pl.col("start_ns").min().over("request_id") + pl.col("apart_ns")
    kept = there.filter(~known | together.fill_null(value=True) | served.fill_null(value=False))
    return pl.concat([firsts.filter(~several).select(_AT), kept.select(_AT)])


def _begun(first: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """When each request's first decode step began and, on the last of its ranks, ended: on the first trace's clock."""
    ranks = first.sort("trace_id", "start_ns").with_columns(
        base=pl.col("trace_id").first().over("request_id"), at_ns="end_ns"
    )
    ended = on_clock(ranks, "base", clocks).sort("trace_id", "start_ns")
    return ended.group_by("request_id", maintain_order=True).agg(
        pl.col("base").first(),
        began_ns=pl.col("start_ns").first(),
        done_ns=(pl.col("on_base") + pl.col("apart_ns")).max(),
    )


def _not_after(rows: pl.DataFrame, begun: pl.DataFrame, column: str, limit: str, clocks: Clocks) -> pl.DataFrame:
    """Rows that do not begin after a request's first decode step had begun, or ended, as far as clocks can tell."""
    placed = rows.join(begun, on="request_id", how="left", maintain_order="left")
    known = placed.filter(pl.col("base").is_not_null()).with_columns(at_ns=column)
    there = on_clock(known, "base", clocks)
    late = there.filter((pl.col("on_base") > pl.col(limit) + pl.col("apart_ns")).fill_null(value=False))
    key = ["step_id", "request_id"] if "step_id" in rows.columns else ["transfer_id", "request_id"]
    return rows.join(late.select(key), on=key, how="anti", maintain_order="left")
