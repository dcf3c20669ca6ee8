"""How long each request's last prefill step computed, and for whom else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nsysparse.intervals import coverage, merge
from nsysparse.metrics.journeys import Journeys
from nsysparse.roles import PREFILL


@dataclass(frozen=True, slots=True)
class LastPrefill:
    """The last prefill step of a request, on the rank that computed least in it.

    Attributes:
        compute_ns: Time in which compute ran on its device, between its beginning and its end.
        requests: All that it worked on.
    """

    compute_ns: int
    requests: frozenset[str]


def last_prefills(journeys: Journeys, wanted: Sequence[str]) -> dict[str, LastPrefill]:
    """By request; left out where the compute of one of its ranks is not known.

    Args:
        journeys: Steps, their requests, and when compute ran.
        wanted: The requests to look for.
    """
    steps = journeys.steps.filter(phase=PREFILL)
    held = journeys.held.join(steps, on="step_id")
    place = ["request_id", "trace_id", "process"]
    last = (
        held.filter(pl.col("request_id").is_in(list(wanted)))
        .sort(*place, "end_ns", "step_id")
        .group_by(place, maintain_order=True)
        .last()
    )
    computed = _computed(journeys, last)
    company = {
        int(step): frozenset(rows["request_id"]) for (step,), rows in held.group_by("step_id", maintain_order=True)
    }
    found: dict[str, LastPrefill] = {}
    for (request,), rows in last.group_by("request_id", maintain_order=True):
        ranks = [computed.get(step) for step in rows["step_id"]]
        known = [each for each in ranks if each is not None]
        if len(known) == len(ranks):
            together = frozenset[str]().union(*(company[step] for step in rows["step_id"]))
            found[str(request)] = LastPrefill(min(known), together)
    return found


def _computed(journeys: Journeys, last: pl.DataFrame) -> dict[int, int]:
    """By step, for those whose compute was seen on one device."""
    found: dict[int, int] = {}
    devices = last.filter("is_projected").drop_nulls("device").unique("step_id", maintain_order=True)
    for (trace, device), rows in devices.group_by("trace_id", "device", maintain_order=True):
        ran = journeys.compute.filter(trace_id=trace, device=device)
        merged = merge(ran["start_ns"].to_numpy(), ran["end_ns"].to_numpy())
        spans = [coverage(*merged, rows[name].to_numpy()) for name in ("start_ns", "end_ns")]
        found |= dict(zip(rows["step_id"], np.subtract(spans[1], spans[0]).tolist(), strict=True))
    return found
