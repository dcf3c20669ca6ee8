"""What a reviewer sees before unfolding anything: where the time goes, in at most ten rows, and what is worth most."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nsysparse.analysis import Analysis, Finding, Link, Totals
from nsysparse.document import Block, Cell, Column, Meaning, Meter, Paragraph, Table
from nsysparse.doubts import doubt_ms
from nsysparse.headline import busiest
from nsysparse.idling import idle_for_kv
from nsysparse.sections.links import RATES
from nsysparse.units import (
    human_ns,
    human_rate,
    human_share,
    significant,
    within,
)

MOST_ROWS = 10
MOST_FINDINGS = 2
_PART = "\u2013 "
"""Before what is a part of the row above."""

_SEGMENTS: tuple[tuple[str, str, Meaning], ...] = (
    ("kv_gap_ms", "KV gap", "gap"),
    ("handoff_ms", f"{_PART}hand-off", "handoff"),
    ("transfer_span_ms", f"{_PART}transfer", "whole"),
    ("span_wire_ms", f"{_PART}transfer: on the wire", "wire"),
    ("span_peer_wait_ms", f"{_PART}transfer: waiting for the peer", "wait"),
    ("ready_to_decode_ms", f"{_PART}ready, not started", "ready"),
    ("queue_ms", "Queue", "queue"),
    ("prefill_ms", "Prefill", "compute"),
    ("first_decode_ms", "First decode step", "compute"),
)
"""The KV gap with its parts, then what the rest of the way consists of, by the names of the summary's metrics."""
_TRANSFER, _SPLIT = "transfer_span_ms", ("span_wire_ms", "span_peer_wait_ms")


@dataclass(frozen=True, slots=True)
class _Row:
    """A label, its value with unit, how long its bar is (0 to 1, None: it has no whole), and what there is to add."""

    label: str
    value: str
    length: float | None
    meaning: Meaning
    remark: str = ""


def build(analysis: Analysis) -> list[Block]:
    """The table without a heading, so that it stands open, and a line of findings; either only where it is known."""
    segments = list(_segments(analysis))
    is_split = any(row.meaning == "wire" for row in segments)
    rows = [
        *(segments or _transfers(analysis.totals)),
        *([] if is_split else _on_wire(analysis.totals, is_alone=bool(segments))),
        *_rate(analysis.links),
        *_decode_idle(analysis),
    ]
    of = "median per request" if segments else "all transfers"
    blocks: list[Block] = [_table(rows[:MOST_ROWS], of)] if rows else []
    if segments:
        blocks.append(Paragraph("Each median is taken on its own, so rows do not add up.", "muted"))
    if worth := [_told(each) for each in analysis.findings if each.cost_ns][:MOST_FINDINGS]:
        blocks.append(Paragraph(f"Worth most: {' · '.join(worth)}"))
    return blocks


def _table(rows: Sequence[_Row], of: str) -> Table:
    caption = f"Where the time goes, {of}"
    columns = [Column(caption), Column("", "right"), Column("")]
    cells = [[Cell(row.label), Cell(row.value), Cell(row.remark, meter=_meter(row))] for row in rows]
    return Table(caption, columns, cells, "review")


def _meter(row: _Row) -> Meter | None:
    return None if row.length is None else Meter(row.length, 1.0, row.meaning)


def _segments(analysis: Analysis) -> Iterator[_Row]:
    """Medians of the requests' ways to the first token, on one axis."""
    spreads = {name: spread for name, *_ in _SEGMENTS if (spread := analysis.summary.get(name)) is not None}
    # A median over fewer requests than its neighbours' is not to be compared with them.
    counts = {spreads[name].count if name in spreads else 0 for name in (_TRANSFER, *_SPLIT)}
    for name in (_TRANSFER,) if len(counts) == 1 else _SPLIT:
        spreads.pop(name, None)
    known = {name: spread.p50 for name, spread in spreads.items() if spread.p50 is not None}
    longest = max(known.values(), default=0.0)
    for name, label, meaning in _SEGMENTS:
        if name in known:
            told = within(known[name], doubt_ms(analysis.requests, name))
            yield _Row(label, f"{told} ms", known[name] / longest if longest else 0.0, meaning)


def _transfers(totals: Totals) -> Iterator[_Row]:
    """Where no request's way is known: the time of the transfers, and how much of it compute hides."""
    whole = totals.time_ns
    if not whole:
        return
    yield _Row("Transfer time", human_ns(whole), 1.0, "whole", "a sum: overlapping transfers count each")
    rest = _rest(totals.exposure_known_share)
    if totals.exposed_ns is not None:
        yield _Row(f"{_PART}exposed", human_ns(totals.exposed_ns), totals.exposed_ns / whole, "whole", rest)
    if (hidden := totals.overlapped_ns) is not None:
        yield _Row(f"{_PART}behind compute", human_ns(hidden), hidden / whole, "hidden", rest)


def _on_wire(totals: Totals, *, is_alone: bool) -> Iterator[_Row]:
    """How much of the transfer time is known to be on the wire."""
    if totals.wire_ns is None or not totals.time_ns:
        return
    share = totals.wire_ns / totals.time_ns
    rest = _rest(totals.wire_known_share)
    if is_alone:
        remark = "; ".join(part for part in ("of transfer time", rest) if part)
        yield _Row("Transfers: on the wire", human_share(share), share, "wire", remark)
        return
    yield _Row(f"{_PART}on the wire", human_ns(totals.wire_ns), share, "wire", rest)
    if (wait := totals.peer_wait_ns) is not None:
        yield _Row(f"{_PART}waiting for the peer", human_ns(wait), wait / totals.time_ns, "wait", rest)


def _rest(known: float | None) -> str:
    return "" if known is None or known >= 1 else f"{human_share(1 - known)} not told apart"


def _rate(links: Sequence[Link]) -> Iterator[_Row]:
    """The link with most bytes among those whose ends are known, which the verdict names too."""
    link = busiest(links)
    if link is None or link.headline_gb_s is None:
        return
    rate = link.headline_gb_s
    value = human_rate(rate)
    label = RATES.get(link.headline_basis or "", "Rate")
    whole = max(link.peak_gb_s or 0.0, link.practical_gb_s or 0.0)
    references = [f"{link.peak_gb_s:.4g} GB/s line rate"] if link.peak_gb_s else []
    references += [f"ceiling {significant(link.practical_gb_s)}"] if link.practical_gb_s else []
    remark = f"of {', '.join(references)}" if references else "no line rate to compare with"
    if whole and rate > whole:
        remark += ": faster than the link can be, so bytes, pairing or link are wrong"
    if len(links) > 1:
        label += " of the link with most bytes"
    told = f"≥ {value}" if link.headline_is_bound else value
    yield _Row(label, told, rate / whole if whole else None, "wire", remark)


def _decode_idle(analysis: Analysis) -> Iterator[_Row]:
    """Time without compute on decode devices while KV was on its way, of all of which that is known."""
    if (idle := idle_for_kv(analysis)) is not None:
        yield _Row("Decode idle for KV", idle.text, idle.share, "ready", "of decode GPU time")


def _told(finding: Finding) -> str:
    """A finding's title with its cost, where the title does not have it."""
    cost = human_ns(finding.cost_ns)
    return finding.title if cost in finding.title else f"{finding.title} ({cost})"
