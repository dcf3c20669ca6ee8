"""Options and engines as mappings from id to entry, read once and checked on the way in."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from nsysparse.capture.entries import Engine, Launch, Option, Release, Spelling, Variant
from nsysparse.capture.versions import parse
from nsysparse.catalog.strict import Table, build, by_id, nested_tables, read_tables
from nsysparse.errors import InputError, UsageError, unknown_name

SCHEMA = 1
LISTING = "nsysparse capture list"


@dataclass(frozen=True, slots=True)
class Options:
    """The file of options: releases in order of version, options and variants by id in the order of the file."""

    releases: tuple[Release, ...]
    options: Mapping[str, Option]
    variants: Mapping[str, Variant]


@cache
def options() -> Options:
    """What is known of the options of nsys."""
    return parse_options(_text("options.toml"), "options.toml")


@cache
def engines() -> Mapping[str, Engine]:
    """All engines by id, in the order of the file."""
    return parse_engines(_text("engines.toml"), "engines.toml", options())


def find_engine(name: str) -> Engine:
    """The engine of that id or alias; UsageError with the nearest ones when there is none."""
    known = {alias: engine for engine in engines().values() for alias in (engine.id, *engine.aliases)}
    if name not in known:
        raise unknown_name("engine", name, known, LISTING)
    return known[name]


def parse_options(text: str, origin: str) -> Options:
    """Releases, options and variants of a file.

    Args:
        text: The TOML text.
        origin: How error messages call the file.

    Raises:
        InputError: The text breaks the format that the header of our own file describes; the message names the entry
            and the key.
    """
    tables = read_tables(text, origin, ("nsys", "option", "variant"), SCHEMA)
    releases = [build(Release, table, f"{origin}, nsys {table.get('version')}") for table in tables["nsys"]]
    if not releases:
        raise InputError(f"{origin}: it names no nsys.")
    for release in releases:
        _checked(release.version, f"{origin}, nsys")
    known = by_id((_option(table, f"{origin}, option {table.get('id')}") for table in tables["option"]), origin)
    variants = by_id(
        (build(Variant, table, f"{origin}, variant {table.get('id')}") for table in tables["variant"]), origin
    )
    for variant in variants.values():
        where = f"{origin}, variant {variant.id}"
        _refer(variant.trace, known, "trace", where)
        _refer(variant.options, known, "profile", where)
    return Options(tuple(sorted(releases, key=lambda release: parse(release.version))), known, variants)


def parse_engines(text: str, origin: str, known: Options) -> Mapping[str, Engine]:
    """Engines of a file; arguments and errors as for `parse_options`, `known` what their ids refer to."""
    tables = read_tables(text, origin, ("engine",), SCHEMA)
    found = by_id((_engine(table, f"{origin}, engine {table.get('id')}", known) for table in tables["engine"]), origin)
    names = [name for engine in found.values() for name in (engine.id, *engine.aliases)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{origin}: the name {name!r} occurs twice.")
    return found


def _option(table: Table, where: str) -> Option:
    own = {key: value for key, value in table.items() if key != "spelling"}
    spellings = tuple(build(Spelling, each, f"{where}, spelling") for each in nested_tables(table, "spelling", where))
    if not spellings:
        raise InputError(f"{where}: no spelling.")
    for each in spellings:
        first, last = _checked(each.since, where), each.until and _checked(each.until, where)
        if last and last < first:
            raise InputError(f"{where}: until {each.until} is before since {each.since}.")
        _words(each.text, where)
    return build(Option, own, where, {"spellings": spellings})


def _engine(table: Table, where: str, known: Options) -> Engine:
    own = {key: value for key, value in table.items() if key != "launch"}
    launches = tuple(build(Launch, each, f"{where}, launch") for each in nested_tables(table, "launch", where))
    engine = build(Engine, own, where, {"launches": launches})
    if not launches:
        raise InputError(f"{where}: no launch.")
    for launch in launches:
        for piece in launch.command:
            _words(piece, where)
        for variable in launch.environment:
            if "=" not in variable or len(_words(variable, where)) != 1:
                raise InputError(f"{where}: environment {variable!r} is not NAME=VALUE.")
    _refer(engine.trace, known.options, "trace", where)
    _refer((*engine.options, *engine.extras), known.options, "profile", where)
    for name in engine.variants:
        if name not in known.variants:
            raise InputError(f"{where}: there is no variant {name!r}.")
    return engine


def _refer(ids: Sequence[str], known: Mapping[str, Option], command: str, where: str) -> None:
    for each in ids:
        if each not in known or known[each].command != command:
            raise InputError(f"{where}: there is no {command} option {each!r}.")


def _words(text: str, where: str) -> list[str]:
    """The words a shell makes of a text; InputError where it would not read it as we mean it."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{where}: {text!r} is not quoted as a shell wants it ({error}).") from error


def _checked(version: str, where: str) -> tuple[int, ...]:
    try:
        return parse(version)
    except UsageError as error:
        raise InputError(f"{where}: {error.message}") from error


def _text(name: str) -> str:
    return files("nsysparse.capture").joinpath(name).read_text(encoding="utf-8")
