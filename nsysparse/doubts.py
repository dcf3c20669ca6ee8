"""How far numbers of requests may be off, because they rest on several clocks, and why some are not known."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from nsysparse.analysis import Request
from nsysparse.units import NS_PER_MS

_RESTS_ON: Mapping[str, str] = dict.fromkeys(("span_gap_ms", "span_sender_wait_ms"), "transfer_span_ns")
"""Where a segment's own name does not say whose ± it has; the rest of a rank's span lies within its receives: exact."""
MISSING: Mapping[str, str] = MappingProxyType(
    {
        "no-prefill-step": "no prefill step names it",
        "no-decode-step": "no decode step names it",
        "cut": "cut by the capture",
        "clocks": "clocks of two files not aligned",
        "contradiction": "its decode seems to begin before its prefill ends",
    }
)
"""Why a request's gap, or its share, is not known, in words."""


def doubt_ms(requests: Sequence[Request], name: str) -> float:
    """How far a segment may be off in any request, in ms; 0 where it rests on one clock.

    Args:
        requests: All of the run.
        name: The segment as the summary names it, in ms.
    """
    field = _RESTS_ON.get(name, f"{name.removesuffix('_ms')}_ns")
    return max((request.uncertainties.get(field, 0) for request in requests), default=0) / NS_PER_MS
