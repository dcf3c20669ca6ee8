"""NIXL reads and writes: what was posted, from the post until the application saw it complete.

RDMA leaves no row of a GPU, so the interval is the host's: from the start of the post to the first poll that found it
done, which may be long after the data arrived. The passive side of a transfer records nothing.
"""

import polars as pl

from nsysparse.frames import Found, Frame, found_frame, pid
from nsysparse.scope_table import ScopeTable
from nsysparse.source import nixl_domain, schema
from nsysparse.source.trace import Trace
from nsysparse.source.usable import LONGEST_NS

NAME = "nixl"
ABOUT = "NIXL reads and writes, from their post to the mark of their completion"
UNSEEN = (
    "NIXL before 1.4.0 or without its NVTX plug-in, and the passive side of a transfer, which leave nothing; requests"
    " and layers, which no event names: one transfer may carry all layers"
)
NEEDS = (schema.NVTX,)
SHOWN_BY = (("nixl_requests",),)
_REQUEST = ["process", "handle"]


def find(trace: Trace, scopes: ScopeTable) -> Frame[Found]:
    """All posted transfers of a trace, in the order in which they were posted.

    A request handle is an address and comes back after its request is gone. So a post has the first completion of its
    process and handle after it, if that is before the handle's next post. A post without completion has no interval.
    """
    del scopes  # NIXL does not say what it moves; the ranges around the post may
    events = trace.ranges.join(
        trace.labels.filter(pl.col("name").is_in([*nixl_domain.POSTS, nixl_domain.COMPLETE])), on="label_id"
    ).join(trace.payloads.select("range_id", "handle", "bytes", "remote_agent"), on="range_id", how="left")
    posts = events.filter((pl.col("style") == "push_pop") & pl.col("name").is_in(list(nixl_domain.POSTS)))
    marks = events.filter((pl.col("style") == "mark") & (pl.col("name") == nixl_domain.COMPLETE))
    completions = _completions(posts, marks)
    met = posts.join(completions, on="range_id", how="left").with_columns(done_ns=_in_time())
    done = met.sort("process", "thread", "start_ns", "end_ns", "range_id")
    unfinished = done["done_ns"].null_count()
    if unfinished:
        trace.anomalies["nixl-never-completed"] = unfinished
    stray = marks.height - completions.height
    if stray:
        trace.anomalies["nixl-completions-without-post"] = stray
    return found_frame(_transfers(trace, done))


def _completions(posts: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """When each post completed: `range_id` of the post and `done_ns`, for those that did.

    At one instant a completion comes before a post: it is of the request that had the handle before.
    """
    columns = [*_REQUEST, "start_ns", "range_id"]
    events = (
        pl.concat(
            [posts.select(*columns, is_post=pl.lit(value=True)), marks.select(*columns, is_post=pl.lit(value=False))]
        )
        .filter(pl.col("handle").is_not_null())
        .sort(*_REQUEST, "start_ns", "is_post", "range_id")
        .with_columns(post=pl.when("is_post").then("range_id").forward_fill().over(_REQUEST))
    )
    first = events.filter(~pl.col("is_post") & pl.col("post").is_not_null()).unique("post", keep="first")
    return first.select(range_id="post", done_ns="start_ns")


def _in_time() -> pl.Expr:
    """When a transfer was done, unless that is longer after its post than anything lasts."""
    return pl.when(pl.col("done_ns") - pl.col("start_ns") <= LONGEST_NS).then("done_ns")


def _transfers(trace: Trace, done: pl.DataFrame) -> pl.DataFrame:
    """Rows of `Found`: who writes sends to the remote agent, who reads receives from it."""
    sends = pl.col("name").replace_strict(nixl_domain.POSTS, return_dtype=pl.String) == "send"
    own, remote = (pl.concat_str(pl.lit("agent:"), name) for name in ("domain", "remote_agent"))
    # Processes may call their agents alike: what one of them moves is not added to what another does.
    alike = pl.col("process").n_unique().over("domain") > 1
    own = pl.when(alike).then(pl.concat_str(own, pl.lit("/pid"), pid(pl.col("process")))).otherwise(own)
    completed = pl.col("done_ns").is_not_null()
    return done.select(
        "process",
        "thread",
        "bytes",
        trace_id=pl.lit(trace.trace_id),
        transport=pl.lit(NAME),
        side=pl.when(sends).then(pl.lit("send")).otherwise(pl.lit("recv")),
        interval_kind=pl.when(completed).then(pl.lit("host")),
        start_ns=pl.when(completed).then("start_ns"),
        end_ns="done_ns",
        time_ns=pl.col("done_ns") - pl.col("start_ns"),
        bytes_source=pl.when(pl.col("bytes").is_not_null()).then(pl.lit("payload")),
        call_start_ns="start_ns",
        call_end_ns="end_ns",
        src_end=pl.when(sends).then(own).otherwise(remote),
        dst_end=pl.when(sends).then(remote).otherwise(own),
    )
