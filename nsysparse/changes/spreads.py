"""Distributions of both runs as rows of one figure, each with how far its median moved."""

from collections.abc import Sequence

from nsysparse.analysis import Distribution
from nsysparse.changes.rows import TONES
from nsysparse.compare.of_run import TITLES
from nsysparse.compare.wording import amount, percent, relative
from nsysparse.comparison import Change, Comparison, Spread
from nsysparse.document import Range, RangeRow


def spread_rows(comparison: Comparison, names: Sequence[str]) -> list[RangeRow]:
    """The distributions of these names that at least one run has, in this order."""
    known = {each.metric: each for each in comparison.spreads}
    changes = {each.metric: each for each in comparison.metrics}
    return [_row(known[name], changes[f"{name}.p50"]) for name in names if name in known]


def _row(spread: Spread, change: Change) -> RangeRow:
    """What is drawn is the first base run; the change is of all of them, as in the tables."""
    ours, theirs = (_range(each, spread.unit) for each in (spread.base, spread.candidate))
    by = percent(relative(change.base, change.candidate))
    return RangeRow(TITLES[spread.metric], ours, theirs, by, TONES[change.verdict])


def _range(found: Distribution | None, unit: str) -> Range | None:
    if found is None or found.p50 is None:
        return None
    return Range(found.p50, amount(found.p50, unit), found.p10, found.p90)
