"""One metric's value in one run, with all that judging a change of it needs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, or why there is none.

    Attributes:
        value: In the metric's unit; None where it is not known.
        count: Observations that it rests on; None for a sum, which is not sampled.
        doubt: How far clocks may have it off, in the metric's unit.
        like: What must be the same in both runs for their values to be compared, in words.
        why: Why the value is not known.
    """

    value: float | None
    count: int | None = None
    doubt: float = 0.0
    like: str = ""
    why: str = ""


def unknown(why: str) -> Reading:
    """A value that is not known."""
    return Reading(None, why=why)
