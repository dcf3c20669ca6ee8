"""What can be compared: a metric with its unit, which way is better, and how little of a change says nothing.

A metric of a distribution has its statistic after a point (`kv_gap_ms.p99`); others stand alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from nsysparse.compare.readings import Reading

STATISTICS = ("p10", "p50", "p90", "p99", "min", "max")
HIGHER, LOWER, NEITHER = "higher", "lower", "neither"
RATE, TIME, SHARE, BYTES, COUNT = "GB/s", "ms", "share", "B", ""

# Floors: what a recording does not tell apart, whatever the runs did.
DEVICES_MS = 0.03
"""Clocks of two devices of one file are up to 30 us apart."""
KERNEL_MS = 0.005
"""A kernel's length is of one clock, and its launch jitters by microseconds."""
STEP_MS = 0.05
"""Steps and their launches jitter by tens of microseconds between runs of the same code."""
SHARE_FLOOR = 0.005
RATE_FLOOR = 0.01
FIRST_USE_MS = 1.0
"""Setting up a connection takes tens of milliseconds, once: a millisecond of them is nothing."""

NO_RATE = "no movement proves a rate"

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Measure(Generic[Subject]):
    """One comparable metric of a run, a link, a layer or a request.

    Attributes:
        name: As gates and JSON call it.
        title: As people call it.
        unit: `GB/s`, `ms`, `share`, `B`, or empty for a count.
        better: `higher`, `lower` or `neither`.
        floor: What a change must exceed to count, in the unit.
        read: Takes it from its subject.
        decides: Whether the comparison's verdict rests on it.
        of_requests: Whether longer prompts alone change it.
    """

    name: str
    title: str
    unit: str
    better: str
    floor: float
    read: Callable[[Subject], Reading]
    decides: bool = False
    of_requests: bool = False
