"""How far a request's KV shared its link with that of other requests, or waited behind it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from nsysparse.intervals import Ints, coverage, merge


@dataclass(frozen=True, slots=True)
class Crowding:
    """What others on the same link took of the time in which a request's KV was awaited.

    Attributes:
        shared_ns: Of its own time on the wire, what it would not have needed alone: where k requests cross at once,
            each is taken to get a k-th of the link.
        queued_ns: Time in which nothing of its own was on the wire, and something of others was.
        behind_ns: Of that, what lay between its transfers: no receive of its own ran, and nothing that sends to one.
    """

    shared_ns: int
    queued_ns: int
    behind_ns: int = 0


def crowding(
    crossing: pl.DataFrame, awaited: Mapping[str, tuple[int, int]], running: Mapping[str, pl.DataFrame]
) -> dict[str, Crowding]:
    """What requests took from each other on one link, on one clock.

    Args:
        crossing: `request_id`, `start_ns`, `end_ns`: when KV was on the wire.
        awaited: From when to when that of each request was awaited; others only stand in the way.
        running: `start_ns` and `end_ns` of their receives and of what sends to these, waiting included.
    """
    own = {str(request): _merged(rows) for (request,), rows in crossing.group_by("request_id", maintain_order=True)}
    if not own:
        return {}
    starts, ends = (np.concatenate(side) for side in zip(*own.values(), strict=True))
    edges = np.unique(np.concatenate([starts, ends]))
    # How many requests are on the wire from each edge to the next.
    begun = np.searchsorted(np.sort(starts), edges, side="right")
    over = np.searchsorted(np.sort(ends), edges, side="right")
    count = (begun - over).astype(np.int64)
    return {
        request: _of_one(own[request], _merged(running[request]), edges, count, span)
        for request, span in awaited.items()
        if request in own
    }


def _merged(rows: pl.DataFrame) -> tuple[Ints, Ints]:
    return merge(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())


def _of_one(
    own: tuple[Ints, Ints], running: tuple[Ints, Ints], edges: Ints, count: Ints, span: tuple[int, int]
) -> Crowding:
    low, high = np.searchsorted(edges, span[0], side="right"), np.searchsorted(edges, span[1], side="left")
    cuts = np.concatenate([span[:1], edges[low:high], span[1:]])
    at = np.searchsorted(edges, cuts[:-1], side="right") - 1
    here = np.where(at >= 0, count[at], 0)
    mine = np.diff(coverage(*own, cuts))
    others_ns = np.where(here > 0, np.diff(cuts) - mine, 0)
    # Between two edges what is on the wire does not change: either all of it is others' alone, or none.
    behind = np.where(others_ns > 0, np.diff(cuts) - np.diff(coverage(*running, cuts)), 0)
    return Crowding(
        shared_ns=int((mine - mine / np.maximum(here, 1)).sum()),
        queued_ns=int(others_ns.sum()),
        behind_ns=int(behind.sum()),
    )
