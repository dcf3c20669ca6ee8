"""How far numbers of requests may be off, because they rest on several clocks."""

from collections.abc import Mapping, Sequence

from nsysparse.analysis import Request
from nsysparse.units import NS_PER_MS

_RESTS_ON: Mapping[str, str] = dict.fromkeys(("span_gap_ms", "span_sender_wait_ms"), "transfer_span_ns")
"""Where a segment's own name does not say whose ± it has; the rest of a rank's span lies within its receives: exact."""


def doubt_ms(requests: Sequence[Request], name: str) -> float:
    """How far a segment may be off in any request, in ms; 0 where it rests on one clock.

    Args:
        requests: All of the run.
        name: The segment as the summary names it, in ms.
    """
    field = _RESTS_ON.get(name, f"{name.removesuffix('_ms')}_ns")
    return max((request.uncertainties.get(field, 0) for request in requests), default=0) / NS_PER_MS
