"""The sequence length at which a transfer takes as long as something else: one decode step, or its fixed cost.

Lengths are exact, because sizes and budgets are integers. Most caches grow with every token; chunked ones shrink where
a chunk begins, so a length counts as reached once any length up to it was.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from nsysparse.catalog.entries import Attention, WindowedAttention
from nsysparse.theory.shipment import Shipment
from nsysparse.units import NS_PER_S

STEP_NS = (20_000_000, 50_000_000)
"""How long a decode step of a large model takes, unless somebody says otherwise: from, to."""
Why = Literal["", "state-exceeds", "token-exceeds", "never-reached"]


@dataclass(frozen=True, slots=True)
class Length:
    """A sequence length in tokens, or None and why there is none."""

    tokens: int | None
    why: Why = ""


def critical_length(shipment: Shipment, bytes_per_s: float, step_ns: int) -> Length:
    """The longest sequence up to which no transfer of one request takes longer than one decode step.

    Args:
        shipment: What crosses; the busiest of its links decides.
        bytes_per_s: The rate of each link.
        step_ns: The decode step.
    """
    return _longest(shipment, floor(Fraction(step_ns) * Fraction(bytes_per_s) / NS_PER_S))


def fixed_cost_length(shipment: Shipment, bytes_per_s: float, cost_ns: int) -> Length:
    """The shortest sequence whose bytes take as long as the fixed cost of a transfer; below it the cost dominates.

    Args:
        shipment: What crosses; the busiest of its links decides.
        bytes_per_s: The rate of each link.
        cost_ns: What a transfer costs whatever its size.
    """
    enough = ceil(Fraction(cost_ns) * Fraction(bytes_per_s) / NS_PER_S)
    below = _longest(shipment, enough - 1)
    if below.tokens is None:
        return below if below.why == "never-reached" else Length(1)
    return Length(below.tokens + 1)


def _longest(shipment: Shipment, budget: int) -> Length:
    """The longest sequence such that neither it nor a shorter one has more bytes than the budget on a link."""
    if shipment.on_link(1) > budget:
        alone = shipment.stateful().on_link(1) > budget
        return Length(None, "state-exceeds" if alone else "token-exceeds")
    fullest = _fullest(shipment)
    if fullest is not None and _most(shipment, fullest) <= budget:
        return Length(None, "never-reached")
    fits, exceeds = 1, 2
    while _most(shipment, exceeds) <= budget:
        fits, exceeds = exceeds, 2 * exceeds
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        if _most(shipment, middle) <= budget:
            fits = middle
        else:
            exceeds = middle
    return Length(fits)


def _most(shipment: Shipment, tokens: int) -> int:
    """The most bytes on a link of all sequences up to this length: of a chunked cache, perhaps the last full chunk."""
    full = [tokens - tokens % chunk for chunk in _chunks(shipment) if tokens >= chunk]
    return max(shipment.on_link(length) for length in {tokens, *full})


def _fullest(shipment: Shipment) -> int | None:
    """A length from which on the cache never grows; None where it grows with every token."""
    attention = [group for group in shipment.model.groups if isinstance(group, Attention)]
    windows = [group.window for group in attention if isinstance(group, WindowedAttention)]
    if len(windows) < len(attention):
        return None
    longest = max(windows, default=1)
    chunk = max(_chunks(shipment), default=1)
    return -(-longest // chunk) * chunk


def _chunks(shipment: Shipment) -> set[int]:
    """Sizes of chunks: one at most in any model known."""
    groups = shipment.model.groups
    return {group.window for group in groups if isinstance(group, WindowedAttention) and group.kind == "chunked"}
