"""Where the time to the first token goes: every request's way on one line, its segments, and by prompt."""

from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import DECODE_FIRST, PREFILL_FIRST, Analysis, Distribution, PromptBucket, Request
from nsysparse.document import Abstention, Block, Cell, Heading, Paragraph, Table
from nsysparse.doubts import MISSING, doubt_ms
from nsysparse.sections import waterfall
from nsysparse.sections.cells import Filled, doubtful, names, numbers, shares, table, texts
from nsysparse.sections.requests import gap_shares, states
from nsysparse.units import capitalised, counted, time_scale, within

_SEGMENTS = (
    ("queue_ms", "Queue", "queue"),
    ("prefill_ms", "Prefill", "prefill"),
    ("handoff_ms", "Hand-off", "hand-off"),
    ("transfer_span_ms", "Transfer", "transfer-span"),
    ("exposed_to_request_ms", "Receives within the KV gap", "exposed"),
    ("ready_to_decode_ms", "Ready, not started", "ready"),
    ("first_decode_ms", "First decode step", "first-decode"),
    ("kv_gap_ms", "KV gap", "kv-gap"),
    ("path_ms", "Whole way", "path"),
    ("ttft_ms", "Time to first token", "ttft"),
    ("tpot_ms", "Time per output token", "tpot"),
    ("tpot_without_gap_ms", "Time per output token, without the KV gap", "tpot"),
)
BLAMES = {
    "link": "the link",
    "wait": "a late sender",
    "receiver": "a late receiver",
    "transfer": "the link or a late sender",
    "fragmentation": "pauses between transfers",
    "handoff": "a late first send",
    "scheduler": "the decode scheduler",
}
"""What most of a gap is made of, in words."""


def build(analysis: Analysis) -> list[Block]:
    """The convention, the requests' ways worst first, percentiles of every segment, and classes of prompts."""
    if not analysis.requests:
        return []
    heading = Heading("Request paths to the first token", "path")
    spreads = {name: analysis.summary.get(name) for name, *_ in _SEGMENTS}
    if not any(spreads.values()):
        why = analysis.reason("/verdict/value")
        message = why.message if why else "no step names a request"
        return [heading, Abstention("The way to the first token", f"{capitalised(message)}.",
                                    why.fix if why else "")]  # fmt: skip
    blocks: list[Block] = [heading, Paragraph(_convention(analysis))]
    blocks += [Paragraph(text, "doubt") for text in _doubts(analysis)]
    blocks.append(waterfall.block(analysis))
    seen = {name: spread for name, spread in spreads.items() if spread is not None}
    blocks.append(_segments(seen, analysis.requests))
    by_id = {request.request_id: request for request in analysis.requests}
    if worst := [by_id[name] for name in analysis.worst if name in by_id]:
        blocks.append(_worst(worst, len(analysis.requests)))
    if analysis.prompts and any(bucket.kv_gap_ms for bucket in analysis.prompts):
        blocks.append(_prompts(analysis.prompts, analysis.requests))
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
        parts = [f"{counted(count, 'request')}: {MISSING.get(name, name)}" for name, count in sorted(lacking.items())]
        found.append(f"Not judged: {'; '.join(parts)}.")
    if any(request.path_basis == "prefill-start" for request in analysis.requests):
        found.append("Where a request's arrival is not recorded, its way begins with its prefill, without its queue.")
    return found


def _segments(spreads: dict[str, Distribution], requests: Sequence[Request]) -> Table:
    known = [(name, title, spreads[name]) for name, title, _ in _SEGMENTS if name in spreads]
    doubts = [doubt_ms(requests, name) for name, *_ in known]
    columns = [
        texts("Segment", [title for _, title, _ in known]),
        *(
            _no_finer(mark, [getattr(spread, mark) for *_, spread in known], doubts)
            for mark in ("p50", "p90", "p99", "max")
        ),
        numbers("Requests", [spread.count for *_, spread in known]),
    ]
    return table("Segments of the way", columns, "segments-table")


def _no_finer(
    title: str, values_ms: Sequence[float | None], doubts_ms: Sequence[float], *, minor: bool = False
) -> Filled:
    """Times in ms, of which those that rest on two clocks are no finer than these may be apart."""
    plain = numbers(title, values_ms, unit="ms", minor=minor)
    cells = [
        Cell(within(value, doubt), sort=value) if doubt and value is not None else cell
        for cell, value, doubt in zip(plain.cells, values_ms, doubts_ms, strict=True)
    ]
    return replace(plain, cells=cells)


def _worst(worst: Sequence[Request], every: int) -> Table:
    scale = time_scale([request.path_ns or request.kv_gap_ns for request in worst])

    def segment(title: str, field: str, term: str, *, minor: bool = False) -> Filled:
        values = [getattr(request, field) for request in worst]
        doubts = [request.uncertainties.get(field) for request in worst]
        return doubtful(title, values, doubts, scale, term=term, minor=minor)

    def part(title: str, name: str, term: str, *, exact: bool = True) -> Filled:
        """Of the transfer on the rank that finished last; what the clocks are off would look like pauses."""
        values = [(request.span or {}).get(name) for request in worst]
        doubts = [None if exact else request.uncertainties.get("transfer_span_ns") for request in worst]
        return doubtful(title, values, doubts, scale, term=term, minor=True)

    verdicts = states(worst)
    columns = [
        names("Request", [request.request_id for request in worst]),
        texts("Verdict", [text for text, _ in verdicts], tones=[tone for _, tone in verdicts], term="kv-gap"),
        gap_shares(worst),
        segment("KV gap", "kv_gap_ns", "kv-gap"),
        texts("Mostly", [BLAMES.get(request.blame or "") for request in worst], term="blame"),
        segment("Prefill", "prefill_ns", "prefill", minor=True),
        segment("Hand-off", "handoff_ns", "hand-off"),
        segment("Transfer", "transfer_span_ns", "transfer-span"),
        segment("Ready", "ready_to_decode_ns", "ready"),
        segment("First decode", "first_decode_ns", "first-decode", minor=True),
        segment("Queue", "queue_ns", "queue", minor=True),
        segment("Whole way", "path_ns", "path", minor=True),
        part("On the wire", "wire_ns", "wire"),
        part("Sender late", "peer_wait_ns", "peer-wait"),
        part("Receiver late", "sender_wait_ns", "transfer-span", exact=False),
        part("Pauses", "gap_ns", "transfer-span", exact=False),
        segment("Sent ahead", "overlap_ns", "hand-off", minor=True),
        numbers("Chunks", [request.prefill_step_count for request in worst], term="prefill", minor=True),
        numbers("Sent", [request.attempt_count for request in worst], term="attempts", minor=True),
    ]
    dropped = f"The worst {len(worst)} of {every:,} requests." if len(worst) < every else ""
    return table("Worst requests, segment by segment", columns, "worst-table", dropped=dropped, folded=True)


def _prompts(buckets: Sequence[PromptBucket], requests: Sequence[Request]) -> Table:
    columns = [
        texts("Prompt, tokens", [f"{bucket.low:,} to {bucket.high - 1:,}" for bucket in buckets]),
        numbers("Requests", [bucket.request_count for bucket in buckets]),
        numbers("Over", [bucket.over_count for bucket in buckets], term="kv-gap"),
    ]
    measures = {
        "Gap": ("kv_gap_ms", [bucket.kv_gap_ms for bucket in buckets]),
        "TTFT": ("ttft_ms", [bucket.ttft_ms for bucket in buckets]),
    }
    columns += [
        _no_finer(
            f"{title} {mark}",
            _marks(spreads, mark),
            [doubt_ms(requests, name)] * len(spreads),
            minor=mark == "p90",
        )
        for title, (name, spreads) in measures.items()
        for mark in ("p50", "p90", "p99")
    ]
    share = _marks([bucket.kv_gap_share for bucket in buckets], "p50")
    columns.append(shares("Gap share p50", share, term="kv-gap"))
    return table("By length of prompt", columns, "prompts-table", folded=True)


def _marks(spreads: Sequence[Distribution | None], mark: str) -> list[float | None]:
    return [None if spread is None else getattr(spread, mark) for spread in spreads]
