"""Decide which transfers move KV: by what the ranges around them say, never by a kernel's name alone.

SendRecv kernels also serve all-to-all, pipeline and weight traffic. What no rule decides stays `unknown`.
"""

import polars as pl

from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import at_capture, enclosing
from nsysparse.source import nccl_domain
from nsysparse.source.trace import Trace

ALL_TO_ALL = "nccl/all-to-all-group"
COLLECTIVES = "nccl/collectives-on-communicator"
SIDES = ("send", "recv")
_FEW = 2  # ranks or peers, among which all is not yet a pattern


def with_purpose(transfers: pl.DataFrame, scopes: ScopeTable, collectives: pl.Series | None = None) -> pl.DataFrame:
    """Fill `purpose` and `purpose_rule` of one trace's transfers, by the first of these that says something.

    1. The transport itself.
    2. The ranges around the call; of a replay of a CUDA graph those around the captured call, which are nearer than
       those around the launch of the whole graph.
    3. What the calls of a group do together, and what else its communicator carries.
    4. For a kernel without a recorded call, the calls of its stream, when these all have one and the same purpose: one
       communicator works on one stream.

    Args:
        transfers: Columns of `Found` and `transfer_id`.
        scopes: From `find_scopes`, of the same trace.
        collectives: From `communicators_with_collectives`; without it, no communicator has any.
    """
    decided = _by_ranges(transfers, scopes)
    shared = pl.Series([], dtype=pl.String) if collectives is None else collectives
    return _by_stream(_by_communicator(_by_shape(decided), shared)).with_columns(
        pl.col("purpose").fill_null("unknown"), pl.col("purpose_rule").fill_null("no rule matched")
    )


def communicators_with_collectives(trace: Trace) -> pl.Series:
    """Communicators on which a collective was recorded, in decimal digits as in `Found`."""
    named = trace.labels.filter(nccl_domain.is_nccl() & pl.col("name").is_in(nccl_domain.COLLECTIVES))
    calls = trace.ranges.filter(pl.col("label_id").is_in(named["label_id"].implode())).select("range_id")
    calls = calls.join(trace.payloads, on="range_id")
    return calls["communicator"].drop_nulls().unique().sort().cast(pl.String)


def _by_ranges(transfers: pl.DataFrame, scopes: ScopeTable) -> pl.DataFrame:
    captured = enclosing(at_capture(transfers), scopes, "purpose")
    launched = enclosing(transfers, scopes, "purpose").join(captured, on="transfer_id", how="anti")
    said = pl.concat([captured, launched]).join(
        scopes.filter(pl.col("purpose").is_not_null()).select("range_id", "purpose_rule"),
        left_on="scope_id",
        right_on="range_id",
    )
    joined = transfers.join(
        said.select("transfer_id", said_purpose="purpose", said_rule="purpose_rule"),
        on="transfer_id", how="left", maintain_order="left",
    )  # fmt: skip
    return joined.with_columns(
        purpose=pl.coalesce("purpose", "said_purpose"), purpose_rule=pl.coalesce("purpose_rule", "said_rule")
    ).drop("said_purpose", "said_rule")


def _by_shape(transfers: pl.DataFrame) -> pl.DataFrame:
    """Groups that exchange data all to all: with itself and others, or in both directions with every rank.

    KV goes from one rank to others, never back in the same group. But where a range calls any transfer of the group
    KV, its shape proves nothing of the others.
    """
    group = ["group_key", "communicator"]
    sends, receives = (pl.col("peer").filter(pl.col("side") == side).drop_nulls().n_unique() for side in SIDES)
    ranks = pl.col("rank_count").max()
    shape = (
        transfers.filter(pl.col("group_key").is_not_null() & pl.col("side").is_in(SIDES))
        .with_columns(carries_kv=(pl.col("purpose") == "kv").any().over("group_key"))
        .group_by(group)
        .agg(
            pl.col("carries_kv").first(),
            to_itself=((pl.col("side") == "send") & pl.col("is_self")).any() & (sends >= _FEW),
            with_everyone=(ranks > _FEW) & (sends == ranks) & (receives == ranks),
        )
        .filter((pl.col("to_itself") | pl.col("with_everyone").fill_null(value=False)) & ~pl.col("carries_kv"))
        .select(*group, all_to_all=pl.lit(value=True))
    )
    joined = transfers.join(shape, on=group, how="left", nulls_equal=True, maintain_order="left")
    return _otherwise(joined, pl.col("all_to_all"), ALL_TO_ALL).drop("all_to_all")


def _by_communicator(transfers: pl.DataFrame, collectives: pl.Series) -> pl.DataFrame:
    """Communicators of tensor and pipeline parallelism run collectives; those made to hand KV over do not."""
    return _otherwise(transfers, pl.col("communicator").is_in(collectives.implode()), COLLECTIVES)


def _otherwise(transfers: pl.DataFrame, condition: pl.Expr, rule: str) -> pl.DataFrame:
    """Call transfers whose purpose is still open `other` where a condition holds."""
    holds = pl.col("purpose").is_null() & condition.fill_null(value=False)
    return transfers.with_columns(
        purpose=pl.when(holds).then(pl.lit("other")).otherwise("purpose"),
        purpose_rule=pl.when(holds).then(pl.lit(rule)).otherwise("purpose_rule"),
    )


def _by_stream(transfers: pl.DataFrame) -> pl.DataFrame:
    """Kernels without a recorded call, by the calls of their stream."""
    stream = ["process", "device_id", "stream_id"]
    calls = transfers.filter(pl.col("side").is_in(["send", "recv"]) & pl.col("stream_id").is_not_null())
    agreed = (
        calls.group_by(stream)
        .agg(pl.col("purpose").unique(), pl.col("purpose_rule").unique().sort().first())
        .filter((pl.col("purpose").list.len() == 1) & pl.col("purpose").list.first().is_not_null())
        .select(
            *stream,
            stream_purpose=pl.col("purpose").list.first(),
            stream_rule=pl.concat_str(pl.lit("same stream as "), "purpose_rule"),
        )
    )
    lone = pl.col("side").is_null() & pl.col("purpose").is_null()
    return (
        transfers.join(agreed, on=stream, how="left", maintain_order="left")
        .with_columns(
            purpose=pl.when(lone).then("stream_purpose").otherwise("purpose"),
            purpose_rule=pl.when(lone).then("stream_rule").otherwise("purpose_rule"),
        )
        .drop("stream_purpose", "stream_rule")
    )
