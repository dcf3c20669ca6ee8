"""What was recorded, what stays unknown and why, and the command that would change it."""

import re
from collections.abc import Sequence

from nsysparse.analysis import Analysis, AnalysisWarning, Reason, TraceFacts
from nsysparse.document import Abstention, Block, Cell, Column, Heading, Paragraph, Table, Tone
from nsysparse.sections.cells import Filled, commands, names, numbers, table, texts, times
from nsysparse.units import time_scale

_STATUS: dict[str, tuple[str, Tone]] = {
    "present": ("● present", "good"),
    "partial": ("◐ partial", "doubt"),
    "absent": ("○ absent", "muted"),
}
_WORST_FIRST = ("absent", "partial", "present")
CAPTURE = (
    "Whole command lines for the next capture, by serving system and version of nsys: nsysparse capture ENGINE;"
    " nsysparse capture list names the systems."
)
MOST_REASONS = 100
MOST_NAMED = 3
_OF_THE_PICTURE = "/timeline/levels/"
"""That a mark is of several requests is no number that a reader misses."""
_UNIT = re.compile(r"_(ns|ms)$")
_WORDS = {
    "gpus": "GPUs", "kv": "KV", "tpot": "time per output token", "ttft": "time to first token", "whatif": "what-if",
}  # fmt: skip


def build(analysis: Analysis) -> list[Block]:
    """Input files, capabilities, reasons for unknown values, warnings."""
    heading = Heading("Data quality", "quality")
    if not analysis.traces:
        return [heading, Abstention("Data quality", "No trace was read.")]
    blocks: list[Block] = [heading, _traces(analysis.traces)]
    if any(trace.capabilities for trace in analysis.traces):
        blocks.append(_capabilities(analysis.traces))
        if any(fact.status != "present" for trace in analysis.traces for fact in trace.capabilities.values()):
            blocks.append(Paragraph(CAPTURE))
    if analysis.reasons:
        blocks.append(_reasons(analysis.reasons))
    if analysis.warnings:
        blocks.append(_warnings(analysis.warnings))
    return blocks


def _traces(traces: Sequence[TraceFacts]) -> Table:
    durations = [trace.duration_ns for trace in traces]
    columns = [
        names("File", [trace.file for trace in traces]),
        texts("Role", [_role(trace) for trace in traces]),
        times("Captured", durations, time_scale(durations)),
        texts("GPUs", [", ".join(_gpus(trace)) or None for trace in traces]),
        texts("Nsight Systems", [trace.nsys_version for trace in traces], minor=True),
        texts("Schema", [trace.schema_version for trace in traces], minor=True),
    ]
    return table("Traces", columns, "traces")


def _role(trace: TraceFacts) -> str | None:
    return f"{trace.role} ({trace.role_source})" if trace.role and trace.role_source else trace.role


def _gpus(trace: TraceFacts) -> list[str]:
    """Devices of one name together, in the order of their first device: `2 x NVIDIA H100`."""
    counts: dict[str, int] = {}
    for gpu in trace.gpus:
        name = gpu.name or f"gpu{gpu.device_id} (name unknown)"
        counts[name] = counts.get(name, 0) + 1
    return [name if count == 1 else f"{count} \u00d7 {name}" for name, count in counts.items()]


def _capabilities(traces: Sequence[TraceFacts]) -> Table:
    """What is missing comes first: it is what the reader can act on. Files that say the same share a row."""
    found: dict[tuple[int, str, str, str], list[str]] = {}
    for trace in traces:
        for name, capability in trace.capabilities.items():
            key = (_WORST_FIRST.index(capability.status), name, capability.reason, capability.fix)
            found.setdefault(key, []).append(trace.file)
    rows = sorted(found.items())
    status = [_STATUS[_WORST_FIRST[rank]] for (rank, *_), _ in rows]
    columns = [
        texts("Recorded", [name.replace("_", " ") for (_, name, _, _), _ in rows]),
        texts("Status", [text for text, _ in status], tones=[tone for _, tone in status]),
        texts("Why", [reason for (_, _, reason, _), _ in rows]),
        commands("What would record it", [fix for *_, fix in (key for key, _ in rows)]),
    ]
    if len(traces) > 1:
        columns.insert(1, Filled(Column("In"), [_files(each, len(traces)) for _, each in rows]))
    return table("What was recorded", columns, "capabilities")


def _files(files: Sequence[str], every: int) -> Cell:
    return Cell("every file") if len(files) == every else Cell(", ".join(files), kind="name")


def _reasons(reasons: Sequence[Reason]) -> Table:
    """One row per cause: a thousand requests often lack the same fact."""
    causes: dict[tuple[str, str, str], list[str]] = {}
    for reason in reasons:
        if reason.path.startswith(_OF_THE_PICTURE):
            continue
        causes.setdefault((reason.code, reason.message, reason.fix), []).append(reason.path)
    shown = sorted(causes.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_REASONS]
    dropped = ""
    if len(shown) < len(causes):
        dropped = f"{len(shown)} of {len(causes):,} causes; the JSON report has all of them, each with its path."
    columns = [
        texts("Why", [message for (_, message, _), _ in shown]),
        texts("Unknown for that reason", [_listed(paths) for _, paths in shown]),
        commands("What would change it", [fix for (_, _, fix), _ in shown]),
    ]
    return table("Unknown, and why", columns, "reasons", dropped=dropped)


def _listed(paths: Sequence[str]) -> str:
    """What these JSON Pointers lead to, in words; the first few of many."""
    values = list(dict.fromkeys(_named(path) for path in paths))
    told: dict[str, list[str]] = {}
    for where, what in values[:MOST_NAMED]:
        told.setdefault(where, []).append(what)
    parts = [f"{where}: {', '.join(each)}" if where else ", ".join(each) for where, each in told.items()]
    more = len(values) - MOST_NAMED
    return "; ".join([*parts, f"{more:,} more"] if more > 0 else parts)


def _named(path: str) -> tuple[str, str]:
    """`/links/*/fixed_cost_ns` as fixed cost of links: without unit, and without what the JSON report alone has."""
    steps = [step for step in path.split("/")[1:] if step != "*" and not step.isdigit()]
    if steps[0] == "settings":
        steps = steps[:2]
    *where, what = (
        " ".join(_WORDS.get(word, word) for word in _UNIT.sub("", step.replace("_gb_s", "_rate")).split("_"))
        for step in steps
    )
    return ", ".join(where), what


def _warnings(warnings: Sequence[AnalysisWarning]) -> Table:
    columns = [
        texts("Warning", [warning.message for warning in warnings]),
        numbers("Times", [warning.count for warning in warnings]),
    ]
    return table("Warnings", columns, "warnings")
