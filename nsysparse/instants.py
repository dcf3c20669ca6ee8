"""Sets of instants: what was true of a device when, joined and cut without looking at single nanoseconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.intervals import Ints, coverage, merge

EARLIEST, LATEST = -(2**62), 2**62
"""Beyond every time that a trace may hold: where what has no beginning begins, and what has no end ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Instants:
    """A set of instants in nanoseconds, as half-open intervals in order that neither touch nor overlap.

    Attributes:
        starts: First instant of each interval.
        ends: First instant after it.
    """

    starts: Ints
    ends: Ints

    def __eq__(self, other: object) -> bool:
        """Whether the sets are the same."""
        if not isinstance(other, Instants):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    @classmethod
    def of(cls, starts: Ints, ends: Ints) -> "Instants":
        """What any of the intervals covers; one that ends before it begins covers nothing."""
        lasting = ends > starts
        return cls(*merge(starts[lasting], ends[lasting]))

    @classmethod
    def covered(cls, rows: pl.DataFrame, start: str = "start_ns", end: str = "end_ns") -> "Instants":
        """The same of the rows that have both a start and an end."""
        known = rows.select(start, end).drop_nulls()
        return cls.of(known[start].cast(pl.Int64).to_numpy(), known[end].cast(pl.Int64).to_numpy())

    @classmethod
    def span(cls, start: int, end: int) -> "Instants":
        """One interval."""
        return cls.of(np.array([start], dtype=np.int64), np.array([end], dtype=np.int64))

    @classmethod
    def never(cls) -> "Instants":
        """None."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    @property
    def length(self) -> int:
        """Nanoseconds in the set."""
        return int((self.ends - self.starts).sum())

    def holds(self, at: Ints) -> NDArray[np.bool_]:
        """Which of some instants are in the set."""
        if len(self.starts) == 0:
            return np.zeros(len(at), dtype=np.bool_)
        index = np.searchsorted(self.starts, at, side="right")
        found: NDArray[np.bool_] = (index > 0) & (self.ends[np.maximum(index - 1, 0)] > at)
        return found

    def within(self, starts: Ints, ends: Ints) -> Ints:
        """How much of each interval is in the set.

        Args:
            starts: Starts, any order; the intervals may overlap.
            ends: Their ends, each >= its start.
        """
        found: Ints = coverage(self.starts, self.ends, ends) - coverage(self.starts, self.ends, starts)
        return found

    def both(self, other: "Instants") -> "Instants":
        """What is in both sets."""
        # A part of both begins where one of them begins within the other, and ends likewise.
        starts = [self.starts[other.holds(self.starts)], other.starts[self.holds(other.starts)]]
        ends = [self.ends[other.holds(self.ends - 1)], other.ends[self.holds(other.ends - 1)]]
        return Instants(_distinct(starts), _distinct(ends))

    def without(self, other: "Instants") -> "Instants":
        """What is in this set and not in the other."""
        starts = np.concatenate([[EARLIEST], other.ends]).astype(np.int64)
        ends = np.concatenate([other.starts, [LATEST]]).astype(np.int64)
        return self.both(Instants.of(starts, ends))


Busy: TypeAlias = Mapping[tuple[str, str], Instants]
"""When compute ran on each device of a trace, by `trace_id` and `device_key`: on one without any at no instant.

There can be ten million intervals, of few devices.
"""


def _distinct(runs: list[Ints]) -> Ints:
    """Each value of several rising sequences once, in order: a stable sort merges them, hashing takes far longer."""
    merged = np.sort(np.concatenate(runs), kind="stable")
    first = np.ones(len(merged), dtype=np.bool_)
    first[1:] = merged[1:] != merged[:-1]
    return merged[first]
