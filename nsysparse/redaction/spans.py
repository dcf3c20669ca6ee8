"""Where in a text the ids stand that rules found there, and the text with others in their place."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from nsysparse.presets.rules import Rule
from nsysparse.redaction.words import WORD

LISTS = ("request", "requests")
"""Fields that are lists of ids, percent-encoded."""


class Span(NamedTuple):
    """A field in a text.

    Attributes:
        start: First character.
        end: First character after it.
        field: What it is.
        ids: The ids in it: several where the field is a list.
    """

    start: int
    end: int
    field: str
    ids: tuple[str, ...]


def spans_of(text: str, rules: Sequence[Rule], said: Mapping[str, str]) -> list[Span]:
    """The spans of what rules said of a text, in order; such as overlap an earlier one are left out.

    Args:
        text: The text.
        rules: All rules, strongest first.
        said: Field → what they found.
    """
    found: list[Span] = []
    for field, value in said.items():
        place = next((at for at in _places(text, rules, field, value)), None)
        if place is not None:
            ids = tuple(part for part in value.split(",") if part) if field in LISTS else (value,)
            plain = tuple(unquote(part, errors="backslashreplace") for part in ids) if field in LISTS else ids
            found.append(Span(*place, field, plain))
    found.sort()
    return [span for at, span in enumerate(found) if at == 0 or span.start >= found[at - 1].end]


def _places(text: str, rules: Sequence[Rule], field: str, value: str) -> list[tuple[int, int]]:
    places = []
    for rule in rules:
        capture = rule.captures.get(field)
        pattern = _compiled(capture[0]) if capture else None
        hit = pattern.search(text) if pattern and len(text) <= _LONGEST else None
        if hit is not None and capture is not None and hit.group(capture[1]) == value:
            places.append(hit.span(capture[1]))
            break
    return places


_LONGEST = 4096
"""Python's engine may take long for long texts; ids of longer ones stay."""


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def replaced(
    text: str, spans: Sequence[Span], change_id: Callable[[str, str], str], change_word: Callable[[str], str] | None
) -> str:
    """A text with other ids, and other words between them where these change too.

    Args:
        text: The text.
        spans: From `spans_of`.
        change_id: A field and an id → what stands for it.
        change_word: A word → what stands for it.
    """
    parts, at = [], 0
    for span in [*spans, Span(len(text), len(text), "", ())]:
        between = text[at : span.start]
        parts.append(WORD.sub(lambda hit: change_word(hit[0]), between) if change_word else between)
        if span.ids:
            listed = text[span.start : span.end].split(",") if span.field in LISTS else [span.ids[0]]
            ids = iter(span.ids)
            parts.append(",".join(change_id(span.field, next(ids)) if part else "" for part in listed))
        at = span.end
    return "".join(parts)
