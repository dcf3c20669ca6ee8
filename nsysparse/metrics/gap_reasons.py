"""Why no request's gap is known: what most of them lack, instead of all that any could."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import Clock, Reason, Request
from nsysparse.metrics.path import CLOCKS, CONTRADICTION, CUT, NO_DECODE, NO_PREFILL

_STEPS = "Annotate steps and requests (kv_step, kv_request): docs/reference/convention.md"
CHECK = "--role FILE=prefill|decode or --normalize-request REGEX"
_WHY = {
    NO_PREFILL: ("no prefill step names its requests", _STEPS),
    NO_DECODE: ("no decode step names its requests, or the decode side was not recorded", _STEPS),
    CUT: ("the capture begins or ends within all requests", "Record for longer, from before the first request on."),
    CLOCKS: (
        "the clocks of the files that saw prefill and decode could not be aligned",
        "",
    ),
    CONTRADICTION: (
        "decode steps seem to begin before prefill has ended: ids of requests, roles or clocks are wrong",
        CHECK,
    ),
}
_GAPS = ("value", "uncertainty", "basis")


def with_gap_reason(
    found: Sequence[Reason], requests: Sequence[Request], clocks: Sequence[Clock] | None
) -> tuple[Reason, ...]:
    """The reasons, of which those for the verdict say what most of the requests lack.

    Args:
        found: From `reasons`.
        requests: With their ways.
        clocks: How the files' clocks stand; where they were refused, that says why.
    """
    lacking = Counter(request.missing for request in requests if request.missing)
    if not lacking:
        return tuple(found)
    ((most, _),) = lacking.most_common(1)
    message, fix = _WHY[most]
    refused = [clock.note for clock in clocks or () if clock.offset_ns is None]
    if most == CLOCKS and refused:
        message = f"{message}: {refused[0]}"
    paths = {f"/verdict/{name}" for name in _GAPS}
    return tuple(replace(each, message=message, fix=fix) if each.path in paths else each for each in found)
