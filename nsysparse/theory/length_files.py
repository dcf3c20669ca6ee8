"""Lengths of requests out of CSV and JSON lines, without trust: of every line only the one field, within bounds."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from nsysparse.errors import InputError, UsageError
from nsysparse.lengths import MOST_TOKENS, Histogram, histogram

# The names under which published request logs and benchmarks keep the length of a prompt, the plainest first:
# Mooncake's traces say input_length, Azure's ContextTokens, BurstGPT's "Request tokens".
COLUMNS = (
    "prompt_tokens",
    "num_prompt_tokens",
    "prompt_length",
    "prompt_len",
    "input_tokens",
    "input_length",
    "input_len",
    "context_tokens",
    "request_tokens",
    "tokens",
)
MOST_BYTES = 1_000_000_000
"""A week of a large service's requests has some hundred million."""
MOST_LINE_BYTES = 1_000_000
"""A line may hold the prompt itself."""
MOST_LENGTHS = 1_000_000
"""More different lengths are no lengths."""

_COUNT = re.compile(r"\+?(\d{1,20})(?:\.0{0,20})?", re.ASCII)
_LONGEST_EXCERPT = 40
_NAME_IT = "Name it: --length-column NAME"


def read_lengths(path: Path, column: str | None = None) -> Histogram:
    """The lengths in a file of requests, one a line.

    Args:
        path: CSV whose first line names the columns (split by commas, semicolons or tabs), or JSON, one object a line.
        column: The column or key that holds the tokens of the prompt; None takes the first of `COLUMNS` that is there.
            Case, blanks and underscores make no difference.

    Raises:
        InputError: It cannot be read, is too large, or a line holds no length; the message names the line.
        UsageError: It has no such column.
    """
    name = path.name or str(path)
    try:
        is_there = path.is_file()
    except (OSError, ValueError):  # a name that no disk can have
        is_there = False
    if not is_there:
        raise InputError(f"{name[:255]}: there is no such file.", "Give a CSV, JSON lines or trace file.")
    try:
        with path.open("rb") as file:
            return _read(_lines(file, name), name, column)
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror}).", "Check path and rights.") from error


def _read(lines: Iterator[tuple[int, str]], name: str, column: str | None) -> Histogram:
    first = next(lines, None)
    if first is None:
        raise InputError(f"{name}: is empty.", "Give one request a line.")
    if first[1].lstrip()[:1] == "[":
        raise InputError(f"{name}: is one JSON array.", "Write one object a line, as `jq -c '.[]'` does.")
    rows = _objects if first[1].lstrip()[:1] == "{" else _table
    chosen, values = rows(first, lines, name, column)
    counted = histogram(f"{name}, {chosen}", _bounded(values, name))
    if not counted.total:
        raise InputError(f"{name}: {chosen} holds no length in any line.", _NAME_IT)
    return counted


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 1 on."""
    read, number = 0, 0
    while line := file.readline(MOST_LINE_BYTES + 1):
        number += 1
        read += len(line)
        if len(line) > MOST_LINE_BYTES:
            raise InputError(f"{name}, line {number}: has more than {MOST_LINE_BYTES:,} bytes.", "One request a line.")
        if read > MOST_BYTES:
            raise InputError(f"{name}: has more than {MOST_BYTES:,} bytes.", "Take a part of it: head -n 1000000")
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}, line {number}: is not UTF-8 text.", "Save it as UTF-8.") from error
        if text.strip():
            yield number, text


def _objects(
    first: tuple[int, str], lines: Iterator[tuple[int, str]], name: str, column: str | None
) -> tuple[str, Iterator[int | None]]:
    """The key that holds lengths, by the first object, and its value in each of them."""
    start = _object(*first, name)
    key = _chosen(list(start), column, name)

    def values() -> Iterator[int | None]:
        yield _told(start.get(key), first[0], name, key)
        for number, text in lines:
            yield _told(_object(number, text, name).get(key), number, name, key)

    return key, values()


def _object(number: int, text: str, name: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}, line {number}: is no JSON object.", "Write one object a line.") from error
    if not isinstance(found, dict):
        raise InputError(f"{name}, line {number}: is no JSON object.", "Write one object a line.")
    return found


def _table(
    first: tuple[int, str], lines: Iterator[tuple[int, str]], name: str, column: str | None
) -> tuple[str, Iterator[int | None]]:
    """The column that holds lengths, by the titles in the first line, and its value in each line below."""
    delimiter = max(",;\t", key=first[1].count)
    at = first[0]

    def following() -> Iterator[str]:
        nonlocal at
        for at, text in lines:  # noqa: B007 (messages name the line that was read last)
            yield text

    titles = next(_records([first[1]], delimiter, lambda: at, name))
    key = _chosen([title.strip() for title in titles], column, name)
    place = [title.strip() for title in titles].index(key)

    def values() -> Iterator[int | None]:
        for record in _records(following(), delimiter, lambda: at, name):
            if len(record) != len(titles):
                raise InputError(
                    f"{name}, line {at}: has {len(record)} fields under {len(titles)} titles.",
                    "Quote fields that hold the delimiter.",
                )
            yield _told(record[place], at, name, key)

    return key, values()


def _records(lines: Iterable[str], delimiter: str, at: Callable[[], int], name: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=delimiter, strict=True)
    except csv.Error as error:
        raise InputError(f"{name}, line {at()}: is no CSV ({error}).", "Quote texts; leave long ones out.") from error


def _chosen(titles: Sequence[str], column: str | None, name: str) -> str:
    """The title of the column to read, as the file writes it."""
    plain = [_plain(title) for title in titles]
    wanted = COLUMNS if column is None else (column,)
    for each in wanted:
        found = [title for title, key in zip(titles, plain, strict=True) if key == _plain(each)]
        exact = [title for title in found if title == each]
        if len(found) > 1 and len(exact) != 1:
            raise InputError(f"{name}: {len(found)} columns are called {_excerpt(each)}.", "Rename all but one.")
        if found:
            return (exact or found)[0]
    there = ", ".join(_excerpt(title) for title in titles[:8]) + (", …" if len(titles) > 8 else "")  # noqa: PLR2004
    if column is not None:
        raise UsageError(f"{name}: has no column {_excerpt(column)}.", f"It has {there}.")
    raise InputError(f"{name}: no column is known to hold lengths of prompts. It has {there}.", _NAME_IT)


def _told(value: object, number: int, name: str, key: str) -> int | None:
    """A count of tokens; None where the field is missing or empty."""
    if value is None or value == "":
        return None
    found = None if isinstance(value, bool) else _COUNT.fullmatch(str(value).strip())
    if found is None:
        if isinstance(value, str) and not value.strip():
            return None
        raise InputError(
            f"{name}, line {number}: {_excerpt(key)} is {_excerpt(str(value))}, which is no count of tokens.",
            "Correct the line, or name another column: --length-column NAME",
        )
    if (tokens := int(found[1])) > MOST_TOKENS:
        raise InputError(f"{name}, line {number}: {_excerpt(key)} has more than {MOST_TOKENS:,} tokens.", _NAME_IT)
    return tokens


def _bounded(values: Iterable[int | None], name: str) -> Iterator[int | None]:
    different: set[int | None] = set()
    for value in values:
        different.add(value)
        if len(different) > MOST_LENGTHS:
            raise InputError(f"{name}: has more than {MOST_LENGTHS:,} different lengths.", _NAME_IT)
        yield value


def _plain(title: str) -> str:
    return re.sub(r"[\s_-]+", "", title).casefold()


def _excerpt(text: str) -> str:
    shown = text if len(text) <= _LONGEST_EXCERPT else text[: _LONGEST_EXCERPT - 1] + "…"
    return repr(shown)
