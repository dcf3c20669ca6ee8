"""How bad a finding is, which come first, and how many are shown."""

from collections.abc import Iterable

from nsysparse.analysis import Finding

MOST = 7
HIGH, MEDIUM, LOW = "high", "medium", "low"
HIGH_FROM, MEDIUM_FROM, LOW_FROM = 0.20, 0.05, 0.01
"""Shares of the way (or of what else a cost is part of) from which on a finding is as severe; below the last it is
none."""
_MOST_REFS = 3
_ORDER = (HIGH, MEDIUM, LOW)


def severity(share: float) -> str | None:
    """How bad it is to lose that share; None where it is not worth a finding."""
    for least, name in ((HIGH_FROM, HIGH), (MEDIUM_FROM, MEDIUM), (LOW_FROM, LOW)):
        if share >= least:
            return name
    return None


def worst_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most costly ones, those of unknown cost last, at most `MOST`."""
    ranked = sorted(
        found, key=lambda each: (each.cost_ns is None, -(each.cost_ns or 0), _ORDER.index(each.severity), each.id)
    )
    return tuple(ranked[:MOST])


def refs(request_ids: Iterable[str]) -> tuple[str, ...]:
    """Where a report has these requests; the first few."""
    return tuple(f"/requests/{each}" for each in list(request_ids)[:_MOST_REFS])
