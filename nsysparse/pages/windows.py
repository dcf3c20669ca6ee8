"""Numbers that lie near each other in records, gathered together: one look into each row instead of one a column."""

import sys
from collections.abc import Iterable

import numpy as np

from nsysparse.pages.arrays import WORD, Bytes, Words, stretches, words
from nsysparse.pages.cells import Cells
from nsysparse.pages.layout import Field

_WIDEST = 64  # bytes


class Windows:
    """The words at which columns of some rows begin.

    Columns between which no width differs from row to row share the base of their positions, and so can share a window.
    """

    def __init__(self, cells: Cells, fields: Iterable[Field]) -> None:
        """Plan windows for the columns that will be asked for."""
        self.cells = cells
        self._spans: dict[tuple[int, int], tuple[int, int]] = {}
        self._taken: dict[tuple[int, int], Bytes] = {}
        # A row that overflows may have columns beyond the buffer; those rows are rare, and looked at one by one.
        offsets: dict[int, set[int]] = {}
        for field in () if cells.overflows else fields:
            offsets.setdefault(id(field.base), set()).add(field.offset)
        for base, of_base in offsets.items():
            self._plan(base, sorted(of_base))

    def _plan(self, base: int, offsets: list[int]) -> None:
        while offsets:
            near = [offset for offset in offsets if offset + WORD - offsets[0] <= _WIDEST]
            for offset in near:
                self._spans[base, offset] = near[0], near[-1]
            offsets = offsets[len(near) :]

    def words(self, field: Field) -> Words:
        """The 8 bytes from where each value begins on, the first of them the most significant."""
        first, last = self._spans.get((id(field.base), field.offset), (0, 0))
        if first == last:
            buffer, at = self.cells.buffer, field.at
            return words(buffer, np.minimum(at, len(buffer) - WORD) if self.cells.overflows else at)
        window = self._taken.get((id(field.base), first))
        if window is None:
            at = field.base + first if first else field.base
            window = self._taken[id(field.base), first] = stretches(self.cells.buffer, at, last - first + WORD)
        found = np.ndarray((len(window),), np.uint64, window, field.offset - first, (window.shape[1],)).copy()
        return found.byteswap(inplace=True) if sys.byteorder == "little" else found
