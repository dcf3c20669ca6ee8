"""What to read of a table, and what comes of it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from nsysparse.pages.arrays import Flags, Values

Kind: TypeAlias = Literal["int", "real", "text", "bytes", "filled"]
ROWID = -1  # the place that stands for the rowid itself


@dataclass(frozen=True, slots=True)
class Wanted:
    """One column to read.

    Attributes:
        place: Its position in the record (`cid` of PRAGMA table_info, without generated columns); `ROWID` is the rowid.
        kind: What it is read as; see `Column`.
        is_rowid: It is the INTEGER PRIMARY KEY: the value is the rowid, whatever is stored.
        default_is_null: What a row has that was written before the column was added is NULL. If not, such rows are
            for SQL (`NotCovered`).
    """

    place: int
    kind: Kind
    is_rowid: bool = False
    default_is_null: bool = True

    @property
    def from_rowid(self) -> bool:
        """Whether the value is the rowid."""
        return self.is_rowid or self.place == ROWID


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one column in some rows.

    Attributes:
        values: By kind: "int" int64; "real" float64; "text" int64 codes of `Texts`; "bytes" an object array of bytes,
            as stored; "filled" bool: whether there is a value. Where there is none: 0, 0.0, -1, None.
        valid: Whether there is a value; None: in every row. Always None for "filled".
    """

    values: Values
    valid: Flags | None

    def only(self, rows: Flags) -> "Column":
        """Some of the rows."""
        return Column(self.values[rows], None if self.valid is None else self.valid[rows])
