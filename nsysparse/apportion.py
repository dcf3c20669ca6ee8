"""Divide whole numbers without losing or inventing one: the largest-remainder rule."""

from collections.abc import Sequence


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Whole parts of `total` in proportion to `weights`; they add up to `total` exactly.

    Each part is rounded down, then the units that are left go to the largest remainders, the earlier of equal ones
    first. All weights zero means equal parts.

    Args:
        total: What to divide, >= 0.
        weights: Non-negative, at least one.
    """
    whole = sum(weights)
    if whole == 0:
        weights, whole = [1] * len(weights), len(weights)
    parts = [total * weight // whole for weight in weights]
    left = total - sum(parts)
    by_remainder = sorted(range(len(weights)), key=lambda index: -(total * weights[index] % whole))
    for index in by_remainder[:left]:
        parts[index] += 1
    return parts
