"""The sections of a report, in reading order: the answer first, then its proof, then what it rests on.

A new section is one module with `build(analysis) -> list[Block]` and one line in `SECTIONS`. A section without data
returns a stated abstention, never an empty table or figure.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from nsysparse.analysis import Analysis
from nsysparse.document import Abstention, Block, Callout, Document
from nsysparse.sections import (
    clocks,
    counters,
    coverage,
    definitions,
    devices,
    findings,
    heatmap,
    layers,
    lengths,
    links,
    overview,
    path,
    quality,
    requests,
    review,
    settings,
    sizes,
    summary,
    timeline,
    totals,
    verdict,
    whatif,
)

__all__ = ["SECTIONS", "build", "build_review", "build_summary"]

SECTIONS: Mapping[str, Callable[[Analysis], list[Block]]] = MappingProxyType(
    {
        "verdict": verdict.build,
        "overview": overview.build,
        "findings": findings.build,
        "links": links.build,
        "path": path.build,
        "requests": requests.build,
        "heatmap": heatmap.build,
        "layers": layers.build,
        "sizes": sizes.build,
        "timeline": timeline.build,
        "devices": devices.build,
        "lengths": lengths.build,
        "whatif": whatif.build,
        "totals": totals.build,
        "counters": counters.build,
        "quality": quality.build,
        "coverage": coverage.build,
        "clocks": clocks.build,
        "settings": settings.build,
        "definitions": definitions.build,
    }
)

_ANSWER = ("verdict", "overview")
"""What stands before the first heading; a comment has another form of it."""


def build(analysis: Analysis) -> Document:
    """The whole report as a document that any format can draw."""
    return _document(analysis, (block for section in SECTIONS.values() for block in section(analysis)))


def build_review(analysis: Analysis) -> Document:
    """The answer and one table without a heading, then the sections: for a comment, which folds what has a heading."""
    answer = [block for block in verdict.build(analysis) if isinstance(block, Callout | Abstention)]
    rest = [block for name, section in SECTIONS.items() if name not in _ANSWER for block in section(analysis)]
    return replace(_document(analysis, [*answer, *review.build(analysis), *rest]), folded=True)


def build_summary(analysis: Analysis) -> Document:
    """The answer and its main figures on one screen, for a terminal."""
    return _document(analysis, summary.build(analysis))


def _document(analysis: Analysis, blocks: Iterable[Block]) -> Document:
    source = " + ".join(trace.file for trace in analysis.traces)
    return Document(verdict.headline(analysis.verdict), source, f"nsysparse {analysis.nsysparse}", list(blocks))
