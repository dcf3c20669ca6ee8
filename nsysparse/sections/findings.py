"""What is worth doing something about, worst first.

Unlike the other sections it stays away when it has nothing to say: no finding is no missing measurement.
"""

from nsysparse.analysis import Analysis
from nsysparse.document import Block, Heading, Paragraph
from nsysparse.sections.cells import table, texts, times
from nsysparse.units import time_scale


def build(analysis: Analysis) -> list[Block]:
    """The findings with their cost, evidence and advice."""
    found = analysis.findings
    if not found:
        return []
    costs = [finding.cost_ns for finding in found]
    columns = [
        times("Cost", costs, time_scale(costs)),
        texts("Finding", [finding.title for finding in found]),
        texts("What to do", [finding.advice for finding in found]),
        texts("Evidence", [finding.evidence for finding in found], minor=True),
    ]
    return [
        Heading("Findings", "findings"),
        Paragraph("Worst first. Costs overlap, so they do not add up.", "muted"),
        table("Findings", columns, "findings-table"),
    ]
