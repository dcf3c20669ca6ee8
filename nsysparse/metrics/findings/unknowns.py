"""What cannot be told of requests, where others of the run show that it could be: no cost is known of it."""

from collections.abc import Sequence

from nsysparse.analysis import Clock, Finding, Request
from nsysparse.clocks.offset import ESTIMATED, REFUSED, UTC_UNVERIFIED
from nsysparse.metrics.findings.ranking import HIGH, LOW, MEDIUM, refs
from nsysparse.metrics.gap_reasons import CHECK
from nsysparse.metrics.path import CLOCKS, CONTRADICTION, CUT
from nsysparse.units import capitalised, counted, human_ns

_MANY = 0.5
UNRESOLVED = "unresolved"
_OPEN_GAPS = (CLOCKS, CONTRADICTION)
_LARGE = "messages larger than NCCL buffers"
_NARROW = {
    UTC_UNVERIFIED: "say --utc-error MS, where PTP or NTP tells how far the hosts' clocks may be apart, or record both"
    f" sides from before NCCL's communicators are made, with {_LARGE}, so that transfers bound the clocks",
    ESTIMATED: f"more {_LARGE}, in both directions, would narrow what transfers leave open",
}
_DISAGREE = "prefill and decode were recorded on clocks that do not agree well enough"
_ORDER = "events come in an order that cannot be"
_AS_IS = "no option narrows what clocks of devices of one host leave open: more requests would decide it"


def untold(requests: Sequence[Request], clocks: Sequence[Clock] = ()) -> list[Finding]:
    """Requests that the capture cuts, and those of which clocks leave the gap, or its verdict, open.

    Args:
        requests: With their ways.
        clocks: How the files' clocks stand; of one file there are none.
    """
    found = [_cut(requests), _clocks(requests, clocks)]
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


def _clocks(requests: Sequence[Request], clocks: Sequence[Clock]) -> Finding | None:
    apart = [request.request_id for request in requests if request.missing in _OPEN_GAPS]
    open_ = [request.request_id for request in requests if request.verdict == UNRESOLVED]
    if not apart and not open_:
        return None
    told = [
        *([f"the KV gap of {counted(len(apart), 'request')} is not known"] if apart else []),
        *([f"the verdict of {counted(len(open_), 'request')} is open"] if open_ else []),
    ]
    impossible = not open_ and all(request.missing != CLOCKS for request in requests)
    return Finding(
        id="clocks-apart",
        kind="clock",
        severity=HIGH if len(apart) + len(open_) >= _MANY * len(requests) else MEDIUM,
        title=f"{_sentence(told, ' and ')}: {_ORDER if impossible else _DISAGREE}",
        evidence=_sentence(_evidence(requests), "; "),
        cost_ns=None,
        advice=" ".join(f"{_sentence([each])}." for each in _advice(requests, clocks)),
        refs=refs([*apart, *open_]),
    )


def _evidence(requests: Sequence[Request]) -> list[str]:
    missing = {request.missing for request in requests}
    doubts = [request.uncertainty_ns or 0 for request in requests if request.verdict == UNRESOLVED]
    return [
        *(["prefill ends and decode begins in files whose clocks could not be aligned"] if CLOCKS in missing else []),
        *(["decode seems to begin before prefill has ended"] if CONTRADICTION in missing else []),
        *([f"shares are nearer to the threshold than an error of up to {human_ns(max(doubts))}"] if doubts else []),
    ]


def _advice(requests: Sequence[Request], clocks: Sequence[Clock]) -> list[str]:
    """What would change it: why clocks were refused, checks where an order is impossible, and what narrows an error."""
    missing = {request.missing for request in requests}
    notes = sorted({clock.note for clock in clocks if clock.method == REFUSED}) if CLOCKS in missing else []
    ways = {request.clock for request in requests if request.verdict == UNRESOLVED}
    return [
        *notes[:1],
        *([f"check ids of requests and roles of files: {CHECK}"] if CONTRADICTION in missing else []),
        *([_NARROW[UTC_UNVERIFIED]] if UTC_UNVERIFIED in ways else []),
        *([_NARROW[ESTIMATED]] if ESTIMATED in ways else []),
        *([_AS_IS] if ways - set(_NARROW) else []),
    ]


def _sentence(parts: Sequence[str], between: str = "") -> str:
    text = between.join(parts)
    return capitalised(text)
