"""Where the time to the first token goes: segments of the requests' ways, the worst of them, and by prompt."""

from collections.abc import Sequence

from nsysparse.analysis import DECODE_FIRST, PREFILL_FIRST, Analysis, Distribution, PromptBucket, Request
from nsysparse.document import Abstention, Block, Heading, Paragraph, Table
from nsysparse.sections.absence import reason
from nsysparse.sections.cells import doubtful, names, numbers, shares, table, texts, times
from nsysparse.sections.requests import states
from nsysparse.units import counted, time_scale

_SEGMENTS = (
    ("queue_ms", "Queue", "queue"),
    ("prefill_ms", "Prefill", "prefill"),
    ("handoff_ms", "Hand-off", "hand-off"),
    ("transfer_span_ms", "Transfer", "transfer-span"),
    ("ready_to_decode_ms", "Ready to decode", "ready"),
    ("first_decode_ms", "First decode step", "first-decode"),
    ("kv_gap_ms", "KV gap", "kv-gap"),
    ("path_ms", "Whole way", "path"),
    ("ttft_ms", "Time to first token", "ttft"),
    ("tpot_ms", "Time per output token", "tpot"),
    ("tpot_without_gap_ms", "Time per output token, without the KV gap", "tpot"),
)
BLAMES = {
    "link": "the link",
    "wait": "a late peer",
    "fragmentation": "pauses between transfers",
    "handoff": "a late first send",
    "scheduler": "the decode scheduler",
}
"""What most of a gap is made of, in words."""
_MISSING = {
    "no-prefill-step": "no prefill step names it",
    "no-decode-step": "no decode step names it",
    "cut": "cut by the capture",
    "clocks": "clocks of two files not aligned",
    "contradiction": "its decode seems to begin before its prefill ends",
}


def build(analysis: Analysis) -> list[Block]:
    """The convention, percentiles of every segment, the worst requests, and classes of prompts."""
    if not analysis.requests:
        return []
    heading = Heading("Where the time to the first token goes", "path")
    spreads = {name: analysis.summary.get(name) for name, *_ in _SEGMENTS}
    if not any(spreads.values()):
        why = reason(analysis, "/verdict/value")
        message = why.message if why else "no step names a request"
        return [heading, Abstention("The way to the first token", f"{message[:1].upper()}{message[1:]}.",
                                    why.fix if why else "")]  # fmt: skip
    blocks: list[Block] = [heading, Paragraph(_convention(analysis))]
    blocks += [Paragraph(text, "doubt") for text in _doubts(analysis)]
    blocks.append(_segments({name: spread for name, spread in spreads.items() if spread is not None}))
    by_id = {request.request_id: request for request in analysis.requests}
    if worst := [by_id[name] for name in analysis.worst if name in by_id]:
        blocks.append(_worst(worst, len(analysis.requests)))
    if analysis.prompts and any(bucket.kv_gap_ms for bucket in analysis.prompts):
        blocks.append(_prompts(analysis.prompts))
    return blocks


def _convention(analysis: Analysis) -> str:
    setting = analysis.settings["ttft"]
    if setting.value == DECODE_FIRST:
        return f"Decode emits the first token ({setting.source}), so the KV gap delays it."
    if setting.value == PREFILL_FIRST:
        return f"Prefill emits the first token ({setting.source}), so the KV gap lies before the second."
    return (
        "Which side emits the first token is not known, so whether the KV gap delays the first token or the second: say"
        f" --ttft {DECODE_FIRST} or --ttft {PREFILL_FIRST}."
    )


def _doubts(analysis: Analysis) -> list[str]:
    """What is not in these figures, and on whose clocks they rest."""
    found = []
    lacking: dict[str, int] = {}
    for request in analysis.requests:
        if request.missing:
            lacking[request.missing] = lacking.get(request.missing, 0) + 1
    if lacking:
        parts = [f"{counted(count, 'request')}: {_MISSING.get(name, name)}" for name, count in sorted(lacking.items())]
        found.append(f"Not judged: {'; '.join(parts)}.")
    if any(request.path_basis == "prefill-start" for request in analysis.requests):
        found.append("Where a request's arrival is not recorded, its way begins with its prefill, without its queue.")
    return found


def _segments(spreads: dict[str, Distribution]) -> Table:
    known = [(title, term, spreads[name]) for name, title, term in _SEGMENTS if name in spreads]
    columns = [
        texts("Segment", [title for title, *_ in known]),
        *(
            numbers(mark, [getattr(spread, mark) for *_, spread in known], unit="ms")
            for mark in ("p50", "p90", "p99", "max")
        ),
        numbers("Requests", [spread.count for *_, spread in known]),
    ]
    return table("Segments of the way", columns, "segments-table")


def _worst(worst: Sequence[Request], every: int) -> Table:
    scale = time_scale([request.path_ns or request.kv_gap_ns for request in worst])
    doubts = [request.uncertainty_ns for request in worst]
    made_of = [request.span or {} for request in worst]
    verdicts = states(worst)
    columns = [
        names("Request", [request.request_id for request in worst]),
        texts("Verdict", [text for text, _ in verdicts], tones=[tone for _, tone in verdicts], term="kv-gap"),
        shares("Gap share", [request.kv_gap_share for request in worst], term="kv-gap"),
        doubtful("KV gap", [request.kv_gap_ns for request in worst], doubts, scale, term="kv-gap"),
        texts("Mostly", [BLAMES.get(request.blame or "") for request in worst], term="blame"),
        times("Queue", [request.queue_ns for request in worst], scale, term="queue", minor=True),
        times("Prefill", [request.prefill_ns for request in worst], scale, term="prefill"),
        times("Hand-off", [request.handoff_ns for request in worst], scale, term="hand-off"),
        doubtful("Transfer", [request.transfer_span_ns for request in worst], doubts, scale, term="transfer-span"),
        times("on the wire", [parts.get("wire_ns") for parts in made_of], scale, term="wire", minor=True),
        times("waiting", [parts.get("peer_wait_ns") for parts in made_of], scale, term="peer-wait", minor=True),
        times("pauses", [parts.get("gap_ns") for parts in made_of], scale, term="transfer-span", minor=True),
        times("Ready", [request.ready_to_decode_ns for request in worst], scale, term="ready"),
        times("First decode", [request.first_decode_ns for request in worst], scale, term="first-decode"),
        doubtful("Whole way", [request.path_ns for request in worst], doubts, scale, term="path", minor=True),
        times("Sent ahead", [request.overlap_ns for request in worst], scale, term="hand-off", minor=True),
        numbers("Chunks", [request.prefill_step_count for request in worst], term="prefill", minor=True),
        numbers("Sent", [request.attempt_count for request in worst], term="attempts", minor=True),
    ]
    dropped = f"The worst {len(worst)} of {every:,} requests." if len(worst) < every else ""
    return table("Worst requests", columns, "worst-table", dropped=dropped)


def _prompts(buckets: Sequence[PromptBucket]) -> Table:
    columns = [
        texts("Prompt, tokens", [f"{bucket.low:,} to {bucket.high - 1:,}" for bucket in buckets]),
        numbers("Requests", [bucket.request_count for bucket in buckets]),
        numbers("Over", [bucket.over_count for bucket in buckets], term="kv-gap"),
    ]
    measures = {"Gap": [bucket.kv_gap_ms for bucket in buckets], "TTFT": [bucket.ttft_ms for bucket in buckets]}
    columns += [
        numbers(f"{title} {mark}", _marks(spreads, mark), unit="ms", minor=mark == "p90")
        for title, spreads in measures.items()
        for mark in ("p50", "p90", "p99")
    ]
    share = _marks([bucket.kv_gap_share for bucket in buckets], "p50")
    columns.append(shares("Gap share p50", share, term="kv-gap"))
    return table("By length of prompt", columns, "prompts-table")


def _marks(spreads: Sequence[Distribution | None], mark: str) -> list[float | None]:
    return [None if spread is None else getattr(spread, mark) for spread in spreads]
