"""From TOML tables to dataclasses without guessing: every key must be a field, every field without a default a key."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from math import isfinite
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from nsysparse.errors import InputError

Table = dict[str, Any]
_Entry = TypeVar("_Entry")


def read_tables(text: str, origin: str, names: tuple[str, ...], schema: int) -> dict[str, list[Table]]:
    """The arrays of tables called `names` of a catalogue file.

    Args:
        text: The TOML text.
        origin: How error messages call the file.
        names: Which arrays the file may hold.
        schema: The version of the format that the file must state.

    Raises:
        InputError: The text is no TOML, states another version or holds anything else.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{origin} is not valid TOML: {error}.") from error
    if document.pop("schema", None) != schema:
        raise InputError(f"{origin}: `schema = {schema}` is missing.")
    _refuse_unknown(document, names, origin)
    return {name: nested_tables(document, name, origin) for name in names}


def nested_tables(table: Table, name: str, where: str) -> list[Table]:
    """The array of tables under `name`, empty when there is none; InputError for anything else."""
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{where}: {name} must be a list of tables.")
    return value


class Identified(Protocol):
    """An entry that has an id."""

    @property
    def id(self) -> str:  # noqa: D102 (its name says it)
        ...


_Known = TypeVar("_Known", bound=Identified)


def by_id(entries: Iterable[_Known], origin: str) -> Mapping[str, _Known]:
    """Entries by id, in their order; InputError where an id occurs twice."""
    found: dict[str, _Known] = {}
    for entry in entries:
        if entry.id in found:
            raise InputError(f"{origin}: the id {entry.id!r} occurs twice.")
        found[entry.id] = entry
    return MappingProxyType(found)


def build(
    cls: type[_Entry],
    table: Table,
    where: str,
    built: Mapping[str, object] | None = None,
    zero_allowed: tuple[str, ...] = (),
) -> _Entry:
    """An instance of the dataclass `cls`.

    Args:
        cls: The dataclass; its field types decide what a value may be.
        table: The TOML table.
        where: How error messages call the table.
        built: Fields that come from nested tables, already as they should be; no keys of `table`.
        zero_allowed: Fields that may be 0; all other numbers are positive.

    Raises:
        InputError: A key is unknown, missing or of the wrong type; the message names it.
    """
    given = dict(built or {})
    own = [item for item in fields(cls) if item.name not in given]  # type: ignore[arg-type]  # always a dataclass
    _refuse_unknown(table, [item.name for item in own], where)
    hints = _hints(cls)  # type: ignore[arg-type]  # a class is hashable
    for item in own:
        if item.name in table:
            minimum = 0 if item.name in zero_allowed else None
            given[item.name] = _value(table[item.name], hints[item.name], f"{where}: {item.name}", minimum)
        elif item.default is MISSING:
            raise InputError(f"{where}: {item.name} is missing.")
    return cls(**given)


@cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of a dataclass's fields; there are dozens of entries of each."""
    return get_type_hints(cls)


def _value(value: Any, hint: Any, where: str, minimum: int | None = None) -> object:  # noqa: ANN401 (any TOML value, any hint)
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        if isinstance(value, list) and parts[-1] is Ellipsis:
            return tuple(_value(item, parts[0], where) for item in value)
        if not isinstance(value, list) or len(value) != len(parts):
            raise InputError(f"{where} must be a list of {len(parts)} values, not {value!r}.")
        return tuple(_value(item, part, where) for item, part in zip(value, parts, strict=True))
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise InputError(f"{where} is {value!r}.", f"Known: {', '.join(get_args(hint))}.")
        return value
    # `type(...)` rather than isinstance: in TOML as in JSON, true is no number.
    if type(value) is not hint and not (hint is float and type(value) is int):
        raise InputError(f"{where} must be of type {hint.__name__}, not {value!r}.")
    if hint is str and not value:
        raise InputError(f"{where} is empty.")
    if hint in (int, float) and not (isfinite(value) and (value > 0 or value == minimum)):
        raise InputError(f"{where} must be a positive number, not {value!r}.")
    return float(value) if hint is float else value


def _refuse_unknown(table: Table, known: Iterable[str], where: str) -> None:
    names = sorted(known)
    for key in table:
        if key not in names:
            raise InputError(f"{where}: unknown key {key!r}.", f"Known: {', '.join(names)}.")
