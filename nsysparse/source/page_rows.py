"""Rows of whole tables from the pages of the file, columns at once."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl

from nsysparse.pages import ROWID, Column, Kind, NotCovered, PageFile, Texts, Wanted
from nsysparse.source.batch import Batch, Flags
from nsysparse.source.scan import Keep, Reduced
from nsysparse.source.schema import ROW, TableSpec
from nsysparse.source.sql import quoted

_KINDS: Mapping[type[pl.DataType], Kind] = {
    pl.Int64: "int", pl.Float64: "real", pl.String: "text", pl.Binary: "bytes", pl.Boolean: "filled",
}  # fmt: skip
_HIDDEN, _KEY = 6, 5  # of PRAGMA table_xinfo


class PageRows:
    """Reads tables of one file from its pages. Closing it closes the file.

    Args:
        path: The file.
        connection: Open to it: SQLite says where a table begins and which columns it has.

    Raises:
        NotCovered: Pages alone do not tell what is in the file.
        Damaged: The file contradicts itself.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Open the file; no table is read yet."""
        self._connection = connection
        self._file = PageFile(path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def whole(
        self, spec: TableSpec, each: Callable[[Batch], Reduced], keep: Keep | None
    ) -> tuple[Iterator[Reduced], Mapping[str, "_Decoded"]]:
        """A whole table, in the order of its rows, and its texts once it is read; see `Export.scan`.

        Raises:
            NotCovered: The table must be read by SQL; also from the iterator.
            Damaged: The file contradicts itself; likewise.
        """
        wanted = self._wanted(spec)
        texts = {ours: Texts() for ours, each in wanted.items() if each.kind == "text"}
        types = {ours: pl.UInt32 if dtype is pl.String else dtype for ours, (_, dtype) in spec.columns.items()}

        def held(columns: Mapping[str, Column]) -> Batch:
            return Batch(len(next(iter(columns.values())).values), columns, types)

        table = self._file.table(self._root(spec.table))
        decoded = {ours: _Decoded(each) for ours, each in texts.items()}
        if keep is None:
            return table.made(lambda columns: each(held(columns)), wanted, texts), decoded
        test = keep.test
        first = [name for name in keep.needs if name in wanted]

        def stays(columns: Mapping[str, Column]) -> Flags:
            return test(held(columns))

        def chosen(columns: Mapping[str, Column]) -> Reduced:
            batch = held(columns)
            return each(batch if first else batch.only(test(batch)))

        # A table that has none of the columns in question is asked about whole rows.
        made = table.made(chosen, wanted, texts, first=first, keep=stays if first else None)
        return made, decoded

    def _root(self, table: str) -> int:
        statement = "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?"
        found = self._connection.execute(statement, (table,)).fetchall()
        if len(found) != 1:
            raise NotCovered(f"{len(found)} tables have this name")
        return int(found[0][0])

    def _wanted(self, spec: TableSpec) -> dict[str, Wanted]:
        """What to read of each of our columns that the table has."""
        columns = self._connection.execute(f"PRAGMA table_xinfo({quoted(spec.table)})").fetchall()
        if any(column[_HIDDEN] for column in columns):
            raise NotCovered("generated columns")
        keys = [column[1] for column in columns if column[_KEY]]
        wanted = {ROW: Wanted(ROWID, "int")} if ROW in spec.columns else {}
        by_name = {name: (place, declared or "", default) for place, name, declared, _, default, *_ in columns}
        for ours, (theirs, dtype) in spec.columns.items():
            if ours == ROW or theirs not in by_name:
                continue
            place, declared, default = by_name[theirs]
            # SQL makes a float of what is stored in a column that is declared to hold such.
            if dtype is pl.Int64 and "INT" not in declared.upper() and _is_real(declared):
                raise NotCovered(f"{theirs} is declared {declared}")
            is_rowid = keys == [theirs] and declared.upper() == "INTEGER"
            wanted[ours] = Wanted(place, _KINDS[dtype], is_rowid, default is None)
        if not wanted:
            raise NotCovered("none of the columns is there")
        if any(each.is_rowid for each in wanted.values()):
            self._refuse_other_keys(spec.table)
        return wanted

    def _refuse_other_keys(self, table: str) -> None:
        """INTEGER PRIMARY KEY DESC is not the rowid, and only the statement that made the table tells."""
        statement = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
        made = self._connection.execute(statement, (table,)).fetchone()
        if made is None or "DESC" in str(made[0]).upper():
            raise NotCovered("an integer key that may not be the rowid")


class _Decoded:
    """Texts of a column, as SQL gives them."""

    def __init__(self, found: Texts) -> None:
        self._found = found

    @property
    def texts(self) -> list[str]:
        """All texts by code."""
        return [text.decode("utf-8", "backslashreplace") for text in self._found.values]


def _is_real(declared: str) -> bool:
    return any(part in declared.upper() for part in ("REAL", "FLOA", "DOUB"))
