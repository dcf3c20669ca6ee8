"""Find GPU work by process and correlation id.

Ids count up within a process, so a table with a place for each id between two bounds is small, and looking up is one
access. Some ids are far from all others (lost launches, damage): only around the middle id of a process is such a
table, the rest is searched for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsysparse.source.narrow import AnyInts, Ints

NO_GROUP = -1
_REACH = 4  # ids of a process on each side of its middle one, for each of its operations: ids of other calls too


@dataclass(frozen=True, slots=True)
class Correlation:
    """Which group of GPU work a (process, correlation id) means.

    Attributes:
        processes: Processes that have GPU work, in order.
        low: Per process the lowest id of its table.
        high: The highest.
        base: Where its table begins in `table`.
        table: Groups by id, `NO_GROUP` where there is no work.
        far_ids: Distinct ids outside all tables, in order.
        far: Those of each process: its place times the number of `far_ids`, plus the place of the id; in order.
        groups: How many groups there are: first those of the tables, then those of `far`.
    """

    processes: Ints
    low: Ints
    high: Ints
    base: Ints
    table: NDArray[np.int32]
    far_ids: Ints
    far: Ints
    groups: int

    def of(self, process: Ints, ids: Ints) -> NDArray[np.int32]:
        """The group of each row; `NO_GROUP` where no GPU work has its process and id."""
        found = np.full(len(ids), NO_GROUP, dtype=np.int32)
        if len(self.processes) == 0:
            return found
        place = np.minimum(np.searchsorted(self.processes, process), len(self.processes) - 1)
        known = self.processes[place] == process
        near = known & (ids >= self.low[place]) & (ids <= self.high[place])
        if bool(near.all()):
            found = self.table[self.base[place] + (ids - self.low[place])]
        else:
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
        found: NDArray[np.int32] = np.where(is_there, self.groups - len(self.far) + at, NO_GROUP).astype(np.int32)
        return found


def correlate(processes: Ints, place: AnyInts, ids: AnyInts) -> Correlation:
    """Tables for GPU work.

    Args:
        processes: Distinct processes, in order.
        place: Of each operation the place of its process among them.
        ids: Its correlation id.
    """
    low, high, base = _windows(len(processes), place, ids)
    near = (ids >= low[place]) & (ids <= high[place])
    table = np.full(int(base[-1]), NO_GROUP, dtype=np.int32)
    here = place[near]
    table[base[here] + (ids[near] - low[here])] = 0
    filled = np.flatnonzero(table == 0)
    table[filled] = np.arange(len(filled), dtype=np.int32)
    far_ids, of_id = np.unique(ids[~near].astype(np.int64), return_inverse=True)
    far = np.unique(place[~near].astype(np.int64) * len(far_ids) + of_id)
    return Correlation(processes, low, high, base[:-1], table, far_ids, far, len(filled) + len(far))


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
