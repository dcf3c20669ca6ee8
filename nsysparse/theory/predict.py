"""How long a link would need at its two reference lines, to the nearest nanosecond."""

from nsysparse.theory.links import Peak
from nsysparse.units import transfer_ns


def line_rate_ns(nbytes: int, peak: Peak) -> int:
    """Nanoseconds that `nbytes` bytes take at the line rate."""
    return transfer_ns(nbytes, peak.bytes_per_s)


def practical_ns(nbytes: int, peak: Peak) -> int | None:
    """Nanoseconds that `nbytes` bytes take at the practical ceiling; None when that is unknown."""
    return None if peak.practical_bytes_per_s is None else transfer_ns(nbytes, peak.practical_bytes_per_s)
