"""Records that go on beyond their page: put together where a wanted column needs it."""

import threading

import numpy as np

from nsysparse.pages.arrays import PAD, Bytes, Flags
from nsysparse.pages.cells import Cells
from nsysparse.pages.file import File
from nsysparse.pages.refusals import Damaged, NotCovered

_NEXT = 4  # bytes at the start of an overflow page: the number of the next
_MOST = 1 << 26  # bytes put together for one chunk of pages


class Chains:
    """Overflow pages of a table, followed by many threads. No page is of two records, so a second visit is damage."""

    def __init__(self, file: File) -> None:
        """Start with no page visited; one object for one pass over a table."""
        self._file = file
        self._visited: set[int] = set()
        self._lock = threading.Lock()

    def complete(self, cells: Cells, rows: Flags) -> Cells:
        """The same cells with the whole records of `rows` in the buffer.

        Raises:
            Damaged: A chain ends early, leads to no page, or to one that belongs to another record.
            NotCovered: Together they are too long.
        """
        which = np.flatnonzero(rows)
        starts = cells.starts[which]
        sizes = cells.whole[which] - starts
        if sizes.sum() > _MOST:
            raise NotCovered(f"rows near page {cells.numbers(which)[0]} have {sizes.sum()} bytes beyond their pages")
        records = [
            self._record(cells.buffer, start, end, size, page)
            for start, end, size, page in zip(
                starts.tolist(),
                cells.ends[which].tolist(),
                sizes.tolist(),
                cells.numbers(which).tolist(),
                strict=True,
            )
        ]
        size = len(cells.buffer)
        buffer = np.concatenate([cells.buffer, np.frombuffer(b"".join(records), np.uint8), np.zeros(PAD, np.uint8)])
        moved = cells.only(np.ones(len(cells), np.bool_))
        moved.buffer = buffer
        offset = size + np.cumsum(sizes) - sizes - starts
        for positions in (moved.starts, moved.types, moved.body, moved.whole):
            positions[which] += offset
        moved.ends[which] = moved.whole[which]
        return moved

    def _record(self, buffer: Bytes, start: int, end: int, size: int, owner: int) -> bytes:
        parts = [buffer[start:end].tobytes()]
        following = int.from_bytes(buffer[end : end + _NEXT].tobytes(), "big")
        missing = size - (end - start)
        while missing > 0:
            content = self._page(following, owner)
            following = int.from_bytes(content[:_NEXT], "big")
            part = content[_NEXT : min(_NEXT + missing, self._file.usable)]
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _page(self, number: int, owner: int) -> bytes:
        page = np.array([number], np.int64)
        self._file.check(page, f"a row on page {owner}")
        with self._lock:
            if number in self._visited:
                raise Damaged(f"page {number}: two rows go on there, one of them on page {owner}")
            self._visited.add(number)
        return self._file.read(page).tobytes()
