"""Decide which transfers move KV: by what the ranges around them say, never by a kernel's name alone.

SendRecv kernels also serve all-to-all, pipeline and weight traffic. What no rule decides stays `unknown`.
"""

import polars as pl

from nsysparse.scopes import enclosing


def with_purpose(transfers: pl.DataFrame, scopes: pl.DataFrame) -> pl.DataFrame:
    """Fill `purpose` and `purpose_rule` of one trace's transfers.

    A transport's own decision stands. Then what the ranges around the call say decides. A kernel without a
    recorded call goes with the calls of its stream when these all have one and the same purpose: one communicator
    works on one stream.
    """
    said = enclosing(transfers, scopes, "purpose").join(
        scopes.select("range_id", "purpose_rule"), left_on="scope_id", right_on="range_id"
    )
    joined = transfers.join(
        said.select("transfer_id", said_purpose="purpose", said_rule="purpose_rule"),
        on="transfer_id", how="left", maintain_order="left",
    )  # fmt: skip
    decided = joined.with_columns(
        purpose=pl.coalesce("purpose", "said_purpose"), purpose_rule=pl.coalesce("purpose_rule", "said_rule")
    ).drop("said_purpose", "said_rule")
    return _by_stream(decided).with_columns(
        pl.col("purpose").fill_null("unknown"), pl.col("purpose_rule").fill_null("no rule matched")
    )


def _by_stream(transfers: pl.DataFrame) -> pl.DataFrame:
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
