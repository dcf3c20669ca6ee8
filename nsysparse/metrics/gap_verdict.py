"""Whether KV transfer takes too much of the way to the first token: the run's state, from all requests' shares."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from nsysparse.analysis import PREFILL_FIRST, Request, Verdict
from nsysparse.metrics.path import CUT, ONE_CLOCK, judged
from nsysparse.units import FINEST_PERCENT, counted, human_ns, human_share, human_within, within

_MEDIAN = 0.5


def gap_verdict(requests: Sequence[Request], threshold: float) -> Verdict:
    """State, value and counts, and a sentence about them; without a known share the text is empty.

    Args:
        requests: With their ways.
        threshold: Share over which the gap is too much.

    The median is judged as a request is: `unresolved` where the clocks' error decides it.
    """
    known = [request for request in requests if request.kv_gap_share is not None]
    blank = Verdict(
        state="unknown",
        text="",
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
    """The verdict with its sentence; `known` are the requests whose share is known, which both medians are of."""
    gaps = pl.Series([request.kv_gap_ns for request in known], dtype=pl.Int64)
    middle = gaps.quantile(_MEDIAN, "linear") or 0
    conventions = {request.ttft_convention for request in known}
    way = "the way to the second token" if conventions == {PREFILL_FIRST} else "the way to the first decoded token"
    limit = f"{(found.threshold or 0) * 100:.4g} %"
    share, took = human_share(found.value or 0), human_ns(round(middle))
    if (found.uncertainty or 0) * 100 >= FINEST_PERCENT or any(request.clock != ONE_CLOCK for request in known):
        doubts = pl.Series([request.uncertainty_ns for request in known], dtype=pl.Int64)
        share = f"{within((found.value or 0) * 100, (found.uncertainty or 0) * 100)} %"
        took = human_within(round(middle), int(str(doubts.max() or 0)))
    text = (
        f"KV gap is {share} of {way} in the median ({took}), {_STATES[found.state]} the {limit} threshold;"
        f" {found.over_count:,} of {counted(found.known_count or 0, 'request')} over"
    )
    rest = []
    if found.unresolved_count:
        rest.append(f"{found.unresolved_count:,} too close to call")
    unknown = (found.request_count or 0) - (found.known_count or 0)
    if unknown:
        cut = f" ({found.cut_count:,} cut by the capture)" if found.cut_count else ""
        rest.append(f"{unknown:,} not known{cut}")
    return replace(found, text=", ".join([text, *rest]) + ".")
