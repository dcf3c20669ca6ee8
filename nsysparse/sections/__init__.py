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


# What somebody at a terminal reads first; the page has the rest.
SUMMARY = (
    "verdict",
    "totals",
    "findings",
    "path",
    "whatif",
    "links",
    "layers",
    "devices",
    "requests",
    "coverage",
    "clocks",
)


def build(analysis: Analysis) -> Document:
    """The whole report as a document that any format can draw."""
    return _document(analysis, SECTIONS)


def build_review(analysis: Analysis) -> Document:
    """The answer and one table without a heading, then the sections: for a comment, which folds what has a heading."""
    answer = [block for block in verdict.build(analysis) if isinstance(block, Callout | Abstention)]
    rest = [name for name in SECTIONS if name != "verdict"]
    whole = _document(analysis, rest)
    return replace(whole, blocks=[*answer, *review.build(analysis), *whole.blocks], folded=True)


def build_summary(analysis: Analysis) -> Document:
    """The answer, its main figures, and what may make them wrong."""
    return _document(analysis, SUMMARY, quality.warned(analysis))


def _document(analysis: Analysis, names: Iterable[str], more: Iterable[Block] = ()) -> Document:
    source = " + ".join(trace.file for trace in analysis.traces)
    blocks = [*(block for name in names for block in SECTIONS[name](analysis)), *more]
    return Document(verdict.headline(analysis.verdict), source, f"nsysparse {analysis.nsysparse}", blocks)
