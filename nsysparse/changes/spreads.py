"""Distributions of both runs as rows of one figure, each with how far its median moved."""

from collections.abc import Sequence

from nsysparse.analysis import Distribution
from nsysparse.changes.rows import TONES
from nsysparse.compare.measures import TITLES
from nsysparse.compare.wording import amount, percent, relative
from nsysparse.comparison import Comparison, Spread
from nsysparse.document import Range, RangeRow


def spread_rows(comparison: Comparison, names: Sequence[str]) -> list[RangeRow]:
    """The distributions of these names that at least one run has, in this order."""
    known = {each.metric: each for each in comparison.spreads}
    verdicts = {each.metric: each.verdict for each in comparison.metrics}
    return [_row(known[name], verdicts.get(f"{name}.p50", "")) for name in names if name in known]


def _row(spread: Spread, verdict: str) -> RangeRow:
    ours, theirs = (_range(each, spread.unit) for each in (spread.base, spread.candidate))
    by = relative(ours.p50 if ours else None, theirs.p50 if theirs else None)
    return RangeRow(TITLES[spread.metric], ours, theirs, percent(by), TONES.get(verdict, "plain"))


def _range(found: Distribution | None, unit: str) -> Range | None:
    if found is None or found.p50 is None:
        return None
    return Range(found.p50, amount(found.p50, unit), found.p10, found.p90)
