"""Small numbers for values that come batch by batch and of which few differ."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.intervals import Ints

Numbers = NDArray[np.uint32]


class Numbering:
    """Numbers distinct integers from 0 on, in the order in which batches bring them."""

    def __init__(self) -> None:
        """No value has a number yet."""
        self._known: dict[int, int] = {}

    def of(self, values: Ints) -> Numbers:
        """The number of each value."""
        distinct = pl.Series(values).unique().sort()
        known = self._known
        numbers = np.array([known.setdefault(each, len(known)) for each in distinct.to_list()], dtype=np.uint32)
        if len(numbers) == 1:
            return np.full(len(values), numbers[0], dtype=np.uint32)
        found: Numbers = numbers[np.searchsorted(distinct.to_numpy(), values)]
        return found

    @property
    def values(self) -> Ints:
        """All values by number."""
        return np.fromiter(self._known, dtype=np.int64, count=len(self._known))
