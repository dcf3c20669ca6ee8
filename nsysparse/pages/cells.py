"""The rows of some leaf pages: where each one's record lies, all at once.

A cell is the length of its record, its rowid, and the record: a header with the type of each column, then their values.
A record that is too long for its page goes on elsewhere (overflow).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from nsysparse.pages.arrays import Bytes, Flags, Ints, after_varints, varints
from nsysparse.pages.file import File
from nsysparse.pages.pages import Pages
from nsysparse.pages.refusals import Damaged, NotCovered

LONGEST = 1 << 24  # bytes of a record; longer ones are for SQL
_POINTER = 4  # bytes of the number of the first overflow page
_LEAST_RECORD = 1  # byte: the length of its header
# How the format divides a record between its page and others, in bytes and in 255ths of a page.
_WHOLE_SPARE, _PART_SPARE, _PART, _PARTS, _PART_LESS = 35, 12, 32, 255, 23


@dataclass(slots=True)
class Cells:
    """Rows in a buffer. Arrays have one element a row and hold positions in the buffer.

    Attributes:
        buffer: The pages, and behind them records that were put together.
        origins: Where the page of each row began.
        pages: The pages.
        rowids: Where the rowid is.
        starts: Where the record begins.
        types: Where the types of the columns begin, in the header of the record.
        body: Where they end and the values begin; meaningless while it lies beyond `ends`.
        ends: Up to where the record is in the buffer.
        whole: Up to where it would be if all of it were. Equal to `ends` but for rows that overflow.
        overflows: Whether any row does.
    """

    buffer: Bytes
    origins: Ints
    pages: Pages
    rowids: Ints
    starts: Ints
    types: Ints
    body: Ints
    ends: Ints
    whole: Ints
    overflows: bool

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.types)

    def only(self, rows: Flags) -> Self:
        """Some of the rows."""
        return type(self)(
            self.buffer,
            self.origins[rows],
            self.pages,
            self.rowids[rows],
            self.starts[rows],
            self.types[rows],
            self.body[rows],
            self.ends[rows],
            self.whole[rows],
            self.overflows,
        )

    def refuse(self, wrong: Flags, what: str) -> None:
        """Raise `Damaged` when anything is wrong, naming the page of the first row of which it is."""
        if wrong.any():
            raise Damaged(f"page {self.numbers(wrong)[0]}: {what}")

    def numbers(self, rows: Flags | Ints) -> Ints:
        """The page number of each of some rows."""
        return self.pages.numbers[self.origins[rows] // self.pages.size]


def take_cells(pages: Pages, highest: Ints, before: int | None, file: File) -> Cells:
    """The rows of leaf pages.

    Args:
        pages: The pages, in the order of their rows.
        highest: The highest rowid that each may hold.
        before: The highest that the page before them may; None: there is none.
        file: The file they are from.

    Raises:
        Damaged: A cell runs past its page, cells lie over each other, or rowids are out of the page's bounds.
        NotCovered: A record is too long to be read here.
    """
    buffer = pages.buffer
    sizes, rowids = varints(buffer, pages.cells)
    start = after_varints(buffer, rowids)
    if len(sizes) and (sizes.min() < _LEAST_RECORD or sizes.max() > LONGEST):
        _refuse_size(sizes, np.repeat(pages.numbers, pages.counts), file)
    local = _on_page(sizes, file.usable)
    overflows = local is not sizes
    ends = start + local
    taken = np.where(local < sizes, ends + _POINTER, ends) if overflows else ends
    header, types = varints(buffer, start)
    cells = Cells(buffer, pages.origins, pages, rowids, start, types, start + header, ends, start + sizes, overflows)
    cells.refuse(taken > pages.origins + file.usable, "a cell runs past the end")
    cells.refuse((header < types - start) | (header > sizes), "the header of a record is longer than the record")
    # Not more than the page has: cells on top of each other could otherwise make a small file huge.
    if len(sizes):
        crowded = np.add.reduceat(taken - pages.cells, pages.firsts) > pages.room
        if crowded.any():
            raise Damaged(f"page {pages.numbers[crowded][0]}: its cells are longer than it is")
        _check_rowids(pages, rowids, highest, before)
    return cells


def _refuse_size(sizes: Ints, numbers: Ints, file: File) -> None:
    nonsense = (sizes < _LEAST_RECORD) | (sizes > file.page_count * file.page_size)
    if nonsense.any():
        raise Damaged(f"page {numbers[nonsense][0]}: a record would have {sizes[nonsense][0]} bytes")
    raise NotCovered(f"a row on page {numbers[sizes > LONGEST][0]} has {sizes.max()} bytes")


def _on_page(sizes: Ints, usable: int) -> Ints:
    """How much of each record lies on its own page; `sizes` itself when all of them do entirely."""
    most = usable - _WHOLE_SPARE
    if len(sizes) == 0 or sizes.max() <= most:
        return sizes
    least = (usable - _PART_SPARE) * _PART // _PARTS - _PART_LESS
    fitting = least + (sizes - least) % (usable - _POINTER)
    return np.where(sizes <= most, sizes, np.where(fitting <= most, fitting, least))


def _check_rowids(pages: Pages, rowids: Ints, highest: Ints, before: int | None) -> None:
    """First and last row of each page lie between the keys around it: a stale page or one of another table does not."""
    first, _ = varints(pages.buffer, rowids[pages.firsts])
    last, _ = varints(pages.buffer, rowids[pages.firsts + pages.counts - 1])
    wrong = (last < first) | (last > highest)
    wrong[1:] |= first[1:] <= highest[:-1]
    if before is not None:
        wrong[0] |= first[0] <= before
    if wrong.any():
        raise Damaged(f"page {pages.numbers[wrong][0]}: its rows are not those that the tree has there")
