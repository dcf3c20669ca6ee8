"""Units: GB is 1e9 bytes, times are integer nanoseconds, rates are GB/s.

Bytes per nanosecond and GB/s are the same number, which is why no factor appears in `gb_s`.
"""

from fractions import Fraction

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
GB = 1_000_000_000


def gb_s(nbytes: int | None, ns: int | None) -> float | None:
    """Rate in GB/s of `nbytes` bytes in `ns` nanoseconds; None when either is unknown or no time passed."""
    if nbytes is None or ns is None or ns <= 0:
        return None
    return nbytes / ns


def transfer_ns(nbytes: int, bytes_per_s: float) -> int:
    """Nanoseconds that `nbytes` bytes take at `bytes_per_s`, to the nearest nanosecond (halves to even)."""
    return round(Fraction(nbytes) * NS_PER_S / Fraction(bytes_per_s))


def human_bytes(nbytes: int | None) -> str:
    """Decimal bytes with three digits: `335.5 MB`; `unknown` for None."""
    if nbytes is None:
        return "unknown"
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 1000 or unit == "TB":  # noqa: PLR2004 (the step between decimal units)
            return f"{nbytes} B" if unit == "B" else f"{value:.4g} {unit}"
        value /= 1000
    raise AssertionError


def human_ns(ns: int | None) -> str:
    """A duration with three to four digits and its unit: `850 ns`, `12.3 µs`, `1.24 ms`, `2.1 s`; `unknown` for None."""
    if ns is None:
        return "unknown"
    if abs(ns) < 1000:  # noqa: PLR2004 (the step between units)
        return f"{ns} ns"
    for unit, scale in (("µs", 1000), ("ms", NS_PER_MS)):
        if abs(ns) < scale * 1000:
            return f"{ns / scale:.3g} {unit}" if abs(ns) < scale * 100 else f"{ns / scale:.4g} {unit}"
    return f"{ns / NS_PER_S:.4g} s"


def human_rate(value: float | None) -> str:
    """A rate in GB/s with three digits; `unknown` for None."""
    return "unknown" if value is None else f"{value:.3g} GB/s"


def human_share(value: float | None) -> str:
    """A share as a percentage; `unknown` for None. Never rounds a part up to the whole or down to nothing."""
    if value is None:
        return "unknown"
    if 0 < value < 0.001:  # noqa: PLR2004 (below the first decimal shown)
        return "<0.1 %"
    if 0.999 < value < 1:  # noqa: PLR2004 (above the last decimal shown)
        return ">99.9 %"
    percent = value * 100
    return f"{percent:.0f} %" if percent == round(percent) else f"{percent:.1f} %"
