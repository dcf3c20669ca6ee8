"""Clocks of captures: what a host's recording shows as the time of an event, and what it says of its own start."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """The clock of one capture, which counts from its start.

    Args:
        start: When the capture began, ns of true time.
        utc_ns: What its host took for UTC then; None: the export does not tell it.
        system_ns: Its host's system clock then.
        drift_ppm: How much faster than true time it runs, parts in a million.
    """

    start: int
    utc_ns: int | None
    system_ns: int
    drift_ppm: float = 0.0

    def at(self, true_ns: int) -> int:
        """What it shows at a true time, whole ns."""
        since = true_ns - self.start
        return since + round(since * self.drift_ppm / 1e6)


def apart(base: Clock, other: Clock, true_ns: int) -> int:
    """How far `other` is ahead of `base` at a true time, as their sessions count."""
    return other.at(true_ns) - base.at(true_ns)


def apart_by_utc(base: Clock, other: Clock, true_ns: int) -> int | None:
    """The same after each has been moved by its recorded UTC; None without these."""
    if base.utc_ns is None or other.utc_ns is None:
        return None
    return apart(base, other, true_ns) + other.utc_ns - base.utc_ns
