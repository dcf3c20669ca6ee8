"""Numbers in as few bytes as they need: of tens of millions of rows every byte counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsysparse.intervals import Ints

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
