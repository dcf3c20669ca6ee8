"""The key figures: what moved, how long it took, and how that time splits."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, Distribution, Totals
from nsysparse.document import Abstention, Block, Cell, Column, Fact, Facts, Heading, Paragraph, Table
from nsysparse.sections import waiting
from nsysparse.sections.cells import Filled, numbers, table, texts
from nsysparse.units import counted, human_bytes, human_ns, human_share

_SUMMARY = {
    "wire_gb_s": "Wire rate, GB/s",
    "delivered_gb_s": "Delivered rate, GB/s",
    "kernel_gb_s": "Kernel rate (contains waiting), GB/s",
    "message_bytes": "Message size, MB",
    "peer_wait_ms": "Peer wait, ms",
    "exposed_ms": "Exposed, ms",
    "kv_gap_ms": "KV gap, ms",
    "kv_gap_share": "KV gap share",
    "ttft_ms": "Time to first token, ms",
    "tpot_ms": "Time per output token, ms",
}
"""Titles of the summary's metrics, in the order they are read. What is not listed shows under its own name."""
_OF_PATHS = (
    "handoff_ms",
    "ready_to_decode_ms",
    "queue_ms",
    "prefill_ms",
    "transfer_span_ms",
    "span_wire_ms",
    "span_peer_wait_ms",
    "span_sender_wait_ms",
    "span_gap_ms",
    "first_decode_ms",
    "path_ms",
    "tpot_without_gap_ms",
    "tpot_ms",
    "kv_gap_ms",
    "kv_gap_share",
    "exposed_to_request_ms",
    "ttft_ms",
)
"""What the section about paths shows."""

_BYTES_PER_MB = 1e6


def build(analysis: Analysis) -> list[Block]:
    """Key figures of the KV traffic, then percentiles over movements and requests."""
    totals = analysis.totals
    heading = Heading("Totals", "totals")
    if not totals.movement_count:
        return [heading, Abstention("Totals", "No KV transfer was found in this capture.")]
    blocks: list[Block] = [heading, Facts(_facts(analysis))]
    if totals.bytes is not None and totals.bytes_known_share is not None and totals.bytes_known_share < 1:
        known = human_share(totals.bytes_known_share)
        blocks.append(
            Paragraph(
                f"Sizes are known for {known} of the movements. Sums of bytes are of the known ones, here and below.",
                "doubt",
            )
        )
    blocks += waiting.remarks(analysis)
    percentiles = _percentiles(analysis)
    return [*blocks, percentiles] if percentiles else blocks


def _facts(analysis: Analysis) -> list[Fact]:
    totals = analysis.totals
    fused = f", {totals.fused_kernel_count:,} of them fused" if totals.fused_kernel_count else ""
    kernels = f" in {counted(totals.kernel_count, 'kernel')}{fused}" if totals.kernel_count else ""
    seen = f"{counted(totals.transfer_count, 'transfer')}{kernels}"
    paired = "" if totals.paired_count is None else f"; {totals.paired_count:,} paired"
    facts = [
        Fact("Moved", human_bytes(totals.bytes), _bytes_note(analysis), term="movement"),
        Fact("Movements", f"{totals.movement_count:,}", seen + paired, term="movement"),
        Fact("Transfer time", human_ns(totals.time_ns), _busy_note(totals), term="transfer-time"),
        *waiting.facts(analysis),
    ]
    if totals.first_use_count:
        first = f"{human_ns(totals.first_use_ns)}, not in the percentiles"
        facts.append(Fact("First uses", f"{totals.first_use_count:,}", first, term="first-use"))
    if totals.self_copy_bytes:
        facts.append(Fact("Copied to itself", human_bytes(totals.self_copy_bytes), "not in bytes and rates of links"))
    return facts


def _bytes_note(analysis: Analysis) -> str:
    totals, expected = analysis.totals, analysis.theory.expected_bytes
    if totals.bytes is None:
        return "no size was recorded"
    if totals.bytes_known_share is not None and totals.bytes_known_share < 1:
        return f"sum of the known, {human_share(totals.bytes_known_share)} of movements"
    return "" if expected is None else f"the model says {human_bytes(expected)}"


def _busy_note(totals: Totals) -> str:
    return "" if totals.busy_ns is None else f"sum of movements; {human_ns(totals.busy_ns)} on the busiest device"


def _percentiles(analysis: Analysis) -> Table | None:
    order = {name: place for place, name in enumerate(_SUMMARY)}
    known: dict[str, Distribution] = {
        name: spread
        for name, spread in sorted(analysis.summary.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
        if spread is not None and spread.count and name not in _OF_PATHS
    }
    if not known:
        return None
    # Rows have different units, so decimals fit the row, not the column.
    rows = [_percentile_cells(name, spread) for name, spread in known.items()]
    columns = [
        texts("Metric", [_SUMMARY.get(name, name) for name in known]),
        numbers("Count", [spread.count for spread in known.values()]),
        *(
            Filled(Column(title, "right"), [row[place] for row in rows])
            for place, title in enumerate(("Min", "p10", "p50", "p90", "p99", "Max"))
        ),
    ]
    return table("Percentiles, without first uses and self copies", columns, "percentiles", folded=True)


def _percentile_cells(name: str, spread: Distribution) -> Sequence[Cell]:
    factor = _BYTES_PER_MB if name == "message_bytes" else 1
    values = (spread.min, spread.p10, spread.p50, spread.p90, spread.p99, spread.max)
    return numbers("", [None if value is None else value / factor for value in values]).cells
