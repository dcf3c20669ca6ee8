"""A report as data: a closed set of block kinds that every output format can draw.

Sections build blocks from an analysis; renderers draw them. All text here is plain and unescaped, and names from a
trace stand in it unshortened: escaping, showing control characters and shortening are each renderer's duty.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.document.figures import (
    Band,
    Bar,
    BarChart,
    ColumnChart,
    Dot,
    Fit,
    Heatmap,
    HeatView,
    Histogram,
    Lane,
    Lanes,
    MarkLevel,
    PartRow,
    Parts,
    RateBySize,
    Segment,
    Series,
    SizeRate,
    SizeSeries,
    Spread,
    Strip,
    Waterfall,
    Way,
    WayRow,
)
from nsysparse.document.meanings import Meaning
from nsysparse.document.pairs import Dumbbells, Range, RangeRow, Ranges
from nsysparse.document.tables import Align, Cell, CellKind, Column, Table
from nsysparse.document.texts import (
    CHANGE_THAT,
    SECTION_LEVEL,
    Abstention,
    Callout,
    Definition,
    Definitions,
    Fact,
    Facts,
    Heading,
    Meter,
    Paragraph,
    Ranked,
    Ranking,
    Tone,
    is_command,
)

__all__ = [
    "CHANGE_THAT",
    "SECTION_LEVEL",
    "Abstention",
    "Align",
    "Band",
    "Bar",
    "BarChart",
    "Block",
    "Callout",
    "Cell",
    "CellKind",
    "Column",
    "ColumnChart",
    "Definition",
    "Definitions",
    "Document",
    "Dot",
    "Dumbbells",
    "Fact",
    "Facts",
    "Figure",
    "Fit",
    "Heading",
    "HeatView",
    "Heatmap",
    "Histogram",
    "Lane",
    "Lanes",
    "MarkLevel",
    "Meaning",
    "Meter",
    "Paragraph",
    "PartRow",
    "Parts",
    "Range",
    "RangeRow",
    "Ranges",
    "Ranked",
    "Ranking",
    "RateBySize",
    "Segment",
    "Series",
    "SizeRate",
    "SizeSeries",
    "Spread",
    "Strip",
    "Table",
    "Tone",
    "Waterfall",
    "Way",
    "WayRow",
    "is_command",
]

_MARKER = re.compile(r"[a-z]+(-[a-z]+)*")

Figure = (
    BarChart
    | ColumnChart
    | Heatmap
    | Strip
    | Way
    | Waterfall
    | Parts
    | RateBySize
    | Histogram
    | Lanes
    | Ranges
    | Dumbbells
)
Block = Heading | Paragraph | Facts | Ranking | Table | Figure | Callout | Abstention | Definitions


@dataclass(frozen=True, slots=True)
class Document:
    """A titled sequence of blocks. `source` names the input files, `generator` the tool and its version.

    A `folded` one says what matters before its first section; a format with little room closes the sections. `marker`
    is the word by which a bot finds its own comment again.
    """

    title: str
    source: str
    generator: str
    blocks: Sequence[Block]
    folded: bool = False
    marker: str = "report"

    def __post_init__(self) -> None:
        """Refuse a marker that could end the comment in which it stands."""
        if not _MARKER.fullmatch(self.marker):
            raise ValueError(f"no marker: {self.marker!r}")
