"""Tables in the output of a benchmark, read by the names in their header, whatever stands around and between them."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nsysparse.measured.text import number

_TITLE = re.compile(r"Batch(?: Size)?\b|Threads\b|[A-Za-z][\w/. ]{0,30}?\([^()]{1,12}\)")


@dataclass(frozen=True, slots=True)
class Header:
    """The names of the columns, in order, and what a launcher printed before them (`[1,0]<stdout>:`)."""

    columns: tuple[str, ...]
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table: where it stands, counted from 1, and one word per column."""

    line: int
    header: Header
    words: tuple[str, ...]

    def word(self, column: str, nth: int = 0) -> str | None:
        """What stands under the name, which may occur several times; None where there is no such column."""
        places = [at for at, name in enumerate(self.header.columns) if name == column]
        return self.words[places[nth]] if nth < len(places) else None

    def number(self, column: str, nth: int = 0) -> float | None:
        """The number under the name; None where there is none, as `N/A`."""
        return number(self.word(column, nth))


def rows(lines: Iterable[tuple[int, str]], header_of: Callable[[str], Header | None]) -> Iterator[Row]:
    """The rows of all tables: lines below a header that begin with a number and have a word for every column.

    Anything else may stand between them: warnings, log lines, the header again.
    """
    header: Header | None = None
    strip = _without_prefix("")
    for at, line in lines:
        found = header_of(line)
        if found is not None:
            header, strip = found, _without_prefix(found.prefix)
        elif header is not None:
            words = tuple(strip(line).split())
            if len(words) == len(header.columns) and number(words[0]) is not None:
                yield Row(at, header, words)


def titled(line: str) -> tuple[str, ...]:
    """The names in a header of words with units in brackets: `Block Size (B)`, `Batch Size`, `B/W (GB/Sec)`."""
    return tuple(found.group().strip() for found in _TITLE.finditer(line))


def _without_prefix(prefix: str) -> Callable[[str], str]:
    """What takes a launcher's prefix off a line; numbers in it, as ranks and times, may differ from line to line."""
    if not prefix.strip():
        return str
    shape = re.compile(r"\s*" + r"\d+".join(re.escape(part) for part in re.split(r"\d+", prefix.strip())))

    def strip(line: str) -> str:
        found = shape.match(line)
        return line[found.end() :] if found else line

    return strip
