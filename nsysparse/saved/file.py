"""A JSON file that somebody else may have made, read without trusting it."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsysparse.errors import InputError
from nsysparse.saved.decoding import Wrong, pointer, quoted

MAX_BYTES = 512 * 2**20
"""A report of 20,000 requests and 200,000 cells has 44 MB. What Python makes of JSON takes nine times as much, so more
than this would not fit into the memory of a usual runner of CI."""
_SNIFFED = 4096
_MOST_STEPS = 8
"""What lies deeper is no part of a report, and a message has an end."""
_BLANK = b" \t\r\n"
_SIGNATURE = b'"nsysparse": "'
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _Odd:
    """What stands in the place of something that JSON, or its readers, do not agree on."""

    what: str


def is_saved(path: Path) -> bool:
    """Whether the file looks like a saved report, not like a trace: its text begins a JSON object."""
    try:
        if not path.is_file():  # a pipe would wait for a writer
            return False
        with path.open("rb") as file:
            return file.read(_SNIFFED).removeprefix(_UTF8_MARK).lstrip(_BLANK).startswith(b"{")
    except (OSError, RuntimeError, ValueError):
        return False


def is_report(path: Path) -> bool:
    """Whether the file looks like a report that nsysparse wrote, not like any JSON: for files that nobody named."""
    if not is_saved(path):
        return False
    with path.open("rb") as file:
        return _SIGNATURE in file.read(_SNIFFED)


def parsed(path: Path) -> object:
    """What the file holds, in JSON's own types.

    Raises:
        InputError: The file is missing, no regular file, unreadable, or too large.
        Wrong: It is no JSON, or JSON that readers understand differently.
    """
    odd: list[_Odd] = []

    def once(pairs: list[tuple[str, object]]) -> object:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        odd.append(_Odd(f"holds the key {quoted(_twice(pairs))} twice"))
        return odd[-1]

    def constant(name: str) -> object:
        odd.append(_Odd(f"is {name}, which is no number of JSON"))
        return odd[-1]

    text = _text(path)
    try:
        whole = json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise Wrong(f"no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise Wrong("no report of nsysparse: its lists and objects are nested too deep") from None
    except ValueError:  # Python reads no integer of thousands of digits, as that takes time squared
        raise Wrong("no report of nsysparse: it holds a number of thousands of digits") from None
    if odd:
        raise _place_of_odd(whole)
    return whole


def _text(path: Path) -> str:
    data = _bytes(path).removeprefix(_UTF8_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Wrong(f"no JSON: byte {error.start:,} is not UTF-8") from None


def _bytes(path: Path) -> bytes:
    try:
        if not path.exists():
            raise InputError(f"{path.name}: no such file.", "Check the path.")
        if not path.is_file():
            raise InputError(f"{path.name}: not a regular file.", "Give a file that `nsysparse report -f json` wrote.")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(size) if size <= MAX_BYTES else b""
    except (OSError, RuntimeError, ValueError) as error:  # also link loops, and names that no file can have
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path.name}: cannot be read ({reason}).", "Check path and permissions.") from error
    if size > MAX_BYTES:
        raise InputError(
            f"{path.name}: larger than {MAX_BYTES // 2**20} MiB, which no saved report is.",
            "Analyse fewer files at once, or give the traces themselves.",
        )
    return data


def _twice(pairs: Sequence[tuple[str, object]]) -> str:
    counts = Counter(name for name, _ in pairs)
    return next(name for name, count in counts.items() if count > 1)


def _place_of_odd(whole: object) -> Wrong:
    """The first in reading order, wherever it stands, also under a key that nobody reads."""
    return next(Wrong(value.what, pointer(place)) for value, place in _walk(whole) if isinstance(value, _Odd))


def _walk(whole: object) -> Iterator[tuple[object, Sequence[object]]]:
    """Every value with its place; without recursion, since the file chose the depth."""
    waiting: list[tuple[object, Sequence[object]]] = [(whole, ())]
    while waiting:
        value, place = waiting.pop()
        yield value, place
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        is_told = len(place) < _MOST_STEPS
        waiting += [(each, (*place, step) if is_told else place) for step, each in reversed(list(inner))]
