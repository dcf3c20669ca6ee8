"""Whether a capture's beginning or end explains that a request lacks a step which others have.

It does where the capture ended before the request had waited as long as another one did, or began less before its first
send than another's prefill began before its own. Else the step may be unnamed, the request aborted, or its id spelled
differently on the other side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nsysparse.metrics.path import CUT, NO_DECODE, NO_PREFILL, Seen


@dataclass(frozen=True, slots=True)
class Edges:
    """Where captures begin and end, and how long requests took that lie within: all of one clock each.

    Attributes:
        spans: First and last instant of each trace.
        longest_wait: From a last receive, and from a prefill's end, to the first decode step, at most; None where no
            request shows it.
        longest_lead: From the start of a prefill to its first send, at most.
    """

    spans: Mapping[str, tuple[int, int]]
    longest_wait: Mapping[str, int | None]
    longest_lead: int | None


def edges(seen: Sequence[Seen], spans: Mapping[str, tuple[int, int]]) -> Edges:
    """What requests of which all is known say of the others.

    Args:
        seen: The events of all requests.
        spans: First and last instant of each trace.
    """
    waits = {name: _longest(seen, name, "decode_start") for name in ("last_recv", "prefill_end")}
    return Edges(spans, waits, _longest(seen, "prefill_start", "first_send"))


def cut_or(missing: str, seen: Seen, known: Edges) -> str:
    """`CUT` where the capture explains what is missing, else what is missing."""
    if missing == NO_DECODE and any(_at_the_end(name, seen, known) for name in ("last_recv", "prefill_end")):
        return CUT
    if missing == NO_PREFILL and _at_the_beginning(seen, known):
        return CUT
    return missing


def _longest(seen: Sequence[Seen], first: str, last: str) -> int | None:
    lengths = [
        end.at_ns - start.at_ns
        for each in seen
        if (start := each[first]) is not None and (end := each[last]) is not None and start.trace == end.trace
    ]
    return max(lengths, default=None)


def _at_the_end(name: str, seen: Seen, known: Edges) -> bool:
    """Whether the capture ended before the request had waited from that event on as long as another one did."""
    event, longest = seen[name], known.longest_wait[name]
    if event is None or longest is None or event.trace not in known.spans:
        return False
    return known.spans[event.trace][1] - event.at_ns <= longest


def _at_the_beginning(seen: Seen, known: Edges) -> bool:
    """Whether the capture began less before the request's first event than another's prefill before its first send."""
    first = [event for event in (seen["first_send"], seen["last_recv"], seen["decode_start"]) if event is not None]
    if not first or known.longest_lead is None:
        return False
    event = first[0]
    return event.trace in known.spans and event.at_ns - known.spans[event.trace][0] <= known.longest_lead
