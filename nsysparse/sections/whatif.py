"""What would help, computed from the run's own numbers: each idea with what it rests on and what must hold."""

from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import Analysis, WhatIf
from nsysparse.document import Block, Heading, Meter, Paragraph
from nsysparse.ideas import title
from nsysparse.sections.cells import Filled, numbers, table, texts, times
from nsysparse.units import Scale, time_scale

_ROOM = 1.15
"""Right of the longest bar."""


def build(analysis: Analysis) -> list[Block]:
    """The ideas, those that save most first; nothing where none applies."""
    if not analysis.whatif:
        return []
    ideas = sorted(analysis.whatif, key=lambda idea: (-(idea.saves_ns or 0), idea.id))
    scale = time_scale([idea.kv_gap_ns for idea in ideas])
    columns = [
        texts("Change", [title(idea.id) for idea in ideas]),
        times("Gap now", [idea.kv_gap_ns for idea in ideas], scale, term="what-if"),
        _gap_then(ideas, scale),
        times("Saves", [idea.saves_ns for idea in ideas], scale, term="what-if"),
        times("Costs", [idea.costs_ns for idea in ideas], scale, term="what-if"),
        numbers("Requests", [idea.request_count for idea in ideas], minor=True),
    ]
    grounds = [
        texts("Change", [title(idea.id) for idea in ideas]),
        texts("Rests on", [idea.basis for idea in ideas]),
        texts("If", [idea.assumption for idea in ideas]),
    ]
    return [
        Heading("What would help", "whatif"),
        Paragraph(
            "Estimates from this run's own numbers: medians over the requests that each change would touch, each"
            " taken on its own: gap now less what it saves need not be gap then. The line in a bar is their gap today."
            " Savings of several changes do not add up.",
            "muted",
        ),
        table("What would help", columns, "whatif-table"),
        table("What each rests on, and what must hold", grounds, "whatif-grounds", folded=True),
    ]


def _gap_then(ideas: Sequence[WhatIf], scale: Scale) -> Filled:
    """The gap after the change, as a bar against today's."""
    plain = times("Gap then", [idea.predicted_kv_gap_ns for idea in ideas], scale, term="what-if")
    known = [value for idea in ideas for value in (idea.kv_gap_ns, idea.predicted_kv_gap_ns) if value is not None]
    end = max(known, default=1) * _ROOM
    cells = [
        replace(cell, meter=Meter(idea.predicted_kv_gap_ns, end, "gap", idea.kv_gap_ns))
        for cell, idea in zip(plain.cells, ideas, strict=True)
    ]
    return replace(plain, cells=cells)
