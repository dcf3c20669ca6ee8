"""Names from a trace are untrusted: what is in them must be seen, not obeyed."""

import re
import unicodedata

_LONGEST_WORD = 160
_LONGEST_SAYING = 4000
"""No sentence of ours is longer; what is, quotes a text out of a file, which may have any length."""
_OVERLONG = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s|[kMGT]?B(?:/s)?|GB/s|points)(?![\w/]))|(?<=[≥≤±]) (?=\d)")
NO_BREAK_SPACE = "\u00a0"
_TAIL = 8
"""Characters kept at the end of a shortened name: ids often differ only there."""


def visible(text: str) -> str:
    """The text with control, bidi, invisible and unassigned characters spelled out, e.g. ⟨1B⟩ for ESC."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or unicodedata.category(character) == "Zs"
        else f"\u27e8{ord(character):X}\u27e9"
        for character in text
    )


def shortened(text: str, limit: int) -> str:
    """The visible text, cut in the middle where it is longer than `limit` characters."""
    tail = min(_TAIL, limit // 3)
    if len(text) > limit:  # no character is shown as less than one, so what lies between need not be looked at
        shown, end = visible(text[:limit]), visible(text[-tail:])
    else:
        shown = end = visible(text)
        if len(shown) <= limit:
            return shown
    return f"{shown[: limit - tail - 1]}\u2026{end[-tail:]}"


def sentence(text: str) -> str:
    """A visible text of ours; words too long to be any of ours are cut, since they are names, as is too long a text."""
    return _OVERLONG.sub(lambda found: shortened(found[0], _LONGEST_WORD), shortened(text, _LONGEST_SAYING))


def unbroken(text: str, joint: str = NO_BREAK_SPACE) -> str:
    """The text with a blank that does not break between a number and its unit, and between "≥" and its number."""
    return _UNIT.sub(joint, text)


def unique(texts: list[str]) -> list[str]:
    """The same texts, numbered where shortening made two alike, so that an axis keeps them apart."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    result = []
    for text in texts:
        candidate, number = text, numbers.get(text, 1)
        while candidate in taken:
            number += 1
            candidate = f"{text} ({number})"
        numbers[text] = number
        taken.add(candidate)
        result.append(candidate)
    return result
