"""How long prompts are, from which length on splitting pays, and up to which one a transfer fits in a decode step.

What splitting saves is what it is done for: a prefill does not hold up a request that decodes. That is as long as the
prefill computes, and this run's requests tell how long that was. What it costs whatever the length is the fixed cost of
the messages that a request waits for.
"""

from collections.abc import Sequence
from math import ceil

import polars as pl

from nsysparse.analysis import DECODE, Band, Lengths, Link, Request
from nsysparse.lengths import MOST_TOKENS, Histogram, histogram
from nsysparse.metrics.cases import Case
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.prefill_compute import own_prefills
from nsysparse.theory.critical import critical_length
from nsysparse.theory.links import Peak
from nsysparse.theory.references import References
from nsysparse.theory.shipment import Shipment

TOLD, MEASURED = "option", "measured"
"""Where decode steps come from that transfers are held against."""
_LOW, _HIGH = 10, 90


def lengths(
    requests: Sequence[Request],
    cases: Sequence[Case],
    journeys: Journeys,
    links: Sequence[Link],
    known: References,
    model: Shipment | None,
    told_step_ns: tuple[int, int] | None,
) -> Lengths | None:
    """The requests by length; None where no prompt's length is known.

    Args:
        requests: With their ways.
        cases: Those whose gap and parts are known.
        journeys: Steps, and when compute ran.
        links: What carried something.
        known: What the links are.
        model: The model as it is served, if named.
        told_step_ns: The decode step as the user told it, from, to; None: the run's own.
    """
    by_length = histogram("", (_tokens(request) for request in requests))
    if not by_length.total:
        return None
    edges, counts = by_length.bins()
    even = _break_even(requests, cases, journeys)
    even_tokens = _band(even)
    steps = _decode_steps(journeys)
    step_ns = _band(steps) if told_step_ns is None else Band(*told_step_ns)
    link = max(
        (link for link in links if link.peak_gb_s is not None),
        key=lambda link: (link.bytes or 0, link.link_key, link.transport),
        default=None,
    )
    peak = None if link is None else known.between(link.src, link.dst)
    return Lengths(
        unit="prompt tokens",
        edges=edges,
        counts=counts,
        total=by_length.total,
        break_even_tokens=even_tokens,
        critical_tokens=critical(model, peak, step_ns),
        below_break_even_share=None if even_tokens is None else by_length.share(even_tokens.low.__gt__),
        unknown_count=by_length.unknown_count,
        break_even_count=even.total,
        critical_link=None if link is None else link.link_key,
        step_ns=step_ns,
        step_basis=None if step_ns is None else MEASURED if told_step_ns is None else TOLD,
        step_count=steps.total if told_step_ns is None else 0,
    )


def critical(model: Shipment | None, peak: Peak | None, step_ns: Band | None) -> Band | None:
    """Up to which length one request crosses within one decode step, for the shortest and the longest step.

    Args:
        model: What crosses; None: not named.
        peak: The link; None: not known.
        step_ns: The decode steps; None: not known.

    Returns:
        Tokens at the line rate; None where something is not known, or where there is no such length for both ends.
    """
    if model is None or peak is None or step_ns is None:
        return None
    low, high = (critical_length(model, peak.bytes_per_s, step).tokens for step in (step_ns.low, step_ns.high))
    return None if low is None or high is None else Band(low, high)


def _tokens(request: Request) -> int | None:
    tokens = request.prompt_tokens
    return tokens if tokens is not None and tokens <= MOST_TOKENS else None


def _break_even(requests: Sequence[Request], cases: Sequence[Case], journeys: Journeys) -> Histogram:
    """By the pace of each request's own prefill, the length whose prefill takes as long as its messages' fixed cost."""
    prompts = {request.request_id: tokens for request in requests if (tokens := _tokens(request))}
    # Of a prefill that began before the capture, the part before it is not known.
    whole = {request.request_id for request in requests if request.prefill_ns is not None}
    own = own_prefills(journeys, prompts)
    known = own.keys() & prompts.keys() & whole
    return histogram(
        "",
        (
            ceil(case.fixed_ns * prompts[case.request_id] / own[case.request_id])
            for case in cases
            if case.request_id in known and _tells_fixed_cost(case)
        ),
    )


def _tells_fixed_cost(case: Case) -> bool:
    fitted = case.link is not None and case.link.fixed_cost_ns is not None
    split = not case.moving_ns and (case.wire_ns > 0 or not case.message_count)
    return fitted and split and not case.is_sent_again


def _decode_steps(journeys: Journeys) -> Histogram:
    """How long decode steps took, from their first to their last compute, in ns."""
    steps = journeys.steps.filter(phase=DECODE)
    took = steps.select(ns=pl.col("end_ns") - pl.col("start_ns"))["ns"]
    return histogram("", (int(each) for each in took if each > 0))


def _band(values: Histogram) -> Band | None:
    low, high = values.percentile(_LOW), values.percentile(_HIGH)
    return None if low is None or high is None else Band(low, high)
