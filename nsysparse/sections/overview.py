"""What belongs right under the verdict: every request against the threshold, a typical one's way, five key figures."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, Link, Request
from nsysparse.document import Block, Dot, Fact, Facts, Meter, Strip, Tone, Way
from nsysparse.sections.absence import reason
from nsysparse.sections.ways import anchor, whole
from nsysparse.units import (
    FINEST_PERCENT,
    NS_PER_MS,
    UNKNOWN,
    counted,
    human_bytes,
    human_ns,
    human_rate,
    human_share,
    human_within,
    significant,
    within,
)

_TONES: dict[str, Tone] = {"over": "bad", "ok": "good", "unresolved": "doubt"}
_FEWEST_FOR_MIDDLE = 3
"""Of fewer requests the middle one says nothing more than they do."""


def build(analysis: Analysis) -> list[Block]:
    """The strip of shares, the middle request's way, and key figures; each only where it is known."""
    known = [request for request in analysis.requests if request.kv_gap_share is not None]
    blocks: list[Block] = []
    if known:
        blocks.append(_strip(analysis, known))
        if (middle := _middle(analysis, known)) is not None:
            blocks.append(_way(middle, len(known)))
    if analysis.totals.movement_count:
        blocks.append(Facts(_facts(analysis)))
    return blocks


def _strip(analysis: Analysis, known: Sequence[Request]) -> Strip:
    verdict = analysis.verdict
    threshold = verdict.threshold or 0.0
    ordered = sorted(known, key=lambda request: (request.kv_gap_share or 0, request.request_id))
    dots = [Dot(each.kv_gap_share or 0.0, each.request_id, _TONES.get(each.verdict, "muted")) for each in ordered]
    has_middle = len(known) >= _FEWEST_FOR_MIDDLE and verdict.value is not None
    return Strip(
        "KV gap share of each request",
        _counts(analysis, known),
        dots,
        threshold,
        f"threshold {threshold * 100:.4g} %",
        verdict.value if has_middle else None,
        verdict.uncertainty or 0.0,
        f"p50 {_share(verdict.value, verdict.uncertainty)}" if has_middle else "",
        "shares",
    )


def _share(value: float | None, doubt: float | None) -> str:
    percent = (doubt or 0) * 100
    return human_share(value) if percent < FINEST_PERCENT else f"{within((value or 0) * 100, percent)} %"


def _counts(analysis: Analysis, known: Sequence[Request]) -> str:
    parts = [f"{len(known):,} of {counted(len(analysis.requests), 'request')} have one"]
    unresolved = sum(request.verdict == "unresolved" for request in known)
    if unresolved:
        parts.append(f"{unresolved:,} of them unresolved")
    return "; ".join(parts)


def _middle(analysis: Analysis, known: Sequence[Request]) -> Request | None:
    """A real request: the one nearest to the median share. Medians of segments would not add up."""
    value = analysis.verdict.value
    if value is None:
        return None
    return min(known, key=lambda request: (abs((request.kv_gap_share or 0) - value), request.request_id))


def _way(request: Request, count: int) -> Way:
    segments, bracket = whole(request)
    doubt = request.uncertainties.get("kv_gap_ns", 0)
    took = human_within(request.kv_gap_ns or 0, doubt) if doubt else human_ns(request.kv_gap_ns)
    which = "the request" if count == 1 else "the middle request"
    tokens = "" if request.prompt_tokens is None else f"{request.prompt_tokens:,} tokens · "
    return Way(
        f"Where {which}'s {human_ns(request.path_ns)} go",
        f"{tokens}{request.request_id}",
        segments,
        bracket,
        f"KV gap {took}{_gap_share(request)}",
        "middle",
        anchor(request.request_id),
    )


def _gap_share(request: Request) -> str:
    """The share of a gap whose doubt is larger than itself is a bound, as the gap is."""
    value, low, high = request.kv_gap_share, request.kv_gap_share_low, request.kv_gap_share_high
    if value is None or low is None or high is None or value > high - value:
        return f" = {human_share(value)}"
    return f", \u2264 {human_share(high)}"


def _facts(analysis: Analysis) -> list[Fact]:
    return [_rate(analysis), _gap(analysis), _wait(analysis), _idle(analysis), _attributed(analysis)]


def _unknown(analysis: Analysis, label: str, path: str, term: str, otherwise: str) -> Fact:
    why = reason(analysis, path)
    return Fact(label, UNKNOWN, why.message if why else otherwise, "muted", term)


def _rate(analysis: Analysis) -> Fact:
    """Of the link with the most bytes that has one, as in the verdict."""
    told = [link for link in analysis.links if link.headline_gb_s is not None]
    busiest = max(told, key=lambda link: (link.bytes or 0, link.link_key), default=None)
    if busiest is None or busiest.headline_gb_s is None:
        return _unknown(analysis, "Rate", "/links/*/headline_gb_s", "headline", "no link has a rate")
    bound = "≥ " if busiest.headline_is_bound else ""
    references = [value for value in (busiest.peak_gb_s, busiest.practical_gb_s) if value]
    end = max([busiest.headline_gb_s, *references]) * 1.1
    meter = Meter(busiest.headline_gb_s, end, "wire", busiest.peak_gb_s, busiest.practical_gb_s)
    return Fact(
        "Wire rate" if busiest.headline_basis == "wire" else "Rate, waiting included",
        f"{bound}{human_rate(busiest.headline_gb_s)}",
        _against(busiest) + (f" · the busiest of {len(analysis.links):,} links" if len(analysis.links) > 1 else ""),
        term="headline",
        meter=meter,
    )


def _against(link: Link) -> str:
    rate, bound = link.headline_gb_s or 0.0, "≥ " if link.headline_is_bound else ""
    if link.peak_gb_s:
        return f"{bound}{human_share(rate / link.peak_gb_s)} of line rate {link.peak_gb_s:.4g} GB/s"
    return "no line rate named: --link or --peak"


def _gap(analysis: Analysis) -> Fact:
    spread = analysis.summary.get("kv_gap_ms")
    if spread is None or spread.p50 is None:
        return _unknown(analysis, "KV gap", "/verdict/value", "kv-gap", "no step names a request")
    doubt = max((request.uncertainties.get("kv_gap_ns", 0) for request in analysis.requests), default=0) / NS_PER_MS
    return Fact("KV gap, p50", f"{within(spread.p50, doubt)} ms", _range(spread.p10, spread.p90, doubt), term="kv-gap")


def _range(low: float | None, high: float | None, doubt: float) -> str:
    if low is None or high is None:
        return ""
    told = [within(value, doubt).partition(" \u00b1")[0] if doubt else significant(value) for value in (low, high)]
    return f"p10 {told[0]} · p90 {told[1]} ms"


def _wait(analysis: Analysis) -> Fact:
    spread = analysis.summary.get("peer_wait_ms")
    if spread is None or spread.p50 is None:
        return _unknown(analysis, "Peer wait", "/totals/peer_wait_ns", "peer-wait", "not told apart from the wire")
    low, mid, high = (
        None if each is None else round(each * NS_PER_MS) for each in (spread.p10, spread.p50, spread.p90)
    )
    note = f"p10 {human_ns(low)} · p90 {human_ns(high)}"
    return Fact("Peer wait per request, p50", human_ns(mid), note, term="peer-wait")


def _idle(analysis: Analysis) -> Fact:
    """Of all decode devices together."""
    devices = [each for each in analysis.decode or () if each.idle_while_pending_ns is not None]
    active = sum(device.active_ns for device in devices)
    if not active:
        return _unknown(analysis, "Decode idle for KV", "/decode", "decode-idle", "no decode step was recorded")
    idle = sum(device.idle_while_pending_ns or 0 for device in devices)
    doubt = sum(device.uncertainty_ns or 0 for device in devices)
    value = f"{within(idle / active * 100, doubt / active * 100)} %" if doubt else human_share(idle / active)
    note = f"{human_ns(idle)} of {human_ns(active)} on {counted(len(devices), 'device')}"
    return Fact("Decode idle for KV", value, note, term="decode-idle", meter=Meter(idle, active, "ready"))


def _attributed(analysis: Analysis) -> Fact:
    """How much of what moved has a request, by time, or by bytes where the time is not known."""
    totals, missing = analysis.totals, analysis.unattributed.get("request")
    if missing is None:
        return _unknown(analysis, "Attributed", "/unattributed/request", "provenance", "")
    for whole_, part, said in (
        (totals.time_ns, missing.time_ns, human_ns),
        (totals.bytes, missing.bytes, human_bytes),
    ):
        if whole_ and part is not None:
            share = 1 - part / whole_
            note = f"{said(part)} without a request" if part else "all has a request"
            return Fact("Attributed", human_share(share), note, term="provenance", meter=Meter(share, 1.0, "compute"))
    return _unknown(analysis, "Attributed", "/totals/time_ns", "provenance", "neither sizes nor times are known")
