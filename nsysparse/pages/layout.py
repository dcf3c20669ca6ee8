"""Where the columns of records lie: the headers of all rows read together.

Most rows of a table look alike: a column has one type in all of them, so its width needs no array. Headers are gathered
once, and only bytes that differ between rows are looked at row by row.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsysparse.pages.arrays import WORD, Bytes, Ints, stretches, varints
from nsysparse.pages.cells import LONGEST, Cells

ABSENT = -1  # the type of a column that a record is too short to have
FIRST_TEXT = 12  # types from here on are blobs (even) and texts (odd), and say how long
_MORE = 128
_WIDEST = 64  # bytes of a header looked at together
_LONGEST_TYPE = 2 * LONGEST + FIRST_TEXT + 1
_WIDTHS = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0, *((t - FIRST_TEXT) // 2 for t in range(12, _MORE))], np.int64)

Types: TypeAlias = int | NDArray[np.uint8] | Ints  # one for all rows, or one a row


@dataclass(frozen=True, slots=True)
class Field:
    """One column of some rows.

    Attributes:
        types: SQLite's serial types, or `ABSENT`.
        sizes: Bytes of the values.
        base: Per row, a position.
        offset: What to add to it to get to the value.
    """

    types: Types
    sizes: int | Ints
    base: Ints
    offset: int

    @property
    def at(self) -> Ints:
        """Where each value begins."""
        return self.base + self.offset if self.offset else self.base


def _sizes(types: Types) -> int | Ints:
    """Bytes of values of these types."""
    if isinstance(types, int):
        return (types - FIRST_TEXT) // 2 if types >= FIRST_TEXT else int(_WIDTHS[max(types, 0)])
    if types.dtype == np.uint8 or len(types) == 0 or types.max() < _MORE:
        return _WIDTHS.take(types, mode="clip")
    return np.where(types >= FIRST_TEXT, (types - FIRST_TEXT) >> 1, _WIDTHS.take(types, mode="clip"))


class Walk:
    """A walk over the headers of rows, from column to column."""

    def __init__(self, cells: Cells) -> None:
        """Begin before the first column; rows whose header is not all in the buffer must have been completed."""
        self._cells = cells
        self._base, self._offset = cells.body, 0
        header = cells.body - cells.types
        self._shared, self._most = (int(header.min()), int(header.max())) if len(cells) else (0, 0)
        self._byte = 0  # of the header, while it is the same place in all rows
        self._places: Ints | None = None  # of the next type in each row, once it is not
        self._table: Bytes = np.empty((0, 0), np.uint8)
        self._constant: list[bool] = []

    def step(self) -> Field:
        """The next column.

        Raises:
            Damaged: A header runs past its end.
        """
        types = self._alike() if self._places is None else self._by_row(self._places)
        size = _sizes(types)
        field = Field(types, size, self._base, self._offset)
        if isinstance(size, int):
            self._offset += size
        else:
            self._base, self._offset = field.at + size, 0
        return field

    def ends(self) -> Ints:
        """Where the values of the columns so far end."""
        return self._base + self._offset

    def _alike(self) -> Types:
        """The next type from bytes at the same place in all headers, or the change to places of each row."""
        if self._byte >= self._most:
            return ABSENT
        start = self._byte
        if start < self._shared and start < _WIDEST:
            self._look(start)
            if not self._constant[start]:
                types = self._table[:, start].copy()
                if types.max() < _MORE:
                    self._byte += 1
                    return types
            elif self._table[0, start] < _MORE:
                self._byte += 1
                return int(self._table[0, start])
        self._places = self._cells.types + start
        return self._by_row(self._places)

    def _look(self, byte: int) -> None:
        """Gather the headers up to the word with this byte, and see which bytes are the same in all rows."""
        if byte < len(self._constant):
            return
        if self._table.shape[1] <= byte:
            wide = min(_WIDEST, -(-self._shared // WORD) * WORD)
            self._table = stretches(self._cells.buffer, self._cells.types, wide)
        word = self._table[:, byte : byte + WORD].copy().view(np.uint64).ravel()
        differ = np.bitwise_or.reduce(word ^ word[0])
        self._constant += [not each for each in np.array([differ]).view(np.uint8)]

    def _by_row(self, places: Ints) -> Types:
        cells = self._cells
        inside = places < cells.body
        if inside.all():
            types, self._places = varints(cells.buffer, places)
        else:
            types, after = np.full(len(places), ABSENT, np.int64), places.copy()
            types[inside], after[inside] = varints(cells.buffer, places[inside])
            self._places = after
        cells.refuse(self._places > cells.body, "the header of a record runs past its end")
        cells.refuse((types > _LONGEST_TYPE) | (types < ABSENT), "a column would be longer than any record")
        return self._same(types)

    @staticmethod
    def _same(types: Ints) -> Types:
        return int(types[0]) if len(types) and (types == types[0]).all() else types


def lay_out(cells: Cells, places: Collection[int]) -> dict[int, Field]:
    """The columns at these places of the records.

    Raises:
        Damaged: A header or value runs past the end of its record.
    """
    walk, found = Walk(cells), {}
    for place in range(max(places, default=-1) + 1):
        field = walk.step()
        if place in places:
            found[place] = field
    cells.refuse(walk.ends() > cells.whole, "the values of a record are longer than the record")
    return found
