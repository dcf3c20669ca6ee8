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
        # Runs of values in order, with their numbers, each twice as long as the next: many values cost n·log n.
        # Replaced together, so that who looks sees all of one time.
        self._runs: tuple[tuple[Ints, Numbers], ...] = ()
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
        found, is_known = np.zeros(len(values), dtype=np.uint32), np.zeros(len(values), dtype=np.bool_)
        for known, numbers in self._runs:
            at = np.minimum(np.searchsorted(known, values), len(known) - 1)
            here = known[at] == values
            if here.all():
                return numbers[at], here
            found[here], is_known[here] = numbers[at[here]], True
        return found, is_known

    def _add(self, values: Ints) -> None:
        with self._adding:
            _, is_known = self._look(values)  # another thread may have added them meanwhile
            fresh, first = values[~is_known], sum(len(known) for known, _ in self._runs)
            if len(fresh) == 0:
                return
            runs = [*self._runs, (fresh, np.arange(first, first + len(fresh), dtype=np.uint32))]
            while len(runs) > 1 and len(runs[-2][0]) < 2 * len(runs[-1][0]):
                runs[-2:] = [_merged(runs[-2], runs[-1])]
            self._runs = tuple(runs)

    @property
    def values(self) -> Ints:
        """All values by number."""
        by_number = np.empty(sum(len(known) for known, _ in self._runs), dtype=np.int64)
        for known, numbers in self._runs:
            by_number[numbers] = known
        return by_number


def _merged(one: tuple[Ints, Numbers], other: tuple[Ints, Numbers]) -> tuple[Ints, Numbers]:
    known, numbers = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    order = np.argsort(known, kind="stable")
    return known[order], numbers[order]
