"""Buffers of bytes: numbers at any positions of them, many at once.

Every buffer ends in `PAD` bytes that belong to no page, so that a word read at the last byte of a page stays inside.
"""

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[Any]

PAD = 96  # more than the longest look past a position: a cell's three varints, or the widest stretch of a header
WORD = 8  # bytes
_MORE = 128  # a byte of a varint with this bit is followed by another
_SEVEN, _EIGHT = 7, 8
_LONGEST = 9  # bytes of a varint; the last gives all its bits


def words(buffer: Bytes, at: Ints) -> Words:
    """The 8 bytes from each position on, the first of them the most significant."""
    # Native words and one pass that turns them over: half the time of gathering big-endian ones.
    found = np.ndarray((len(buffer) - WORD + 1,), np.uint64, buffer, 0, (1,))[at]
    return found.byteswap(inplace=True) if sys.byteorder == "little" else found


def stretches(buffer: Bytes, at: Ints, length: int) -> Bytes:
    """The `length` bytes from each position on, one row each."""
    found = np.ndarray((len(buffer) - length + 1,), f"V{length}", buffer, 0, (1,))[at]
    return found.view(np.uint8).reshape(-1, length)


def varints(buffer: Bytes, at: Ints) -> tuple[Ints, Ints]:
    """The varint at each position, signed as SQLite takes it, and the position after it."""
    value = buffer.take(at).astype(np.int64)
    rows = np.flatnonzero(value >= _MORE)
    end = at + 1
    if len(rows) == 0:
        return value, end
    value &= _MORE - 1
    for length in range(2, _LONGEST + 1):
        byte = buffer.take(end[rows]).astype(np.int64)
        end[rows] += 1
        if length == _LONGEST:
            value[rows] = (value[rows] << _EIGHT) | byte
            break
        value[rows] = (value[rows] << _SEVEN) | (byte & (_MORE - 1))
        rows = rows[byte >= _MORE]
        if len(rows) == 0:
            break
    return value, end


def after_varints(buffer: Bytes, at: Ints) -> Ints:
    """The position after the varint at each position; quick where all are equally long, as neighbouring rowids are."""
    for length in range(1, _LONGEST):
        more = buffer.take(at + (length - 1)) >= _MORE
        if not more.any():
            return at + length
        if not more.all():
            end = at + length
            end[more] = varints(buffer, at[more])[1]
            return end
    return at + _LONGEST
