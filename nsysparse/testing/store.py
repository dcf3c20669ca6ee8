"""Rows on their way into a SQLite file: checked against the schema; equal rows give equal bytes."""

import random
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from nsysparse.testing.schemas import VERSIONS, tables

Value = int | float | str | bytes | None
Row = dict[str, Value]
Statement = tuple[str, list[tuple[Value, ...]]]  # SQL and, where it has placeholders, one tuple an execution

# What fresh exports hold in columns that nobody set; others are NULL, or 0 or '' where NULL is not allowed.
_USUAL: Mapping[str, Value] = {
    "copyCount": 1,
    "clusterX": 0,
    "clusterY": 0,
    "clusterZ": 0,
    "clusterSchedulingPolicy": 0,
    "maxPotentialClusterSize": 0,
    "maxActiveClusters": 0,
    "tensorSizeMinusOneElements": "[]",
}
_EMPTY: Mapping[str, Value] = {"INTEGER": 0, "REAL": 0.0, "TEXT": ""}

_WRITER_VERSION_OFFSET = 96  # in the file header: which SQLite wrote the file; informative only
_WRITER_VERSION = (3_040_001).to_bytes(4, "big")


class RowStore:
    """The rows of one file to be, by table; knows the columns and interns the strings.

    Args:
        schema: A key of `VERSIONS`.
    """

    def __init__(self, schema: str) -> None:
        """Start with no rows."""
        self.columns = tables(schema)
        self.schema = schema
        self.version = VERSIONS[schema]
        self.rows: dict[str, list[Row]] = {table: [] for table in self.columns}
        self._strings: dict[str, int] = {}

    def string(self, text: str) -> int:
        """The id of a text in `StringIds`; ids start at 0, as in real exports."""
        if text not in self._strings:
            self._strings[text] = len(self._strings)
            self.add("StringIds", id=self._strings[text], value=text)
        return self._strings[text]

    def has(self, table: str, column: str | None = None) -> bool:
        """Whether the schema has the table, or the table the column."""
        names = [known.name for known in self.columns.get(table, ())]
        return column in names if column else bool(names)

    def row(self, table: str, values: Mapping[str, Value]) -> Row:
        """All columns of one row: the given values, the rest as exporters leave it."""
        if table not in self.columns:
            raise ValueError(f"schema {self.schema} has no table {table}")
        unknown = values.keys() - {column.name for column in self.columns[table]}
        if unknown:
            raise ValueError(f"table {table} of schema {self.schema} has no column {', '.join(sorted(unknown))}")
        full: Row = {}
        for column in self.columns[table]:
            value = values[column.name] if column.name in values else _USUAL.get(column.name)
            full[column.name] = _EMPTY[column.type] if value is None and column.not_null else value
        return full

    def add(self, table: str, /, **values: Value) -> Row:
        """Append a row; the returned dict is the stored one and may still be changed."""
        full = self.row(table, values)
        self.rows[table].append(full)
        return full


def write_sqlite(path: Path, statements: Iterable[Statement]) -> None:
    """Write a fresh file: each statement once per parameter tuple, or once as it is when it has none.

    The header field with the version of the writing SQLite is fixed, so that the bytes do not tell which one it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        # No journal beside the file, and the layout that stays the same whatever the defaults of this SQLite build are.
        connection.executescript("PRAGMA page_size=4096; PRAGMA auto_vacuum=NONE; PRAGMA journal_mode=OFF; BEGIN;")
        for statement, parameters in statements:
            if parameters:
                connection.executemany(statement, parameters)
            else:
                connection.execute(statement)
        connection.execute("COMMIT")
    finally:
        connection.close()
    with path.open("r+b") as file:
        file.seek(_WRITER_VERSION_OFFSET)
        file.write(_WRITER_VERSION)


def shuffled(rows: list[Row], seed: int | None) -> list[Row]:
    """The rows in another order, the same one for the same seed; as they are without a seed."""
    return rows if seed is None else random.Random(seed).sample(rows, len(rows))  # noqa: S311 (no secret in a row order)
