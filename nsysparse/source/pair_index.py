"""Numbers for pairs of a process and an id, and which number each of millions of pairs has."""

import numpy as np

from nsysparse.intervals import Ints

_SPREAD, _FREE = 8, 1000
"""An array has a place for every id of a process while ids are this dense: at most so many places an id."""
_FEW = 32  # processes that are looked for one by one


class PairIndex:
    """The distinct pairs (process, id) of some rows.

    Ids of one kind count up within a process, so a place for every id there may be is nearly always small; ids that are
    spread are searched for.

    Args:
        process: Any numbers.
        ids: Any numbers, as many.
    """

    def __init__(self, process: Ints, ids: Ints) -> None:
        """Number the pairs by process and id."""
        self._lanes: dict[int, _Dense | _Sparse] = {}
        self.size = 0
        for each in np.unique(process).tolist():
            lane = _lane(ids[process == each], self.size)
            self._lanes[each] = lane
            self.size += lane.size

    def find(self, process: Ints, ids: Ints) -> Ints:
        """The number of each pair, from 0 on; -1 of one that is none of those known."""
        found = np.full(len(ids), -1, dtype=np.int64)
        if len(ids) == 0:
            return found
        first = self._lanes.get(int(process[0]))
        if bool((process == process[0]).all()):  # rows of one process often stand together
            return found if first is None else first.find(ids)
        lanes = self._lanes if len(self._lanes) <= _FEW else np.unique(process).tolist()
        for each in lanes:
            rows = np.flatnonzero(process == each)
            if each in self._lanes and len(rows):
                found[rows] = self._lanes[each].find(ids[rows])
        return found


def _lane(ids: Ints, first: int) -> "_Dense | _Sparse":
    low, high = int(ids.min()), int(ids.max())
    return _Dense(ids, low, high, first) if high - low < _SPREAD * len(ids) + _FREE else _Sparse(ids, first)


class _Dense:
    """Ids of one process, with a place for every one between the lowest and the highest."""

    def __init__(self, ids: Ints, low: int, high: int, first: int) -> None:
        known = np.zeros(high - low + 1, dtype=np.bool_)
        known[ids - low] = True
        self._low, self._high = low, high
        self.size = int(known.sum())
        narrow = np.int32 if first + self.size <= np.iinfo(np.int32).max else np.int64
        self._number = np.where(known, np.cumsum(known) - 1 + first, -1).astype(narrow)

    def find(self, ids: Ints) -> Ints:
        inside = (ids >= self._low) & (ids <= self._high)
        found: Ints = np.where(inside, self._number[np.where(inside, ids - self._low, 0)].astype(np.int64), -1)
        return found


class _Sparse:
    """Ids of one process, in order."""

    def __init__(self, ids: Ints, first: int) -> None:
        self._ids, self._first = np.unique(ids), first
        self.size = len(self._ids)

    def find(self, ids: Ints) -> Ints:
        at = np.minimum(np.searchsorted(self._ids, ids), self.size - 1)
        found: Ints = np.where(self._ids[at] == ids, at + self._first, -1)
        return found
