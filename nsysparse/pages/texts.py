"""The distinct texts of a column: rows get codes, and each text is kept once.

Names repeat in every row of a trace. Most rows are therefore looked up in bulk, by a hash of all their bytes and then
by comparing all their bytes; Python sees a text when it is new. The hash is keyed at random, and what it takes for
equal is compared, so texts chosen to collide cost time at worst, and no more than a dictionary of them would.
"""

import os
import threading
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nsysparse.pages.arrays import PAD, WORD, Bytes, Flags, Ints, Words, words

_BULK = 128  # bytes; longer texts are looked up one by one
_MOST_KNOWN = 1 << 17  # texts looked up in bulk; a column with more hardly repeats itself
_SPREAD = 4  # places of the table for each text, at least
_TRIES = 8  # neighbouring places at which a text may be
_LEAST_NEW = 16
_FOLD = np.uint64(29)
_BITS = 8 * WORD
_KEYS = np.frombuffer(os.urandom(2 * WORD), np.uint64) | np.uint64(1)
_NONE = -1

Piece: TypeAlias = tuple[Ints | slice, Words]  # rows that are so long, and one word of each
_EVERY = slice(None)


class Texts:
    """Distinct texts of one column over all its chunks; threads may add to it at the same time.

    Codes count up from 0 in the order in which texts happened to come, which differs from run to run: sort by the texts
    before anything of codes shows.
    """

    def __init__(self) -> None:
        """Start with no texts."""
        self.values: list[bytes] = []
        self._codes: dict[bytes, int] = {}
        self._lock = threading.Lock()
        self._known = _know([])
        self._new = 0

    def code(self, buffer: Bytes, at: Ints, sizes: Ints) -> Ints:
        """The code of each text.

        Args:
            buffer: Where they lie; `PAD` bytes follow the last of them.
            at: Where each begins.
            sizes: Bytes of each.
        """
        found = np.full(len(at), _NONE, np.int64)
        rows = np.flatnonzero(sizes <= _BULK)
        every = len(rows) == len(at)
        short = _Short(buffer, at if every else at[rows], sizes if every else sizes[rows])
        codes = self._known.find(short)
        missed = np.flatnonzero(codes == _NONE)
        if len(missed):
            codes[missed] = self._add(short, missed)
        found[rows] = codes
        rest = np.flatnonzero(found == _NONE)
        if len(rest):
            found[rest] = self._each(buffer, at[rest], sizes[rest])
        return found

    def _add(self, short: "_Short", missed: Ints) -> Ints:
        """Codes of texts that are not known in bulk: one look-up for those that are equal; the rest stays `_NONE`."""
        _, firsts, group = np.unique(short.hashes[missed], return_index=True, return_inverse=True)
        some = missed[firsts]
        codes = self._each(short.buffer, short.at[some], short.sizes[some])[group]
        codes[~short.equal(missed, some[group])] = _NONE
        return codes

    def _each(self, buffer: Bytes, at: Ints, sizes: Ints) -> Ints:
        """Codes of texts looked up one by one."""
        view = buffer.data
        texts = [bytes(view[a : a + n]) for a, n in zip(at.tolist(), sizes.tolist(), strict=True)]
        with self._lock:
            codes = np.array([self._code(text) for text in texts], np.int64)
            self._new += len(texts)
            # Knowing them in bulk costs as much as all of them, so it waits until as many were looked up.
            if self._new >= self._known.count + _LEAST_NEW and len(self.values) <= _MOST_KNOWN:
                self._known, self._new = _know(self.values), 0
        return codes

    def _code(self, text: bytes) -> int:
        code = self._codes.setdefault(text, len(self.values))
        if code == len(self.values):
            self.values.append(text)
        return code


class _Short:
    """Texts of at most `_BULK` bytes, as words, and the hash of each."""

    def __init__(self, buffer: Bytes, at: Ints, sizes: Ints) -> None:
        self.buffer, self.at, self.sizes = buffer, at, sizes
        self.pieces: list[Piece] = []
        self.hashes = sizes.astype(np.uint64) * _KEYS[0]
        # The first words of all texts mostly: a slice saves looking each row up.
        rows: Ints | slice = _EVERY if sizes.all() else np.flatnonzero(sizes)
        for start in range(0, _BULK, WORD):
            if start:
                longer = sizes[rows] > start
                if not longer.all():
                    rows = np.flatnonzero(longer) if isinstance(rows, slice) else rows[longer]
            piece = words(buffer, at[rows] + start)
            # Of the last word, only what belongs to the text.
            piece >>= np.maximum(0, _BITS - 8 * (sizes[rows] - start)).astype(np.uint64)
            if len(piece) == 0:
                break
            self.pieces.append((rows, piece))
            mixed = (self.hashes[rows] ^ piece) * _KEYS[1]
            self.hashes[rows] = mixed ^ (mixed >> _FOLD)

    def equal(self, rows: Ints, others: Ints) -> Flags:
        """Whether the texts of two rows are the same, byte by byte, pair by pair."""
        same: Flags = self.sizes[rows] == self.sizes[others]
        word = np.zeros(len(self.at), np.uint64)
        for long, piece in self.pieces:
            # What is left of the word before stands in rows of other lengths only.
            word[long] = piece
            same &= word[rows] == word[others]
        return same


@dataclass(frozen=True, slots=True)
class _Known:
    """Texts that are found in bulk. Never changed: a thread that has it reads it in peace.

    Attributes:
        count: Of all texts there were, the longer ones too.
        table: Codes, at the place that the lowest bits of the hash say or a few further; `_NONE` where there is none.
        hashes: Per code. Zero for texts that are not in the table, as all of the below.
        sizes: Bytes of each.
        starts: Index of the first word of each.
        words: Words of all, in order.
    """

    count: int
    table: Ints
    hashes: Words
    sizes: Ints
    starts: Ints
    words: Words

    def find(self, short: _Short) -> Ints:
        """The code of each text, or `_NONE`."""
        codes = np.full(len(short.at), _NONE, np.int64)
        if self.count == 0:
            return codes
        rows, hashes = np.arange(len(codes)), short.hashes
        for place in range(_TRIES):
            tried = self.table.take((hashes.view(np.int64) + place) & (len(self.table) - 1))
            hit = (tried != _NONE) & (self.hashes.take(tried) == hashes)
            codes[rows[hit]] = tried[hit]
            more = ~hit & (tried != _NONE)
            if not more.any():
                break
            rows, hashes = rows[more], hashes[more]
        same = (codes != _NONE) & (self.sizes.take(codes) == short.sizes)
        starts = self.starts.take(codes)
        for index, (long, piece) in enumerate(short.pieces):
            same[long] &= self.words.take(starts[long] + index, mode="clip") == piece
        codes[~same] = _NONE
        return codes


def _know(texts: list[bytes]) -> _Known:
    lengths = np.array([len(text) for text in texts], np.int64)
    codes = np.flatnonzero(lengths <= _BULK)
    sizes = lengths[codes]
    buffer = np.frombuffer(b"".join([*(texts[code] for code in codes.tolist()), bytes(PAD)]), np.uint8)
    short = _Short(buffer, np.cumsum(sizes) - sizes, sizes)
    count = -(-sizes // WORD)
    first = np.cumsum(count) - count
    known = np.zeros(max(1, int(count.sum())), np.uint64)
    for index, (long, piece) in enumerate(short.pieces):
        known[first[long] + index] = piece
    hashes, starts = np.zeros(len(texts), np.uint64), np.zeros(len(texts), np.int64)
    hashes[codes], starts[codes] = short.hashes, first
    table = np.full(1 << (_SPREAD * len(texts)).bit_length(), _NONE, np.int64)
    for place in range(_TRIES):
        at = (hashes[codes].view(np.int64) + place) & (len(table) - 1)
        free = table[at] == _NONE
        table[at[free]] = codes[free]
        codes = codes[table[at] != codes]
    return _Known(len(texts), table, hashes, lengths, starts, known)
