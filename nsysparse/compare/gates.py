"""Conditions under which a comparison fails, as users write them: `wire_gb_s.p50<-5%`.

A limit with a sign is of the change, in percent of the base's value or in the metric's unit; without one it is of the
candidate's own value. `layer.` or `link.` before a metric asks it of every layer or link. `regressed` is the verdict.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from nsysparse.analysis import Layer, Link
from nsysparse.compare.judging import Rules, is_about, too_few
from nsysparse.compare.measures import SHARE, STATISTICS, Measure
from nsysparse.compare.of_parts import LAYERS, LINKS
from nsysparse.compare.of_run import RUN
from nsysparse.compare.wording import amount, both, called, difference, percent
from nsysparse.comparison import IMPROVED, MIXED, NOT_COMPARABLE, REGRESSED, UNCHANGED, Change, Gate, Outcome
from nsysparse.errors import UsageError
from nsysparse.units import counted

_FORM = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*([+\u2212-]?)\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(%|[A-Za-z/]*)\s*")
_EXAMPLES = "Say for instance 'wire_gb_s.p50<-5%', 'kv_gap_ms.p99>+10%', 'kv_gap_share.p90>0.20' or 'regressed'."
_OF_ALL: Mapping[str, Mapping[str, Measure[Layer] | Measure[Link]]] = {
    "layer": {each.name: each for each in LAYERS},
    "link": {each.name: each for each in LINKS},
}
_LONGEST = 200
"""Characters of a condition: far more than any needs, and few enough that none takes long to understand."""
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A gate, understood.

    Attributes:
        expression: As it was written.
        scope: `run`, `layer`, `link`, or `verdict`.
        metric: Of the scope; empty for `verdict`.
        operator: `<`, `>`, `<=` or `>=`: where it holds, the gate fails.
        limit: A share of the base's value where `is_relative`, else in the metric's unit.
        is_change: Whether it is of the change, not of the candidate's own value.
        is_relative: Whether the change is taken relative to the base.
    """

    expression: str
    scope: str
    metric: str = ""
    operator: str = ""
    limit: float = 0.0
    is_change: bool = False
    is_relative: bool = False


def parse(expression: str) -> Condition:
    """A gate as it is written.

    Raises:
        UsageError: It is none, or its metric does not exist; the nearest names stand in the message.
    """
    shown = expression.strip()[:_LONGEST]
    if len(expression) > _LONGEST:
        raise UsageError(f"--fail-on {shown}\u2026: is no condition: none is as long.", _EXAMPLES)
    if shown == REGRESSED:
        return Condition(shown, "verdict")
    found = _FORM.fullmatch(expression)
    if found is None:
        guess = f" Did you mean {REGRESSED}?" if get_close_matches(shown, [REGRESSED]) else ""
        raise UsageError(f"--fail-on {shown or repr('')}: is no condition.{guess}", _EXAMPLES)
    named, comparison, sign, number, unit = found.groups()
    scope, metric, of = _metric(named, shown)
    is_change = bool(sign)
    if unit not in ("", "%", of):
        raise UsageError(f"--fail-on {shown}: {named} is in {of or 'no unit'}.", f"Write the limit in {of}, or in %.")
    if unit == "%" and not is_change and of != SHARE:
        raise UsageError(
            f"--fail-on {shown}: {number} % of what?",
            f"For a change of {number} % write {named}{comparison}{'-' if '<' in comparison else '+'}{number}%.",
        )
    if of == SHARE and not unit and float(number) > 1:
        raise UsageError(
            f"--fail-on {shown}: {number} is more than the whole.",
            f"For {number} points write {named}{comparison}{sign}{float(number) / 100:g}, for {number} % of the"
            f" base's value {named}{comparison}{sign}{number}%."
            if is_change
            else f"For {number} % write {named}{comparison}{number}%.",
        )
    limit = float(number) * (-1 if sign in ("-", "\u2212") else 1)
    is_relative = is_change and unit == "%"
    return Condition(shown, scope, metric, comparison, limit / 100 if unit == "%" else limit, is_change, is_relative)


def _metric(named: str, shown: str) -> tuple[str, str, str]:
    """Scope, metric and unit of what was named."""
    scope, point, rest = named.partition(".")
    if point and scope in _OF_ALL:
        known = _OF_ALL[scope]
        if rest in known:
            return scope, rest, known[rest].unit
        raise _unknown(named, [f"{scope}.{name}" for name in known], shown)
    if named in RUN:
        return "run", named, RUN[named].unit
    if f"{named}.p50" in RUN:
        ways = ", ".join(f"{named}.{each}" for each in STATISTICS)
        raise UsageError(f"--fail-on {shown}: which statistic of {named}?", f"Say one of {ways}.")
    raise _unknown(named, [*RUN, *(f"{scope}.{name}" for scope, known in _OF_ALL.items() for name in known)], shown)


def _unknown(named: str, known: Sequence[str], shown: str) -> UsageError:
    nearest = get_close_matches(named, known, n=3, cutoff=0.4)
    guess = f" Did you mean {', '.join(nearest)}?" if nearest else ""
    return UsageError(
        f"--fail-on {shown}: there is no metric called {named}.{guess}",
        "docs/reference/gates.md lists all of them.",
    )


def answer(condition: Condition, changes: Sequence[Change], outcome: Outcome, rules: Rules, uneven: str = "") -> Gate:
    """Whether a gate holds: it fails where any layer or link fails it, and is open where none does but one may.

    Args:
        condition: The gate.
        changes: Of its metric: one of the run, or one for every layer or link; for the verdict, those of the run that
            decide.
        outcome: The comparison's verdict.
        rules: What counts as a change.
        uneven: Why no change is one of the runs, if so: then only the candidate's own values are held against limits.
    """
    if uneven and (condition.is_change or condition.scope == "verdict"):
        return Gate(condition.expression, None, None, uneven)
    if condition.scope == "verdict":
        passed = {REGRESSED: False, MIXED: False, IMPROVED: True, UNCHANGED: True}.get(outcome.state)
        lost = next((each for each in changes if _is_lost(each, rules)), None)
        if passed and lost is not None:
            return Gate(condition.expression, None, None, f"{RUN[lost.metric].title}: {lost.reason}")
        worse = f"{counted(outcome.regressed_count, 'deciding value')} worse"
        reason = {True: "", False: worse, None: outcome.text}[passed]
        return Gate(condition.expression, None, passed, reason)
    answers = [_answer(condition, change, rules) for change in changes]
    if not answers:
        return Gate(condition.expression, None, None, f"there is no {condition.scope} to ask it of")
    for passed in (False, None, True):
        if alike := [each for each in answers if each.passed is passed]:
            return max(alike, key=lambda each: abs(each.value or 0.0))
    raise AssertionError("a gate has one of three answers")


def _is_lost(change: Change, rules: Rules) -> bool:
    """Whether base has a value and the candidate has not: what is not measured any more may have regressed."""
    if change.base is None or too_few({"": change.base_count}, rules.min_samples):
        return False
    return change.candidate is None or bool(too_few({"": change.candidate_count}, rules.min_samples))


def _answer(condition: Condition, change: Change, rules: Rules) -> Gate:
    where = f"{condition.scope} {called(change.subject)}: " if change.subject else ""

    def told(value: float | None, passed: bool | None, reason: str = "") -> Gate:  # noqa: FBT001 (one of three answers)
        return Gate(condition.expression, value, passed, f"{where}{reason}" if reason else "")

    if why := _unanswerable(condition, change, rules):
        return told(None, None, why)
    value, low, high = _range(condition, change)
    ends = [_holds(condition, each) for each in (low, value, high)]
    shown = None if math.isinf(value) else value
    if not any(ends):
        return told(shown, True)
    if condition.is_change and _is_noise(change) and not _holds(condition, 0.0):
        return told(shown, True, change.reason or "within noise")
    if not all(ends):
        return told(shown, None, f"{_said(condition, change, value)}, which clocks leave open")
    return told(shown, False, _said(condition, change, value))


def _is_noise(change: Change) -> bool:
    """Whether the change is within what runs differ by anyway; what clocks leave open is no answer instead."""
    return abs(change.delta or 0.0) <= (change.floor or 0.0) and change.floor_basis != "clocks"


def _unanswerable(condition: Condition, change: Change, rules: Rules) -> str:
    """Why a gate cannot be answered; the candidate's own value needs nothing of the base."""
    if condition.is_change:
        return change.reason if change.verdict == NOT_COMPARABLE else ""
    if change.candidate is None:
        return change.reason or "unknown in the candidate"
    return too_few({"the candidate": change.candidate_count}, rules.min_samples)


def _range(condition: Condition, change: Change) -> tuple[float, float, float]:
    """What the limit is held against, with the least and the most that clocks allow."""
    base, candidate = change.base or 0.0, change.candidate or 0.0
    ours, theirs = change.base_doubt, change.candidate_doubt
    if not condition.is_change:
        return candidate, candidate - theirs, candidate + theirs
    if not condition.is_relative:
        return candidate - base, candidate - base - ours - theirs, candidate - base + ours + theirs
    return (
        _relative(base, candidate),
        _relative(base + ours, max(0.0, candidate - theirs)),
        _relative(max(0.0, base - ours), candidate + theirs),
    )


def _relative(base: float, candidate: float) -> float:
    """The change as a share of the base; from nothing to something it is beyond any share."""
    if base:
        return (candidate - base) / base
    return math.inf if candidate else 0.0


def _holds(condition: Condition, value: float) -> bool:
    compare: Callable[[float, float], bool] = _OPERATORS[condition.operator]
    # What is just the limit may miss it by the last digit of a division.
    return compare(condition.limit if is_about(value, condition.limit) else value, condition.limit)


def _said(condition: Condition, change: Change, value: float) -> str:
    """The value in words, as the gate takes it."""
    if condition.is_relative:
        return ", ".join(filter(None, (percent(value), both(change.base, change.candidate, change.unit))))
    if condition.is_change:
        return f"changed by {difference(value, change.unit)}"
    return f"is {amount(value, change.unit)}"
