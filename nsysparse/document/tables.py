"""Tables: rows of cells under titled columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nsysparse.document.texts import Meter, Tone

Align = Literal["left", "right"]
CellKind = Literal["words", "name", "command"]


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

    Names (from the trace, or identifiers) may be shortened, commands must stay whole to be copied. A `meter` is
    a short bar before the text.
    """

    text: str
    sort: float | str | None = None
    title: str = ""
    tone: Tone = "plain"
    kind: CellKind = "words"
    meter: Meter | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under titled columns.

    `dropped` says which rows or columns were left out and where they are. A `folded` table backs up what stands before
    it; a format may close it or leave it to the others. `row_anchors` are ids for deep links, one per row.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    anchor: str
    dropped: str = ""
    folded: bool = False
    row_anchors: Sequence[str] = ()
