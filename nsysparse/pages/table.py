"""A table read from its leaf pages: chunks of them decoded on threads, handed out in the order of rows."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias, TypeVar

import numpy as np

from nsysparse import machine
from nsysparse.pages.arrays import Bytes, Flags
from nsysparse.pages.btree import Leaves, find_leaves
from nsysparse.pages.cells import Cells, take_cells
from nsysparse.pages.columns import take_column, take_rowids
from nsysparse.pages.file import File
from nsysparse.pages.layout import Field, lay_out
from nsysparse.pages.overflow import Chains
from nsysparse.pages.pages import LEAF, count_cells, take_pages
from nsysparse.pages.refusals import Damaged
from nsysparse.pages.texts import Texts
from nsysparse.pages.wanted import Column, Wanted
from nsysparse.pages.windows import Windows

_AT_ONCE = 1 << 21  # bytes of pages in a chunk: they stay in a core's cache while they are decoded
_MOST_THREADS = 8
_AHEAD = 2  # chunks decoded or waiting to be taken, for each thread

Columns: TypeAlias = dict[str, Column]
Made = TypeVar("Made")
Keep: TypeAlias = Callable[[Columns], Flags]


class Table:
    """One table of a file. What it reads is never changed while the file stays as it is.

    Args:
        file: The open file.
        root: The table's root page.

    Raises:
        NotCovered: As `find_leaves` says.
        Damaged: Likewise.
    """

    def __init__(self, file: File, root: int) -> None:
        """Walk the tree; see the class."""
        self._file = file
        self._leaves: Leaves = find_leaves(file, root)
        self._step = max(1, _AT_ONCE // file.page_size)
        self._row_count: int | None = None

    @property
    def row_count(self) -> int:
        """Number of rows, as the leaf pages count them. They are read for it, at the first time.

        Raises:
            Damaged: A leaf page is none.
        """
        if self._row_count is None:
            counts = (self._count(start) for start in range(0, len(self._leaves.pages), self._step))
            self._row_count = sum(counts)
        return self._row_count

    def _count(self, start: int) -> int:
        numbers = self._leaves.pages[start : start + self._step]
        return int(count_cells(self._file.read(numbers), numbers, LEAF, self._file)[1].sum())

    def chunks(
        self,
        wanted: Mapping[str, Wanted],
        texts: Mapping[str, Texts],
        *,
        first: Sequence[str] = (),
        keep: Keep | None = None,
        threads: int = 0,
    ) -> Iterator[Columns]:
        """Columns of some thousands of rows at a time, in the order of rowids; see `made`."""
        return self.made(lambda columns: columns, wanted, texts, first=first, keep=keep, threads=threads)

    def made(
        self,
        then: Callable[[Columns], Made],
        wanted: Mapping[str, Wanted],
        texts: Mapping[str, Texts],
        *,
        first: Sequence[str] = (),
        keep: Keep | None = None,
        threads: int = 0,
    ) -> Iterator[Made]:
        """What is made of the columns of some thousands of rows at a time, in the order of rowids.

        Few chunks are decoded ahead, so memory stays bounded however slowly they are taken. Closing the iterator ends
        its threads.

        Args:
            then: Makes something of a chunk of rows that stay. It is called on the threads, in no order.
            wanted: Columns to read, by any name.
            texts: The distinct texts of each column of the kind "text", which are added to.
            first: Names of the columns that `keep` looks at.
            keep: Says which rows stay; other columns are decoded for those only. It is called on the threads.
            threads: How many to decode on; 0: as many as the process should have, at most 8.

        Yields:
            What `then` made of each chunk; nothing of chunks of which no row stays.

        Raises:
            NotCovered: The table holds what is not read here, or was written to. Nothing yielded before stands.
            Damaged: The file contradicts itself. Likewise.
        """
        pass_ = _Pass(self._file, self._leaves, wanted, texts, tuple(first), keep)
        starts = range(0, len(self._leaves.pages), self._step)
        seen = 0

        def make(start: int) -> tuple[int, tuple[Made] | None]:
            rows, columns = pass_.read(start, start + self._step)
            return rows, None if columns is None else (then(columns),)

        for rows, made in _in_order(make, starts, threads):
            seen += rows
            if made is not None:
                yield made[0]
        self._file.refuse_changes()
        if self._row_count is not None and seen != self._row_count:
            raise Damaged(f"page {self._leaves.pages[0]}: {seen} rows were read, {self._row_count} were counted before")
        self._row_count = seen


class PageFile(File):
    """An open SQLite file whose tables are read from their pages; see `File` for arguments and errors."""

    def table(self, root: int) -> Table:
        """The table at a root page, as `sqlite_master` says it. The file must stay open while it is read."""
        return Table(self, root)


class _Pass:
    """One reading of a table: what is wanted, and what threads share."""

    def __init__(
        self,
        file: File,
        leaves: Leaves,
        wanted: Mapping[str, Wanted],
        texts: Mapping[str, Texts],
        first: tuple[str, ...],
        keep: Keep | None,
    ) -> None:
        self._file, self._leaves, self._wanted, self._texts = file, leaves, dict(wanted), texts
        self._first = first if keep is not None else ()
        self._keep = keep
        self._chains = Chains(file)
        self._local = threading.local()

    def read(self, start: int, stop: int) -> tuple[int, Columns | None]:
        """Number of rows of some leaf pages, and the columns of those that stay."""
        numbers = self._leaves.pages[start:stop]
        pages = take_pages(self._file.read(numbers, self._room), numbers, LEAF, self._file)
        empty = pages.counts == 0
        if len(self._leaves.pages) > 1 and empty.any():
            raise Damaged(f"page {numbers[empty][0]}: a leaf page without rows")
        before = int(self._leaves.highest[start - 1]) if start else None
        cells = take_cells(pages, self._leaves.highest[start:stop], before, self._file)
        rows = len(cells)
        if rows == 0:
            return 0, None
        columns: Columns = {}
        if self._keep is not None:
            cells, columns = self._columns(cells, {name: self._wanted[name] for name in self._first})
            stays = self._keep(columns)
            if stays.dtype != np.bool_ or stays.shape != (rows,):
                raise ValueError("keep has to say yes or no to every row")
            if not stays.all():
                cells = cells.only(stays)
                columns = {name: column.only(stays) for name, column in columns.items()}
            if len(cells) == 0:
                return rows, None
        columns |= self._columns(cells, {name: each for name, each in self._wanted.items() if name not in columns})[1]
        return rows, {name: columns[name] for name in self._wanted}

    def _columns(self, cells: Cells, wanted: Mapping[str, Wanted]) -> tuple[Cells, Columns]:
        """Columns of rows, and the rows with as much of them in the buffer as that took."""
        places = {each.place for each in wanted.values() if not each.from_rowid}
        whole, fields = self._fields(cells, places) if places else (cells, {})
        numbers = {each.place for each in wanted.values() if each.kind in {"int", "real"} and not each.from_rowid}
        windows = Windows(whole, (fields[place] for place in numbers))
        return whole, {
            name: take_rowids(whole, each)
            if each.from_rowid
            else take_column(windows, fields[each.place], each, self._texts.get(name))
            for name, each in wanted.items()
        }

    def _fields(self, cells: Cells, places: set[int]) -> tuple[Cells, dict[int, Field]]:
        """Where columns lie, in cells of which all that this needs is in the buffer."""
        if not cells.overflows:
            return cells, lay_out(cells, places)
        partly = cells.body > cells.ends
        if partly.any():
            cells = self._chains.complete(cells, partly)
        fields = lay_out(cells, places)
        needed = np.zeros(len(cells), np.bool_)
        for field in fields.values():
            needed |= (field.at + field.sizes > cells.ends) & (np.asarray(field.sizes) > 0)
        if needed.any():
            cells = self._chains.complete(cells, needed)
            fields = lay_out(cells, places)
        return cells, fields

    def _room(self, size: int) -> Bytes:
        """A buffer of this thread, which its next chunk writes over: fresh memory costs as much as reading."""
        room: Bytes | None = getattr(self._local, "room", None)
        if room is None or len(room) < size:
            room = self._local.room = np.empty(size, np.uint8)
        return room


def _in_order(work: Callable[[int], Made], starts: range, threads: int) -> Iterator[Made]:
    """Results of `work` for each start, in order, worked on by threads a few ahead of who takes them."""
    threads = min(threads or min(machine.threads(), _MOST_THREADS), len(starts))
    if threads <= 1:
        yield from map(work, starts)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="pages")
    pending: deque[Future[Made]] = deque()
    try:
        for start in starts:
            pending.append(pool.submit(work, start))
            if len(pending) >= threads * _AHEAD:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
