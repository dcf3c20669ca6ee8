"""Changes as tables: a mark, what changed, both values and the difference, one row each."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from nsysparse.compare.of_parts import title_of
from nsysparse.compare.wording import amount, difference, percent, relative
from nsysparse.comparison import CHANGED, IMPROVED, NOT_COMPARABLE, REGRESSED, UNCHANGED, Change
from nsysparse.document import Cell, CellKind, Column, Table, Tone
from nsysparse.units import UNKNOWN, capitalised, counted

MARKS: Mapping[str, str] = MappingProxyType(
    {IMPROVED: "+", REGRESSED: "\u2212", CHANGED: "~", UNCHANGED: "", NOT_COMPARABLE: "?"}
)
"""Before each row: better, worse, changed where neither is better, cannot be compared."""
TONES: Mapping[str, Tone] = MappingProxyType(
    {IMPROVED: "good", REGRESSED: "bad", CHANGED: "plain", UNCHANGED: "muted", NOT_COMPARABLE: "doubt"}
)


def title(change: Change) -> str:
    """What changed, as people call it."""
    return title_of(change.metric, of_run=not change.subject)


def moved_table(
    caption: str, changes: Sequence[Change], anchor: str, most: int, subject: str = "", kind: CellKind = "name"
) -> Table:
    """What moved most, as many rows as fit.

    Args:
        caption: Of the table.
        changes: What moved most first.
        anchor: Of the table.
        most: Rows.
        subject: Title of the column that says whose each row is; without one there is none.
        kind: Whether subjects are names of the trace, or words.
    """
    shown = changes[:most]
    more = len(changes) - len(shown)
    has_why = any(each.reason for each in shown)
    columns = [*value_columns(subject), *([Column("Why", minor=True)] if has_why else [])]
    rows = [[*_row(each, subject, kind), *([Cell(capitalised(each.reason))] if has_why else [])] for each in shown]
    dropped = f"{counted(more, 'more row')}; the JSON output has all." if more else ""
    return Table(caption, columns, rows, anchor, dropped)


def value_columns(subject: str = "") -> list[Column]:
    """The columns of every table of changes, with one that says whose each row is where that has a title."""
    return [
        Column(""),
        *([Column(subject)] if subject else []),
        Column("Metric"),
        Column("Base", "right"),
        Column("Candidate", "right"),
        Column("\u0394", "right"),
        Column("\u0394 %", "right"),
    ]


def _row(change: Change, subject: str, kind: CellKind) -> list[Cell]:
    by = relative(change.base, change.candidate)
    tone = TONES[change.verdict]
    return [
        Cell(MARKS[change.verdict], sort=change.verdict, title=change.verdict, tone=tone),
        *([Cell(change.subject, sort=_order(change.subject), kind=kind)] if subject else []),
        Cell(title(change), sort=change.metric),
        _value(change.base, change),
        _value(change.candidate, change),
        Cell(difference(change.delta, change.unit) if change.delta is not None else "", sort=change.delta, tone=tone),
        Cell(percent(by), sort=by, tone=tone),
    ]


def _value(value: float | None, change: Change) -> Cell:
    return Cell(UNKNOWN, tone="muted") if value is None else Cell(amount(value, change.unit), sort=value)


def _order(subject: str) -> float | str:
    """Layers sort by number."""
    return float(subject) if subject.isascii() and subject.isdigit() else subject


def all_rows(changes: Iterable[Change]) -> list[list[Cell]]:
    """Every change with its verdict and reason, for the table that holds all of them."""
    return [
        [
            *_row(each, "", "words"),
            Cell(each.verdict, tone=TONES[each.verdict]),
            Cell(_samples(each)),
            Cell(capitalised(each.reason)),
        ]
        for each in changes
    ]


def _samples(change: Change) -> str:
    """Of how many observations both are; a sum is of none."""
    if change.base_count is None and change.candidate_count is None:
        return ""
    return " / ".join("\u2013" if each is None else f"{each:,}" for each in (change.base_count, change.candidate_count))
