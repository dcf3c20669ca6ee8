"""Pages of a tree in a buffer: their kind, and where their cells begin."""

from dataclasses import dataclass

import numpy as np

from nsysparse.pages.arrays import Bytes, Ints
from nsysparse.pages.file import HEADER, File
from nsysparse.pages.refusals import Damaged

LEAF, INTERIOR = 13, 5
HEADS = {LEAF: 8, INTERIOR: 12}  # bytes before the array of cell pointers
_KINDS = {LEAF: "a leaf", INTERIOR: "an interior page"}
_LEAST_CELL = 4  # bytes that every cell takes


@dataclass(frozen=True, slots=True)
class Pages:
    """Some pages of one kind in a buffer, each at a multiple of the page size, and their cells in order.

    Attributes:
        buffer: The pages, padded.
        size: Bytes of a page.
        numbers: Their page numbers.
        heads: Where each page's header begins.
        counts: Cells of each page; none has 0, but for an empty root.
        firsts: Index of each page's first cell among all cells.
        room: Bytes that each page has for cells.
        origins: Per cell, where its page begins.
        cells: Per cell, where it begins. Every cell lies at least `_LEAST_CELL` bytes before the end of its page.
    """

    buffer: Bytes
    size: int
    numbers: Ints
    heads: Ints
    counts: Ints
    firsts: Ints
    room: Ints
    origins: Ints
    cells: Ints


def count_cells(buffer: Bytes, numbers: Ints, kind: int, file: File) -> tuple[Ints, Ints, Ints]:
    """Where the header of each page begins, how many cells it has and how many bytes it leaves them.

    Raises:
        Damaged: A page is of another kind, has no cell, though it is no root, or more than it can hold.
    """
    # The file's own header comes first on page 1.
    heads = np.arange(len(numbers)) * file.page_size + np.where(numbers == 1, HEADER, 0)
    other = buffer[heads] != kind
    if other.any():
        raise Damaged(f"page {numbers[other][0]}: the tree has {_KINDS[kind]} of a table there, and this is none")
    counts = (buffer[heads + 3].astype(np.int64) << 8) | buffer[heads + 4]
    room = file.usable - np.where(numbers == 1, HEADER, 0) - HEADS[kind] - 2 * counts
    if (room < 0).any():
        raise Damaged(f"page {numbers[room < 0][0]}: it cannot hold the number of cells that it says")
    return heads, counts, room


def take_pages(buffer: Bytes, numbers: Ints, kind: int, file: File) -> Pages:
    """The cells of pages.

    Raises:
        Damaged: As `count_cells` says, or a cell would begin outside the part of its page that is for cells.
    """
    heads, counts, room = count_cells(buffer, numbers, kind, file)
    firsts = np.cumsum(counts) - counts
    pointers_at = np.repeat(heads + HEADS[kind] - 2 * firsts, counts) + 2 * np.arange(counts.sum())
    # Page sizes and both headers are even, so pointers are aligned pairs of bytes.
    pointers = buffer[: len(buffer) // 2 * 2].view(">u2").take(pointers_at >> 1).astype(np.int64)
    filled = np.flatnonzero(counts)
    if len(filled):
        least = np.minimum.reduceat(pointers, firsts[filled])
        most = np.maximum.reduceat(pointers, firsts[filled])
        wrong = (least < file.usable - room[filled]) | (most > file.usable - _LEAST_CELL)
        if wrong.any():
            raise Damaged(f"page {numbers[filled][wrong][0]}: a cell begins outside the part that is for cells")
    origins = np.repeat(np.arange(len(numbers)) * file.page_size, counts)
    return Pages(buffer, file.page_size, numbers, heads, counts, firsts, room, origins, origins + pointers)
