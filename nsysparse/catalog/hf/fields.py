"""Fields of a config, read with suspicion: typed, bounded, and remembering which were read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from nsysparse.errors import InputError

LARGEST = 1_000_000
"""No width, count of heads or rank of a model comes near it."""
MOST_LAYERS = 10_000
LONGEST_WINDOW = 2**40

_SHOWN = 40


def quoted(value: object, limit: int = _SHOWN) -> str:
    """A value as JSON, in printable ASCII and cut where it is long; of lists and objects only what they are."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value):,}"
    text = re.sub(r"[^\x20-\x7e]", "?", value if isinstance(value, str) else json.dumps(value))
    text = text if len(text) <= limit else f"{text[:limit]}..."
    return f'"{text}"' if isinstance(value, str) else text


class Fields:
    """The fields of one object of the file.

    `read` collects the keys that were looked at, `filled` those that the family's defaults had to answer.
    """

    def __init__(self, values: Mapping[str, object], where: str, defaults: Mapping[str, object] | None = None) -> None:
        """Take the object, how messages call it, and what the family's own code takes for an absent key."""
        self.values = values
        self.where = where
        self.defaults = defaults or {}
        self.read: set[str] = set()
        self.filled: list[str] = []

    def refuse(self, what: str, hint: str = "") -> NoReturn:
        """Raise the error that names this object."""
        raise InputError(f"{self.where}: {what}", hint)

    def given(self, key: str) -> bool:
        """Whether the file itself says something other than null for the key."""
        self.read.add(key)
        return self.values.get(key) is not None

    def raw(self, key: str) -> object:
        """The value as it stands; a default where the key is absent, None where there is neither or it is null."""
        self.read.add(key)
        if key not in self.values and key in self.defaults:
            if key not in self.filled:
                self.filled.append(key)
            return self.defaults[key]
        return self.values.get(key)

    def integer(self, *keys: str, least: int = 1, most: int = LARGEST) -> int | None:
        """A whole number under one of several names for the same thing; None where none is there.

        A name that is in the file wins over a default.

        Raises:
            InputError: It is no whole number, out of bounds, or two names differ.
        """
        present = [key for key in keys if key in self.values] or [key for key in keys if key in self.defaults]
        self.read.update(keys)
        found = {key: value for key in present if (value := self.raw(key)) is not None}
        for key, value in found.items():
            self._whole(key, value, least, most)
        if len(set(map(str, found.values()))) > 1:
            self.refuse(f"{' and '.join(found)} differ.", "Keep the one that the model's code reads.")
        return next((value for value in found.values() if isinstance(value, int)), None)

    def need(self, *keys: str, least: int = 1, most: int = LARGEST) -> int:
        """As `integer`, but it must be there."""
        value = self.integer(*keys, least=least, most=most)
        if value is None:
            null = next((key for key in keys if key in self.values), None)
            self.refuse(
                f"{keys[0]} is missing." if null is None else f"{null} is null.",
                f"Write {keys[0]} of the model into the file, or name a similar model by its id.",
            )
        return value

    def flag(self, key: str) -> bool | None:
        """True or false; None where it is absent or null."""
        value = self.raw(key)
        if value is not None and not isinstance(value, bool):
            self.refuse(f"{key} must be true or false, not {quoted(value)}.")
        return value

    def word(self, key: str) -> str | None:
        """A text; None where it is absent or null."""
        value = self.raw(key)
        if value is not None and not isinstance(value, str):
            self.refuse(f"{key} must be text, not {quoted(value)}.")
        return value

    def integers(self, key: str, least: int = 0, most: int = MOST_LAYERS) -> list[int] | None:
        """A list of whole numbers; None where it is absent, null or empty."""
        found = self.items(key)
        return None if found is None else [self._whole(f"{key}[{place}]", item, least, most) for place, item in found]

    def items(self, key: str) -> list[tuple[int, object]] | None:
        """The items of a list, numbered; None where it is absent, null or empty."""
        value = self.raw(key)
        if value is not None and not isinstance(value, list):
            self.refuse(f"{key} must be a list, not {quoted(value)}.")
        if value and len(value) > 2 * MOST_LAYERS:
            self.refuse(f"{key} has {len(value):,} items: more than any model has layers.")
        return list(enumerate(value)) if value else None

    def inner(self, key: str) -> "Fields | None":
        """The fields of an object in this one; None where it is absent or null."""
        return None if (value := self.raw(key)) is None else self.within(key, value)

    def within(self, key: str, value: object) -> "Fields":
        """Fields of a value of this object, which must be an object itself."""
        if not isinstance(value, dict):
            self.refuse(f"{key} must be an object, not {quoted(value)}.")
        return Fields(value, f"{self.where}, {key}")

    def unread(self) -> Sequence[str]:
        """Keys that nobody looked at and that say something: not null, false, 0 or empty."""
        return [
            key for key, value in self.values.items() if key not in self.read and value not in (None, False, "", [], {})
        ]

    def seen(self, keys: Iterable[str]) -> None:
        """Count keys as read: they say nothing about the cache here."""
        self.read.update(keys)

    def _whole(self, key: str, value: object, least: int, most: int) -> int:
        # `type(...)`: in JSON, true is no number.
        if type(value) is not int or not least <= value <= most:
            self.refuse(f"{key} must be a whole number from {least:,} to {most:,}, not {quoted(value)}.")
        return value
