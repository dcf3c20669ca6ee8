"""Requests whose KV was sent more than once: all but the last time was lost."""

from collections.abc import Mapping, Sequence

import polars as pl

from nsysparse.analysis import Finding, Request
from nsysparse.metrics.findings.ranking import MEDIUM, refs, severity
from nsysparse.metrics.measured import Measured
from nsysparse.units import counted, human_ns


def sent_again(requests: Sequence[Request], measured: Measured) -> Finding | None:
    """The finding; its cost is the time from each request's first send to the beginning of its last attempt.

    None where that is not worth telling, as a share of the ways of all requests of which these are known.

    Args:
        requests: With their ways and how often they were sent.
        measured: Movements and their shares.
    """
    again = [request for request in requests if (request.attempt_count or 1) > 1]
    if not again:
        return None
    lost = _lost(measured, {request.request_id: request.attempt_count or 1 for request in again})
    cost = sum(lost.values()) if lost else None
    ways = sum(request.path_ns or 0 for request in requests)
    known = [lost[request.request_id] for request in again if request.path_ns and request.request_id in lost]
    how_bad = severity(sum(known) / ways) if known else MEDIUM
    if how_bad is None:
        return None
    times = max(request.attempt_count or 1 for request in again)
    worst = sorted(again, key=lambda request: (-lost.get(request.request_id, 0), request.request_id))
    return Finding(
        id="sent-again",
        kind="wire",
        severity=how_bad,
        title=f"The KV of {counted(len(again), 'request')} was sent more than once, up to {times:,} times",
        evidence=f"{'Unknown time' if cost is None else human_ns(cost)} from first sends to the beginning of last"
        f" attempts; worst: {', '.join(request.request_id for request in worst[:3])}",
        cost_ns=cost,
        advice="See the engine's log for failed or timed-out transfers of these requests, and for evicted caches.",
        refs=refs(request.request_id for request in worst),
    )


def _lost(measured: Measured, wanted: Mapping[str, int]) -> dict[str, int]:
    """By request, how long after its first transfer's start its last attempt began.

    Args:
        measured: Movements and their shares.
        wanted: Requests, and how often each was sent: of a layer's transfers the last attempt has one in so many.
    """
    lane = ["request_id", "trace_id", "process", "gpu", "peer"]
    of_request = pl.DataFrame({"request_id": list(wanted), "times": list(wanted.values())})
    named = measured.shares.join(of_request, on="request_id").select("transfer_id", "request_id", "layer", "times")
    moved = named.join(
        measured.movements.select("transfer_id", "start_ns", *lane[1:]).drop_nulls("start_ns"), on="transfer_id"
    )
    before_last = pl.len() - pl.len() // pl.col("times").first()
    layers = moved.group_by(*lane, "layer").agg(
        first=pl.col("start_ns").min(), last=pl.col("start_ns").sort().get(before_last, null_on_oob=True)
    )
    lanes = layers.group_by(lane).agg(lost=pl.col("last").min() - pl.col("first").min())
    return dict(
        lanes.drop_nulls("lost").group_by("request_id").agg(pl.col("lost").max()).sort("request_id").iter_rows()
    )
