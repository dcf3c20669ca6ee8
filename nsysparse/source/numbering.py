"""Small numbers for values that come batch by batch and of which few differ."""

import threading

import numpy as np
from numpy.typing import NDArray

from nsysparse.intervals import Ints

Numbers = NDArray[np.uint32]


class Numbering:
    """Numbers distinct integers from 0 on; which has which number depends on the order in which batches bring them.

    Threads may ask at the same time.
    """

    def __init__(self) -> None:
        """No value has a number yet."""
        # In order, and the number of each: replaced together, so that who looks sees both of one time.
        self._known = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint32)
        self._adding = threading.Lock()

    def of(self, values: Ints) -> Numbers:
        """The number of each value."""
        numbers, is_known = self._look(values)
        if not is_known.all():  # the first batches bring nearly all that there are
            self._add(np.unique(values[~is_known]))
            numbers, _ = self._look(values)
        return numbers

    def _look(self, values: Ints) -> tuple[Numbers, NDArray[np.bool_]]:
        """The number of each value, and whether it has one."""
        known, numbers = self._known
        if len(known) == 0:
            return np.zeros(len(values), dtype=np.uint32), np.zeros(len(values), dtype=np.bool_)
        at = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return numbers[at], known[at] == values

    def _add(self, values: Ints) -> None:
        with self._adding:
            _, is_known = self._look(values)  # another thread may have added them meanwhile
            fresh = values[~is_known]
            known, numbers = self._known
            more = np.arange(len(numbers), len(numbers) + len(fresh), dtype=np.uint32)
            together = np.concatenate([known, fresh])
            order = np.argsort(together, kind="stable")
            self._known = together[order], np.concatenate([numbers, more])[order]

    @property
    def values(self) -> Ints:
        """All values by number."""
        known, numbers = self._known
        by_number = np.empty(len(known), dtype=np.int64)
        by_number[numbers] = known
        return by_number
