"""Rows of tables by SQL: always right, and slow, since every value becomes a Python object."""

import contextlib
import gc
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from nsysparse.errors import InputError
from nsysparse.source.batch import Batch, Types
from nsysparse.source.open import readable
from nsysparse.source.scan import Codes, Keep, Reduced
from nsysparse.source.schema import ROW, TableSpec
from nsysparse.source.sql import Piece, quoted

BATCH_ROWS = 65_536
_ROWS_PER_QUERY = 10_000
_ROWID_NAMES = ("rowid", "_rowid_", "oid")


class SqlRows:
    """Reads rows over one connection.

    Args:
        path: The file, for messages.
        connection: Open to it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Nothing is read yet."""
        self._path, self._connection = path, connection

    def select(self, statement: Piece, wanted: Types, table: str, stored: Mapping[str, str]) -> Iterator[pl.DataFrame]:
        """Rows of a SELECT as they come, at most `BATCH_ROWS` at a time.

        Args:
            statement: It gives the columns of `wanted`, in their order.
            wanted: Our columns and their types.
            table: What is read, for messages.
            stored: The file's names of our columns, likewise.

        Raises:
            InputError: SQLite cannot read it, or a value has another type than its column declares.
        """
        with readable(self._path, f"table {table}"):
            cursor = self._connection.execute(statement.text, statement.values)
        while True:
            with readable(self._path, f"table {table}"), _collector_paused():
                rows = cursor.fetchmany(BATCH_ROWS)
                columns = zip(wanted.items(), zip(*rows, strict=True), strict=True) if rows else ()
                typed = [
                    self._typed(f"{table}.{stored.get(ours, ours)}", ours, values, dtype)
                    for (ours, dtype), values in columns
                ]
            if not typed:
                return
            yield pl.DataFrame(typed)

    def whole(
        self, spec: TableSpec, present: frozenset[str], each: Callable[[Batch], Reduced], keep: Keep | None
    ) -> tuple[Iterator[Reduced], Mapping[str, Codes]]:
        """A whole table, in the order of its rows, and its texts; see `Export.scan`."""
        codes = {ours: Codes() for ours, (_, dtype) in spec.columns.items() if dtype is pl.String}

        def made() -> Iterator[Reduced]:
            for rows in self._rows(spec, present, None if keep is None else keep.only):
                coded = rows.with_columns(codes[name].of(rows[name]) for name in codes)
                batch = Batch.of_frame(coded.select(list(spec.columns)))
                yield each(batch if keep is None else batch.only(keep.test(batch)))

        return made(), codes

    def _rows(self, spec: TableSpec, present: frozenset[str], only: pl.Series | None) -> Iterator[pl.DataFrame]:
        """All rows, or of a table that has rowids `only` these; texts as they are."""
        columns = {ours: column for ours, column in spec.columns.items() if ours != ROW}
        wanted = {ours: theirs for ours, (theirs, _) in columns.items() if theirs in present}
        flags = [ours for ours, (_, dtype) in columns.items() if dtype is pl.Boolean]
        absent = [pl.lit(None, dtype=dtype).alias(ours) for ours, (_, dtype) in columns.items() if ours not in wanted]
        named = {ours: _stored(theirs, columns[ours][1]) for ours, theirs in wanted.items()}
        rowid = self._rowid(spec.table, present) if ROW in spec.columns else None
        if rowid is not None:
            named[ROW] = rowid
        types = {ours: pl.Int64 if ours in (ROW, *flags) else spec.columns[ours][1] for ours in named}
        if not types:
            return
        chosen = ", ".join(f"{theirs} AS {quoted(ours)}" for ours, theirs in named.items())
        before = 0
        for where in _conditions(rowid, only):
            # An index would have another order.
            statement = f"SELECT {chosen} FROM {quoted(spec.table)} NOT INDEXED{where}"
            for batch in self.select(Piece(statement), types, spec.table, wanted):
                known = batch.with_columns(absent).with_columns(pl.col(flags).fill_null(0).cast(pl.Boolean))
                if ROW in spec.columns and rowid is None:
                    known = known.with_row_index(ROW, before).with_columns(pl.col(ROW).cast(pl.Int64))
                before += batch.height
                yield known

    def _rowid(self, table: str, present: frozenset[str]) -> str | None:
        """A name under which SQL has the rowid of a table; None for tables without."""
        taken = {column.lower() for column in present}
        for name in (name for name in _ROWID_NAMES if name not in taken):
            with contextlib.suppress(sqlite3.OperationalError):
                self._connection.execute(f"SELECT {name} FROM {quoted(table)} LIMIT 0")
                return name
        return None

    def _typed(self, where: str, ours: str, values: Sequence[object], dtype: type[pl.DataType]) -> pl.Series:
        """A column of one type: SQLite stores anything anywhere, so a stray text among integers is found here."""
        try:
            return pl.Series(ours, values, dtype=dtype, strict=True)
        except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"{self._path.name}: {where} holds a value that is no {dtype.__name__}, as nsys never writes.",
                "The file was edited or damaged: export it again.",
            ) from error


def _conditions(rowid: str | None, only: pl.Series | None) -> Iterator[str]:
    """What to add to a SELECT so that it gives these rows and no others, where they have ids: some at a time."""
    if rowid is None or only is None:
        yield ""
        return
    for start in range(0, len(only), _ROWS_PER_QUERY):
        ids = ", ".join(map(str, only[start : start + _ROWS_PER_QUERY].to_list()))
        yield f" WHERE {rowid} IN ({ids})"


def _stored(column: str, dtype: type[pl.DataType]) -> str:
    """A column in SQL: as it is stored, as bytes, or only whether it has a value."""
    if dtype is pl.Binary:
        return f"CAST({quoted(column)} AS BLOB)"
    return f"{quoted(column)} IS NOT NULL" if dtype is pl.Boolean else quoted(column)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """No garbage collection while rows arrive: it would walk millions of tuples that hold no cycle (a fifth slower)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
