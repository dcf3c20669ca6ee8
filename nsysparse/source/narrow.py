"""Numbers in as few bytes as they need: of tens of millions of rows every byte counts."""

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
AnyInts = NDArray[Any]
"""Integers of any width."""


def narrowed(values: AnyInts) -> AnyInts:
    """Numbers that are not negative, in the narrowest unsigned type that holds them all."""
    largest = int(values.max()) if len(values) else 0
    return values.astype(np.min_scalar_type(largest), copy=False)


def narrowed_signed(values: Ints) -> AnyInts:
    """Numbers in the narrowest signed type that holds them all."""
    bounds = (int(values.min()), int(values.max())) if len(values) else ()
    # Asked about a number that is not negative, numpy would name an unsigned type.
    types = [np.min_scalar_type(each if each < 0 else -1 - each) for each in bounds]
    return values.astype(np.result_type(np.int8, *types), copy=False)


def length(starts: Ints, ends: Ints) -> AnyInts:
    """Nanoseconds from start to end, never negative, as few bytes as possible; `starts + length` is the end again."""
    return narrowed((ends - starts).view(np.uint64))


def after(starts: Ints, lengths: AnyInts) -> Ints:
    """The ends of intervals that `length` measured: what wrapped around there does so again."""
    ends: Ints = starts + lengths.astype(np.uint64).view(np.int64)
    return ends


class Numbers:
    """Small numbers for distinct 64-bit ones, in the order in which they come. May be asked in several threads."""

    def __init__(self) -> None:
        """Nothing has a number yet."""
        self._known = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint32)  # sorted, and the number of each
        self._lock = Lock()

    def of(self, values: Ints) -> AnyInts:
        """The number of each value."""
        found = self._found(values)
        while found is None:
            with self._lock:
                known, numbers = self._known
                fresh = np.setdiff1d(values, known)
                every = np.concatenate([known, fresh])
                given = np.concatenate([numbers, np.arange(len(known), len(every), dtype=np.uint32)])
                order = np.argsort(every)
                self._known = every[order], given[order]
            found = self._found(values)
        return found

    def ranks(self) -> tuple[Ints, AnyInts]:
        """All values in order, and by number the place of its value among them."""
        known, numbers = self._known
        places = np.empty(len(known), dtype=np.int64)
        places[numbers] = np.arange(len(known))
        return known, narrowed(places)

    def _found(self, values: Ints) -> AnyInts | None:
        known, numbers = self._known
        if len(values) == 0:
            return np.zeros(0, dtype=np.uint8)
        if len(known) == 0:
            return None
        place = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return narrowed(numbers[place]) if bool((known[place] == values).all()) else None
