"""Whether KV transfer takes too much of the way to the first token: the run's state, from all requests' shares."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import polars as pl

from nsysparse.analysis import DECODE_FIRST, PREFILL_FIRST, Request, Verdict
from nsysparse.metrics.gap_reasons import untold
from nsysparse.metrics.path import ARRIVAL, CUT, ONE_CLOCK, judged
from nsysparse.units import FINEST_PERCENT, counted, human_ns, human_share, human_within, within

_MEDIAN = 0.5


def gap_verdict(requests: Sequence[Request], threshold: float, roles: Collection[str | None] = ()) -> Verdict:
    """State, value and counts; as text a clause about them or why no share is known, as detail what it rests on.

    Args:
        requests: With their ways.
        threshold: Share over which the gap is too much.
        roles: Of all traces.

    The median is judged as a request is: `unresolved` where the clocks' error decides it.
    """
    known = [request for request in requests if request.kv_gap_share is not None]
    blank = Verdict(
        state="unknown",
        text=untold(requests, roles),
        detail="",
        threshold=threshold,
        request_count=len(requests),
        known_count=len(known),
        over_count=sum(request.verdict == "over" for request in known),
        unresolved_count=sum(request.verdict == "unresolved" for request in known),
        cut_count=sum(request.missing == CUT for request in requests),
    )
    if not known:
        return blank
    low, value, high = (
        _median([getattr(request, name) or 0.0 for request in known])
        for name in ("kv_gap_share_low", "kv_gap_share", "kv_gap_share_high")
    )
    state = judged(low, high, threshold)
    doubt = max(high - value, value - low)
    found = replace(blank, state=state, value=value, uncertainty=doubt, basis=_basis(known))
    return _told(found, known)


def _median(values: Sequence[float]) -> float:
    middle = pl.Series(values, dtype=pl.Float64).quantile(_MEDIAN, "linear")
    return 0.0 if middle is None else float(middle)


def _basis(known: Sequence[Request]) -> str:
    """What the shares are of, and whose clocks they rest on."""
    starts = sorted({request.path_basis or "" for request in known})
    clocks = sorted({request.clock or "" for request in known})
    return f"median kv_gap_share, paths from {' or '.join(starts)}; clocks: {', '.join(clocks)}"


_STATES = {"over": "over", "ok": "within", "unresolved": "too close to call against"}


def _told(found: Verdict, known: Sequence[Request]) -> Verdict:
    """The verdict with its clause and its detail; `known` are the requests whose share is known."""
    gaps = pl.Series([request.kv_gap_ns for request in known], dtype=pl.Int64)
    middle = round(gaps.quantile(_MEDIAN, "linear") or 0)
    limit = f"{(found.threshold or 0) * 100:.4g} %"
    share, took = human_share(found.value or 0), human_ns(middle)
    if (found.uncertainty or 0) * 100 >= FINEST_PERCENT or any(request.clock != ONE_CLOCK for request in known):
        doubts = pl.Series([request.uncertainty_ns for request in known], dtype=pl.Int64)
        share = f"{within((found.value or 0) * 100, (found.uncertainty or 0) * 100)} %"
        took = human_within(middle, int(str(doubts.max() or 0)))
    text = f"KV gap is {share} of {_way(known)}, {_STATES[found.state]} the {limit} threshold"
    parts = [f"KV gap: {took} in the median of {counted(len(known), 'request')}", f"{found.over_count:,} over"]
    if found.unresolved_count:
        parts.append(f"{found.unresolved_count:,} too close to call")
    unknown = (found.request_count or 0) - len(known)
    if unknown:
        cut = f" ({found.cut_count:,} cut by the capture)" if found.cut_count else ""
        parts.append(f"{unknown:,} more not known{cut}")
    return replace(found, text=text, detail=f"{', '.join(parts)}.")


def _way(known: Sequence[Request]) -> str:
    """What the share is of: TTFT only where decode is known to emit the first token, said so where it lacks queues."""
    conventions = {request.ttft_convention for request in known}
    starts = {request.path_basis for request in known}
    if conventions == {PREFILL_FIRST}:
        return "the way to the second token"
    if conventions == {DECODE_FIRST} and len(starts) == 1:
        return "TTFT" if starts == {ARRIVAL} else "TTFT without queueing"
    return "the way to the first decoded token"
