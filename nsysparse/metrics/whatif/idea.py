"""One idea: what it would save each request that it applies to, and how that becomes a row of a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from nsysparse.analysis import WhatIf
from nsysparse.catalog.entries import Link
from nsysparse.metrics.cases import Case
from nsysparse.theory.shipment import Shipment
from nsysparse.units import human_ns


@dataclass(frozen=True, slots=True)
class Scene:
    """What ideas are computed from.

    Attributes:
        cases: Requests whose gap and parts are known.
        model: The model as it is served, if named.
        own_links: Links that the GPUs have between them by their names.
    """

    cases: tuple[Case, ...]
    model: Shipment | None = None
    own_links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Saving:
    """What an idea does to one request's gap: saves so much of its parts, and costs so much more (None: unknown)."""

    case: Case
    saves_ns: int
    costs_ns: int | None = None

    @property
    def gap_ns(self) -> int:
        """The gap that remains."""
        return self.case.gap_ns - self.saves_ns + (self.costs_ns or 0)


@dataclass(frozen=True, slots=True)
class Idea:
    """A change, with what it saves; `basis` says what that was computed from, `assumption` what must hold."""

    id: str
    savings: tuple[Saving, ...]
    basis: str
    assumption: str


def saving(case: Case, saves: float, within: int, costs_ns: int | None = None) -> Saving | None:
    """A saving in whole ns, never more than the part of the gap that it acts on; None where nothing is saved.

    Args:
        case: The request.
        saves: What is saved by the idea's formula.
        within: The part that it acts on.
        costs_ns: What it costs.
    """
    whole = min(int(saves), within)
    return Saving(case, whole, costs_ns) if whole > 0 else None


def as_row(idea: Idea, known_count: int) -> WhatIf | None:
    """The medians over the requests that the idea applies to; None where there are none.

    Args:
        idea: The idea.
        known_count: Requests whose gap and parts are known.
    """
    found = idea.savings
    if not found:
        return None
    costs = [each.costs_ns for each in found if each.costs_ns is not None]
    gap = human_ns(middle([each.case.gap_ns for each in found]))
    return WhatIf(
        id=idea.id,
        predicted_kv_gap_ns=middle([each.gap_ns for each in found]),
        saves_ns=middle([each.saves_ns for each in found]),
        costs_ns=middle(costs) if len(costs) == len(found) else None,
        request_count=len(found),
        basis=f"{idea.basis}; medians over {len(found):,} of {known_count:,} requests with a known gap, of {gap} now",
        assumption=idea.assumption,
    )


def middle(values: Sequence[int]) -> int:
    """The median in whole ns, halves to even."""
    return round(median(values))


def shown(values: Sequence[int]) -> str:
    """The median of times for people."""
    return human_ns(middle(values)) if values else "unknown"
