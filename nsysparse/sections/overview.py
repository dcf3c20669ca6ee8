"""What belongs right under the verdict: every request against the threshold, a typical one's way, five key figures."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, Link, Request
from nsysparse.document import Block, Dot, Fact, Facts, Meter, Strip, Tone, Way
from nsysparse.headline import busiest
from nsysparse.idling import idle_for_kv
from nsysparse.sections.links import RATES
from nsysparse.sections.ways import anchor, whole
from nsysparse.units import (
    NS_PER_MS,
    UNKNOWN,
    counted,
    human_bytes,
    human_ns,
    human_rate,
    human_share,
    human_within,
    share_within,
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
        f"p50 {share_within(verdict.value, verdict.uncertainty or 0)}"
        if has_middle and verdict.value is not None
        else "",
        "shares",
    )


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
        f"KV gap {took}{_of_the_way(request)}",
        "middle",
        anchor(request.request_id),
    )


def _of_the_way(request: Request) -> str:
    """The share as far as the clocks tell it: where they leave it open, a bare 0 % would be a claim."""
    share = request.kv_gap_share or 0.0
    low, high = request.kv_gap_share_low, request.kv_gap_share_high
    told = share_within(share, 0.0 if low is None or high is None else max(high - share, share - low))
    return f", {told}" if told.startswith("≤") else f" = {told}"


def _facts(analysis: Analysis) -> list[Fact]:
    return [_rate(analysis), _gap(analysis), _wait(analysis), _idle(analysis), _attributed(analysis)]


def _unknown(analysis: Analysis, label: str, path: str, term: str, otherwise: str) -> Fact:
    why = analysis.reason(path)
    return Fact(label, UNKNOWN, why.message if why else otherwise, "muted", term)


def _rate(analysis: Analysis) -> Fact:
    """Of the link that the verdict names."""
    link = busiest(analysis.links)
    if link is None or link.headline_gb_s is None:
        return _unknown(analysis, "Rate", "/links/*/headline_gb_s", "headline", "the link with most bytes has none")
    bound = "≥ " if link.headline_is_bound else ""
    references = [value for value in (link.peak_gb_s, link.practical_gb_s) if value]
    end = max([link.headline_gb_s, *references]) * 1.1
    meter = Meter(link.headline_gb_s, end, "wire", link.peak_gb_s, link.practical_gb_s)
    return Fact(
        RATES.get(link.headline_basis or "", "Rate"),
        f"{bound}{human_rate(link.headline_gb_s)}",
        _against(link) + (f" · the busiest of {len(analysis.links):,} links" if len(analysis.links) > 1 else ""),
        term="headline",
        meter=meter,
    )


def _against(link: Link) -> str:
    rate, bound = link.headline_gb_s or 0.0, "≥ " if link.headline_is_bound else ""
    if not link.peak_gb_s:
        return "no line rate named: --link or --peak"
    text = f"{bound}{human_share(rate / link.peak_gb_s)} of line rate {link.peak_gb_s:.4g} GB/s"
    return f"{text}, faster than the link can be" if rate > link.peak_gb_s else text


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
    return Fact("Peer wait per movement, p50", human_ns(mid), note, term="peer-wait")


def _idle(analysis: Analysis) -> Fact:
    """Of all decode devices together."""
    idle = idle_for_kv(analysis)
    if idle is None:
        return _unknown(analysis, "Decode idle for KV", "/decode", "decode-idle", "no decode step was recorded")
    note = f"{human_ns(idle.idle_ns)} of {human_ns(idle.active_ns)} on {counted(idle.device_count, 'device')}"
    meter = Meter(idle.idle_ns, idle.active_ns, "ready")
    return Fact("Decode idle for KV", idle.text, note, term="decode-idle", meter=meter)


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
