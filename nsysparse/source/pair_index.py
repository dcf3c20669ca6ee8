"""Numbers for pairs of a process and an id, and which number each of millions of pairs has.

Ids of one kind count up within a process, so a table with a place for every id between two bounds is small, and looking
up is one access. Some ids are far from all others (lost launches, damage): a table reaches only so far around the
middle id of its process, and the rest is searched for.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nsysparse.intervals import Ints
from nsysparse.source.narrow import AnyInts

NO_PAIR = -1
_NO_IDS: Ints = np.zeros(0, dtype=np.int64)
_REACH = 4  # ids on each side of a process's middle one, for each of its rows: the ids between are of other calls


@dataclass(frozen=True, slots=True)
class PairIndex:
    """The distinct pairs (process, id) of some rows, numbered from 0 on.

    Attributes:
        size: How many they are.
        processes: Their processes, in order.
        low: Per process the lowest id of its table.
        span: How far from it the highest is.
        base: Where its table begins in `table`.
        table: Numbers by id, `NO_PAIR` where there is none.
        far_ids: Distinct ids outside the tables, in order.
        far: Pairs of those: the place of the process times the number of `far_ids`, plus the place of the id; in order.
            They have the last numbers.
    """

    size: int
    processes: Ints
    low: Ints
    span: NDArray[np.uint64]
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
        # Unsigned, an id below the lowest is beyond all others.
        beyond_low = ids - self.low[place]
        near = known & (beyond_low.view(np.uint64) <= self.span[place])
        if bool(near.all()):  # as nearly always
            return self.table[self.base[place] + beyond_low]
        found[near] = self.table[self.base[place[near]] + beyond_low[near]]
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
    by_process = ids[np.argsort(place, kind="stable")]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=len(processes)))]).tolist()
    lanes = [by_process[first:stop] for first, stop in pairwise(bounds)]
    low, span = np.zeros(len(lanes), dtype=np.int64), np.zeros(len(lanes), dtype=np.uint64)
    tables, far, size = [], [], 0
    for process, own in enumerate(lanes):
        low[process], high = _window(own)
        span[process] = high - int(low[process])
        near = (own >= low[process]) & (own <= high)
        known = np.zeros(int(span[process]) + 1, dtype=np.bool_)
        known[own[near] - low[process]] = True
        rising = np.cumsum(known, dtype=np.int32)
        tables.append(np.where(known, rising + np.int32(size - 1), np.int32(NO_PAIR)))
        size += int(rising[-1])
        far.append(own[~near])
    base = np.concatenate([[0], np.cumsum(span[:-1] + np.uint64(1))]).astype(np.int64)
    far_place = np.repeat(np.arange(len(lanes)), [len(each) for each in far])
    far_ids, of_id = np.unique(np.concatenate([_NO_IDS, *far]), return_inverse=True)
    pairs = np.unique(far_place * len(far_ids) + of_id)
    table = np.concatenate(tables) if tables else np.zeros(0, dtype=np.int32)
    return PairIndex(size + len(pairs), processes, low, span, base, table, far_ids, pairs)


def _window(ids: AnyInts) -> tuple[int, int]:
    """The lowest and the highest id of a process's table; of a process without rows it has one place, for nobody."""
    if len(ids) == 0:
        return 0, 0
    middle = int(np.partition(ids, len(ids) // 2)[len(ids) // 2])
    reach = _REACH * len(ids)
    return max(int(ids.min()), middle - reach), min(int(ids.max()), middle + reach)
