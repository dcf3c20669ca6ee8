"""Small numbers for values that come batch by batch and of which few differ."""

import numpy as np
from numpy.typing import NDArray

from nsysparse.intervals import Ints

Numbers = NDArray[np.uint32]


class Numbering:
    """Numbers distinct integers from 0 on, in the order in which batches bring them, of a batch the lowest first."""

    def __init__(self) -> None:
        """No value has a number yet."""
        self._sorted = np.zeros(0, dtype=np.int64)
        self._numbers = np.zeros(0, dtype=np.uint32)

    def of(self, values: Ints) -> Numbers:
        """The number of each value."""
        at, is_known = self._look(values)
        if not is_known.all():  # the first batches bring nearly all that there are
            self._add(np.unique(values[~is_known]))
            at, _ = self._look(values)
        found: Numbers = self._numbers[at]
        return found

    def _look(self, values: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Where each value stands in order, and whether it does."""
        if len(self._sorted) == 0:
            return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return at, self._sorted[at] == values

    def _add(self, fresh: Ints) -> None:
        numbers = np.arange(len(self._numbers), len(self._numbers) + len(fresh), dtype=np.uint32)
        together = np.concatenate([self._sorted, fresh])
        order = np.argsort(together, kind="stable")
        self._sorted, self._numbers = together[order], np.concatenate([self._numbers, numbers])[order]

    @property
    def values(self) -> Ints:
        """All values by number."""
        by_number = np.empty(len(self._sorted), dtype=np.int64)
        by_number[self._numbers] = self._sorted
        return by_number
