"""UCX operations: from the call that submits one to its completion, as `nsys profile -t ucx` records them.

Nothing runs on the GPU here, so the interval is the host's: data may have arrived a little before the completion was
noticed. An operation that completes inside its call has no completion of its own; its end stays unknown.
"""

import polars as pl

from nsysparse.frames import Found, Frame, found_frame
from nsysparse.scope_table import ScopeTable
from nsysparse.source import schema
from nsysparse.source.trace import Trace

NAME = "ucx"
ABOUT = (
    "UCX sends, receives, puts and gets from submission to completion; bytes are UCX's packed size, and active messages"
    " and messages under 4 KiB are control traffic"
)
UNSEEN = (
    "what does not pass UCX, such as transports that call verbs themselves; sizes are recorded since UCX 1.14, the"
    " other worker since 1.12"
)
NEEDS = (schema.UCP_SUBMIT, schema.UCP_PROGRESS)
SHOWN_BY = (("ucx_messages",),)
CONTROL_RULE = "ucx/control-message"
# A send that UCX copies on ("eager") is complete before anything crossed. The threshold depends on the transport and
# is not in the trace; for memory of a GPU it lies well below this.
EAGER_BYTES = 256 * 1024
LEAST_DATA_BYTES = 4096
"""Below it a message is taken for control traffic: even one layer of one cache block is larger."""
CALL_SLACK_NS = 10_000
"""How far the start of a completion's span may lie outside the call that submitted it."""

_SENDS = r"(?i)^ucp_(?:tag_send|stream_send|am_send|put)"
_RECEIVES = r"(?i)^ucp_(?:tag_(?:msg_)?recv|stream_recv|am_recv|get)"
_ACTIVE_MESSAGE = r"(?i)^ucp_am_"
_TAGGED = r"(?i)^ucp_tag_"
_ONE_SIDED = r"(?i)^ucp_(?:put|get)"
# What both rows of an operation carry. A receive may be posted with more room than the message that came, and match
# any tag: what is left over goes by the buffer alone.
_KEYS = (["process", "address", "bytes", "tag"], ["process", "address"])
_SAID = ("bytes", "tag", "worker", "peer_worker")


def find(trace: Trace, scopes: ScopeTable) -> Frame[Found]:
    """All UCX operations of a trace, sorted by when and where they were submitted.

    Purpose is set for control messages only.
    """
    del scopes  # UCX says for itself what it moves
    met = _operations(trace.ucp)
    control = is_control()
    near, far = (pl.concat_str(pl.lit("ucp:"), column) for column in ("worker", "peer_worker"))
    sending, receiving = pl.col("side") == "send", pl.col("side") == "recv"
    found = met.with_columns(
        side=pl.when(pl.col("name").str.contains(_SENDS))
        .then(pl.lit("send"))
        .when(pl.col("name").str.contains(_RECEIVES))
        .then(pl.lit("recv"))
    ).with_columns(
        trace_id=pl.lit(trace.trace_id),
        transport=pl.lit(NAME),
        purpose=pl.when(control).then(pl.lit("other")),
        purpose_rule=pl.when(control).then(pl.lit(CONTROL_RULE)),
        interval_kind=pl.when(pl.col("end_ns").is_not_null()).then(pl.lit("host")),
        time_ns=pl.col("end_ns") - pl.col("start_ns"),
        bytes_source=pl.when(pl.col("bytes").is_not_null()).then(pl.lit("ucx")),
        src_end=pl.when(sending).then(near).when(receiving).then(far),
        dst_end=pl.when(sending).then(far).when(receiving).then(near),
    )
    named = pl.col("name").str.contains(_TAGGED) & pl.col("side").is_not_null()
    keys = pl.Series([None if tag is None else f"ucx-tag:{tag:x}" for tag in met["tag"]], dtype=pl.String)
    found = found.with_columns(
        match_key=pl.when(named).then(keys), is_one_sided=pl.col("name").str.contains(_ONE_SIDED)
    )
    return found_frame(
        found.sort("process", "thread", "call_start_ns", "start_ns", "event_id", nulls_last=True).with_columns(
            staging_bytes=pl.lit(EAGER_BYTES)
        )
    )


def is_control() -> pl.Expr:
    """Whether an operation of this `name` and these `bytes` is control traffic."""
    return pl.col("name").str.contains(_ACTIVE_MESSAGE) | (pl.col("bytes") < LEAST_DATA_BYTES).fill_null(value=False)


def _operations(events: pl.DataFrame) -> pl.DataFrame:
    """One row per operation: its call where recorded, its interval where its completion was, what either says of it."""
    submits, ends = events.filter(pl.col("kind") == "submit"), events.filter(pl.col("kind") == "progress")
    pairs = []
    left_submits, left_ends = submits, ends.filter(pl.col("end_ns").is_not_null())
    for key in _KEYS:
        met = _meet(left_submits, left_ends, key)
        pairs.append(met)
        left_submits = left_submits.join(met, left_on="event_id", right_on="submit", how="anti")
        left_ends = left_ends.join(met, left_on="event_id", right_on="progress", how="anti")
    columns = ["event_id", "name", "process", "thread", "start_ns", "end_ns", *_SAID]
    both = (
        pl.concat(pairs)
        .join(submits.select(columns), left_on="submit", right_on="event_id")
        .join(ends.select(columns), left_on="progress", right_on="event_id", suffix="_done")
        .select(
            "process", "thread",
            event_id="submit",
            name=pl.when(pl.col("name") == "").then("name_done").otherwise("name"),
            call_start_ns="start_ns",
            call_end_ns="end_ns",
            start_ns="start_ns_done",
            end_ns="end_ns_done",
            **{column: pl.coalesce(f"{column}_done", column) for column in _SAID},
        )
    )  # fmt: skip
    no_time = pl.lit(None, dtype=pl.Int64)
    unfinished = left_submits.select(
        "process", "thread", "event_id", "name", *_SAID,
        call_start_ns="start_ns", call_end_ns="end_ns", start_ns=no_time, end_ns=no_time,
    )  # fmt: skip
    # The span begins where the operation was submitted, so that instant stands in for the call.
    unsubmitted = left_ends.select(
        "process", "thread", "event_id", "name", *_SAID, "start_ns", "end_ns",
        call_start_ns="start_ns", call_end_ns="start_ns",
    )  # fmt: skip
    return pl.concat([both, unfinished, unsubmitted], how="diagonal")


def _meet(submits: pl.DataFrame, ends: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Event ids (submit, progress) of the same operation: the same key, and the span begins at the call.

    Buffers are used again and an operation may complete inside its call, without a completion's row: so of equal keys
    the call nearest in time counts, not the k-th. A call has one completion at most.
    """
    ids = {"submit": pl.UInt32, "progress": pl.UInt32}
    if submits.is_empty() or ends.is_empty():
        return pl.DataFrame(schema=ids)
    keyed = [
        frame.select(
            pl.concat_str([pl.col(column).cast(pl.String).fill_null("-") for column in key], separator="|").alias(
                "key"
            ),
            pl.col("start_ns").alias("at"),
            pl.col("event_id").alias(name),
            "start_ns",
            "end_ns",
        ).sort("at", name)
        for name, frame in (("submit", submits), ("progress", ends))
    ]
    near = keyed[1].join_asof(keyed[0], on="at", by="key", strategy="nearest", suffix="_call", check_sortedness=False)
    early = pl.col("start_ns_call") - pl.col("start_ns")
    late = pl.col("start_ns") - pl.col("end_ns_call").fill_null(pl.col("start_ns_call"))
    fits = (early <= CALL_SLACK_NS) & (late <= CALL_SLACK_NS)
    apart = (pl.col("start_ns") - pl.col("start_ns_call")).abs()
    return (
        near.filter(pl.col("submit").is_not_null() & fits)
        .sort(apart, "progress")
        .unique("submit", keep="first", maintain_order=True)
        .select("submit", "progress")
    )
