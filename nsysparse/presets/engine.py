"""The regex engine of polars, which is linear in the text: no pattern and no text can make it hang."""

import re
from functools import cache

import polars as pl

MOST_PATTERN = 4096
EMPTY = "matches the empty text, and so every text"
_COPIES = 10
"""A pattern may take a tenth of what the engine allows: its time grows with its compiled size."""
_META = frozenset("^$.|?*+()[]{}")
_PLAIN_ESCAPES = frozenset("^$.|?*+()[]{}\\-#&~")
_MAYBE = frozenset("?*{")


@cache
def group_names(pattern: str) -> tuple[str, ...]:
    """Names of the capture groups in order; one without name has its number."""
    return tuple(pl.Series([""]).str.extract_groups(pattern).struct.fields)


def complaint(pattern: str) -> str | None:
    """Why a pattern is refused; None where it is good."""
    if len(pattern) > MOST_PATTERN:
        return f"is {len(pattern):,} characters long, more than {MOST_PATTERN:,}"
    if not pattern.isascii() and pattern.encode("utf-8", "replace").decode() != pattern:
        return "is not UTF-8"
    text = _error(pattern)
    if text is not None:
        return text
    # The line feed ends what may be a comment in a pattern of mode x.
    if _error(f"(?:{pattern}\n){{{_COPIES}}}") is not None:
        return "is too large once compiled; write [0-9A-Za-z_] for \\w, and smaller counts"
    if pl.Series([""]).str.contains(pattern).item():
        return EMPTY
    return None


def _error(pattern: str) -> str | None:
    try:
        group_names.__wrapped__(pattern)
    except pl.exceptions.PolarsError as error:
        said = str(error)
        if "size limit" in said:
            return "is too large once compiled; write [0-9A-Za-z_] for \\w, and smaller counts"
        reason = said.rpartition("error: ")[2].strip().splitlines()[0]
        return f"does not compile: {reason}"
    return None


@cache
def literal_prefix(pattern: str) -> str:
    """Characters with which every text that matches begins; empty where that is not plain to see."""
    if not pattern.startswith("^") or _has_alternatives(pattern):
        return ""
    found: list[str] = []
    rest = iter(pattern[1:])
    for character in rest:
        taken = character
        if character == "\\":
            taken = next(rest, "")
            if taken not in _PLAIN_ESCAPES:
                break
        elif character in _META:
            if character in _MAYBE and found:
                found.pop()
            break
        found.append(taken)
    return "".join(found)


def _has_alternatives(pattern: str) -> bool:
    """Whether `|` stands outside all parentheses, or whether that is hard to see."""
    if "|" not in pattern:
        return False
    if _HARD.search(pattern):
        return True
    bare = _CLASS.sub("", _ESCAPE.sub("", pattern))
    depth = 0
    for character in bare:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "|" and depth <= 0:
            return True
    return any(character in "[]" for character in bare)


_ESCAPE = re.compile(r"\\.", re.DOTALL)
_CLASS = re.compile(r"\[[^\[\]]+\]")
# A class that begins with its own end, classes within classes, and comments.
_HARD = re.compile(r"\[\^?\]|\(\?[a-zA-Z]*-?[a-zA-Z]*x")
