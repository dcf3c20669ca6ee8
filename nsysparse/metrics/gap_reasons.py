"""Why no request's gap is known: what most of them lack, instead of all that any could."""

from collections import Counter
from collections.abc import Collection, Sequence
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
_BRIEFLY = {
    NO_PREFILL: "no prefill step names a request",
    NO_DECODE: "no decode step names a request",
    CUT: "the capture begins or ends within all requests",
    CLOCKS: "the clocks of the files that saw prefill and decode could not be aligned",
    CONTRADICTION: "decode steps seem to begin before prefill has ended",
}
"""The same in the words of one sentence."""
_OTHER_SIDE = {("prefill", NO_DECODE): "decode", ("decode", NO_PREFILL): "prefill"}
_GAPS = ("value", "uncertainty", "basis")


def untold(requests: Sequence[Request], roles: Collection[str | None]) -> str:
    """Why no request's share is known, as a clause.

    Args:
        requests: With their ways.
        roles: Of all traces.
    """
    what = "KV gap's share" if any(request.kv_gap_ns is not None for request in requests) else "KV gap"
    most = _mostly_lacking(requests)
    if most is None:
        return f"{what} unknown: no step names a request"
    if (other := _not_given(roles, most)) is not None:
        return f"{what} unknown: no file of the {other} side was given"
    return f"{what} unknown: {_BRIEFLY[most]}"


def with_gap_reason(
    found: Sequence[Reason],
    requests: Sequence[Request],
    clocks: Sequence[Clock] | None,
    roles: Collection[str | None] = (),
) -> tuple[Reason, ...]:
    """The reasons, of which those for the verdict say what most of the requests lack.

    Args:
        found: From `reasons`.
        requests: With their ways.
        clocks: How the files' clocks stand; where they were refused, that says why.
        roles: Of all traces.
    """
    most = _mostly_lacking(requests)
    if most is None:
        return tuple(found)
    message, fix = _WHY[most]
    refused = [clock.note for clock in clocks or () if clock.offset_ns is None]
    if most == CLOCKS and refused:
        message = f"{message}: {refused[0]}"
    if (other := _not_given(roles, most)) is not None:
        message, fix = f"no file of the {other} side was given, and the way to the first token needs both", _give(other)
    paths = {f"/verdict/{name}" for name in _GAPS}
    return tuple(replace(each, message=message, fix=fix) if each.path in paths else each for each in found)


def _mostly_lacking(requests: Sequence[Request]) -> str | None:
    """What most requests lack, None where none lacks anything; of equally many the first."""
    lacking = Counter(request.missing for request in requests if request.missing)
    return lacking.most_common(1)[0][0] if lacking else None


def _not_given(roles: Collection[str | None], missing: str) -> str | None:
    """The side of which no file was given, None where that is not what requests lack."""
    only = next(iter(roles)) if len(set(roles)) == 1 else None
    return None if only is None else _OTHER_SIDE.get((only, missing))


def _give(other: str) -> str:
    return f"Give the trace of the {other} side too, in the same command."
