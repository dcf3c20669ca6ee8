"""One request's way to its first token as segments of a bar, the same in every figure."""

from collections.abc import Sequence
from hashlib import sha256

from nsysparse.analysis import Request
from nsysparse.document import Meaning, Segment
from nsysparse.units import NS_PER_MS, UNKNOWN, human_ns, human_within

KEY: Sequence[tuple[Meaning, str]] = (
    ("queue", "queue"),
    ("compute", "prefill, first decode step"),
    ("handoff", "hand-off"),
    ("wait", "waiting for the other side"),
    ("wire", "wire"),
    ("whole", "wire and waiting, not told apart"),
    ("pause", "between transfers"),
    ("ready", "ready, not started"),
    ("unknown", "not known"),
)
"""What the colours of a way mean, in its order."""


def anchor(request_id: str) -> str:
    """Where a request stands on the page: the same in every report of the same run, whatever characters its id has."""
    return f"request-{sha256(request_id.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def before(request: Request) -> list[Segment]:
    """What precedes the end of prefill, from there backwards."""
    return [
        _segment(request, "prefill", "compute", "prefill_ns"),
        *([] if request.queue_ns is None else [_segment(request, "queue", "queue", "queue_ns")]),
    ]


def after(request: Request) -> list[Segment]:
    """What follows the end of prefill, up to the end of the first decode step."""
    return [*gap(request), _segment(request, "first decode step", "compute", "first_decode_ns")]


def gap(request: Request) -> list[Segment]:
    """The segments of the KV gap; where it is known but not all of them, what remains is one, of its length."""
    parts = [
        _segment(request, "hand-off", "handoff", "handoff_ns"),
        *_transfer(request),
        _segment(request, "ready, not started", "ready", "ready_to_decode_ns"),
    ]
    if request.kv_gap_ns is None or all(part.value is not None for part in parts):
        return parts
    known = (request.handoff_ns, request.transfer_span_ns, request.ready_to_decode_ns)
    rest = request.kv_gap_ns - sum(each or 0 for each in known)
    unknown = _told("not told apart", "unknown", rest, request.uncertainties.get("kv_gap_ns", 0))
    first = next(place for place, part in enumerate(parts) if part.value is None)
    told = [part for part in parts if part.value is not None]
    return [*told[:first], unknown, *told[first:]]


def whole(request: Request) -> tuple[list[Segment], tuple[int, int]]:
    """All segments in their order, and which of them are the KV gap: the first and the last."""
    first = [segment for segment in reversed(before(request)) if segment.value is not None]
    inside = gap(request)
    return [*first, *after(request)], (len(first), len(first) + len(inside) - 1)


def _transfer(request: Request) -> list[Segment]:
    """The transfer as wire, waiting and pauses of the rank that finished last, where these are told apart."""
    span = request.span or {}
    parts = [span.get(name) for name in ("sender_wait_ns", "peer_wait_ns", "wire_ns", "gap_ns")]
    if None not in parts and sum(part or 0 for part in parts) == request.transfer_span_ns:
        late, wait, wire, pause = parts
        doubt = request.uncertainties.get("transfer_span_ns", 0)
        return [
            *([_told("receiver late", "wait", late, doubt)] if late else []),
            _told("sender late", "wait", wait, 0),
            _told("wire", "wire", wire, 0),
            _told("between transfers", "pause", pause, doubt),
        ]
    return [_segment(request, "transfer", "whole", "transfer_span_ns")]


def _segment(request: Request, label: str, meaning: Meaning, field: str) -> Segment:
    return _told(label, meaning, getattr(request, field), request.uncertainties.get(field, 0))


def _told(label: str, meaning: Meaning, value_ns: int | None, doubt_ns: int) -> Segment:
    if value_ns is None:
        return Segment(label, meaning, None, UNKNOWN)
    text = human_within(value_ns, doubt_ns) if doubt_ns else human_ns(value_ns)
    return Segment(label, meaning, value_ns / NS_PER_MS, text)
