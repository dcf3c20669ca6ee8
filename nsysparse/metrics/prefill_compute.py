"""How long each request's prefill computed: in its last step, and for whom else; in all of them, for itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from nsysparse.analysis import PREFILL
from nsysparse.instants import Instants
from nsysparse.metrics.journeys import Journeys


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


def own_prefills(journeys: Journeys, prompts: Mapping[str, int]) -> dict[str, Fraction]:
    """Nanoseconds of compute that each request's prefill took for itself, on the rank where that was least.

    A step that worked on several counts for each by its prompt, where it prefilled each of these prompts whole.

    Args:
        journeys: Steps, their requests, and when compute ran.
        prompts: Tokens in the prompts of requests, by id, at least one each.

    Returns:
        By request, greater than 0; left out where the compute of a step, or how to divide it, is not known of a rank.
    """
    held = _until_prefilled(journeys)
    computed = _computed(journeys, held.unique("step_id", maintain_order=True))
    rank = ["request_id", "trace_id", "process"]
    turns = held.with_columns(turns=pl.len().over(rank)).select("step_id", "request_id", "turns")
    whole = {(step, request) for step, request, turn_count in turns.iter_rows() if turn_count == 1}
    company: dict[int, list[str]] = {}
    for step, request in journeys.held.select("step_id", "request_id").iter_rows():
        company.setdefault(step, []).append(request)

    def own(step: int, request: str) -> Fraction | None:
        ran, together = computed.get(step), company[step]
        if ran is None or together == [request]:
            return None if ran is None else Fraction(ran)
        if any((step, each) not in whole or each not in prompts for each in together):
            return None
        return Fraction(ran * prompts[request], sum(prompts[each] for each in together))

    of_ranks: dict[str, list[Fraction | None]] = {}
    for (request, *_), rows in held.group_by(rank, maintain_order=True):
        parts = [own(step, str(request)) for step in rows["step_id"]]
        known = [part for part in parts if part is not None]
        of_ranks.setdefault(str(request), []).append(sum(known, Fraction(0)) if len(known) == len(parts) else None)
    found = {request: [each for each in ranks if each] for request, ranks in of_ranks.items()}
    return {request: min(known) for request, known in found.items() if len(known) == len(of_ranks[request])}


def _until_prefilled(journeys: Journeys) -> pl.DataFrame:
    """Prefill steps with their requests, up to the end of each request's prefill: later ones are of another prefill."""
    ends = journeys.paths.select("request_id", trace_id="prefill_end_trace", until="prefill_end_ns").drop_nulls()
    steps = journeys.held.join(journeys.steps.filter(phase=PREFILL), on="step_id")
    return (
        steps.join(ends, on=["request_id", "trace_id"])
        .filter(pl.col("end_ns") <= pl.col("until"))
        .sort("request_id", "trace_id", "process", "start_ns", "step_id")
    )


def _computed(journeys: Journeys, last: pl.DataFrame) -> dict[int, int]:
    """By step, for those whose compute was seen on one device."""
    found: dict[int, int] = {}
    devices = last.filter("is_projected").drop_nulls("device").unique("step_id", maintain_order=True)
    for (trace, device), rows in devices.group_by("trace_id", "device", maintain_order=True):
        ran = journeys.compute.get((str(trace), str(device)), Instants.never())
        within = ran.within(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
        found |= dict(zip(rows["step_id"], within.tolist(), strict=True))
    return found
