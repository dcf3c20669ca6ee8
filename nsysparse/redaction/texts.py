"""The strings of a copy: those that its rows refer to, numbered anew."""

from collections.abc import Iterator


class Texts:
    """Numbers for the texts of a copy, in the order in which rows ask for them."""

    def __init__(self) -> None:
        """No text has a number yet."""
        self._known: dict[str, int] = {}

    def id_of(self, text: str) -> int:
        """The number of a text."""
        return self._known.setdefault(text, len(self._known))

    def rows(self) -> Iterator[tuple[int, str]]:
        """All texts with their numbers."""
        return ((number, text) for text, number in self._known.items())
