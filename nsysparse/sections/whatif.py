"""What would help, computed from the run's own numbers: each idea with what it rests on and what must hold."""

from nsysparse.analysis import Analysis
from nsysparse.document import Block, Heading, Paragraph
from nsysparse.ideas import title
from nsysparse.sections.cells import numbers, table, texts, times
from nsysparse.units import time_scale


def build(analysis: Analysis) -> list[Block]:
    """The ideas, those that save most first; nothing where none applies."""
    if not analysis.whatif:
        return []
    ideas = sorted(analysis.whatif, key=lambda idea: (-(idea.saves_ns or 0), idea.id))
    scale = time_scale([idea.saves_ns for idea in ideas])
    columns = [
        texts("Change", [title(idea.id) for idea in ideas]),
        times("Saves", [idea.saves_ns for idea in ideas], scale, term="what-if"),
        times("Costs", [idea.costs_ns for idea in ideas], scale, term="what-if"),
        times("Gap then", [idea.predicted_kv_gap_ns for idea in ideas], scale, term="what-if"),
        numbers("Requests", [idea.request_count for idea in ideas], minor=True),
        texts("Rests on", [idea.basis for idea in ideas]),
        texts("If", [idea.assumption for idea in ideas]),
    ]
    return [
        Heading("What would help", "whatif"),
        Paragraph("Medians over the requests that each change would touch. Savings do not add up.", "muted"),
        table("What would help", columns, "whatif-table"),
    ]
