"""A report as data: a closed set of block kinds that every output format can draw.

Sections build blocks from an analysis; renderers draw them. All text here is plain and unescaped: escaping is each
renderer's duty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "doubt", "muted"]
Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A section title; `anchor` is a stable, safe id for deep links."""

    text: str
    anchor: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Fact:
    """One key figure: label, value with unit, and a note on what it means or why it is unknown."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Facts:
    """A row of key figures."""

    items: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; numbers are right-aligned and carry their unit in the title."""

    title: str
    align: Align = "left"


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: what is shown, what it sorts by (None sorts last), and the full text when it was shortened."""

    text: str
    sort: float | str | None = None
    title: str = ""
    tone: Tone = "plain"
    code: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under titled columns; `dropped` says how many rows were left out, and where they are."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    anchor: str
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One observed value on a scale with up to two references."""

    label: str
    value: float | None
    text: str
    line_rate: float | None = None
    practical: float | None = None
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars on one axis from zero, against line rate and practical ceiling."""

    caption: str
    unit: str
    bars: Sequence[Bar]
    anchor: str
    references: str = ""


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """Vertical columns, one per category (e.g. a layer)."""

    caption: str
    x_title: str
    y_title: str
    labels: Sequence[str]
    values: Sequence[float]
    anchor: str


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A matrix; None cells are not observed and must not look like zero."""

    caption: str
    x_title: str
    y_title: str
    unit: str
    x: Sequence[str]
    y: Sequence[str]
    values: Sequence[Sequence[float | None]]
    anchor: str
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Callout:
    """Something the reader must not miss: the verdict or a notice."""

    title: str
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Abstention:
    """What could not be known, why, and the command or option that would change it."""

    subject: str
    reason: str
    fix: str = ""


Block = Heading | Paragraph | Facts | Table | BarChart | ColumnChart | Heatmap | Callout | Abstention


@dataclass(frozen=True, slots=True)
class Document:
    """A titled sequence of blocks. `source` names the input files, `generator` the tool and its version."""

    title: str
    source: str
    generator: str
    blocks: Sequence[Block]
