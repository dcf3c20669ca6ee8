"""The comparison's verdict, what to know before believing it, and the gates it was asked."""

from nsysparse.changes.rows import title
from nsysparse.compare.wording import percent, relative
from nsysparse.comparison import (
    IMPROVED,
    MIXED,
    NOT_COMPARABLE,
    REGRESSED,
    UNCHANGED,
    Comparison,
    Gate,
)
from nsysparse.document import Block, Callout, Cell, Column, Heading, Paragraph, Table, Tone
from nsysparse.units import counted

_STATES: dict[str, tuple[str, Tone]] = {
    IMPROVED: ("improved", "good"),
    REGRESSED: ("regressed", "bad"),
    MIXED: ("better and worse", "doubt"),
    UNCHANGED: ("no change", "good"),
    NOT_COMPARABLE: ("not comparable", "muted"),
}
_ANSWERS: dict[bool | None, tuple[str, Tone]] = {
    True: ("passed", "good"),
    False: ("failed", "bad"),
    None: ("not answerable", "doubt"),
}
_SIGNS = {UNCHANGED: "=", MIXED: "\u00b1"}
"""Instead of a number that would say one thing where there are several, or none."""
_MOST_REMARKS = 3
_MOST_LISTED = 100
"""Of what else differs; there are a few dozen settings, and the rest are names that a report chose."""


def headline(comparison: Comparison) -> str:
    """The verdict in the few words of a window title."""
    return f"Transfer: {_STATES[comparison.verdict.state][0]}"


def verdict(comparison: Comparison) -> list[Block]:
    """The answer, and what is synthetic."""
    found = comparison.verdict
    state, tone = _STATES[found.state]
    figure, of = _figure(comparison)
    blocks: list[Block] = [Callout("verdict", state, found.text, tone, figure, of, _basis(comparison))]
    notices = {side.notice.message for side in (comparison.base, comparison.candidate) if side.notice}
    told = [Callout("notice", "synthetic", f"{each[:1].upper()}{each[1:]}", "doubt") for each in sorted(notices)]
    return [*blocks, *told]


def _figure(comparison: Comparison) -> tuple[str, str]:
    """What one number says most: how far the first value moved that has the verdict, and which it is."""
    state = comparison.verdict.state
    if state in _SIGNS:
        return _SIGNS[state], ""
    moved = [each for each in (*comparison.metrics, *comparison.layers, *comparison.links) if each.decides]
    first = next((each for each in moved if each.verdict == state), None)
    by = None if first is None else relative(first.base, first.candidate)
    return ("", "") if first is None or not percent(by) else (percent(by), title(first))


def _basis(comparison: Comparison) -> str:
    found = comparison.verdict
    parts = [
        f"{found.regressed_count:,} worse",
        f"{found.improved_count:,} better",
        f"{found.unchanged_count:,} unchanged",
        f"{found.not_comparable_count:,} not comparable",
        f"changes count from {comparison.noise * 100:.4g} % on",
    ]
    if comparison.base_run_count > 1:
        parts.append(f"base is the median of {comparison.base_run_count:,} runs")
    return " \u00b7 ".join(parts)


def gates(comparison: Comparison) -> list[Block]:
    """Every gate with its answer; nothing where none was asked."""
    if not comparison.gates:
        return []
    columns = [Column("Gate"), Column("Answer"), Column("Why")]
    rows = [
        [Cell(gate.expression, kind="name"), Cell(_answer(gate)[0], tone=_answer(gate)[1]), Cell(_reason(gate))]
        for gate in sorted(comparison.gates, key=_urgent)
    ]
    return [Heading("Gates", "diff-gates"), Table("Gates", columns, rows, "diff-gates-table")]


def _answer(gate: Gate) -> tuple[str, Tone]:
    return _ANSWERS[gate.passed]


def _urgent(gate: Gate) -> tuple[int, str]:
    """Failed before unanswered before passed."""
    return (False, None, True).index(gate.passed), gate.expression


def _reason(gate: Gate) -> str:
    return f"{gate.reason[:1].upper()}{gate.reason[1:]}" if gate.reason else ""


def gates_said(comparison: Comparison) -> list[Block]:
    """The gates in a sentence, for where the table is folded or there is no room for it."""
    failed = [gate for gate in comparison.gates if gate.passed is False]
    unanswered = [gate for gate in comparison.gates if gate.passed is None]
    blocks: list[Block] = []
    if failed:
        said = "; ".join(f"{gate.expression} ({gate.reason})" for gate in failed)
        blocks.append(Paragraph(f"{counted(len(failed), 'gate')} failed: {said}", "bad"))
    if unanswered:
        said = "; ".join(f"{gate.expression} ({gate.reason})" for gate in unanswered)
        blocks.append(Paragraph(f"{counted(len(unanswered), 'gate')} cannot be answered: {said}", "doubt"))
    if comparison.gates and not failed and not unanswered:
        blocks.append(Paragraph(f"{counted(len(comparison.gates), 'gate')} passed.", "good"))
    return blocks


def first_remarks(comparison: Comparison) -> list[Block]:
    """What to know first, in a sentence each."""
    shown = comparison.comparability[:_MOST_REMARKS]
    if not shown:
        return []
    more = len(comparison.comparability) - len(shown)
    rest = f" {counted(more, 'more difference')}." if more else ""
    said = ". ".join(f"{each.message[:1].upper()}{each.message[1:]}" for each in shown)
    return [Paragraph(f"Before comparing: {said}.{rest}", "doubt")]


def comparability(comparison: Comparison) -> list[Block]:
    """All that differs beside the transfers."""
    heading = Heading("Before comparing", "diff-comparability")
    if not comparison.comparability:
        return [heading, Paragraph("Nothing else differs: same GPUs, settings, links, layers and requests.")]
    shown, more = remarks_said(comparison, _MOST_LISTED)
    rows = [[Cell(each)] for each in shown]
    return [heading, Table("What else differs", [Column("What else differs")], rows, "diff-comparability-table", more)]


def remarks_said(comparison: Comparison, most: int) -> tuple[list[str], str]:
    """What else differs, as many as fit, and how many more there are in words."""
    shown = [f"{each.message[:1].upper()}{each.message[1:]}" for each in comparison.comparability[:most]]
    more = len(comparison.comparability) - len(shown)
    return shown, f"{counted(more, 'more difference')}; the JSON output has all." if more else ""
