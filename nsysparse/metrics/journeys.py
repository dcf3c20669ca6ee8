"""Every request's way to its first token, put beside what its transfers cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import polars as pl

from nsysparse.analysis import Request
from nsysparse.clocks import Clocks
from nsysparse.instants import Busy
from nsysparse.metrics.attempts import attempts
from nsysparse.metrics.cut import cut_or, edges
from nsysparse.metrics.measured import Measured
from nsysparse.metrics.path import CLOCKS, NO_DECODE, NO_PREFILL, events, walk
from nsysparse.metrics.spans import receives, senders, span


@dataclass(frozen=True, slots=True)
class Journeys:
    """What is known of the requests' ways, and of the engine that took them there.

    Attributes:
        announced: Requests as their ranges announce them: `request_id`, `start_ns`, `prompt_tokens`.
        paths: Columns of `Paths`.
        sides: From `kv_sides`.
        steps: Columns of `Steps`.
        held: Columns of `StepRequests`.
        work: Columns of `Work`.
        compute: When compute ran.
        clocks: Of all traces.
        spans: From when to when things happened in each of them, on its own clock.
        convention: Which side emits the first token; None where it is not known.
        threshold: Share of the way over which a gap is too much.
    """

    announced: pl.DataFrame
    paths: pl.DataFrame
    sides: pl.DataFrame
    steps: pl.DataFrame
    held: pl.DataFrame
    work: pl.DataFrame
    compute: Busy
    clocks: Clocks
    spans: Mapping[str, tuple[int, int]]
    convention: str | None
    threshold: float


def with_ways(requests: Sequence[Request], journeys: Journeys, measured: Measured) -> tuple[Request, ...]:
    """The requests with their segments, in the same order. Who is to blame is for `cases` to say."""
    rows = {row["request_id"]: row for row in journeys.paths.iter_rows(named=True)}
    announcing = set(journeys.paths.filter("is_announced")["prefill_start_trace"].drop_nulls())
    arriving, sending = receives(journeys.sides), senders(journeys.sides)
    sent = attempts(measured, journeys.paths, journeys.sides)
    all_seen = {name: events(row) for name, row in rows.items()}
    known = edges(list(all_seen.values()), journeys.spans)
    found = []
    for request in requests:
        row = rows.get(request.request_id)
        if row is None:
            found.append(replace(request, missing=NO_PREFILL))
            continue
        seen = all_seen[request.request_id]
        way = walk(
            seen, row["decode_steps"], journeys.clocks, journeys.convention, journeys.threshold,
            is_cut=not row["is_announced"] and row["prefill_start_trace"] in announcing,
        )  # fmt: skip
        name = request.request_id
        made_of = span(arriving.get(name), sending.get(name), seen, way.transfer_span_ns, journeys.clocks)
        lacking = CLOCKS if row["is_apart"] and way.missing in (NO_PREFILL, NO_DECODE) else way.missing
        way = replace(way, missing=cut_or(lacking, seen, known))
        found.append(
            replace(
                request,
                **asdict(way),
                span=None if made_of is None else made_of.parts,
                gap_ns=None if made_of is None else made_of.gap_ns,
                exposed_to_request_ns=None if made_of is None else made_of.exposed_ns,
                ttft_convention=journeys.convention,
                prefill_step_count=row["prefill_steps"],
                decode_step_count=row["decode_steps"],
                attempt_count=sent.get(request.request_id),
            )
        )
    return tuple(found)
