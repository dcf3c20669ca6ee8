"""What cannot be told of requests, where others of the run show that it could be: no cost is known of it."""

from collections.abc import Sequence

from nsysparse.analysis import Finding, Request
from nsysparse.metrics.findings.ranking import HIGH, LOW, MEDIUM, refs
from nsysparse.metrics.path import CLOCKS, CONTRADICTION, CUT
from nsysparse.units import counted

_MANY = 0.5
UNRESOLVED = "unresolved"


def untold(requests: Sequence[Request]) -> list[Finding]:
    """Requests that the capture cuts, and those of which clocks leave the gap, or its verdict, open."""
    found = [_cut(requests), _clocks(requests)]
    return [each for each in found if each is not None]


def _cut(requests: Sequence[Request]) -> Finding | None:
    cut = [request.request_id for request in requests if request.missing == CUT]
    if not cut:
        return None
    return Finding(
        id="requests-cut",
        kind="coverage",
        severity=MEDIUM if len(cut) >= _MANY * len(requests) else LOW,
        title=f"The capture's beginning or end cuts {counted(len(cut), 'request')} of {len(requests):,}",
        evidence="Their first prefill or decode steps lie outside, so their share of the way is not known",
        cost_ns=None,
        advice="Record for longer, from before the first request on; numbers are of the other requests.",
        refs=refs(cut),
    )


def _clocks(requests: Sequence[Request]) -> Finding | None:
    apart = [request.request_id for request in requests if request.missing in (CLOCKS, CONTRADICTION)]
    open_ = [request.request_id for request in requests if request.verdict == UNRESOLVED]
    if not apart and not open_:
        return None
    told = [
        *([f"the KV gap of {counted(len(apart), 'request')} is not known"] if apart else []),
        *([f"the verdict of {counted(len(open_), 'request')} is open"] if open_ else []),
    ]
    text = " and ".join(told)
    return Finding(
        id="clocks-apart",
        kind="clock",
        severity=HIGH if len(apart) + len(open_) >= _MANY * len(requests) else MEDIUM,
        title=f"{text[0].upper()}{text[1:]}: prefill and decode were recorded on clocks that do not agree well enough",
        evidence="Their prefill ends and their decode begins in files whose clocks could not be aligned, or only to"
        " within more than what is asked",
        cost_ns=None,
        advice="Record both sides in one nsys profile, or --clock utc where PTP or NTP keeps the clocks of"
        " hosts together.",
        refs=refs([*apart, *open_]),
    )
