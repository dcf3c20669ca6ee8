"""The comparison's verdict, what to know before believing it, and the gates it was asked."""

from nsysparse.changes.rows import title
from nsysparse.compare.notes import PARTIAL
from nsysparse.compare.wording import failed_and_open, percent, relative
from nsysparse.comparison import (
    IMPROVED,
    MIXED,
    NOT_COMPARABLE,
    REGRESSED,
    UNCHANGED,
    Change,
    Comparison,
    Gate,
    Remark,
)
from nsysparse.document import Block, Callout, Cell, Column, Heading, Paragraph, Table, Tone
from nsysparse.units import capitalised, counted

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
    parts = [each for each in comparison.comparability if _is_of_a_part(each)]
    if tone == "good" and (parts or any(map(_is_lost, comparison.metrics))):
        tone = "doubt"  # what is not measured any more, or was not read, may have got worse
    figure, of = _figure(comparison)
    blocks: list[Block] = [Callout("verdict", state, found.text, tone, figure, of, _basis(comparison))]
    sides = (("Base", comparison.base), ("Candidate", comparison.candidate))
    notices = {name: side.notice.message for name, side in sides if side.notice}
    if len(notices) == len(sides) and len(set(notices.values())) == 1:
        notices = {"Both": notices["Base"]}
    blocks += [Callout("notice", "synthetic", f"{name}: {each}", "doubt") for name, each in notices.items()]
    return [*blocks, *(Callout("notice", "partial", capitalised(each.message), "doubt") for each in parts)]


def _is_of_a_part(remark: Remark) -> bool:
    return remark.code.startswith(PARTIAL)


def _is_lost(change: Change) -> bool:
    return change.decides and change.base is not None and change.candidate is None


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
    counts = (found.regressed_count, found.improved_count, found.unchanged_count, found.not_comparable_count)
    said = zip(counts, ("worse", "better", "unchanged", "not comparable"), strict=True)
    parts = [
        f"Of {counted(sum(counts), 'deciding value')}: {', '.join(f'{count:,} {word}' for count, word in said)}",
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
        [Cell(gate.expression, kind="name"), Cell(word, tone=tone), Cell(capitalised(gate.reason))]
        for gate in sorted(comparison.gates, key=_urgent)
        for word, tone in [_ANSWERS[gate.passed]]
    ]
    return [Heading("Gates", "diff-gates"), Table("Gates", columns, rows, "diff-gates-table")]


def _urgent(gate: Gate) -> tuple[int, str]:
    """Failed before unanswered before passed."""
    return (False, None, True).index(gate.passed), gate.expression


def gates_said(comparison: Comparison) -> list[Block]:
    """The gates in a sentence, for where the table is folded or there is no room for it."""
    failed, unanswered = failed_and_open(comparison.gates)
    blocks: list[Block] = [Paragraph(failed, "bad")] if failed else []
    if unanswered:
        blocks.append(Paragraph(unanswered, "doubt"))
    if comparison.gates and not blocks:
        blocks.append(Paragraph(f"{counted(len(comparison.gates), 'gate')} passed.", "good"))
    return blocks


def first_remarks(comparison: Comparison) -> list[Block]:
    """What to know first, in a sentence each."""
    others = [each for each in comparison.comparability if not _is_of_a_part(each)]  # these stand below the verdict
    shown = others[:_MOST_REMARKS]
    if not shown:
        return []
    more = len(others) - len(shown)
    rest = f" {counted(more, 'more difference')}." if more else ""
    said = ". ".join(capitalised(each.message) for each in shown)
    return [Paragraph(f"Before comparing: {said}.{rest}", "doubt")]


def comparability(comparison: Comparison) -> list[Block]:
    """All that differs beside the transfers."""
    heading = Heading("Before comparing", "diff-comparability")
    if not comparison.comparability:
        return [heading, Paragraph("Nothing else differs: same GPUs, settings, links, layers and requests.")]
    shown, more = remarks_said(comparison, _MOST_LISTED)
    rows = [[Cell(each)] for each in shown]
    return [heading, Table("Before comparing", [Column("What else differs")], rows, "diff-comparability-table", more)]


def remarks_said(comparison: Comparison, most: int) -> tuple[list[str], str]:
    """What else differs, as many as fit, and how many more there are in words."""
    shown = [capitalised(each.message) for each in comparison.comparability[:most]]
    more = len(comparison.comparability) - len(shown)
    return shown, f"{counted(more, 'more difference')}; the JSON output has all." if more else ""
