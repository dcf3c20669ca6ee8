"""The machine-readable report: the analysis itself, key by key as docs/reference/report-json.md says.

A comparison is written likewise (docs/reference/diff-json.md). The same analysis gives the same bytes. Unknown is null,
numbers are finite, a character that a terminal would obey stands as its escape, and a list of whole numbers, such as a
column of the timeline, on one line.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from nsysparse.analysis import Analysis, Distribution, Verdict
from nsysparse.comparison import Comparison

_ORDERS: Mapping[type, tuple[str, ...]] = {
    Analysis: ("format_version",),
    Comparison: ("format_version",),
    Verdict: ("state", "value", "uncertainty", "threshold", "basis", "over_count", "known_count", "request_count"),
    Distribution: ("p10", "p50", "p90", "p99", "min", "max"),
}
"""The keys that come first where the contract's order is not the order of the fields; the others follow."""

_NOT_ASCII = re.compile(r"[^\x00-\x7e]+")


def render(analysis: object) -> str:
    """One JSON object and a line end.

    Args:
        analysis: An `Analysis`, or another tree of dataclasses.

    Raises:
        ValueError: A number is not finite; the message says where.
        TypeError: A setting holds something that JSON cannot.
    """
    text = _text(_plain(analysis, ""), "")
    return _NOT_ASCII.sub(lambda found: _escaped(found[0]), text) + "\n"


def _plain(value: object, path: str) -> object:
    """The value in JSON's own types; `path` is its JSON Pointer, for messages."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{path} is {value}, which is no number that a report may hold")
        return value
    if is_dataclass(value):
        return {name: _plain(getattr(value, name), f"{path}/{name}") for name in _keys(type(value))}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key], f"{path}/{key}") for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_plain(each, f"{path}/{place}") for place, each in enumerate(value)]
    raise TypeError(f"{path} is a {type(value).__name__}, which JSON cannot hold")


def _text(value: object, margin: str) -> str:
    """As `json.dumps` writes it with an indent of 1, but for lists of whole numbers."""
    inner = margin + " "
    if isinstance(value, dict) and value:
        lines = [f"{json.dumps(key, ensure_ascii=False)}: {_text(each, inner)}" for key, each in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and not all(each is None or isinstance(each, int) for each in value):
        return f"[\n{inner}" + f",\n{inner}".join(_text(each, inner) for each in value) + f"\n{margin}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _keys(kind: type) -> list[str]:
    first = _ORDERS.get(kind, ())
    names = [field.name for field in fields(kind)]
    return [*first, *(name for name in names if name not in first)]


def _escaped(text: str) -> str:
    """Printable characters as they are, the others as JSON escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
