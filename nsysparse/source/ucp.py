"""Read what `nsys profile -t ucx` recorded of UCX operations."""

from collections import Counter

import polars as pl

from nsysparse.frames import Frame, UcpEvents, thread_process
from nsysparse.source import schema
from nsysparse.source.export import Export
from nsysparse.source.usable import unsigned, usable_bytes, usable_times

_ORDER = ["start_ns", "end_ns", "thread", "kind", "name", "address", "bytes", "tag", "peer_worker"]


def read_ucp(export: Export, trace_id: str, anomalies: Counter[str]) -> Frame[UcpEvents]:
    """Submissions and completions in total order.

    Args:
        export: The open file.
        trace_id: Name of this input within the command.
        anomalies: Counts rows without thread or with impossible times, and sizes no message can have.

    Raises:
        InputError: A required column is missing.
    """
    parts = [
        export.read(spec).with_columns(kind=pl.lit(kind))
        for kind, spec in (("submit", schema.UCP_SUBMIT), ("progress", schema.UCP_PROGRESS))
    ]
    events = pl.concat(parts)
    unowned = events["thread"].null_count()
    if unowned:
        anomalies["ucx-rows-without-thread"] += unowned
    events = usable_times(events.filter(pl.col("thread").is_not_null()), "ucx-rows", anomalies)
    strings = export.read_strings(events["name_id"])
    text = dict(zip(strings["id"].to_list(), strings["value"].to_list(), strict=True))
    named = usable_bytes(events, anomalies).with_columns(
        name=pl.col("name_id").replace_strict(text, default=None, return_dtype=pl.String).fill_null(""),
        process=thread_process(pl.col("thread")),
        trace_id=pl.lit(trace_id),
        address=unsigned("address"),
        tag=unsigned("tag"),
        peer_worker=unsigned("peer_worker"),
    )
    placed = named.join(_workers(export), on="process", how="left").sort(_ORDER, nulls_last=True)
    numbered = placed.with_row_index("event_id")
    return UcpEvents.validate(
        numbered.with_columns(pl.col("event_id").cast(pl.UInt32)).select(UcpEvents.column_names())
    )


def _workers(export: Export) -> pl.DataFrame:
    """The UCP worker of each process that has exactly one: of several nothing says which one an operation used."""
    workers = export.read(schema.UCP_WORKERS).drop_nulls()
    return (
        workers.select(process=thread_process(pl.col("thread")), worker=unsigned("worker"))
        .group_by("process")
        .agg(pl.col("worker").unique())
        .filter(pl.col("worker").list.len() == 1)
        .with_columns(pl.col("worker").list.first())
    )
