"""A request's way to its first token, in segments that follow on each other and add up exactly.

All times are brought to the clock of the trace that saw the prefill end. What lies between two events of one trace is
exact; what lies between two traces carries how far their clocks may be apart, each segment its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.analysis import DECODE_FIRST, PREFILL_FIRST
from nsysparse.clocks import Clocks
from nsysparse.clocks.offset import METHODS
from nsysparse.events import EVENTS

ONE_CLOCK = "one-file"
ARRIVAL, PREFILL_START = "arrival", "prefill-start"
NO_PREFILL, NO_DECODE, CUT = "no-prefill-step", "no-decode-step", "cut"
CLOCKS, CONTRADICTION = "clocks", "contradiction"
"""Why a request's gap, or its share, is not known; empty where both are."""


@dataclass(frozen=True, slots=True)
class Event:
    """When something was, on the clock of which trace; `doubt_ns` is how far another rank's may lie beyond it."""

    at_ns: int
    trace: str
    doubt_ns: int = 0


Seen = Mapping[str, Event | None]
"""The events of a request, by name."""


@dataclass(frozen=True, slots=True)
class Way:
    """The segments of one request's way, as `Request` has them; None where not known, and `missing` says why.

    `uncertainties` has the times that are of two clocks, or of two devices of one file, with how far each may be off.
    """

    queue_ns: int | None = None
    prefill_ns: int | None = None
    handoff_ns: int | None = None
    overlap_ns: int | None = None
    transfer_span_ns: int | None = None
    ready_to_decode_ns: int | None = None
    first_decode_ns: int | None = None
    kv_gap_ns: int | None = None
    kv_gap_share: float | None = None
    kv_gap_share_low: float | None = None
    kv_gap_share_high: float | None = None
    path_ns: int | None = None
    path_basis: str | None = None
    ttft_ns: int | None = None
    tpot_ns: int | None = None
    tpot_without_gap_ns: int | None = None
    tpot_impact_ns: int | None = None
    verdict: str = "unknown"
    uncertainty_ns: int | None = None
    uncertainties: Mapping[str, int] = field(default_factory=dict)
    clock: str | None = None
    missing: str = ""


def events(row: dict[str, Any]) -> dict[str, Event | None]:
    """The events of a row of `Paths`."""
    return {
        name: None
        if row[f"{name}_ns"] is None
        else Event(row[f"{name}_ns"], row[f"{name}_trace"], row[f"{name}_doubt_ns"])
        for name in EVENTS
    }


def walk(
    seen: Seen, token_count: int, clocks: Clocks, convention: str | None, threshold: float, *, is_cut: bool
) -> Way:
    """What can be said of one request.

    Args:
        seen: Its events.
        token_count: Its decode steps, on the rank with most of them; each is taken to make one token.
        clocks: Of all traces.
        convention: Who emits the first token, a member of `analysis.CONVENTIONS`; None where it is not known.
        threshold: Share of the way over which the gap is too much.
        is_cut: Whether it is not announced, as others that prefilled in its trace are: then it began before the
            capture, and so may its prefill have.
    """
    end, decode = seen["prefill_end"], seen["decode_start"]
    doubts = _doubts(seen, clocks)
    if pace_doubt := _apart(seen["decode_end"], seen["last_token"], clocks):
        doubts["tpot_without_gap_ns"] = -(-pace_doubt // max(token_count - 1, 1))
    alone = _known_alone(seen, clocks, token_count, is_cut=is_cut)
    if end is None or decode is None:
        return replace(alone, uncertainties=doubts, missing=NO_PREFILL if end is None else NO_DECODE)
    on_base = {name: _on(clocks, end.trace, event) for name, event in seen.items()}
    decode_at = on_base["decode_start"]
    if decode_at is None:
        return replace(alone, uncertainties=doubts, missing=CLOCKS)
    doubt = doubts.get("kv_gap_ns", CLOCK_SLACK_NS)
    if decode_at < end.at_ns - doubt:
        return replace(alone, uncertainties=doubts, missing=CONTRADICTION)
    # What the clocks leave open is cut to the order in which it must have been, so that all segments add up.
    until = max(decode_at, end.at_ns)
    sent, arrived = on_base["first_send"], on_base["last_recv"]
    left = None if sent is None else min(max(sent, end.at_ns), until)
    ready = None if arrived is None else min(max(arrived, end.at_ns if left is None else left), until)
    began = None if on_base["prefill_start"] is None else min(on_base["prefill_start"], end.at_ns)
    arrival = on_base["arrival"]
    if began is None or (arrival is not None and arrival > began + doubts.get("queue_ns", 0)):
        arrival = None
    elif arrival is not None:
        arrival = min(arrival, began)
    first_decode = _lasted(clocks, decode, seen["decode_end"])
    gap = until - end.at_ns
    start = None if is_cut else began if arrival is None else arrival
    path = None if start is None or first_decode is None else until + first_decode - start
    rest = _rest_doubt(doubts, with_queue=arrival is not None)
    low, high = (None, None) if not path else shares_within(gap, path - gap, doubt, rest)
    found = replace(
        alone,
        queue_ns=None if arrival is None or began is None else began - arrival,
        prefill_ns=None if began is None or is_cut else end.at_ns - began,
        handoff_ns=None if left is None else left - end.at_ns,
        overlap_ns=None if sent is None else max(end.at_ns - sent, 0),
        transfer_span_ns=None if left is None or ready is None else ready - left,
        ready_to_decode_ns=None if ready is None else until - ready,
        first_decode_ns=first_decode,
        kv_gap_ns=gap,
        kv_gap_share=gap / path if path else None,
        kv_gap_share_low=low,
        kv_gap_share_high=high,
        path_ns=path,
        path_basis=None if start is None else PREFILL_START if arrival is None else ARRIVAL,
        verdict="unknown" if low is None or high is None else judged(low, high, threshold),
        uncertainty_ns=doubt,
        clock=_weakest(seen, clocks, end.trace),
        missing=CUT if is_cut else "",
    )
    decoding = _lasted(clocks, decode, seen["last_token"]), _apart(decode, seen["last_token"], clocks)
    return _with_tokens(found, convention, decoding, token_count, doubts | {
        "kv_gap_ns": doubt, "path_ns": doubt + rest,
    })  # fmt: skip


def judged(low: float, high: float, threshold: float) -> str:
    """Whether a share is over the threshold, whichever way its clocks may be off; `unresolved` where that decides."""
    return "over" if low > threshold else "ok" if high <= threshold else "unresolved"


def shares_within(gap: int, rest: int, gap_doubt: int, rest_doubt: int = 0) -> tuple[float, float]:
    """The least and the greatest share that a gap can have of itself and the rest of the way, each off by its doubt."""
    least, most = max(gap - gap_doubt, 0), gap + gap_doubt
    return least / max(least + rest + rest_doubt, 1), most / max(most + max(rest - rest_doubt, 0), 1)


_ENDS = {
    "queue_ns": ("arrival", "prefill_start"),
    "prefill_ns": ("prefill_start", "prefill_end"),
    "handoff_ns": ("prefill_end", "first_send"),
    "transfer_span_ns": ("first_send", "last_recv"),
    "ready_to_decode_ns": ("last_recv", "decode_start"),
    "first_decode_ns": ("decode_start", "decode_end"),
    "kv_gap_ns": ("prefill_end", "decode_start"),
}
_OF_TWO_DEVICES = ("transfer_span_ns", "kv_gap_ns")


def _doubts(seen: Seen, clocks: Clocks) -> dict[str, int]:
    """How far each segment may be off; those that are exact are left out.

    Within one file the clocks of two devices may be as far apart as `CLOCK_SLACK_NS`. A transfer that begins before
    prefill has ended is told from that end on.
    """
    found = {}
    for name, (first, last) in _ENDS.items():
        a, b = seen[first], seen[last]
        doubt = _apart(a, b, clocks)
        if name == "transfer_span_ns":
            doubt = max(doubt, _apart(seen["prefill_end"], b, clocks))
        if name in _OF_TWO_DEVICES and a is not None and b is not None:
            doubt = max(doubt, CLOCK_SLACK_NS)
        if doubt:
            found[name] = doubt
    return found


def _apart(first: Event | None, last: Event | None, clocks: Clocks) -> int:
    """How far the time between two events may be off; 0 where it is exact, or not known at all."""
    if first is None or last is None:
        return 0
    own = first.doubt_ns + last.doubt_ns
    if first.trace == last.trace:
        return own
    offset = clocks.between(first.trace, last.trace)
    return own if offset is None else own + offset.uncertainty_ns


def _rest_doubt(doubts: Mapping[str, int], *, with_queue: bool) -> int:
    """How far the way may be off beside its gap."""
    parts = ("prefill_ns", "first_decode_ns", *(("queue_ns",) if with_queue else ()))
    return sum(doubts.get(name, 0) for name in parts)


def _with_tokens(
    way: Way, convention: str | None, decoding: tuple[int | None, int], token_count: int, doubts: dict[str, int]
) -> Way:
    """The way with when its first token was there, and the time per token after it.

    Where prefill emits the first token, the gap lies before the second. `decoding` is how long decode went on, and how
    far that may be off.
    """
    ttft = tpot = None
    lasted, lasted_doubt = decoding
    if convention == DECODE_FIRST:
        ttft, tpot = way.path_ns, way.tpot_without_gap_ns
        doubts["ttft_ns"] = doubts["path_ns"]
        doubts["tpot_ns"] = doubts.get("tpot_without_gap_ns", 0)
    elif convention == PREFILL_FIRST:
        start = None if way.path_basis is None else (way.queue_ns or 0) + (way.prefill_ns or 0)
        ttft = start
        gap = way.kv_gap_ns
        tpot = (gap + lasted) // token_count if gap is not None and lasted is not None and token_count else None
        queue_doubt = 0 if way.queue_ns is None else doubts.get("queue_ns", 0)
        doubts["ttft_ns"] = queue_doubt + doubts.get("prefill_ns", 0)
        doubts["tpot_ns"] = -(-(doubts["kv_gap_ns"] + lasted_doubt) // max(token_count, 1))
    return replace(
        way,
        ttft_ns=ttft,
        tpot_ns=tpot,
        tpot_impact_ns=way.kv_gap_ns if convention == PREFILL_FIRST else None,
        uncertainties={name: doubt for name, doubt in doubts.items() if doubt},
    )


def _known_alone(seen: Seen, clocks: Clocks, token_count: int, *, is_cut: bool) -> Way:
    """The segments that need no clock but their own, or clocks that are aligned, whatever is known of the whole way."""
    end, sent = seen["prefill_end"], seen["first_send"]
    handoff = _between(end, sent, signed=True)
    pace = _lasted(clocks, seen["decode_end"], seen["last_token"])
    return Way(
        queue_ns=_between(seen["arrival"], seen["prefill_start"]),
        prefill_ns=None if is_cut else _between(seen["prefill_start"], end),
        handoff_ns=None if handoff is None else max(handoff, 0),
        overlap_ns=None if handoff is None else max(-handoff, 0),
        ready_to_decode_ns=_between(seen["last_recv"], seen["decode_start"]),
        first_decode_ns=_between(seen["decode_start"], seen["decode_end"]),
        tpot_without_gap_ns=None if pace is None or token_count <= 1 else pace // (token_count - 1),
    )


def _weakest(seen: Seen, clocks: Clocks, base: str) -> str:
    """How the clocks were aligned that the way rests on, the least sure of them."""
    offsets = [clocks.between(base, event.trace) for event in seen.values() if event is not None]
    methods = [offset.method for offset in offsets if offset is not None and offset.base != offset.other]
    return max(methods, key=METHODS.index, default=ONE_CLOCK)


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
