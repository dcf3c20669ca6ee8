"""What was compared: the files of both runs, what each report says first, and the settings that differ."""

from nsysparse.comparison import Comparison, Side
from nsysparse.document import Block, Cell, Column, Heading, Table
from nsysparse.units import UNKNOWN, counted, human_share

_MOST_FILES = 8


def build(comparison: Comparison) -> list[Block]:
    """A row per run."""
    columns = [Column("Run"), Column("Files"), Column("KV gap share", "right"), Column("What its own report says")]
    rows = [_row("base", comparison.base), _row("candidate", comparison.candidate)]
    return [Heading("Runs", "diff-runs"), Table("Runs", columns, rows, "diff-runs-table", folded=True)]


def _row(name: str, side: Side) -> list[Cell]:
    files = [file for run in side.files for file in run]
    more = len(files) - _MOST_FILES
    shown = ", ".join(files[:_MOST_FILES]) + (f" and {counted(more, 'more file')}" if more > 0 else "")
    share = Cell(UNKNOWN, tone="muted") if side.value is None else Cell(human_share(side.value), sort=side.value)
    return [Cell(name), Cell(shown, kind="name"), share, Cell(side.text)]
