"""Numbers for pairs of a process and an id, and which number each of millions of pairs has.

Ids of one kind count up within a process, so a table with a place for every id between two bounds is small, and looking
up is one access. Some ids are far from all others (lost launches, damage): a table reaches only so far around the
middle id of its process, and the rest is searched for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsysparse.intervals import Ints
from nsysparse.source.narrow import AnyInts

NO_PAIR = -1
_REACH = 4  # ids on each side of a process's middle one, for each of its rows: the ids between are of other calls


@dataclass(frozen=True, slots=True)
class PairIndex:
    """The distinct pairs (process, id) of some rows, numbered from 0 on.

    Attributes:
        size: How many they are.
        processes: Their processes, in order.
        low: Per process the lowest id of its table.
        high: The highest.
        base: Where its table begins in `table`.
        table: Numbers by id, `NO_PAIR` where there is none.
        far_ids: Distinct ids outside the tables, in order.
        far: Pairs of those: the place of the process times the number of `far_ids`, plus the place of the id; in order.
            They have the last numbers.
    """

    size: int
    processes: Ints
    low: Ints
    high: Ints
    base: Ints
    table: NDArray[np.int32]
    far_ids: Ints
    far: Ints

    def find(self, process: Ints, ids: Ints) -> NDArray[np.int32]:
        """The number of each pair; `NO_PAIR` of one that is none of those known."""
        found = np.full(len(ids), NO_PAIR, dtype=np.int32)
        if len(self.processes) == 0:
            return found
        place = np.minimum(np.searchsorted(self.processes, process), len(self.processes) - 1)
        known = self.processes[place] == process
        near = known & (ids >= self.low[place]) & (ids <= self.high[place])
        if bool(near.all()):  # as nearly always
            return self.table[self.base[place] + (ids - self.low[place])]
        here = place[near]
        found[near] = self.table[self.base[here] + (ids[near] - self.low[here])]
        rest = np.flatnonzero(known & ~near) if len(self.far) else ()
        if len(rest):
            found[rest] = self._far(place[rest], ids[rest])
        return found

    def _far(self, place: Ints, ids: Ints) -> NDArray[np.int32]:
        of_id = np.minimum(np.searchsorted(self.far_ids, ids), len(self.far_ids) - 1)
        both = place * len(self.far_ids) + of_id
        at = np.minimum(np.searchsorted(self.far, both), len(self.far) - 1)
        is_there = (self.far_ids[of_id] == ids) & (self.far[at] == both)
        found: NDArray[np.int32] = np.where(is_there, self.size - len(self.far) + at, NO_PAIR).astype(np.int32)
        return found


def index_pairs(process: Ints, ids: Ints) -> PairIndex:
    """Number the pairs of some rows.

    Args:
        process: Any numbers.
        ids: Any numbers, as many.
    """
    processes, place = np.unique(process, return_inverse=True)
    return index_places(processes, place, ids)


def index_places(processes: Ints, place: AnyInts, ids: AnyInts) -> PairIndex:
    """Number the pairs of some rows whose processes have numbers already.

    Args:
        processes: Distinct processes, in order, each of some row.
        place: Of each row the place of its process among them.
        ids: Its id.
    """
    low, high, base = _windows(len(processes), place, ids)
    near = (ids >= low[place]) & (ids <= high[place])
    table = np.full(int(base[-1]), NO_PAIR, dtype=np.int32)
    here = place[near]
    table[base[here] + (ids[near] - low[here])] = 0
    filled = np.flatnonzero(table == 0)
    table[filled] = np.arange(len(filled), dtype=np.int32)
    far_ids, of_id = np.unique(ids[~near].astype(np.int64), return_inverse=True)
    far = np.unique(place[~near].astype(np.int64) * len(far_ids) + of_id)
    return PairIndex(len(filled) + len(far), processes, low, high, base[:-1], table, far_ids, far)


def _windows(count: int, place: AnyInts, ids: AnyInts) -> tuple[Ints, Ints, Ints]:
    """Per process the lowest and the highest id of its table, and where each table begins; last, where all end."""
    by_process = ids[np.argsort(place, kind="stable")]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=count))])
    low, high = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for process, (first, stop) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        own = by_process[first:stop]
        middle = int(np.partition(own, len(own) // 2)[len(own) // 2])
        low[process] = max(int(own.min()), middle - _REACH * len(own))
        high[process] = min(int(own.max()), middle + _REACH * len(own))
    return low, high, np.concatenate([[0], np.cumsum(high - low + 1)]).astype(np.int64)
