"""A SQLite file as pages: what its header says, whether pages tell all of it, and reading them.

https://sqlite.org/fileformat2.html describes the format. Pages are read into buffers of ours, never mapped: mapped
pages would count as memory of the process.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from nsysparse.pages.arrays import PAD, Bytes, Ints
from nsysparse.pages.refusals import Damaged, NotCovered

HEADER = 100  # bytes at the start of page 1
_MAGIC = b"SQLite format 3\x00"
_FRACTIONS = b"\x40\x20\x20"  # the only shares of a page that the format allows a cell
_SMALLEST, _LARGEST = 512, 65536
_LEAST_USABLE = 480
_NEWEST_VERSION, _NEWEST_SCHEMA = 2, 4
_UTF_8 = 1
_LOCK_BYTE = 1 << 30  # the page that holds this byte is kept for locks
_MAGIC_OF_JOURNAL = 8  # bytes; zeros when the journal is over


class File:
    """An open SQLite file whose pages hold all of its content: a context manager; threads may read at the same time.

    Args:
        path: The file. It is opened for reading only.

    Raises:
        NotCovered: Pages alone do not tell the content (a WAL or an unfinished journal beside it), or the file uses
            what is not read here (an encoding other than UTF-8, a newer format), or cannot be opened.
        Damaged: It is no SQLite file, or shorter than its header says.
    """

    def __init__(self, path: Path) -> None:
        """Open and check; see the class."""
        self._path = path
        self._descriptor = _opened(path)
        try:
            self._header = _header(self._descriptor)
            self._refuse_writers()
            self._take_header()
        except BaseException:
            self.close()
            raise

    def _take_header(self) -> None:
        header = self._header
        size = int.from_bytes(header[16:18], "big")
        self.page_size = _LARGEST if size == 1 else size
        if self.page_size < _SMALLEST or self.page_size & (self.page_size - 1):
            raise Damaged(f"page 1: {size} is no size of pages")
        self.usable = self.page_size - header[20]
        if self.usable < _LEAST_USABLE:
            raise Damaged(f"page 1: {header[20]} bytes of each page are kept for others, which leaves too few")
        if header[21:24] != _FRACTIONS:
            raise Damaged("page 1: the shares of a page that a cell may take are not those of the format")
        if header[19] > _NEWEST_VERSION or int.from_bytes(header[44:48], "big") > _NEWEST_SCHEMA:
            raise NotCovered("the file's format is newer than what pages are read of")
        if int.from_bytes(header[56:60], "big") != _UTF_8:
            raise NotCovered("texts are not in UTF-8")
        length = os.fstat(self._descriptor).st_size
        self.page_count = length // self.page_size
        # The count in the header holds when the writer that counted was the last to write.
        counted = int.from_bytes(header[28:32], "big")
        if counted and header[24:28] == header[92:96]:
            if counted > self.page_count:
                held = f"{length} bytes, {counted} pages of {self.page_size} bytes should be there"
                raise Damaged(f"page {self.page_count + 1}: the file is truncated: it has {held}")
            self.page_count = counted
        self.lock_page = _LOCK_BYTE // self.page_size + 1

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; nothing can be read afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def refuse_changes(self) -> None:
        """Raise `NotCovered` when the file was written to since it was opened: what was read may be a mixture."""
        self._refuse_writers()
        if _header(self._descriptor) != self._header:
            raise NotCovered("the file was written to while it was read")

    def check(self, pages: Ints, named_by: str) -> None:
        """Raise `Damaged` when one of `pages` cannot be a page of a tree; `named_by` is who names them."""
        wrong = (pages < 1) | (pages > self.page_count) | (pages == self.lock_page)
        if wrong.any():
            page = int(pages[wrong][0])
            raise Damaged(f"page {page}: {named_by} names it, which is not among the file's {self.page_count} pages")

    def read(self, pages: Ints, room: Callable[[int], Bytes] = lambda size: np.empty(size, np.uint8)) -> Bytes:
        """The content of `pages`, one after the other, and `PAD` bytes of zeros; neighbours are read in one call.

        Args:
            pages: Page numbers that passed `check`.
            room: Gives a buffer of at least so many bytes, to be written over; the result is a part of it.
        """
        size = self.page_size
        buffer = room(len(pages) * size + PAD)[: len(pages) * size + PAD]
        buffer[len(pages) * size :] = 0
        view = buffer.data
        firsts = np.flatnonzero(np.diff(pages, prepend=-1) != 1)
        for first, last in zip(firsts.tolist(), [*firsts[1:].tolist(), len(pages)], strict=True):
            self._fill(view[first * size : last * size], int(pages[first]))
        return buffer

    def _fill(self, view: memoryview, page: int) -> None:
        start, done = (page - 1) * self.page_size, 0
        while done < len(view):
            try:
                got = os.preadv(self._descriptor, [view[done:]], start + done)
            except OSError as error:
                raise Damaged(f"page {page + done // self.page_size}: {error.strerror}") from error
            if got == 0:
                raise Damaged(f"page {page + done // self.page_size}: the file ends before it: it is truncated")
            done += got

    def _refuse_writers(self) -> None:
        # SQLite follows links before it names the files beside.
        for path in {self._path, self._path.resolve()}:
            if Path(f"{path}-wal").exists():
                raise NotCovered("a write-ahead log (-wal) lies beside the file")
            try:
                with Path(f"{path}-journal").open("rb") as journal:
                    unfinished = any(journal.read(_MAGIC_OF_JOURNAL))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise NotCovered(f"the -journal beside the file cannot be read: {error.strerror}") from error
            if unfinished:
                raise NotCovered("a journal of an unfinished transaction (-journal) lies beside the file")


def _opened(path: Path) -> int:
    if not hasattr(os, "preadv"):
        raise NotCovered("this system cannot read at positions of a file")
    try:
        # Anything else could block, or has no pages.
        if not stat.S_ISREG(path.stat().st_mode):
            raise NotCovered("this is not a regular file")
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NotCovered(f"the file cannot be opened: {error.strerror}") from error


def _header(descriptor: int) -> bytes:
    try:
        header = os.pread(descriptor, HEADER, 0)
    except OSError as error:
        raise Damaged(f"page 1: {error.strerror}") from error
    if not header:
        raise NotCovered("the file is empty")
    if not header.startswith(_MAGIC):
        raise Damaged("page 1: this is no SQLite file")
    if len(header) < HEADER:
        raise Damaged("page 1: the file is truncated within its header")
    return header
