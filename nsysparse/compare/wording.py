"""Values and changes in words, by their unit: `39.5 GB/s`, `-20.1 %`, `+4.2 points`; and what gates come to."""

from collections.abc import Iterable

from nsysparse.comparison import Gate
from nsysparse.units import NS_PER_MS, UNKNOWN, counted, human_bytes, human_ns, human_rate, human_share, significant

_MINUS = "\u2212"
_SAME = 5e-4
"""A share that shows as 0.0 %."""
_FACTOR = 10
_LONGEST, _TAIL = 60, 8
_LONGEST_QUOTE = 400
"""Characters of what a report says in words: longer than any sentence of ours, as a report may be a stranger's."""


def amount(value: float | None, unit: str) -> str:
    """A value with its unit."""
    if value is None:
        return UNKNOWN
    if unit == "share":
        return human_share(value)
    if unit == "GB/s":
        return human_rate(value)
    if unit == "ms":
        return human_ns(round(value * NS_PER_MS))
    if unit == "B":
        return human_bytes(round(value))
    return f"{value:,.0f}"


def both(base: float | None, candidate: float | None, unit: str) -> str:
    """Two values with an arrow between them; where they have the same unit it stands once."""
    ours, theirs = amount(base, unit), amount(candidate, unit)
    number, blank, name = ours.rpartition(" ")
    shown = number if blank and theirs.endswith(f" {name}") else ours
    return f"{shown} \u2192 {theirs}"


def difference(delta: float | None, unit: str) -> str:
    """A difference with its sign and unit; shares differ in points."""
    if delta is None:
        return UNKNOWN
    sign = "+" if delta > 0 else _MINUS if delta < 0 else ""
    if unit == "share":
        return f"{sign}{significant(abs(delta) * 100)} points"
    return f"{sign}{amount(abs(delta), unit)}"


def percent(change: float | None) -> str:
    """A relative change: `+10.0 %`, `-5.3 %`, from ten times on as a factor; empty where there is none to tell."""
    if change is None or change in (float("inf"), float("-inf")):
        return ""
    if change + 1 >= _FACTOR:
        ratio = change + 1
        return f"\u00d7{ratio:,.0f}" if ratio >= _FACTOR**2 else f"\u00d7{significant(ratio)}"
    if abs(change) < _SAME:
        return "0 %" if not change else f"{'+' if change > 0 else _MINUS}<0.1 %"
    return f"{'+' if change > 0 else _MINUS}{abs(change) * 100:,.1f} %"


def relative(base: float | None, candidate: float | None) -> float | None:
    """The change as a share of the base's value."""
    return None if candidate is None or not base else (candidate - base) / base


def quoted(saying: str) -> str:
    """What a report says in words, within a sentence; cut where it is longer than any that nsysparse wrote."""
    return saying if len(saying) <= _LONGEST_QUOTE else f"{saying[: _LONGEST_QUOTE - 1]}\u2026"


def called(name: str) -> str:
    """A name within a sentence, cut in the middle; the rows have it whole."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - _TAIL - 1]}\u2026{name[-_TAIL:]}"


def failed_and_open(gates: Iterable[Gate]) -> tuple[str, str]:
    """Which gates failed and which have no answer, each with its reason and no full stop; empty where there is none."""
    told: dict[bool | None, list[str]] = {False: [], None: [], True: []}
    for gate in gates:
        told[gate.passed].append(f"{gate.expression} ({gate.reason})")
    failed, unanswered = (
        f"{counted(len(told[passed]), 'gate')} {verb}: {'; '.join(told[passed])}" if told[passed] else ""
        for passed, verb in ((False, "failed"), (None, "cannot be answered"))
    )
    return failed, unanswered
