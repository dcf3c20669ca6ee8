"""The values of a file as options take them: of the right type, and paths from where the file lies."""

import math
import os
from collections.abc import Callable, Container, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import click

from nsysparse.cli import keys
from nsysparse.cli.config_file import ConfigFile
from nsysparse.errors import UsageError

_ROLE = "role"
_LARGEST = 2**63 - 1
_LONGEST_KEY = 60
_SUFFIXES = (".json", ".toml")


def checked(file: ConfigFile) -> dict[str, object]:
    """The values of all known keys, as click passes them on: those of tables beside the others.

    Raises:
        UsageError: A key does not exist or is given twice, or a value has another type than its option.
    """
    shared, tables = keys.shared(), keys.tables()
    rest = {key: value for key, value in file.table.items() if key not in tables}
    below = {key: name for name, known in tables.items() for key in known}
    found = _values(file, rest, shared, "", below)
    for name, known in tables.items():
        table = file.table.get(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"{file.path}, {name}: is no table.", f"Write [{name}], and the keys below it.")
        found |= _values(file, table, known, f"{name}.", dict.fromkeys(shared, ""))
    return found


def _values(
    file: ConfigFile,
    table: Mapping[str, object],
    known: Mapping[str, click.Option],
    prefix: str,
    elsewhere: Mapping[str, str],
) -> dict[str, object]:
    """The values of one table, which may say its keys with dashes."""
    found: dict[str, object] = {}
    for written, value in table.items():
        shown = written if len(written) <= _LONGEST_KEY else f"{written[:_LONGEST_KEY]}\u2026"
        key, where = written.replace("-", "_"), f"{file.path}, {prefix}{shown}"
        if key not in known:
            _refuse(where, key, known, elsewhere)
        if key in found:
            raise UsageError(f"{where}: is set twice, with - and with _.", "Leave one out.")
        found[key] = _value(known[key], key, value, where, file.path.parent)
    return found


def _refuse(where: str, key: str, known: Mapping[str, object], elsewhere: Mapping[str, str]) -> NoReturn:
    if key in keys.REFUSED:
        raise UsageError(
            f"{where}: {keys.REFUSED[key]}, so it is not for a file.", "Say it on the command line, where it exists."
        )
    if key in elsewhere:
        place = f"below [{elsewhere[key]}]" if elsewhere[key] else "above all tables: it is for every command"
        raise UsageError(f"{where}: is not known here.", f"Write it {place}.")
    nearest = get_close_matches(
        key[:_LONGEST_KEY], [*known, *sorted({name for name in elsewhere.values() if name})], n=1
    )
    guess = f" Did you mean {nearest[0]}?" if nearest else ""
    raise UsageError(f"{where}: there is no such key.{guess}", f"Keys are {', '.join(sorted(known))}.")


def _value(option: click.Option, key: str, value: object, where: str, folder: Path) -> object:
    """A value of the type that the option has; ranges and choices are for click, and the rest for who reads it."""
    if not option.multiple:
        return _located(key, option.type, _single(option.type, value, where), folder)
    if key == _ROLE and isinstance(value, dict):
        return [f"{name}={_single(click.STRING, role, f'{where}.{name}')}" for name, role in value.items()]
    many = value if isinstance(value, list) else [value]
    return [_located(key, option.type, _single(option.type, each, where), folder) for each in many]


def _single(kind: "click.ParamType[Any]", value: object, where: str) -> object:
    if isinstance(kind, click.types.BoolParamType):
        return _of(bool, value, where, "true or false")
    if isinstance(kind, click.types.IntParamType):
        return _of(int, value, where, "a whole number")
    if isinstance(kind, click.types.FloatParamType):
        return float(_number(value, where))
    if isinstance(kind, (click.Choice, click.Path)) or isinstance(value, str):
        text = str(_of(str, value, where, "text in quotes"))
        if "\0" in text:
            raise UsageError(f"{where}: has a character that no text here can have (NUL).", "Leave it out.")
        return text
    return _number(value, where, "text in quotes, or a number")


def _of(kind: type, value: object, where: str, wanted: str) -> object:
    """The value, which is of that type and no other: true is no number."""
    if type(value) is not kind:
        raise UsageError(f"{where}: is {_called(value)}, and {wanted} is needed.")
    if isinstance(value, int) and abs(value) > _LARGEST:  # TOML has no largest one
        raise UsageError(f"{where}: is larger than any number here can be.")
    return value


def _number(value: object, where: str, wanted: str = "a number") -> str:
    """A number as one writes it: options read decimals exactly."""
    if isinstance(value, float) and math.isfinite(value):
        return format(Decimal(repr(value)), "f")
    return str(_of(int, value, where, wanted))


def _called(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {value:.6g}" if isinstance(value, float) else "a whole number"
    kinds: Sequence[tuple[type, str]] = ((str, "text"), (dict, "a table"), (list, "a list"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a date or a time")


def _located(key: str, kind: "click.ParamType[Any]", value: object, folder: Path) -> object:
    """A path as seen from the working folder, where the file says it as seen from itself; other values as they are."""
    if not isinstance(value, str):
        return value
    if isinstance(kind, click.Path):
        return _joined(folder, value)
    ids = _IDS.get(key)
    if ids is None:
        return value
    is_path = value.lower().endswith(_SUFFIXES) or any(separator in value for separator in ("/", "\\"))
    return _joined(folder, value) if is_path or (_is_there(folder, value) and value not in ids()) else value


def _joined(folder: Path, value: str) -> str:
    """Joined as text: `./name` must keep its separator, by which it is known as a path."""
    return os.path.join(folder, value)  # noqa: PTH118 (pathlib would drop it)


def _is_there(folder: Path, value: str) -> bool:
    try:
        return value != "" and (folder / value).exists()
    except (OSError, ValueError):  # told by whoever reads it
        return False


def _models() -> Container[str]:
    from nsysparse.catalog.loader import models

    return models()


def _presets() -> Container[str]:
    from nsysparse.presets.loader import BUILTIN

    return BUILTIN


_IDS: Mapping[str, Callable[[], Container[str]]] = {"model": _models, "preset": _presets}
"""What may be an id or a path: an id wins over a file of its name, as on the command line."""
