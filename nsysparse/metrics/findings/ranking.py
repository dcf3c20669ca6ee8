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
_TRUST = ("clock", "coverage")


def severity(share: float) -> str | None:
    """How bad it is to lose that share; None where it is not worth a finding."""
    for least, name in ((HIGH_FROM, HIGH), (MEDIUM_FROM, MEDIUM), (LOW_FROM, LOW)):
        if share >= least:
            return name
    return None


def worst_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most costly ones, then those of unknown cost, at most `MOST`; what costs nothing is no finding.

    What says how far the numbers can be trusted always has a place, and comes first where it is severe.
    """
    told = [each for each in found if each.cost_ns != 0]
    doubts = [each for each in told if each.kind in _TRUST]
    rest = sorted((each for each in told if each.kind not in _TRUST), key=_rank)[: max(MOST - len(doubts), 0)]
    first = sorted((each for each in doubts if each.severity == HIGH), key=_rank)
    later = [*rest, *(each for each in doubts if each.severity != HIGH)]
    return (*first, *sorted(later, key=_rank))[:MOST]


def _rank(found: Finding) -> tuple[bool, int, int, str]:
    return found.cost_ns is None, -(found.cost_ns or 0), _ORDER.index(found.severity), found.id


def refs(request_ids: Iterable[str]) -> tuple[str, ...]:
    """The requests that a finding names; the first few."""
    return tuple(request_ids)[:_MOST_REFS]
