"""The sections of a comparison, in reading order: the answer, what moved, where, and what else differs.

A new section is one module with `build(comparison) -> list[Block]` and one line in `SECTIONS`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from nsysparse.changes import answer, definitions, every, heatmap, layers, links, requests, runs
from nsysparse.changes.rows import moved_table
from nsysparse.compare.rows import moved
from nsysparse.comparison import NOT_COMPARABLE, Comparison
from nsysparse.document import Block, Document, Heading, Paragraph
from nsysparse.units import counted

__all__ = ["SECTIONS", "build", "build_review", "build_summary"]

MOST_ROWS = 10
MOST_REMARKS = 20
_MARKER = "diff"

SECTIONS: Mapping[str, Callable[[Comparison], list[Block]]] = MappingProxyType(
    {
        "gates": answer.gates,
        "layers": layers.build,
        "links": links.build,
        "requests": requests.build,
        "heatmap": heatmap.build,
        "comparability": answer.comparability,
        "every": every.build,
        "runs": runs.build,
        "definitions": definitions.build,
    }
)


def build(comparison: Comparison) -> Document:
    """The whole comparison as a document that any format can draw."""
    rest = [block for section in SECTIONS.values() for block in section(comparison)]
    lead = [*answer.verdict(comparison), *answer.gates_said(comparison), *answer.first_remarks(comparison)]
    return _document(comparison, [*lead, Heading("What moved", "diff-moved"), *_moved(comparison), *rest])


def build_review(comparison: Comparison) -> Document:
    """The answer, its gates and one table without a heading, the rest folded: for a comment."""
    lead = [*answer.verdict(comparison), *answer.gates_said(comparison), *_moved(comparison)]
    rest = [block for section in SECTIONS.values() for block in section(comparison)]
    return replace(_document(comparison, [*lead, *answer.first_remarks(comparison), *rest]), folded=True)


def build_summary(comparison: Comparison) -> Document:
    """The answer and what moved on one screen, for a terminal."""
    blocks = [*answer.verdict(comparison), *answer.gates_said(comparison)]
    blocks += [Heading("What moved", "diff-moved"), *_moved(comparison)]
    for name, section, rows in (
        ("Layers", "diff-layers", comparison.layers),
        ("Links", "diff-links", comparison.links),
    ):
        if rows:
            blocks += [Heading(name, section), moved_table(name, rows, f"{section}-table", MOST_ROWS, name[:-1])]
    if comparison.comparability:
        blocks.append(Heading("Before comparing", "diff-comparability"))
        shown, more = answer.remarks_said(comparison, MOST_REMARKS)
        blocks += [Paragraph(f"{each}.") for each in shown]
        blocks += [Paragraph(more)] if more else []
    return _document(comparison, blocks)


def _moved(comparison: Comparison) -> list[Block]:
    """What moved of the whole run, ten rows at most; what decides first."""
    changes = [
        each for each in moved(comparison.metrics, comparison.noise) if each.verdict != NOT_COMPARABLE or each.decides
    ]
    if not changes:
        compared = comparison.compared.metrics
        return [Paragraph(f"No metric of the whole run moved beyond noise: {counted(compared, 'metric')} compared.")]
    return [moved_table("What moved", changes, "diff-moved-table", MOST_ROWS)]


def _document(comparison: Comparison, blocks: Iterable[Block]) -> Document:
    base, candidate = ([file for run in side.files for file in run] for side in (comparison.base, comparison.candidate))
    source = f"{' + '.join(base)} \u2192 {' + '.join(candidate)}"
    found = Document(answer.headline(comparison), source, f"nsysparse {comparison.nsysparse}", list(blocks))
    return replace(found, marker=_MARKER)
