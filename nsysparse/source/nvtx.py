"""Read NVTX ranges and marks: their rows, their names, their total order, and what their payloads say.

Payloads are read for NCCL's and NIXL's own events only, and only where the file holds any.
"""

from collections import Counter
from typing import Any

import polars as pl
import sqlalchemy as sa

from nsysparse.frames import Frame, Labels, Payloads, thread_process
from nsysparse.source import nixl_domain, nixl_payloads, schema
from nsysparse.source.export import Export, string_ids_like
from nsysparse.source.nccl_trace import SIDES
from nsysparse.source.payloads import Decoder, decode, read_schemas
from nsysparse.source.usable import usable_times

_STYLES = {schema.NVTX_PUSH_POP: "push_pop", schema.NVTX_START_END: "start_end", schema.NVTX_MARK: "mark"}


def read_events(export: Export, anomalies: Counter[str]) -> pl.DataFrame:
    """Ranges, marks and domain rows of NVTX_EVENTS, with payload columns for those that may be NCCL's or NIXL's."""
    wanted = (*_STYLES, schema.NVTX_DOMAIN_CREATE)
    where = sa.column("eventType").in_(wanted)
    # Only rows that are called nccl… or a NIXL post: other payloads can be anything and of any size.
    wordy = _named_like(export, "nccl%") | _named_like(export, nixl_domain.POST_PREFIX + "%")
    if "category" in export.columns(schema.NVTX.table):  # advanced NCCL tracing has no prefix, but categories
        traced = sa.or_(sa.false(), *(_named_like(export, name) for name in SIDES))
        wordy = wordy | (sa.column("category").is_not(None) & traced)
    numbered = _named_like(export, nixl_domain.PREFIX + "%")
    extra: dict[str, tuple[sa.ColumnElement[Any], type[pl.DataType]]] = {}
    carriers = (*((wordy, item) for item in schema.NVTX_PAYLOAD_COLUMNS.items()),
                *((numbered, item) for item in schema.NVTX_NUMBER_COLUMNS.items()))  # fmt: skip
    # Nearly always empty: one scan is cheaper than a test per row.
    filled = export.filled(schema.NVTX.table, [theirs for _, (_, (theirs, _)) in carriers])
    for carrying, (ours, (theirs, dtype)) in carriers:
        if theirs in filled:
            # Declared TEXT, holds bytes.
            stored = sa.cast(sa.column(theirs), sa.LargeBinary) if dtype is pl.Binary else sa.column(theirs)
            extra[ours] = (sa.case((carrying, stored), else_=sa.null()), dtype)
    events = export.read(schema.NVTX, where=where, extra=extra)
    empty = {ours: dtype for _, (ours, (_, dtype)) in carriers if ours not in extra}
    events = events.with_columns(pl.lit(None, dtype=dtype).alias(ours) for ours, dtype in empty.items())
    number = pl.coalesce("unsigned_value", "signed_value")
    events = events.with_columns(handle=number.reinterpret(signed=False)).drop("unsigned_value", "signed_value")
    unowned = events["thread"].null_count()
    if unowned:
        anomalies["ranges-without-thread"] += unowned
    return usable_times(events.filter(pl.col("thread").is_not_null()), "ranges", anomalies).with_columns(
        process=thread_process(pl.col("thread")), domain_id=pl.col("domain_id").fill_null(0)
    )


def _named_like(export: Export, pattern: str) -> sa.ColumnElement[bool]:
    """Whether the name of an NVTX event looks like `pattern`, whatever the case of ASCII letters."""
    present = export.columns(schema.NVTX.table)
    named: sa.ColumnElement[bool] = sa.false()
    if "text" in present:
        named = named | sa.column("text").like(pattern)
    if "textId" in present:
        named = named | sa.column("textId").in_(string_ids_like(pattern))
    return named


def labelled(export: Export, events: pl.DataFrame) -> tuple[Frame[Labels], pl.DataFrame]:
    """Replace text and domain of each event by the code of its distinct (domain, name) pair."""
    strings = export.read_strings(pl.concat([events["text_id"], events["json_text_id"]]))
    text = dict(zip(strings["id"].to_list(), strings["value"].to_list(), strict=True))
    distinct = events.select("domain_id", "process", "text", "text_id").unique()
    named = distinct.with_columns(
        name=pl.coalesce(
            "text", pl.col("text_id").replace_strict(text, default=None, return_dtype=pl.String)
        ).fill_null("")
    )
    domains = (
        events.filter(event_type=schema.NVTX_DOMAIN_CREATE)
        .join(named, on=["domain_id", "process", "text", "text_id"], nulls_equal=True)
        .filter(pl.col("domain_id") != 0)
        .sort("process", "domain_id", "name")
        .unique(["process", "domain_id"], keep="first")
        .select("process", "domain_id", domain="name")
    )
    named = named.join(domains, on=["process", "domain_id"], how="left").with_columns(
        is_default_domain=pl.col("domain_id") == 0
    )
    key = ["domain", "is_default_domain", "name"]
    labels = (
        named.select(key)
        .unique()
        .sort(key, nulls_last=False)
        .with_row_index("label_id")
        .with_columns(pl.col("label_id").cast(pl.UInt32))
    )
    coded = named.join(labels, on=key, nulls_equal=True)
    events = events.filter(pl.col("event_type") != schema.NVTX_DOMAIN_CREATE).join(
        coded.select("domain_id", "process", "text", "text_id", "label_id"),
        on=["domain_id", "process", "text", "text_id"],
        nulls_equal=True,
    )
    json = pl.coalesce(
        "json_text", pl.col("json_text_id").replace_strict(text, default=None, return_dtype=pl.String)
    ).alias("json")
    return Labels.validate(labels.select(Labels.column_names())), events.with_columns(json)


def ordered(
    events: pl.DataFrame, trace_id: str, trace_end: int, session_end: int | None, anomalies: Counter[str]
) -> pl.DataFrame:
    """Ranges and marks in total order; a range nobody closed ends with the recording and says so."""
    is_mark = pl.col("event_type") == schema.NVTX_MARK
    never_ended = pl.col("end_ns").is_null() & ~is_mark
    # nsys itself closes an open range at the end of the recording, without naming a closing thread.
    at_end = pl.col("end_ns") == session_end if session_end else pl.lit(value=False)
    cut = at_end & pl.col("end_thread").is_null() & ~is_mark
    ranges = events.with_columns(
        trace_id=pl.lit(trace_id),
        style=pl.col("event_type").replace_strict(_STYLES, return_dtype=pl.String),
        is_open=(never_ended | cut).fill_null(value=False),
        end_ns=pl.when(is_mark).then("start_ns").otherwise(pl.col("end_ns").fill_null(trace_end)),
    )
    opened = int(ranges["is_open"].sum())
    if opened:
        anomalies["ranges-never-closed"] += opened
    order = ["process", "thread", "start_ns", "end_ns", "label_id", "style", "end_thread", "json", "blob", "handle"]
    descending = [False, False, False, True, *[False] * 6]
    return (
        ranges.sort(order, descending=descending, nulls_last=True)
        .with_row_index("range_id")
        .with_columns(pl.col("range_id").cast(pl.UInt32))
    )


def read_payloads(
    export: Export, ranges: pl.DataFrame, labels: pl.DataFrame, anomalies: Counter[str]
) -> Frame[Payloads]:
    """What NCCL's and NIXL's own events say in their payloads.

    Args:
        export: The open file, for the schemas of its payloads.
        ranges: From `ordered`, with `json`, `blob` and `handle`.
        labels: Their labels.
        anomalies: Counts payloads that fit no schema, and sizes no message can have.
    """
    carrying = ranges.filter(pl.col("json").is_not_null() | pl.col("blob").is_not_null())
    entries = export.read(schema.PAYLOAD_ENTRIES) if carrying.height else pl.DataFrame()
    posts = labels.filter(pl.col("name").is_in(list(nixl_domain.POSTS))).select("label_id")
    of_nccl = Decoder(read_schemas(entries) if carrying.height else {})
    of_nixl = nixl_payloads.Decoder(nixl_payloads.read_schemas(entries) if carrying.height else {})
    said = [
        decode(carrying.join(posts, on="label_id", how="anti"), of_nccl),
        nixl_payloads.decode(carrying.join(posts, on="label_id", how="semi"), of_nixl),
    ]
    for decoder in (of_nccl, of_nixl):
        if decoder.undecodable:
            anomalies["payloads-not-decodable"] += decoder.undecodable
        if decoder.impossible:
            anomalies["sizes-impossible"] += decoder.impossible
    handles = ranges.filter(pl.col("handle").is_not_null()).select("range_id", "handle")
    found = pl.concat(said, how="diagonal").join(handles, on="range_id", how="full", coalesce=True).sort("range_id")
    return Payloads.validate(found.select(Payloads.column_names()))
