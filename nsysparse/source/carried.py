"""Read what NCCL's and NIXL's own events carry: payloads, and numbers of their own.

Other events can carry anything, of any size: nothing of theirs is read.
"""

import re
from collections import Counter

import polars as pl

from nsysparse.frames import Frame, Payloads
from nsysparse.source import nixl_domain, nixl_payloads, schema
from nsysparse.source.batch import Batch
from nsysparse.source.export import Export
from nsysparse.source.nccl_trace import SIDES, is_traced
from nsysparse.source.nvtx import Events
from nsysparse.source.payloads import Decoder, decode, read_schemas
from nsysparse.source.scan import Keep
from nsysparse.source.schema import ROW

_CARRIED: dict[str, type[pl.DataType]] = {
    "event": pl.Int64, "json": pl.String, "blob": pl.Binary, "handle": pl.UInt64,
}  # fmt: skip


def read_carried(export: Export, events: Events, kept: pl.Series | None) -> pl.DataFrame:
    """What events of NCCL and NIXL carry.

    Args:
        export: The open file.
        events: From `read_events`.
        kept: Ids of labels whose events are wanted; all without it.

    Returns:
        `event` (a position in the rows of `events`), `json` (text), `blob` (bytes) and `handle` (UInt64), each null
        where an event has none; no row where none carries anything.
    """
    spoken = _spoken(events.labels if kept is None else events.labels.filter(pl.col("label_id").is_in(kept.implode())))
    facts = events.rows.select("label_id", "has_category")[events.carriers["event"].to_numpy()]
    carriers = pl.concat([events.carriers, facts], how="horizontal").join(spoken, on="label_id")
    wordy = pl.col("wordy") | (pl.col("traced") & pl.col("has_category"))
    wanted = carriers.select("event", ROW, "numbered", wordy=wordy).filter(pl.col("wordy") | pl.col("numbered"))
    if wanted.is_empty():
        return pl.DataFrame(schema=_CARRIED)
    return _said(export, wanted).select(pl.col(name).cast(dtype) for name, dtype in _CARRIED.items())


def _spoken(labels: pl.DataFrame) -> pl.DataFrame:
    """Labels of events that may say something: in a payload (`wordy`; `traced` with a category), or by a number."""
    name = pl.col("name")
    told = labels.select(
        "label_id",
        wordy=name.str.contains(f"(?i)^(?:nccl|{re.escape(nixl_domain.POST_PREFIX)})"),
        traced=name.str.contains(f"(?i)^(?:{'|'.join(SIDES)})$"),  # advanced NCCL tracing has no prefix
        numbered=name.str.contains(f"(?i)^{re.escape(nixl_domain.PREFIX)}"),
    )
    return told.filter(pl.any_horizontal("wordy", "traced", "numbered"))


def _said(export: Export, carriers: pl.DataFrame) -> pl.DataFrame:
    """What these rows carry: the columns of `read_carried`."""
    found = export.scan(schema.NVTX_CARRIED, Batch.frame, keep=Keep.rows(carriers[ROW]))
    said = pl.concat(found.parts).join(carriers, on=ROW)
    strings = export.read_strings(said["json_text_id"]).rename({"id": "json_text_id", "value": "registered"})
    written = pl.DataFrame({"written": pl.Series(found.texts.get("json_text", []), dtype=pl.String)})
    texts = said.join(written.with_row_index("json_text"), on="json_text", how="left")
    return texts.join(strings, on="json_text_id", how="left").select(
        "event",
        json=pl.when("wordy").then(pl.coalesce("written", "registered")),
        blob=pl.when("wordy").then("blob"),
        handle=pl.when("numbered").then(pl.coalesce("unsigned_value", "signed_value").reinterpret(signed=False)),
    )


def read_payloads(
    export: Export, ranges: pl.DataFrame, labels: pl.DataFrame, anomalies: Counter[str]
) -> Frame[Payloads]:
    """What NCCL's and NIXL's own events say in their payloads.

    Args:
        export: The open file, for the schemas of its payloads.
        ranges: `range_id`, `label_id`, and the columns of `read_carried` where any event carries something.
        labels: Their labels.
        anomalies: Counts payloads that fit no schema, and sizes no message can have.
    """
    if "blob" not in ranges.columns:
        return Payloads.create_empty()
    ranges = ranges.join(labels.filter(is_traced()), on="label_id", how="anti")
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
