"""Hardware counters beside the payload: are the sizes plausible?"""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, CounterCheck
from nsysparse.document import Abstention, Block, Heading, Paragraph, Table
from nsysparse.sections.cells import names, numbers, sizes, table, texts, times
from nsysparse.units import time_scale

MOST_ROWS = 100
_SOURCES = ("gpu_metrics", "nic_metrics")
_NONE = Abstention(
    "Counters", "Counters were sampled, but no transfer with a known interval went through what they count."
)
_LEAD = (
    "What sampled counters saw while transfers ran, beside the bytes of these transfers. A counter sees every process,"
    " and not every transfer goes through every counter: a ratio near 1 makes sizes plausible, more is other traffic or"
    " protocol, and it proves nothing by itself."
)


def build(analysis: Analysis) -> list[Block]:
    """One table; nothing where no counter was sampled."""
    heading = Heading("Counters beside payload", "counters")
    if analysis.counters:
        return [heading, Paragraph(_LEAD, "muted"), _table(analysis.counters)]
    sampled = any(
        name in trace.capabilities and trace.capabilities[name].status == "present"
        for trace in analysis.traces
        for name in _SOURCES
    )
    return [heading, _NONE] if sampled and analysis.totals.movement_count else []


def _table(checks: Sequence[CounterCheck]) -> Table:
    shown = checks[:MOST_ROWS]
    covered = [check.covered_ns for check in shown]
    columns = [
        names("Where", [_where(check) for check in shown]),
        names("Counter", [check.metric for check in shown]),
        texts("Direction", [check.direction for check in shown], minor=True),
        times("Covered", covered, time_scale(covered), minor=True),
        sizes("Counted", [check.counted_bytes for check in shown]),
        sizes("Payload", [check.payload_bytes for check in shown], term="movement"),
        numbers("Ratio", [check.ratio for check in shown]),
        texts("Note", [check.note for check in shown], minor=True),
    ]
    dropped = ""
    if len(shown) < len(checks):
        dropped = f"The first {len(shown)} of {len(checks):,}; the JSON report has all of them."
    return table("Counters beside payload", columns, "counters-table", dropped=dropped)


def _where(check: CounterCheck) -> str:
    return check.trace_id if check.device is None else f"{check.trace_id}:{check.device}"
