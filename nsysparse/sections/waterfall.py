"""Every request's way, aligned where its prefill ends, so that gaps start on one line and compare by length."""

from collections.abc import Mapping, Sequence

from nsysparse.analysis import Analysis, Request
from nsysparse.document import Cell, Segment, Waterfall, WayRow
from nsysparse.sections.cells import Filled, doubtful, names, numbers, texts
from nsysparse.sections.layers import longest
from nsysparse.sections.requests import MOST_ROWS, gap_shares, states, worst_first
from nsysparse.sections.ways import KEY, after, anchor, before
from nsysparse.units import NS_PER_MS, Scale, counted, human_bytes, human_ns, significant

MOST_PROFILED = 64
"""Of so many requests the time per layer goes with the page."""
_MS = Scale("ms", NS_PER_MS)
_BEFORE_CUT = "prefill not captured"
_MISSING: Mapping[str, str] = {
    "no-prefill-step": "no prefill step names it",
    "no-decode-step": "no decode step names it",
    "cut": "not captured",
    "clocks": "clocks not aligned",
    "contradiction": "decode seems to begin before prefill ends",
}


def block(analysis: Analysis) -> Waterfall:
    """The ways of the worst requests, at most `MOST_ROWS`."""
    ordered = worst_first(analysis.requests)
    shown = ordered[:MOST_ROWS]
    dropped = _dropped(len(shown), len(ordered))
    columns = _columns(shown)
    layers = sorted({cell.layer for cell in analysis.layer_request} & {each.layer for each in longest(analysis.layers)})
    profiles = _profiles(analysis, shown[:MOST_PROFILED], layers)
    rows = [
        _row(request, [column.cells[place] for column in columns], profiles.get(request.request_id, ()))
        for place, request in enumerate(shown)
    ]
    used = {
        segment.meaning for row in rows for segment in (*row.before, *row.after, row.ahead) if segment and segment.value
    }
    if any(row.unknown_before or row.unknown_after for row in rows):
        used.add("unknown")
    return Waterfall(
        "Requests, worst first",
        "ms",
        "prefill ends",
        [column.column for column in columns],
        rows,
        [(meaning, text) for meaning, text in KEY if meaning in used],
        "waterfall",
        dropped,
        "Transfer time by layer, µs" if profiles else "",
        [str(layer) for layer in layers] if profiles else (),
    )


def _dropped(shown: int, every: int) -> str:
    return f"The {shown:,} worst of {every:,} requests; the JSON report has all of them." if shown < every else ""


def _columns(requests: Sequence[Request]) -> list[Filled]:
    doubts = [request.uncertainties.get("kv_gap_ns") for request in requests]
    verdicts = states(requests)
    return [
        names("Request", [request.request_id for request in requests]),
        numbers("Tokens", [request.prompt_tokens for request in requests]),
        doubtful("KV gap", [request.kv_gap_ns for request in requests], doubts, _MS, term="kv-gap"),
        gap_shares(requests),
        texts("Verdict", [text for text, _ in verdicts], tones=[tone for _, tone in verdicts], term="kv-gap"),
    ]


def _profiles(analysis: Analysis, requests: Sequence[Request], layers: Sequence[int]) -> dict[str, list[float | None]]:
    """Transfer time per layer, in µs, of each of these requests."""
    place = {layer: at for at, layer in enumerate(layers)}
    found: dict[str, list[float | None]] = {request.request_id: [None] * len(layers) for request in requests}
    for cell in analysis.layer_request:
        if cell.time_ns is not None and cell.request_id in found and cell.layer in place:
            found[cell.request_id][place[cell.layer]] = cell.time_ns / 1000
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


def _row(request: Request, cells: Sequence[Cell], profile: Sequence[float | None]) -> WayRow:
    told_before, told_after = before(request), after(request)
    known_before, known_after = _known(told_before), _known(told_after)
    why = _MISSING.get(request.missing, "not known")
    doubt = request.uncertainties.get("kv_gap_ns", 0) / NS_PER_MS
    return WayRow(
        anchor(request.request_id),
        request.request_id,
        cells,
        known_before,
        known_after,
        "" if len(known_before) == len(told_before) else _BEFORE_CUT if request.missing == "cut" else why,
        "" if len(known_after) == len(told_after) else why,
        _ahead(request),
        doubt,
        None if request.kv_gap_ns is None else request.kv_gap_ns / NS_PER_MS,
        _notes(request),
        profile,
    )


def _known(segments: Sequence[Segment]) -> list[Segment]:
    """Up to the first that is not known: what comes after it has no place."""
    known = []
    for segment in segments:
        if segment.value is None:
            break
        known.append(segment)
    return known


def _ahead(request: Request) -> Segment | None:
    if not request.overlap_ns:
        return None
    said = human_ns(request.overlap_ns)
    return Segment("sent while prefill ran", "wire", request.overlap_ns / NS_PER_MS, said)


def _notes(request: Request) -> list[str]:
    """What else is known of it, for whoever looks closer."""
    notes = []
    if request.bytes is not None:
        expected = request.expected_bytes
        says = "" if expected is None else _beside_model(request.bytes, expected)
        notes.append(f"{human_bytes(request.bytes)} in {counted(request.movement_count, 'movement')}{says}")
    if request.overlap_ns:
        notes.append(f"sent ahead, behind prefill: {human_ns(request.overlap_ns)}")
    if request.uncertainties.get("kv_gap_ns"):
        notes.append(f"clocks: ± {human_ns(request.uncertainties['kv_gap_ns'])}")
    if (request.attempt_count or 0) > 1:
        notes.append(f"sent {request.attempt_count:,} times")
    if request.tpot_ns is not None:
        notes.append(f"time per output token {human_ns(request.tpot_ns)}")
    return notes


def _beside_model(moved: int, expected: int) -> str:
    if moved == expected:
        return ", as the model says"
    return f", {significant(moved / expected)} times what the model says" if expected else ""
