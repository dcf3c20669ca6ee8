"""Segments of the way to the first token as bars with percentiles, or why none is known."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, Distribution
from nsysparse.document import Block, Cell, Column, Heading, Meaning, Meter, Table, Tone
from nsysparse.doubts import doubt_ms
from nsysparse.sections.cells import NOT_KNOWN
from nsysparse.units import decimals_for, fixed, within

_PART = "\u2013 "
"""Before what is a part of the row above."""
_GAP, _WAY, _TTFT = "kv_gap_ms", "path_ms", "ttft_ms"
_SEGMENTS: Sequence[tuple[str, str, Meaning]] = (
    ("queue_ms", "Queue", "queue"),
    ("prefill_ms", "Prefill", "compute"),
    ("handoff_ms", "Hand-off", "handoff"),
    ("transfer_span_ms", "Transfer", "whole"),
    ("span_sender_wait_ms", f"{_PART}receiver late", "wait"),
    ("span_peer_wait_ms", f"{_PART}sender late", "wait"),
    ("span_wire_ms", f"{_PART}wire", "wire"),
    ("span_gap_ms", f"{_PART}between transfers", "pause"),
    ("ready_to_decode_ms", "Ready, not started", "ready"),
    ("first_decode_ms", "First decode step", "compute"),
    (_GAP, "KV gap", "gap"),
    (_WAY, "Whole way", "count"),
    (_TTFT, "Time to first token", "count"),
)
_TONES: dict[str, Tone] = {"over": "bad", "ok": "good", "unresolved": "doubt"}
_MARKS = ("p10", "p50", "p90")


def build(analysis: Analysis) -> list[Block]:
    """One row for each segment, its bar as long as its median; nothing where no segment is known."""
    spreads = {name: analysis.summary.get(name) for name, *_ in _SEGMENTS}
    if not any(spreads.values()):
        return []
    if spreads[_TTFT] in (None, spreads[_WAY]):
        del spreads[_TTFT]  # not known, which is said below, or the same
    known = [spread for spread in spreads.values() if spread is not None]
    # The whole way, and the time to the first token, are no segments: they would leave no room to compare these.
    end = max((spread.p50 or 0 for name, spread in spreads.items() if spread and name not in (_WAY, _TTFT)), default=0)
    decimals = max(1, decimals_for([max(spread.p90 or 0 for spread in known)]))
    # A segment may be known of fewer requests than others: then its median is not to be compared without a word.
    counts = {spread.count for spread in known}
    rows = []
    for name, label, meaning in _SEGMENTS:
        if name not in spreads or (label.startswith(_PART) and spreads["transfer_span_ms"] is None):
            continue
        spread = spreads[name]
        tone: Tone = _TONES.get(analysis.verdict.state, "plain") if name == _GAP else "plain"
        length = None if spread is None else spread.p50
        bar = Cell("") if name in (_WAY, _TTFT) else Cell("", meter=Meter(length, end or 1.0, meaning), tone=tone)
        doubt = doubt_ms(analysis.requests, name)
        of = [Cell("" if spread is None else f"{spread.count:,}")] if len(counts) > 1 else []
        rows.append([Cell(label, tone=tone), bar, *(_cell(spread, mark, doubt, decimals) for mark in _MARKS), *of])
    columns = [Column(""), Column(""), *(Column(mark, "right", unit="ms") for mark in _MARKS)]
    columns += [Column("requests", "right")] if len(counts) > 1 else []
    title = "Path to the first token"
    return [Heading(title, "path"), Table(title, columns, rows, "summary-path")]


def _cell(spread: Distribution | None, mark: str, doubt: float, decimals: int) -> Cell:
    """A percentile; with its ± where that is not hidden by the rounding."""
    value = None if spread is None else getattr(spread, mark)
    if value is None:
        return NOT_KNOWN
    return Cell(fixed(value, decimals) if doubt < 0.5 * 10**-decimals else within(value, doubt))
