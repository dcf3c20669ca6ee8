"""A report as data: a closed set of block kinds that every output format can draw.

Sections build blocks from an analysis; renderers draw them. All text here is plain and unescaped, and names from a
trace stand in it unshortened: escaping, showing control characters and shortening are each renderer's duty.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "doubt", "muted"]
Align = Literal["left", "right"]
CellKind = Literal["words", "name", "command", "bar"]
Meaning = Literal["wire", "wait", "whole", "unknown"]
"""What a mark stands for (whole: wire and waiting together); one meaning has one colour in every figure."""

_COMMAND = re.compile(r"--\w|([A-Z_]+=\S+ )*nsys(parse)? |(ib_\w+_bw|nvbandwidth|nixlbench|mpirun) -")

SECTION_LEVEL = 2
"""The level of headings that start a section; deeper ones divide it."""


def is_command(advice: str) -> bool:
    """Whether advice is a command or an option to be copied as it is, rather than a sentence to be read."""
    return _COMMAND.match(advice) is not None and "`" not in advice


@dataclass(frozen=True, slots=True)
class Heading:
    """A section title; `anchor` is a stable, safe id for deep links."""

    text: str
    anchor: str
    level: int = SECTION_LEVEL


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; a muted one explains, and a format with little room may leave it out."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Fact:
    """One key figure: label, value with unit, a note on what it means or why it is unknown, and its definition."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"
    term: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """A row of key figures."""

    items: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; numbers are right-aligned and carry their unit in the heading.

    `term` is the anchor of the definition of what the column shows. `minor` columns are the first to go where there is
    no room.
    """

    title: str
    align: Align = "left"
    term: str = ""
    minor: bool = False
    unit: str = ""

    @property
    def heading(self) -> str:
        """What stands above the column."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: what is shown, what it sorts by (None sorts last), and what more there is to say about it.

    Names (from the trace, or identifiers) may be shortened, commands must stay whole to be copied. A bar is as long as
    it sorts, from nothing (0) to the whole width (1), and its text stands beside it.
    """

    text: str
    sort: float | str | None = None
    title: str = ""
    tone: Tone = "plain"
    kind: CellKind = "words"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under titled columns.

    `dropped` says which rows or columns were left out and where they are. A `folded` table backs up what stands before
    it; a format may close it or leave it to the others.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    anchor: str
    dropped: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """How single observations lie around a bar's value: the 10th, 50th and 90th percentile, in the chart's unit."""

    p10: float
    p50: float
    p90: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One observed value on a scale with up to two references.

    `text` is the value with its unit, `detail` what it was measured on, `verdict` how it stands against the references.
    `is_bound` marks a lower bound: the true value may be higher.
    """

    label: str
    value: float | None
    text: str
    line_rate: float | None = None
    practical: float | None = None
    is_bound: bool = False
    spread: Spread | None = None
    detail: str = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars on one axis from zero, against line rate and practical ceiling.

    `references` names the sources of the references; `dropped` says which bars were left out.
    """

    caption: str
    unit: str
    bars: Sequence[Bar]
    anchor: str
    references: str = ""
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One layer of a stacked column chart: a value per category, all of one meaning."""

    label: str
    meaning: Meaning
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """Vertical stacked columns from zero, one per category (e.g. a model layer)."""

    caption: str
    x_title: str
    y_title: str
    labels: Sequence[str]
    series: Sequence[Series]
    anchor: str


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A matrix, one row per `y`; None cells are not observed and must not look like zero."""

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
    """Something the reader must not miss: the verdict, or a notice to know before any number.

    A verdict may carry one big `figure` and the `doubt` about it; `title` is its state in words, `note` what it rests
    on.
    """

    kind: Literal["verdict", "notice"]
    title: str
    text: str
    tone: Tone = "plain"
    figure: str = ""
    doubt: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Abstention:
    """What could not be known, why, and the command, option or advice that would change it (`is_command`)."""

    subject: str
    reason: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """What one number means; `anchor` is what columns and facts point to as their `term`."""

    term: str
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Definitions:
    """A glossary of the numbers shown."""

    items: Sequence[Definition]


Block = Heading | Paragraph | Facts | Table | BarChart | ColumnChart | Heatmap | Callout | Abstention | Definitions


@dataclass(frozen=True, slots=True)
class Document:
    """A titled sequence of blocks. `source` names the input files, `generator` the tool and its version.

    A `folded` one says what matters before its first section; a format with little room closes the sections.
    """

    title: str
    source: str
    generator: str
    blocks: Sequence[Block]
    folded: bool = False
