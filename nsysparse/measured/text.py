"""Reading what strangers' programs printed: in one pass, with numbers in bounds, and never echoed as it stands."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Any

from nsysparse.measured.ceilings import Rate

MIB = 2**20
GIB = 2**30
MOST = 1e15
"""No size, count or rate in bytes per second of today's machines comes near it."""
_LONGEST_LINE = 4096
_LONGEST_EXCERPT = 60
_MOST_STARTS = 16
_NUMBER = re.compile(r"\+?\d{1,25}(?:\.\d{0,25})?(?:[eE][+-]?\d{1,3})?", re.ASCII)


class RefusedError(Exception):
    """A file of a known tool that proves no ceiling.

    Args:
        message: Why, one sentence.
        hint: What to do next, one sentence or command.
        line: Where it shows, counted from 1; None where it is about the whole file.
    """

    def __init__(self, message: str, hint: str, line: int | None = None) -> None:
        """Keep the parts apart: only the caller knows the name of the file."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line


def lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, counted from 1, without those that are too long for anything a benchmark prints."""
    return ((at, line) for at, line in enumerate(text.split("\n"), 1) if len(line) <= _LONGEST_LINE)


def starts_as_json(text: str) -> bool:
    """Whether the file is a JSON document from its first character on."""
    return text.lstrip()[:1] == "{"


def find_json(text: str, key: str) -> dict[str, Any] | None:
    """The first JSON object that begins a line and has `key`; what programs print around it does not matter."""
    decoder = json.JSONDecoder()
    starts = re.finditer(r"^[ \t]*\{", text, re.MULTILINE)
    for start, _ in zip(starts, range(_MOST_STARTS), strict=False):
        try:
            found, _ = decoder.raw_decode(text, start.end() - 1)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and key in found:
            return found
    return None


def number(value: object) -> float | None:
    """A number from 0 to `MOST` as a benchmark prints it, text or JSON; None for anything else, as `N/A`."""
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MOST and isfinite(value) else None


def whole(value: object) -> int | None:
    """A count or size from 0 to `MOST`; None for anything else."""
    found = number(value)
    return int(found) if found is not None and found == int(found) else None


def rate_of(size: int | None, bytes_per_s: float | None) -> Rate | None:
    """A row of a curve; None where nothing moved or the figures are out of bounds."""
    if bytes_per_s is None or not 0 < bytes_per_s < MOST or (size is not None and not 0 < size < MOST):
        return None
    return Rate(size, bytes_per_s)


def curve_of(rates: Iterable[Rate], pick: Callable[[list[float]], float]) -> tuple[Rate, ...]:
    """One rate per size, by size; `pick` decides where a size was measured several times."""
    by_size: dict[int, list[float]] = {}
    for rate in rates:
        by_size.setdefault(rate.size_bytes or 0, []).append(rate.bytes_per_s)
    return tuple(Rate(size or None, pick(found)) for size, found in sorted(by_size.items()))


def excerpt(text: str) -> str:
    """A short piece of a file for a message: printable ASCII only, in quotes."""
    shown = "".join(each if each.isascii() and each.isprintable() else "?" for each in text.strip()[:_LONGEST_EXCERPT])
    return f"'{shown}{'…' if len(text.strip()) > _LONGEST_EXCERPT else ''}'"


def sentences(parts: Iterable[str]) -> str:
    """Those that say something, as one paragraph."""
    return " ".join(part for part in parts if part)
