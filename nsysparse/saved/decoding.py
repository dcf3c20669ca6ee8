"""Dataclasses out of JSON: for each type of field one small function that checks and converts, made once.

The types are the hints of the dataclasses, so a new field needs nothing here. A check that passes costs a comparison;
where one fails, its place is put together on the way out.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

Decoder: TypeAlias = Callable[[Any], Any]
LEAST, MOST = -(2**63), 2**63 - 1
"""Whole numbers of 64 bits; ids that need more are strings."""
_TINY = 1e-40
"""Less than a quotient of two such numbers, and than what rounding leaves of one; by it others could not be divided."""
_DEEPEST = 8
"""A setting is a value or a list of values."""
_LONGEST = 40
_NAMES: Mapping[type, str] = {
    NoneType: "null", bool: "true or false", int: "a whole number", float: "a number", str: "a text",
    list: "a list", dict: "an object",
}  # fmt: skip


class Wrong(Exception):  # noqa: N818 (reads as what it says at the raise site)
    """Something in a saved report that cannot be, and where; the place grows while this passes outwards."""

    def __init__(self, what: str, place: str = "") -> None:
        """`place` is a JSON Pointer, of what is already known of it."""
        super().__init__(what)
        self.what = what
        self.place = place

    def within(self, step: object) -> "Wrong":
        """The same, one level further out."""
        self.place = pointer([step]) + self.place
        return self

    def __str__(self) -> str:
        """A sentence without its full stop."""
        return f"{self.place} {self.what}" if self.place else self.what


@dataclass(frozen=True, slots=True)
class Limits:
    """What the numbers or texts of a field may be: numbers from `low` to `high`, `words` alone where there are any."""

    low: float = LEAST
    high: float = MOST
    words: tuple[str, ...] = ()


def pointer(place: Sequence[object]) -> str:
    """The JSON Pointer of a place; a long key is cut, since it is quoted in a message."""
    return "".join(f"/{_printable(str(step)).replace('~', '~0').replace('/', '~1')}" for step in place)


def _printable(text: str) -> str:
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return shown if shown.isprintable() else repr(shown)[1:-1]


@cache
def decoder(kind: type, limits_of: Callable[[type, str], Limits]) -> Decoder:
    """The function that makes a dataclass out of a JSON object; it raises `Wrong`.

    Args:
        kind: The dataclass.
        limits_of: What the values of a field of a class may be, beyond their type.
    """
    hints = get_type_hints(kind)
    plan = [
        (each.name, _reader(hints[each.name], limits_of, limits_of(kind, each.name)), _absent(each, hints[each.name]))
        for each in fields(kind)
    ]

    def read(value: Any) -> Any:  # noqa: ANN401 (any JSON value, and an instance of `kind`)
        if type(value) is not dict:
            raise _mistyped(value, dict)
        given = []
        name = ""
        try:
            for name, convert, absent in plan:
                given.append(convert(value[name]) if name in value else absent())
        except Wrong as wrong:
            raise wrong.within(name) from None
        return kind(*given)

    return read


def _absent(field: "Field[Any]", hint: object) -> Callable[[], Any]:
    """What a missing key means: the field's default, else unknown where it may be unknown."""
    if field.default is not MISSING:
        return lambda: field.default
    return _unknown if NoneType in get_args(hint) else _missing


def _unknown() -> None:
    return None


def _missing() -> None:
    raise Wrong("is missing")


def _reader(hint: Any, limits_of: Callable[[type, str], Limits], limits: Limits) -> Decoder:  # noqa: ANN401 (a type)
    """The function for one type hint, of the forms that `nsysparse.analysis` uses."""
    if hint in _LEAVES:
        return _LEAVES[hint](limits)
    if isinstance(hint, type) and is_dataclass(hint):
        return decoder(hint, limits_of)
    inner = get_args(hint)
    if isinstance(hint, UnionType) and len(inner) == 2 and inner[1] is NoneType:  # noqa: PLR2004 (X | None)
        return _optional(_reader(inner[0], limits_of, limits))
    if get_origin(hint) is tuple and inner[1:] == (...,):
        return _row(_reader(inner[0], limits_of, limits))
    if get_origin(hint) is Mapping and inner[0] is str:
        return _mapping(_reader(inner[1], limits_of, limits))
    raise TypeError(f"{hint} has no form in a saved report")


def _optional(convert: Decoder) -> Decoder:
    return lambda value: None if value is None else convert(value)


def _row(convert: Decoder) -> Decoder:
    def read(value: Any) -> tuple[Any, ...]:  # noqa: ANN401
        if type(value) is not list:
            raise _mistyped(value, list)
        try:
            return tuple([convert(each) for each in value])
        except Wrong:
            for at, each in enumerate(value):  # again, for the place
                _at(at, convert, each)
            raise

    return read


def _mapping(convert: Decoder) -> Decoder:
    def read(value: Any) -> dict[str, Any]:  # noqa: ANN401
        if type(value) is not dict:
            raise _mistyped(value, dict)
        return {name: _at(name, convert, each) for name, each in value.items()}

    return read


def _at(step: object, convert: Decoder, value: object) -> object:
    try:
        return convert(value)
    except Wrong as wrong:
        raise wrong.within(step) from None


def _whole(limits: Limits) -> Decoder:
    low, high = limits.low, limits.high

    def read(value: Any) -> int:  # noqa: ANN401
        if type(value) is int and low <= value <= high:
            return value
        raise _mistyped(value, int) if type(value) is not int else _beyond(value, limits)

    return read


def _number(limits: Limits) -> Decoder:
    low, high = limits.low, limits.high

    def read(value: Any) -> float:  # noqa: ANN401
        number = float(value) if type(value) is int and LEAST <= value <= MOST else value
        if type(number) is float and low <= number <= high and (abs(number) >= _TINY or not number):
            return number
        raise _mistyped(value, float) if type(value) not in (int, float) else _beyond(value, limits)

    return read


def _truth(_limits: Limits) -> Decoder:
    def read(value: Any) -> bool:  # noqa: ANN401
        if type(value) is bool:
            return value
        raise _mistyped(value, bool)

    return read


def _string(limits: Limits) -> Decoder:
    words = limits.words

    def read(value: Any) -> str:  # noqa: ANN401
        if type(value) is not str:
            raise _mistyped(value, str)
        if words and value not in words:
            raise Wrong(f"is {quoted(value)}, not one of {', '.join(words)}")
        return value

    return read


def _any(_limits: Limits) -> Decoder:
    """A setting's value, in JSON's own types."""
    number, whole = _number(Limits()), _whole(Limits())

    def read(value: Any, depth: int = 0) -> Any:  # noqa: ANN401
        if depth > _DEEPEST:
            raise Wrong("is nested too deep")
        if type(value) is list:
            return [read(each, depth + 1) for each in value]
        if type(value) is dict:
            return {name: read(each, depth + 1) for name, each in value.items()}
        if type(value) is int:
            return whole(value)
        return number(value) if type(value) is float else value

    return read


_LEAVES: Mapping[object, Callable[[Limits], Decoder]] = {
    int: _whole, float: _number, bool: _truth, str: _string, object: _any,
}  # fmt: skip


def _mistyped(value: object, wanted: type) -> Wrong:
    return Wrong(f"is {_NAMES.get(type(value), 'odd')}, where {_NAMES[wanted]} is needed")


def _beyond(value: float, limits: Limits) -> Wrong:
    """A number that is out of range; not written out, as it may have thousands of digits."""
    if (limits.low, limits.high) == (LEAST, MOST):
        return Wrong("is no number of 64 bits")
    said = f"{value:g}" if LEAST <= value <= MOST else "far"
    low, high = (f"{end:g}" if math.fabs(end) < MOST else "" for end in (limits.low, limits.high))
    return Wrong(f"is {said}, out of {low} to {high}" if high else f"is {said}, below {low}")


def quoted(text: str) -> str:
    """A text out of the file, short enough for a message."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
