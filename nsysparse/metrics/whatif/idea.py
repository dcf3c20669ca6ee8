"""One idea: what it would save each request that it applies to, and how that becomes a row of a report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from nsysparse.analysis import Link as Crossed
from nsysparse.analysis import WhatIf
from nsysparse.catalog.entries import Link
from nsysparse.metrics.cases import Case
from nsysparse.theory.shipment import Shipment
from nsysparse.units import human_ns


@dataclass(frozen=True, slots=True)
class Scene:
    """What ideas are computed from.

    Attributes:
        cases: Requests whose gap and parts are known, and whose time on the wire is told from waiting.
        model: The model as it is served, if named.
        own_links: Links that the GPUs have between them by their names.
        unsplit_count: Requests whose gap is known as well, and whose time on the wire is not told from waiting.
    """

    cases: tuple[Case, ...]
    model: Shipment | None = None
    own_links: tuple[Link, ...] = ()
    unsplit_count: int = 0


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


def as_row(idea: Idea, scene: Scene) -> WhatIf | None:
    """The medians over the requests that the idea applies to; None where there are none.

    Args:
        idea: The idea.
        scene: What it was computed from.
    """
    found = idea.savings
    if not found:
        return None
    costs = [each.costs_ns for each in found if each.costs_ns is not None]
    gap_ns = middle([each.case.gap_ns for each in found])
    known, unsplit = len(scene.cases) + scene.unsplit_count, scene.unsplit_count
    rest = f"; of {unsplit:,} of the others the wire is not told from waiting" if unsplit else ""
    over = f"medians over {len(found):,} of {known:,} requests with a known gap, of {human_ns(gap_ns)} now{rest}"
    return WhatIf(
        id=idea.id,
        kv_gap_ns=gap_ns,
        predicted_kv_gap_ns=middle([each.gap_ns for each in found]),
        saves_ns=middle([each.saves_ns for each in found]),
        costs_ns=middle(costs) if len(costs) == len(found) else None,
        request_count=len(found),
        basis=f"{idea.basis}; {over}",
        assumption=idea.assumption,
    )


def at_most(found: Iterable[Saving]) -> str:
    """A sentence on savings of time on the wire, where any of these requests' messages have an unknown fixed cost."""
    if all(each.case.link is not None and each.case.link.fixed_cost_ns is not None for each in found):
        return ""
    return " At most: no line through the messages tells their fixed cost, so all time on the wire is taken to shrink."


def busiest(cases: Iterable[Case]) -> Crossed | None:
    """Of the links that the requests crossed, the one that carried most bytes; None where none is known."""
    crossed = [case.link for case in cases if case.link is not None]
    return max(crossed, key=lambda link: (link.bytes or 0, link.link_key), default=None)


def middle(values: Sequence[int]) -> int:
    """The median in whole ns, halves to even."""
    return round(median(values))


def shown(values: Sequence[int]) -> str:
    """The median of times for people."""
    return human_ns(middle(values)) if values else "unknown"
