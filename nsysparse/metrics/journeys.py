"""Every request's way to its first token, put beside what its transfers cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import polars as pl

from nsysparse.analysis import Request
from nsysparse.clocks import Clocks
from nsysparse.metrics.attempts import attempts
from nsysparse.metrics.measured import Measured
from nsysparse.metrics.path import CUT, NO_DECODE, NO_PREFILL, Way, events, walk
from nsysparse.metrics.spans import Span, receives, span

LINK, WAIT, FRAGMENTATION, HANDOFF, SCHEDULER = "link", "wait", "fragmentation", "handoff", "scheduler"
"""What a gap is made of, and so who is to blame: the wire, the peer that was late, pauses between transfers, the sender
that began late, and the decode side that did not start though it could."""


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
        compute: Columns of `Compute`.
        clocks: Of all traces.
        convention: Which side emits the first token; None where it is not known.
        threshold: Share of the way over which a gap is too much.
    """

    announced: pl.DataFrame
    paths: pl.DataFrame
    sides: pl.DataFrame
    steps: pl.DataFrame
    held: pl.DataFrame
    work: pl.DataFrame
    compute: pl.DataFrame
    clocks: Clocks
    convention: str | None
    threshold: float


def with_ways(requests: Sequence[Request], journeys: Journeys, measured: Measured) -> tuple[Request, ...]:
    """The requests with their segments, in the same order."""
    rows = {row["request_id"]: row for row in journeys.paths.iter_rows(named=True)}
    announcing = set(journeys.paths["arrival_trace"].drop_nulls().unique())
    arriving = receives(journeys.sides)
    sent = attempts(measured, journeys.paths)
    starts, decodes = (
        journeys.paths[f"{name}_trace"].drop_nulls().unique() for name in ("prefill_end", "decode_start")
    )
    found = []
    for request in requests:
        row = rows.get(request.request_id)
        if row is None:
            found.append(replace(request, missing=NO_PREFILL))
            continue
        seen = events(row)
        way = walk(
            seen, row["decode_steps"], journeys.clocks, journeys.convention, journeys.threshold,
            announced=row["prefill_start_trace"] in announcing,
        )  # fmt: skip
        made_of = span(arriving.get(request.request_id), seen, way.transfer_span_ns, journeys.clocks)
        way = replace(way, missing=_cut_or(way.missing, has_prefill=len(starts) > 0, has_decode=len(decodes) > 0))
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
                blame=blame(way, made_of),
            )
        )
    return tuple(found)


def _cut_or(missing: str, *, has_prefill: bool, has_decode: bool) -> str:
    """Where other requests have the step that one lacks, the capture's beginning or end cut it off."""
    cut = (missing == NO_PREFILL and has_prefill) or (missing == NO_DECODE and has_decode)
    return CUT if cut else missing


def parts_of_gap(way: Way, made_of: Span | None) -> Mapping[str, int] | None:
    """What the gap between prefill and decode was made of, adding up to it; None where that is not known."""
    if made_of is None or made_of.wire_ns is None or made_of.peer_wait_ns is None:
        return None
    if way.handoff_ns is None or way.ready_to_decode_ns is None:
        return None
    return {
        LINK: made_of.wire_ns,
        WAIT: made_of.peer_wait_ns,
        FRAGMENTATION: made_of.gap_ns,
        HANDOFF: way.handoff_ns,
        SCHEDULER: way.ready_to_decode_ns,
    }


def blame(way: Way, made_of: Span | None) -> str | None:
    """What most of a request's gap was made of; None where there is no gap, or it is not known."""
    parts = parts_of_gap(way, made_of)
    if parts is None or not any(parts.values()):
        return None
    return max(parts, key=lambda name: parts[name])
