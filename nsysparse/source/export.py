"""An opened export: which tables and columns it has, and typed reads of some of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import polars as pl

from nsysparse.errors import InputError, NotAnExport
from nsysparse.source import schema
from nsysparse.source.access import Access
from nsysparse.source.batch import Batch
from nsysparse.source.open import MAX_COLUMNS, check_file, connect, plain_tables, readable
from nsysparse.source.scan import Keep, Reduced, Scanned
from nsysparse.source.schema import TableSpec
from nsysparse.source.sql import Piece, among, any_of, like, quoted
from nsysparse.source.sql_rows import SqlRows
from nsysparse.source.usable import MAX_BYTES
from nsysparse.source.whole_tables import WholeTables, empty_batch
from nsysparse.source.window import Window

IDS_PER_QUERY = 10_000
_NAME, _HIDDEN = 1, 6  # of PRAGMA table_xinfo


class Export:
    """One SQLite export, open for reading. Use it as a context manager; it never writes to or beside the file.

    Args:
        path: The file.
        access: How it is read; whole, and from its pages wherever these tell all, if not said.

    Raises:
        NotAnExport: The file is no SQLite database, or none of the tables of an export are in it.
        InputError: The file cannot be read, or a table it needs lacks a column (named in the message).
    """

    def __init__(self, path: Path, access: Access | None = None) -> None:
        """Open and look around; no event is read yet."""
        check_file(path)
        self.path = path
        with readable(path, "the file"):
            self._connection = connect(path)
        try:
            self.tables = plain_tables(self._connection, path)
            self._refuse_other_databases()
        except BaseException:
            self._connection.close()
            raise
        self._access = access or Access()
        self._sql = SqlRows(path, self._connection)
        self._whole = WholeTables(path, self._connection, self._sql, self._access)
        self._alike: dict[tuple[str, ...], pl.Series] = {}
        self._columns: dict[str, frozenset[str]] = {}
        self.shift_ns = 0  # what the export added to all times of events: reads take it off

    def __enter__(self) -> Self:
        """The export itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._whole.close()
        self._connection.close()

    def columns(self, table: str) -> frozenset[str]:
        """Column names of a table; empty when the table does not exist.

        Raises:
            InputError: The table has generated columns (they run code on reading) or far too many columns.
        """
        if table not in self.tables:
            return frozenset()
        if table not in self._columns:
            with readable(self.path, f"the layout of table {table}"):
                found = self._connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
            if len(found) > MAX_COLUMNS or any(column[_HIDDEN] for column in found):
                raise InputError(
                    f"{self.path.name}: table {table} has {len(found)} columns, some of them computed, as nsys"
                    " never writes.",
                    "Export again from the .nsys-rep file.",
                )
            self._columns[table] = frozenset(str(column[_NAME]) for column in found)
        return self._columns[table]

    @property
    def window(self) -> Window | None:
        """The time to which reading is confined; None for all."""
        return self._access.window

    def has(self, spec: TableSpec) -> bool:
        """Whether the table exists."""
        return spec.table in self.tables

    def read(
        self,
        spec: TableSpec,
        where: Piece | None = None,
        extra: Mapping[str, tuple[str, type[pl.DataType]]] | None = None,
        limit: int | None = None,
    ) -> pl.DataFrame:
        """Rows of one table as a frame with the spec's columns and types, in no particular order.

        Args:
            spec: Which columns; an optional column that the file lacks is all null, a missing table gives no rows.
            where: A condition on the table's own (camelCase) columns, evaluated by SQLite.
            extra: Further columns as SQL expressions.
            limit: No more rows than this; nothing says which.

        Raises:
            InputError: A required column is missing, or a value has another type than its column declares.
        """
        everything = _types(spec, extra)
        return pl.concat([pl.DataFrame(schema=everything), *self.batches(spec, where, extra, limit)])

    def batches(
        self,
        spec: TableSpec,
        where: Piece | None = None,
        extra: Mapping[str, tuple[str, type[pl.DataType]]] | None = None,
        limit: int | None = None,
    ) -> Iterator[pl.DataFrame]:
        """The same some rows at a time, as they come: for tables that are larger than memory.

        Args:
            spec: As for `read`.
            where: Likewise.
            extra: Likewise.
            limit: Likewise.

        Raises:
            InputError: As for `read`.
        """
        present = self.columns(spec.table)
        if spec.table not in self.tables:
            return
        self._require(spec, present)
        added = extra or {}
        everything = _types(spec, extra)
        stored = {ours: theirs for ours, (theirs, _) in spec.columns.items() if theirs in present}
        expressions = {ours: quoted(theirs) for ours, theirs in stored.items()}
        expressions |= {ours: expression for ours, (expression, _) in added.items()}
        if not expressions:
            return
        conditions = [each for each in (where, self._within(spec)) if each is not None]
        statement = _select(expressions, spec.table, conditions, limit)
        absent = [
            pl.lit(None, dtype=dtype).alias(ours) for ours, dtype in everything.items() if ours not in expressions
        ]
        for found in self._sql.select(statement, {ours: everything[ours] for ours in expressions}, spec.table, stored):
            yield self._shifted(found.with_columns(absent).select(list(everything)))

    def scan(self, spec: TableSpec, each: Callable[[Batch], Reduced], *, keep: Keep | None = None) -> Scanned[Reduced]:
        """One pass over a table that may be far larger than memory, in the order of its rows.

        Args:
            spec: Which columns; as for `read`. `ROW` is what tells its rows apart.
            each: Told every batch, with the spec's columns and types, but codes (UInt32) in place of texts, from
                several threads at once. It is also told an empty one, so that there is at least one part. A pass may
                begin anew: what it returned is then dropped.
            keep: Which rows are in the batches; all without it.

        Raises:
            InputError: As for `read`.
        """
        present = self.columns(spec.table)
        if spec.table not in self.tables:
            return Scanned([each(empty_batch(spec))], {})
        self._require(spec, present)
        return self._whole.scan(spec, present, each, keep, self.shift_ns)

    def _within(self, spec: TableSpec) -> Piece | None:
        """The condition that rows of a table of events overlap the window, where there is one."""
        if self.window is None or not schema.is_timed(spec):
            return None
        start, end = (spec.columns[name][0] for name in schema.INSTANTS)
        return self.window.condition(start, end, self.shift_ns)

    def _shifted(self, rows: pl.DataFrame) -> pl.DataFrame:
        """With instants as they were before the export shifted them: what wraps around was beyond any clock before."""
        if not self.shift_ns:
            return rows
        return rows.with_columns(pl.col(name) - self.shift_ns for name in rows.columns if name in schema.INSTANTS)

    def read_strings(self, ids: pl.Series) -> pl.DataFrame:
        """The referenced strings only, as (id, value): the table also holds environments of other processes.

        A repeated id keeps its first value in sort order; an unknown id has no row.
        """
        distinct = ids.drop_nulls().unique().sort().to_list()
        parts = [distinct[start : start + IDS_PER_QUERY] for start in range(0, len(distinct), IDS_PER_QUERY)]
        found = [self.read(schema.STRINGS, where=among("id", part)) for part in parts]
        if not found:
            return pl.DataFrame(schema={"id": pl.Int64, "value": pl.String})
        return pl.concat(found).sort("id", "value").unique("id", keep="first", maintain_order=True)

    def ids_like(self, *patterns: str) -> pl.Series:
        """Ids of strings that look like one of `patterns`, whatever the case of ASCII letters."""
        if patterns not in self._alike:  # all texts of a file are looked at
            alike = any_of(like("value", pattern) for pattern in patterns)
            statement = _select({"id": quoted("id")}, schema.STRINGS.table, [alike])
            self._alike[patterns] = self._fetch(statement, {"id": pl.Int64}, schema.STRINGS.table)["id"]
        return self._alike[patterns]

    def read_metadata(self) -> dict[str, str]:
        """The allowed export metadata: name → value (docs/explanation/privacy.md says why only these)."""
        rows: dict[str, str] = {}
        for spec in schema.META_TABLES:
            if self.has(spec):
                frame = self.read(spec, where=among("name", sorted(schema.META_ALLOWED)))
                rows |= {name: value for name, value in frame.sort("name", "value").iter_rows() if value is not None}
        return rows

    def filled(self, table: str, columns: Sequence[str]) -> frozenset[str]:
        """Which of these columns exist and have a value in any row; that none has takes one scan."""
        present = [column for column in columns if column in self.columns(table)]
        if not self._any(table, present):
            return frozenset()
        return frozenset(column for column in present if self._any(table, [column]))

    def _any(self, table: str, columns: Sequence[str]) -> bool:
        given = any_of(Piece(f"{quoted(column)} IS NOT NULL") for column in columns)
        statement = _select({"n": "1"}, table, [given], 1)
        return bool(columns) and self._fetch(statement, {"n": pl.Int64}, table).height > 0

    def has_rows(self, table: str) -> bool:
        """Whether a table has any row; not when it does not exist."""
        if table not in self.tables:
            return False
        statement = _select({"n": "1"}, table, limit=1)
        return self._fetch(statement, {"n": pl.Int64}, table).height > 0

    def count(self, table: str) -> int:
        """Rows of a table; 0 when it does not exist."""
        if table not in self.tables:
            return 0
        counted = self._fetch(_select({"n": "count(*)"}, table), {"n": pl.Int64}, table)
        return int(counted["n"][0])

    def tally(self, spec: TableSpec, where: Piece) -> tuple[int, int]:
        """How many rows meet a condition, and the sum of their `bytes` column; (0, 0) when the table does not exist.

        Sizes that no copy can have add nothing. The sum is exact below 2^53 bytes, 9 petabytes.
        """
        if spec.table not in self.tables:
            return 0, 0
        self._require(spec, self.columns(spec.table))
        # total() adds as float: SQLite's sum() fails where integers overflow.
        sane = f"CASE WHEN `bytes` BETWEEN 0 AND {MAX_BYTES} THEN `bytes` ELSE 0 END"
        sums = {"n": "count(*)", "bytes": f"CAST(total({sane}) AS INTEGER)"}
        statement = _select(sums, spec.table, [where])
        found = self._fetch(statement, {"n": pl.Int64, "bytes": pl.Int64}, spec.table)
        return found.row(0)

    def _fetch(
        self,
        statement: Piece,
        wanted: Mapping[str, type[pl.DataType]],
        table: str,
        stored: Mapping[str, str] | None = None,
    ) -> pl.DataFrame:
        """Run a SELECT; `stored` gives our columns the file's names, for messages."""
        return pl.concat([pl.DataFrame(schema=wanted), *self._sql.select(statement, wanted, table, stored or {})])

    def _require(self, spec: TableSpec, present: frozenset[str]) -> None:
        missing = sorted(spec.columns[ours][0] for ours in spec.required if spec.columns[ours][0] not in present)
        if missing:
            raise InputError(
                f"{self.path.name}: table {spec.table} has no column {', '.join(missing)}.",
                "Export again with a current nsys; a renamed column is worth an issue.",
            )

    def _refuse_other_databases(self) -> None:
        if schema.STRINGS.table not in self.tables:
            raise NotAnExport(
                f"{self.path.name}: a SQLite database, but no Nsight Systems export: it has no table StringIds.",
                "Give the .sqlite file that `nsys export --type sqlite` wrote.",
            )
        if not self.tables.intersection(schema.EVIDENCE):
            raise NotAnExport(
                f"{self.path.name}: an unfinished export: beside StringIds it has no table of events, such as"
                f" {schema.NVTX.table} or {schema.KERNEL.table}.",
                "Export again from the .nsys-rep file.",
            )


def _types(spec: TableSpec, extra: Mapping[str, tuple[str, type[pl.DataType]]] | None) -> dict[str, type[pl.DataType]]:
    """Our columns of a read and their types."""
    return {ours: dtype for ours, (_, dtype) in (*spec.columns.items(), *(extra or {}).items())}


def _select(
    expressions: Mapping[str, str], table: str, conditions: Sequence[Piece] = (), limit: int | None = None
) -> Piece:
    """A SELECT of expressions, under our names, from the rows of a table that meet all conditions."""
    chosen = ", ".join(f"{expression} AS {quoted(ours)}" for ours, expression in expressions.items())
    where = " AND ".join(f"({each.text})" for each in conditions)
    text = f"SELECT {chosen} FROM {quoted(table)}" + (f" WHERE {where}" if where else "")
    values = tuple(value for each in conditions for value in each.values)
    return Piece(text if limit is None else f"{text} LIMIT {limit}", values)
