"""A request's way to its first token, in segments that follow on each other and add up exactly.

All times are brought to the clock of the trace that saw the prefill end. What lies between two events of one trace is
exact there; what lies between two traces carries how far their clocks may be apart.
"""

from dataclasses import dataclass
from typing import Any

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.analysis import DECODE_FIRST, PREFILL_FIRST
from nsysparse.clocks import Clocks
from nsysparse.paths import EVENTS

ONE_CLOCK = "one-file"
ARRIVAL, PREFILL_START = "arrival", "prefill-start"
# Why a request's gap, or its share, is not known; empty where both are.
NO_PREFILL, NO_DECODE, CUT, CLOCKS, CONTRADICTION = (
    "no-prefill-step",
    "no-decode-step",
    "cut",
    "clocks",
    "contradiction",
)


@dataclass(frozen=True, slots=True)
class Event:
    """When something was, on the clock of which trace."""

    at_ns: int
    trace: str


@dataclass(frozen=True, slots=True)
class Way:
    """The segments of one request's way, as `Request` has them; None where not known, and `missing` says why."""

    queue_ns: int | None = None
    prefill_ns: int | None = None
    handoff_ns: int | None = None
    overlap_ns: int | None = None
    transfer_span_ns: int | None = None
    ready_to_decode_ns: int | None = None
    first_decode_ns: int | None = None
    kv_gap_ns: int | None = None
    kv_gap_share: float | None = None
    path_ns: int | None = None
    path_basis: str | None = None
    ttft_ns: int | None = None
    tpot_ns: int | None = None
    tpot_without_gap_ns: int | None = None
    tpot_impact_ns: int | None = None
    verdict: str = "unknown"
    uncertainty_ns: int | None = None
    clock: str | None = None
    missing: str = ""


def events(row: dict[str, Any]) -> dict[str, Event | None]:
    """The events of a row of `Paths`."""
    return {
        name: None if row[f"{name}_ns"] is None else Event(row[f"{name}_ns"], row[f"{name}_trace"]) for name in EVENTS
    }


def walk(
    seen: dict[str, Event | None],
    token_count: int,
    clocks: Clocks,
    convention: str | None,
    threshold: float,
    *,
    announced: bool,
) -> Way:
    """What can be said of one request.

    Args:
        seen: Its events.
        token_count: Its decode steps, on the rank with most of them; each is taken to make one token.
        clocks: Of all traces.
        convention: Who emits the first token, a member of `analysis.CONVENTIONS`; None where it is not known.
        threshold: Share of the way over which the gap is too much.
        announced: Whether the trace of its prefill announces requests: one that it does not announce then began before
            the capture, and so may its prefill have.
    """
    end, decode = seen["prefill_end"], seen["decode_start"]
    pace = _pace(clocks, seen, token_count)
    if end is None or decode is None:
        return _known_alone(seen, pace, NO_PREFILL if end is None else NO_DECODE)
    on_base = {name: _on(clocks, end.trace, event) for name, event in seen.items()}
    decode_at = on_base["decode_start"]
    if decode_at is None:
        return _known_alone(seen, pace, CLOCKS)
    doubt, method = _doubt(clocks, end.trace, decode.trace)
    if decode_at < end.at_ns - doubt:
        return _known_alone(seen, pace, CONTRADICTION)
    # What the clocks leave open is cut to the order in which it must have been, so that all segments add up.
    until = max(decode_at, end.at_ns)
    sent, arrived = on_base["first_send"], on_base["last_recv"]
    left = None if sent is None else min(max(sent, end.at_ns), until)
    ready = None if arrived is None else min(max(arrived, end.at_ns if left is None else left), until)
    # Two ranks may have begun and ended it, on two clocks.
    began = None if on_base["prefill_start"] is None else min(on_base["prefill_start"], end.at_ns)
    is_cut = announced and seen["arrival"] is None
    arrival = on_base["arrival"]
    if began is None or (arrival is not None and arrival > began):
        arrival = None
    first_decode = _lasted(clocks, seen["decode_start"], seen["decode_end"])
    gap = until - end.at_ns
    start = None if is_cut else began if arrival is None else arrival
    path = None if start is None or first_decode is None else until + first_decode - start
    share = gap / path if path else None
    emitted = _first_token(convention, path, start, end.at_ns)
    return Way(
        queue_ns=None if arrival is None or began is None else began - arrival,
        prefill_ns=None if began is None or is_cut else end.at_ns - began,
        handoff_ns=None if left is None else left - end.at_ns,
        overlap_ns=None if sent is None else max(end.at_ns - sent, 0),
        transfer_span_ns=None if left is None or ready is None else ready - left,
        ready_to_decode_ns=None if ready is None else until - ready,
        first_decode_ns=first_decode,
        kv_gap_ns=gap,
        kv_gap_share=share,
        path_ns=path,
        path_basis=None if start is None else PREFILL_START if arrival is None else ARRIVAL,
        ttft_ns=emitted,
        tpot_ns=_tpot(convention, pace, gap, _lasted(clocks, decode, seen["last_token"]), token_count),
        tpot_without_gap_ns=pace,
        tpot_impact_ns=gap if convention == PREFILL_FIRST else None,
        verdict="unknown" if share is None or path is None else judge(gap, path, doubt, threshold),
        uncertainty_ns=doubt,
        clock=method,
        missing=CUT if is_cut else "",
    )


def judge(gap: int, path: int, doubt: int, threshold: float) -> str:
    """Whether a gap is over the threshold, whichever way its clocks may be off; `unresolved` where that decides."""
    low, high = shares_within(gap, path, doubt)
    return "over" if low > threshold else "ok" if high <= threshold else "unresolved"


def shares_within(gap: int, path: int, doubt: int) -> tuple[float, float]:
    """The least and the greatest share that a gap can have where both it and the path are off by up to `doubt`."""
    low, high = max(gap - doubt, 0), gap + doubt
    return low / max(path - doubt, 1), high / max(path + doubt, 1)


def _first_token(convention: str | None, path: int | None, start: int | None, prefill_end: int) -> int | None:
    if convention == DECODE_FIRST:
        return path
    return prefill_end - start if convention == PREFILL_FIRST and start is not None else None


def _tpot(convention: str | None, pace: int | None, gap: int, decoding: int | None, token_count: int) -> int | None:
    """Time per token after the first: where prefill emits that, the gap lies before the second."""
    if convention == DECODE_FIRST:
        return pace
    if convention is None or decoding is None or not token_count:
        return None
    return (gap + decoding) // token_count


def _pace(clocks: Clocks, seen: dict[str, Event | None], token_count: int) -> int | None:
    """Time per token from the end of the first decode step to that of the last."""
    whole = _lasted(clocks, seen["decode_end"], seen["last_token"])
    return whole // (token_count - 1) if whole is not None and token_count > 1 else None


def _known_alone(seen: dict[str, Event | None], pace: int | None, missing: str) -> Way:
    """The segments of which both ends are events of one trace, where the whole way is not known."""
    end, sent = seen["prefill_end"], seen["first_send"]
    handoff = _between(end, sent, signed=True)
    return Way(
        queue_ns=_between(seen["arrival"], seen["prefill_start"]),
        prefill_ns=_between(seen["prefill_start"], end),
        handoff_ns=None if handoff is None else max(handoff, 0),
        overlap_ns=None if handoff is None else max(-handoff, 0),
        ready_to_decode_ns=_between(seen["last_recv"], seen["decode_start"]),
        first_decode_ns=_between(seen["decode_start"], seen["decode_end"]),
        tpot_without_gap_ns=pace,
        missing=missing,
    )


def _lasted(clocks: Clocks, first: Event | None, last: Event | None) -> int | None:
    """From one event to a later one, which another rank's trace may have seen; never negative."""
    if first is None or last is None:
        return None
    ended = _on(clocks, first.trace, last)
    return None if ended is None else max(ended - first.at_ns, 0)


def _between(first: Event | None, last: Event | None, *, signed: bool = False) -> int | None:
    """From one event to a later one of the same trace; None where they are of two, or in the other order."""
    if first is None or last is None or first.trace != last.trace:
        return None
    length = last.at_ns - first.at_ns
    return length if signed or length >= 0 else None


def _on(clocks: Clocks, base: str, event: Event | None) -> int | None:
    """A time on the clock of `base`."""
    if event is None:
        return None
    offset = clocks.between(base, event.trace)
    return None if offset is None else offset.to_base(event.at_ns)


def _doubt(clocks: Clocks, base: str, other: str) -> tuple[int, str]:
    """How far two events may be apart from what their times say, and how their clocks were aligned.

    Within one file the clocks of two devices may be as far apart as `CLOCK_SLACK_NS`.
    """
    offset = None if base == other else clocks.between(base, other)
    return (CLOCK_SLACK_NS, ONE_CLOCK) if offset is None else (offset.uncertainty_ns, offset.method)
