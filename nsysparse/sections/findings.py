"""What is worth doing something about, worst first.

Unlike the other sections it stays away when it has nothing to say: no finding is no missing measurement.
"""

from nsysparse.analysis import Analysis, Finding
from nsysparse.document import Block, Heading, Meaning, Paragraph, Ranked, Ranking
from nsysparse.units import UNKNOWN, significant, time_scale

_MEANINGS: dict[str, Meaning] = {
    "wire": "wire", "wait": "wait", "handoff": "handoff", "ready": "ready", "compute": "compute",
}  # fmt: skip
"""The colour of the time that a kind of finding costs; others cost no time of one kind."""
_PROOFS = {
    "wire": ("layers", "Time per layer"),
    "wait": ("layers", "Time per layer"),
    "handoff": ("path", "Request paths"),
    "ready": ("path", "Request paths"),
    "compute": ("decode", "Decode devices"),
    "coverage": ("coverage", "Coverage"),
    "clock": ("clocks", "Clocks"),
}
"""The section whose figures show it."""


def build(analysis: Analysis) -> list[Block]:
    """The findings with their cost, evidence and advice."""
    found = analysis.findings
    if not found:
        return []
    scale = time_scale([finding.cost_ns for finding in found])
    items = [_ranked(finding, scale.unit, scale.per_unit) for finding in found]
    return [
        Heading("Findings", "findings"),
        Paragraph("Worst first. Costs overlap, so they do not add up.", "muted"),
        Ranking("Findings", items, "findings-list"),
    ]


def _ranked(finding: Finding, unit: str, per_unit: int) -> Ranked:
    cost = None if finding.cost_ns is None else finding.cost_ns / per_unit
    section, name = _PROOFS.get(finding.kind, ("", ""))
    return Ranked(
        cost,
        UNKNOWN if cost is None else significant(cost),
        unit,
        _MEANINGS.get(finding.kind, "unknown"),
        finding.title,
        finding.advice,
        finding.evidence,
        section,
        name,
    )
