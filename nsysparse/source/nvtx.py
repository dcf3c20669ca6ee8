"""Read NVTX ranges and marks: their rows, their names and their total order.

There can be tens of millions: texts are codes, and a row is narrow from the batch in which it is read.
"""

from collections import Counter

import dataframely as dy
import polars as pl

from nsysparse.frames import STYLES, Labels, Ranges, thread_process
from nsysparse.source import schema
from nsysparse.source.export import Export
from nsysparse.source.scan import Keep
from nsysparse.source.usable import usable_times

_STYLES = {schema.NVTX_PUSH_POP: "push_pop", schema.NVTX_START_END: "start_end", schema.NVTX_MARK: "mark"}
_WANTED = (*_STYLES, schema.NVTX_DOMAIN_CREATE)
_NAMED = ["domain_id", "process", "text", "text_id"]


def read_events(export: Export, anomalies: Counter[str]) -> tuple[dy.DataFrame[Labels], pl.DataFrame]:
    """Ranges and marks of NVTX_EVENTS with their labels, in no particular order.

    Args:
        export: The open file.
        anomalies: Counts events without thread or with impossible times.

    Returns:
        Labels, and of each event `row`, `start_ns`, `end_ns`, `event_type`, `thread`, `end_thread`, `label_id`,
        `has_category`, and `carries`: whether it has a payload or a number of its own.
    """
    wanted = Keep(("event_type",), lambda batch: batch["event_type"].is_in(_WANTED))
    found = export.scan(schema.NVTX, _narrowed, keep=wanted)
    for _, odd in found.parts:
        anomalies.update(odd)
    events = pl.concat([rows for rows, _ in found.parts], rechunk=False)
    return _labelled(export, events, found.texts.get("text", []))


def _narrowed(batch: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """The usable rows of a batch, and how many are not, by code."""
    odd: Counter[str] = Counter()
    unowned = batch["thread"].null_count()
    if unowned:
        odd["ranges-without-thread"] += unowned
    usable = usable_times(batch.drop_nulls("thread"), "ranges", odd)
    narrow = usable.select(
        "row",
        "start_ns",
        "end_ns",
        "thread",
        "end_thread",
        "text",
        "text_id",
        pl.col("event_type").cast(pl.UInt8),
        pl.col("domain_id").fill_null(0),
        "has_category",
        carries=pl.any_horizontal(schema.NVTX_CARRIERS),
    )
    return narrow, odd


def _labelled(export: Export, events: pl.DataFrame, texts: list[str]) -> tuple[dy.DataFrame[Labels], pl.DataFrame]:
    """Replace text and domain of each event by the code of its distinct (domain, name) pair."""
    # Ids of domains are a process's own; most events are in the one that all have, and name no process here.
    process = thread_process(pl.col("thread"))
    events = events.with_columns(process=pl.when(pl.col("domain_id") != 0).then(process))
    named = _with_names(export, events.select(_NAMED).unique(), texts)
    created = events.filter(event_type=schema.NVTX_DOMAIN_CREATE)
    domains = (
        created.join(named, on=_NAMED, nulls_equal=True)
        .filter(pl.col("domain_id") != 0)
        .sort("process", "domain_id", "name")
        .unique(["process", "domain_id"], keep="first")
        .select("process", "domain_id", domain="name")
    )
    named = named.join(domains, on=["process", "domain_id"], how="left").with_columns(
        is_default_domain=pl.col("domain_id") == 0
    )
    key = ["domain", "is_default_domain", "name"]
    labels = named.select(key).unique().sort(key, nulls_last=False).with_row_index("label_id")
    coded = named.join(labels, on=key, nulls_equal=True).select(*_NAMED, "label_id")
    ranges = events if created.is_empty() else events.filter(pl.col("event_type") != schema.NVTX_DOMAIN_CREATE)
    ranges = ranges.join(coded, on=_NAMED, nulls_equal=True, how="left", maintain_order="left").drop(_NAMED)
    return Labels.validate(labels.select(Labels.column_names())), ranges


def _with_names(export: Export, distinct: pl.DataFrame, texts: list[str]) -> pl.DataFrame:
    """Add `name`: the text of an event, or of its id; empty where it has neither."""
    strings = export.read_strings(distinct["text_id"]).rename({"id": "text_id", "value": "registered"})
    written = pl.DataFrame({"written": pl.Series(texts, dtype=pl.String)}).with_row_index("text")
    both = distinct.join(written, on="text", how="left").join(strings, on="text_id", how="left")
    return both.select(*_NAMED, name=pl.coalesce("written", "registered").fill_null(""))


def ordered(events: pl.DataFrame, trace_end: int, session_end: int | None, anomalies: Counter[str]) -> pl.DataFrame:
    """Ranges and marks in total order; a range nobody closed ends with the recording and says so.

    Args:
        events: From `read_events`; payloads beside them, where there are any, tell apart what else is equal.
        trace_end: Where the recording ends, in nanoseconds.
        session_end: Likewise, where the file says so.
        anomalies: Counts ranges that were never closed.

    Returns:
        The columns of `Ranges` first, then what else the events had.
    """
    is_mark = pl.col("event_type") == schema.NVTX_MARK
    never_ended = pl.col("end_ns").is_null() & ~is_mark
    # nsys itself closes an open range at the end of the recording, without naming a closing thread.
    at_end = pl.col("end_ns") == session_end if session_end else pl.lit(value=False)
    cut = at_end & pl.col("end_thread").is_null() & ~is_mark
    ranges = events.with_columns(
        style=pl.col("event_type").replace_strict(_STYLES, return_dtype=STYLES),
        is_open=(never_ended | cut).fill_null(value=False),
        end_ns=pl.when(is_mark).then("start_ns").otherwise(pl.col("end_ns").fill_null(trace_end)),
    ).drop("event_type")
    opened = int(ranges["is_open"].sum())
    if opened:
        anomalies["ranges-never-closed"] += opened
    # A thread's id begins with its process.
    order = ["thread", "start_ns", "end_ns", "label_id", "style", "end_thread"]
    order += [name for name in ("json", "blob", "handle") if name in ranges.columns]
    placed = ranges.sort(order, descending=[name == "end_ns" for name in order], nulls_last=True).with_row_index(
        "range_id"
    )
    placed = placed.with_columns(process=thread_process(pl.col("thread")))
    known = Ranges.column_names()
    return placed.select(*known, *(name for name in placed.columns if name not in known))
