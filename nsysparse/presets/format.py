"""Read the TOML of a preset, and say of everything in it that is not as it should be where, what and what to do."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from nsysparse.analysis import CONVENTIONS
from nsysparse.presets.rules import (
    FIELDS,
    KINDS,
    NOTHING,
    PHASES,
    PURPOSES,
    ROLES,
    Example,
    Preset,
    Probe,
    Rule,
)

FORMAT = "docs/reference/presets.md shows a whole preset."
MOST_RULES = 200
MOST_EXAMPLES = 2000
_MOST_PARTS = 200
_MOST_SHOWN = 80
_QUOTED = re.compile(r"""'[^'\n]*'|"(?:[^"\\\n]|\\.)*\"""")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_RULE_KEYS: Mapping[str, type] = {
    "id": str, "kind": str, "pattern": str, "purpose": str, "domain": str, "default_domain": bool, "drop": bool,
    "fields": dict, "says": dict, "examples": list,
}  # fmt: skip
_TYPES = {str: "text", bool: "true or false", dict: "a table", list: "a list of tables"}
_VALUES = {"phase": PHASES, "role": ROLES}
Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a preset file cannot be used: where in it, what is wrong, and what to do."""

    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        """Where and what, as one sentence."""
        return f"{self.where}: {self.what}."


def parse(text: str, origin: str, *, builtin: bool = False) -> tuple[Preset | None, list[Refusal]]:
    """The preset in a TOML text, and what is wrong with it: with anything wrong it is None.

    Args:
        text: The TOML.
        origin: Name of the file.
        builtin: Part of the package: then reports need not say where it comes from.
    """
    # The time that a dotted key takes grows with the square of its parts.
    if any(line.count(".") > _MOST_PARTS for line in _QUOTED.sub("", text).splitlines()):
        return None, [Refusal(origin, f"has a key of more than {_MOST_PARTS} parts", FORMAT)]
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of too many digits is no TOMLDecodeError
        return None, [Refusal(origin, f"is not valid TOML: {str(error).rstrip('.')}", FORMAT)]
    refusals = _unknown(origin, document, ("name", "about", "ttft", "probe", "rule"), "key")
    name, about = document.get("name"), document.get("about")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        refusals.append(Refusal(origin, "`name` must be letters, digits, `_`, `.` and `-`", FORMAT))
        name = "?"
    if not isinstance(about, str) or not about.strip():
        refusals.append(Refusal(origin, "`about` is missing", "Say in a sentence what the preset knows."))
        about = "?"
    ttft = document.get("ttft")
    if ttft is not None and ttft not in CONVENTIONS:
        said = f"`ttft` is {shown(ttft)}"
        refusals.append(Refusal(origin, said, f"It says who emits the first token: {' or '.join(CONVENTIONS)}."))
    probes = [_probe(table, origin, refusals) for table in _tables(document, "probe", origin, refusals)]
    rules = [_rule(table, name, number, origin, refusals)
             for number, table in enumerate(_tables(document, "rule", origin, refusals), 1)]  # fmt: skip
    ids = [rule.id for rule in rules if rule]
    refusals += [
        Refusal(f"{origin}, rule {each}", "the id occurs twice", "Give each rule an id of its own.")
        for each in dict.fromkeys(ids)
        if ids.count(each) > 1
    ]
    known = tuple(rule for rule in rules if rule)
    count = sum(len(rule.examples) for rule in known)
    if len(rules) > MOST_RULES or count > MOST_EXAMPLES:
        said = f"has {len(rules):,} rules with {count:,} examples, more than {MOST_RULES} or {MOST_EXAMPLES:,}"
        refusals.append(Refusal(origin, said, "Let one pattern know texts that differ in their fields."))
    if refusals:
        return None, refusals
    source = None if builtin else origin
    return Preset(name, about, known, tuple(each for each in probes if each), source, ttft), []


def shown(value: object) -> str:
    """A value of a file in a message, at most so long; a number of a thousand digits has no text at all."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return "a value too large to show"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _tables(document: Table, key: str, where: str, refusals: list[Refusal]) -> list[Table]:
    value = document.get(key, [])
    if key == "probe" and isinstance(value, dict):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        refusals.append(Refusal(where, f"`{key}` must be tables, each under [[{key}]]", FORMAT))
        return []
    return value


def _probe(table: Table, origin: str, refusals: list[Refusal]) -> Probe | None:
    where = f"{origin}, probe"
    found = _unknown(where, table, ("pattern", "domain"), "key")
    if not table or not all(isinstance(value, str) and value for value in table.values()):
        found.append(Refusal(where, "needs a pattern, a domain or both, as text", FORMAT))
    refusals += found
    return None if found else Probe(**table)


def _rule(table: Table, preset: str, number: int, origin: str, refusals: list[Refusal]) -> Rule | None:
    ident = table.get("id")
    where = f"{origin}, rule {ident[:64] if isinstance(ident, str) and ident else number}"
    found = _unknown(where, table, _RULE_KEYS, "key")
    for key, kind in _RULE_KEYS.items():
        if key in table and type(table[key]) is not kind:
            found.append(Refusal(where, f"`{key}` must be {_TYPES[kind]}, not {shown(table[key])}", FORMAT))
    if found:
        refusals += found
        return None
    found = [*_words(where, table), *_fields(where, table)]
    examples, bad = _examples(where, table.get("examples", []))
    found += bad
    if found:
        refusals += found
        return None
    drop = table.get("drop", False)
    return Rule(**{**table, "preset": preset, "examples": examples, "kind": NOTHING if drop else table["kind"]})


def _words(where: str, table: Table) -> Iterable[Refusal]:
    """What is wrong with the id, the kind and other words of a rule."""
    if not _NAME.fullmatch(table.get("id", "")):
        yield Refusal(where, "`id` must be letters, digits, `_`, `.` and `-`", FORMAT)
    if "pattern" not in table:
        yield Refusal(where, "`pattern` is missing", FORMAT)
    drop, kind = table.get("drop", False), table.get("kind")
    if kind is None and not drop:
        yield Refusal(where, "`kind` is missing", f"Kinds are {', '.join(KINDS)}.")
    elif kind is not None and kind not in KINDS:
        yield from _unknown(where, {kind: None}, KINDS, "kind")
    elif kind is not None and (kind == NOTHING) != drop:
        yield Refusal(where, f"`drop = true` and the kind `{NOTHING}` need each other", FORMAT)
    if drop and any(table.get(key) for key in ("purpose", "fields", "says")):
        yield Refusal(where, "drops what it matches, and says something of it", "Leave out purpose, fields and says.")
    if table.get("purpose", PURPOSES[0]) not in PURPOSES:
        yield Refusal(where, f"`purpose` is {shown(table['purpose'])}", f"Purposes are {', '.join(PURPOSES)}.")
    if "domain" in table and (not table["domain"] or table.get("default_domain")):
        yield Refusal(
            where, "`domain` names a domain other than the default one", "Use default_domain = true for that."
        )


def _fields(where: str, table: Table) -> Iterable[Refusal]:
    """What is wrong with the fields that a rule finds by patterns of their own, and with those it implies."""
    for key in ("fields", "says"):
        part = table.get(key, {})
        yield from _unknown(where, part, FIELDS, "field")
        for name, value in part.items():
            if not isinstance(value, str) or not value:
                yield Refusal(where, f"`{key}.{name}` must be text, not {shown(value)}", FORMAT)
            elif key == "says" and value not in _VALUES.get(name, (value,)):
                yield Refusal(where, f"`says.{name}` is {shown(value)}", f"It is one of {', '.join(_VALUES[name])}.")


def _examples(where: str, tables: list[Any]) -> tuple[tuple[Example, ...], list[Refusal]]:
    found, refusals = [], []
    for table in tables:
        fields = table.get("fields", {}) if isinstance(table, dict) else None
        good = isinstance(fields, dict) and all(isinstance(value, str) for value in fields.values())
        if not isinstance(fields, dict) or not good or not isinstance(table.get("text"), str):
            refusals.append(Refusal(where, "an example has a `text`, and `fields` with text values", FORMAT))
            continue
        refusals += _unknown(f"{where}, example", table, ("text", "fields"), "key")
        refusals += _unknown(f"{where}, example", fields, FIELDS, "field")
        found.append(Example(table["text"], fields))
    if not tables:
        refusals.append(Refusal(where, "has no example", "Examples are the rule's tests: give a text it must match."))
    return tuple(found), refusals


def _unknown(where: str, table: Iterable[str], known: Iterable[str], what: str) -> list[Refusal]:
    names = list(known)
    plural = f"{what}s".capitalize()
    return [
        Refusal(where, f"there is no {what} {shown(key)}", _near(key, names) or f"{plural} are {', '.join(names)}.")
        for key in table
        if key not in names
    ]


def _near(key: str, names: list[str]) -> str:
    near = get_close_matches(key, names, n=1, cutoff=0.7)
    return f"Did you mean {near[0]!r}?" if near else ""
