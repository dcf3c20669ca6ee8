"""What each request's transfers cost, worst first."""

from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import TEACH, Analysis, Request
from nsysparse.document import Abstention, Block, Heading, Paragraph, Table, Tone
from nsysparse.sections.absence import abstention
from nsysparse.sections.cells import Filled, doubtful, doubtful_shares, names, numbers, sizes, table, texts, times
from nsysparse.sections.provenance import described
from nsysparse.units import human_ns, human_share, time_scale

MOST_ROWS = 200

_VERDICTS: dict[str, tuple[str | None, Tone]] = {
    "over": ("▲ over", "bad"),
    "ok": ("✓ ok", "good"),
    "unresolved": ("≈ unresolved", "doubt"),
}
_NO_VERDICT: tuple[str | None, Tone] = (None, "muted")

_NONE = Abstention("Requests", "No transfer carries a request id.", TEACH)


def build(analysis: Analysis) -> list[Block]:
    """The table of requests; where their ways are known it backs up the section of these, which comes before it."""
    heading = Heading("Requests", "requests")
    if not analysis.requests:
        return [heading, abstention(analysis, "Requests", "/requests", _NONE)]
    shown = _table(worst_first(analysis.requests))
    if any(request.path_ns is not None for request in analysis.requests):
        return [replace(shown, caption="What each request's transfers cost", folded=True)]
    return [heading, Paragraph(_lead(analysis), "muted"), shown]


def worst_first(requests: Sequence[Request]) -> list[Request]:
    """By share lost to the KV gap where it is known, then by transfer time, then by name."""

    def key(request: Request) -> tuple[float, int, str]:
        share = -1.0 if request.kv_gap_share is None else request.kv_gap_share
        return (-share, -(request.time_ns or 0), request.request_id)

    return sorted(requests, key=key)


def gap_shares(requests: Sequence[Request]) -> Filled:
    """The share of each request's KV gap, no finer than its clocks."""
    bounds = [(request.kv_gap_share_low, request.kv_gap_share_high) for request in requests]
    return doubtful_shares("Gap share", [request.kv_gap_share for request in requests], bounds, term="kv-gap")


def states(requests: Sequence[Request]) -> list[tuple[str | None, Tone]]:
    """The verdicts of requests in words, each with its tone."""
    return [_VERDICTS.get(request.verdict, _NO_VERDICT) for request in requests]


def _lead(analysis: Analysis) -> str:
    text = "Worst first: by KV gap share where it is known, then by transfer time."
    total, missing = analysis.totals.time_ns, analysis.unattributed.get("request")
    if missing is not None and total and missing.time_ns:
        text += f" Not in here: {human_ns(missing.time_ns)} ({human_share(missing.time_ns / total)}) without a request."
    return text


def _table(requests: Sequence[Request]) -> Table:
    shown = requests[:MOST_ROWS]
    dropped = ""
    if len(shown) < len(requests):
        dropped = f"The {len(shown)} worst of {len(requests):,} requests; the JSON report has all of them."
    scale = time_scale(request.time_ns for request in shown)
    verdicts = states(shown)
    doubts = [request.uncertainties.get("kv_gap_ns") for request in shown]
    gaps = time_scale([*(request.kv_gap_ns for request in shown), *doubts])
    columns = [
        names("Request", [request.request_id for request in shown]),
        texts("Verdict", [text for text, _ in verdicts], tones=[tone for _, tone in verdicts], term="kv-gap"),
        gap_shares(shown),
        doubtful("KV gap", [request.kv_gap_ns for request in shown], doubts, gaps, term="kv-gap"),
        times("Time", [request.time_ns for request in shown], scale, term="transfer-time"),
        times("Wire", [request.wire_ns for request in shown], scale, term="wire"),
        times("Peer wait", [request.peer_wait_ns for request in shown], scale, term="peer-wait"),
        sizes("Bytes", [request.bytes for request in shown], term="movement"),
        sizes("Model says", [request.expected_bytes for request in shown], minor=True),
        numbers("Tokens", [request.prompt_tokens for request in shown], minor=True),
        times("Busy", [request.busy_ns for request in shown], scale, term="busy", minor=True),
        times("Exposed", [request.exposed_to_request_ns for request in shown], scale, term="exposed", minor=True),
        numbers("Movements", [request.movement_count for request in shown], term="movement", minor=True),
        texts("Known by", [described(request.provenance) for request in shown], term="provenance", minor=True),
    ]
    return table("Requests", columns, "requests-table", dropped=dropped)
