"""The tree of a table, from its root to the list of its leaf pages, which hold the rows in the order of rowids."""

from dataclasses import dataclass

import numpy as np

from nsysparse.pages.arrays import Bytes, Ints, varints
from nsysparse.pages.file import HEADER, File
from nsysparse.pages.pages import HEADS, INTERIOR, LEAF, take_pages
from nsysparse.pages.refusals import Damaged, NotCovered

_INDEX = (2, 10)
_DEEPEST = 20  # levels; more than any file of 2^32 pages needs, and as many as SQLite itself follows
_AT_ONCE = 1 << 21  # bytes of interior pages in memory
_RIGHTMOST = HEADS[INTERIOR] - 4
_HIGHEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaf pages of a table, in the order of its rows.

    Attributes:
        pages: Page numbers, each once.
        highest: The highest rowid that each page may hold; the next page's are higher. Strictly increasing.
    """

    pages: Ints
    highest: Ints


def find_leaves(file: File, root: int) -> Leaves:
    """Walk a table's tree level by level.

    Args:
        file: The file.
        root: Its root page, as `sqlite_master` says.

    Raises:
        NotCovered: There is no tree of a table at `root`: a view, a virtual table or one WITHOUT ROWID.
        Damaged: The tree is none: pages that do not exist or come twice, levels that differ, keys out of order.
    """
    if root <= 0:
        raise NotCovered("this is no table with pages of its own")
    level, highest = np.array([root], np.int64), np.array([_HIGHEST])
    file.check(level, "the schema")
    if _kind(file, root) in _INDEX:
        raise NotCovered("this table is stored as an index (WITHOUT ROWID)")
    seen = level
    for _ in range(_DEEPEST):
        if _kind(file, int(level[0])) == LEAF:
            return Leaves(level, highest)
        level, highest = _below(file, level, highest)
        seen = np.sort(np.concatenate([seen, level]))
        twice = seen[1:] == seen[:-1]
        if twice.any():
            raise Damaged(f"page {seen[1:][twice][0]}: the tree leads there twice")
        unordered = highest[1:] <= highest[:-1]
        if unordered.any():
            raise Damaged(f"page {level[1:][unordered][0]}: the tree's keys are out of order before it")
    raise Damaged(f"page {root}: the tree below it is deeper than any")


def _kind(file: File, page: int) -> int:
    return int(file.read(np.array([page], np.int64))[HEADER if page == 1 else 0])


def _below(file: File, level: Ints, highest: Ints) -> tuple[Ints, Ints]:
    """The pages below a level of interior pages, and the highest rowid of each."""
    step = max(1, _AT_ONCE // file.page_size)
    parts = [
        _children(file, level[start : start + step], highest[start : start + step])
        for start in range(0, len(level), step)
    ]
    return np.concatenate([pages for pages, _ in parts]), np.concatenate([keys for _, keys in parts])


def _children(file: File, numbers: Ints, highest: Ints) -> tuple[Ints, Ints]:
    found = take_pages(file.read(numbers), numbers, INTERIOR, file)
    empty = (found.counts == 0) & (numbers != 1)
    if empty.any():
        raise Damaged(f"page {numbers[empty][0]}: an interior page without cells")
    keys, ends = varints(found.buffer, found.cells + 4)
    beyond = ends > found.origins + file.usable
    if beyond.any():
        raise Damaged(f"page {numbers[found.origins[beyond][0] // file.page_size]}: a cell runs past its end")
    # Behind the cells of each page comes its rightmost child, whose keys end where those of the page itself do.
    last = found.firsts + found.counts
    pages = np.insert(_numbers(found.buffer, found.cells), last, _numbers(found.buffer, found.heads + _RIGHTMOST))
    file.check(pages, "an interior page of a table")
    return pages, np.insert(keys, last, highest)


def _numbers(buffer: Bytes, at: Ints) -> Ints:
    """The numbers of four bytes at each position."""
    found = np.zeros(len(at), np.int64)
    for byte in range(4):
        found = (found << 8) | buffer.take(at + byte)
    return found
