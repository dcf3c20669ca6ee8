"""SQL in pieces: conditions and columns as text, with the values that go beside it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Value = int | str


class Piece(NamedTuple):
    """A condition on a table's own (camelCase) columns, or a statement.

    Attributes:
        text: SQL, with a question mark for each value.
        values: In their order.
    """

    text: str
    values: tuple[Value, ...] = ()

    def __and__(self, other: "Piece") -> "Piece":
        """Both."""
        return Piece(f"({self.text}) AND ({other.text})", self.values + other.values)

    def __or__(self, other: "Piece") -> "Piece":
        """Either."""
        return Piece(f"({self.text}) OR ({other.text})", self.values + other.values)


ALWAYS, NEVER = Piece("1"), Piece("0")


def quoted(name: str) -> str:
    """A name of a table or column. Between double quotes, what is no name would be taken for a text."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def compared(column: str, operator: str, value: Value) -> Piece:
    """A column held against a value."""
    return Piece(f"{quoted(column)} {operator} ?", (value,))


def like(column: str, pattern: str) -> Piece:
    """Texts like a pattern, whatever the case of ASCII letters."""
    return compared(column, "LIKE", pattern)


def among(column: str, values: Sequence[Value]) -> Piece:
    """One of these; never, where there are none."""
    return Piece(f"{quoted(column)} IN ({', '.join('?' * len(values))})", tuple(values))


def unknown(column: str) -> Piece:
    """A column without a value."""
    return Piece(f"{quoted(column)} IS NULL")


def any_of(conditions: Iterable[Piece]) -> Piece:
    """At least one of them; never, where there are none."""
    found = list(conditions)
    return Piece(
        " OR ".join(f"({each.text})" for each in found) or NEVER.text, sum((each.values for each in found), ())
    )
