"""One pass over a whole table: from the pages of the file where they tell all, else by SQL, with the same result."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars as pl

from nsysparse.errors import InputError
from nsysparse.pages import Damaged, NotCovered
from nsysparse.source import schema
from nsysparse.source.access import PAGES, SQL, Access
from nsysparse.source.batch import Batch, Flags
from nsysparse.source.open import readable
from nsysparse.source.page_rows import PageRows
from nsysparse.source.scan import HasTexts, Keep, Reduced, Scanned
from nsysparse.source.schema import TableSpec
from nsysparse.source.sql_rows import SqlRows


class WholeTables:
    """Reads whole tables of one file. Closing it closes what it opened.

    Args:
        path: The file.
        connection: Open to it.
        sql: Reads the rows that pages do not tell.
        access: How the file is read.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, sql: SqlRows, access: Access) -> None:
        """No table is read yet."""
        self._path, self._connection, self._sql, self._access = path, connection, sql, access
        self._pages: PageRows | None = None

    def close(self) -> None:
        """Close the file, if its pages were read."""
        if self._pages is not None:
            self._pages.close()

    def scan(
        self,
        spec: TableSpec,
        present: frozenset[str],
        each: Callable[[Batch], Reduced],
        keep: Keep | None,
        shift_ns: int,
    ) -> Scanned[Reduced]:
        """See `Export.scan`.

        Args:
            spec: A table that exists, and the columns.
            present: Which of the file's columns it has.
            each: Told every batch.
            keep: Which rows are in the batches.
            shift_ns: What the export added to instants.

        Raises:
            InputError: The file is damaged, or holds what neither way reads.
        """

        def told(batch: Batch) -> Reduced:
            return each(_unshifted(batch, shift_ns))

        beside: list[object] = []
        try:
            made, texts = self._from_pages(spec, told, self._chosen(spec, keep, shift_ns, beside))
            parts = [each(empty_batch(spec)), *made]
        except NotCovered as refusal:
            if self._access.reader == PAGES:
                raise InputError(
                    f"{self._path.name}: table {spec.table} cannot be read from its pages ({refusal}).",
                    "Leave out --reader pages: SQL reads what pages alone do not tell.",
                ) from refusal
            beside = []
            made, texts = self._sql.whole(spec, present, told, self._chosen(spec, keep, shift_ns, beside))
            parts = [each(empty_batch(spec)), *made]
        return Scanned(parts, {ours: each.texts for ours, each in texts.items()}, beside)

    def _chosen(self, spec: TableSpec, keep: Keep | None, shift_ns: int, beside: list[object]) -> Keep | None:
        """Of a table of events, only rows that overlap the window, where there is one; what is told beside is noted."""
        within = self._access.window if schema.is_timed(spec) else None
        if within is None and (keep is None or keep.beside is None):
            return keep

        def test(batch: Batch) -> Flags:
            there = batch.known() if within is None else within.overlapping(batch, shift_ns)
            if keep is None:
                return there
            if keep.beside is not None:
                beside.append(keep.beside(_unshifted(batch.only(there), shift_ns)))
            return there & keep.test(batch)

        needs = dict.fromkeys((*(() if within is None else schema.INSTANTS), *(keep.needs if keep else ())))
        return Keep(tuple(needs), test, only=keep.only if keep else None)

    def _from_pages(
        self, spec: TableSpec, each: Callable[[Batch], Reduced], keep: Keep | None
    ) -> tuple[Iterator[Reduced], Mapping[str, HasTexts]]:
        """A whole table from its pages.

        Raises:
            NotCovered: It must be read by SQL; also from the iterator.
            InputError: The file is damaged; likewise.
        """
        if self._access.reader == SQL:
            raise NotCovered("SQL was asked for")
        with self._undamaged(spec.table):
            if self._pages is None:
                self._pages = PageRows(self._path, self._connection)
            made, texts = self._pages.whole(spec, each, keep)

        def checked() -> Iterator[Reduced]:
            with self._undamaged(spec.table):
                yield from made

        return checked(), texts

    @contextlib.contextmanager
    def _undamaged(self, table: str) -> Iterator[None]:
        with readable(self._path, f"table {table}"):
            try:
                yield
            except Damaged as error:
                raise sqlite3.DatabaseError(str(error)) from error


def empty_batch(spec: TableSpec) -> Batch:
    """No rows of a table."""
    return Batch(0, {}, {ours: pl.UInt32 if dtype is pl.String else dtype for ours, (_, dtype) in spec.columns.items()})


def _unshifted(batch: Batch, shift_ns: int) -> Batch:
    """A batch with instants as they were before the export shifted them."""
    instants = [name for name in batch.types if name in schema.INSTANTS]
    return batch.moved(instants, shift_ns) if shift_ns else batch
