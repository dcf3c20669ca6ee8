"""Units: GB is 1e9 bytes, times are integer nanoseconds, rates are GB/s.

Bytes per nanosecond and GB/s are the same number, which is why no factor appears in `gb_s`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

UNKNOWN = "unknown"
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
        return UNKNOWN
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 1000 or unit == "TB":  # noqa: PLR2004 (the step between decimal units)
            return f"{nbytes} B" if unit == "B" else f"{value:.4g} {unit}"
        value /= 1000
    raise AssertionError


def human_ns(ns: int | None) -> str:
    """A duration with three to four digits and its unit: `850 ns`, `12.3 µs`, `2.1 s`; `unknown` for None."""
    if ns is None:
        return UNKNOWN
    if abs(ns) < 1000:  # noqa: PLR2004 (the step between units)
        return f"{ns} ns"
    for unit, scale in (("µs", 1000), ("ms", NS_PER_MS)):
        if abs(ns) < scale * 1000:
            return f"{ns / scale:.3g} {unit}" if abs(ns) < scale * 100 else f"{ns / scale:.4g} {unit}"
    return f"{ns / NS_PER_S:.4g} s"


def human_rate(value: float | None) -> str:
    """A rate in GB/s with three digits; `unknown` for None."""
    return UNKNOWN if value is None else f"{value:.3g} GB/s"


def human_share(value: float | None) -> str:
    """A share as a percentage; `unknown` for None. Never rounds a part up to the whole or down to nothing."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.001:  # noqa: PLR2004 (below the first decimal shown)
        return "<0.1 %"
    if 0.999 < value < 1:  # noqa: PLR2004 (above the last decimal shown)
        return ">99.9 %"
    percent = value * 100
    return f"{percent:.0f} %" if percent == round(percent) else f"{percent:.1f} %"


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit for a whole column of numbers, so that they compare by eye: `per_unit` base units make one `unit`."""

    unit: str
    per_unit: int


_TIME_SCALES = (Scale("s", NS_PER_S), Scale("ms", NS_PER_MS), Scale("µs", 1000), Scale("ns", 1))
_BYTE_SCALES = (Scale("GB", GB), Scale("MB", 1_000_000), Scale("kB", 1000), Scale("B", 1))
_SECONDS_FROM = 10 * NS_PER_S
"""Below ten seconds a column stays in milliseconds, the unit that latencies are discussed in."""
_MOST_DECIMALS = 3


def time_scale(values_ns: Iterable[int | None]) -> Scale:
    """The unit in which a column of nanoseconds reads best: by its largest value, seconds only from ten on."""
    largest = max((abs(value) for value in values_ns if value is not None), default=NS_PER_MS)
    fitting = (scale for scale in _TIME_SCALES[1:] if largest >= scale.per_unit)
    return _TIME_SCALES[0] if largest >= _SECONDS_FROM else next(fitting, _TIME_SCALES[-1])


def byte_scale(values: Iterable[int | None]) -> Scale:
    """The decimal unit in which a column of bytes reads best: by its largest value."""
    largest = max((abs(value) for value in values if value is not None), default=0)
    return next((scale for scale in _BYTE_SCALES if largest >= scale.per_unit), _BYTE_SCALES[-1])


def decimals_for(values: Iterable[float | None], digits: int = 2) -> int:
    """How many decimals (0 to 3) a column needs so that its smallest non-zero value shows this many digits."""
    sizes = [abs(value) for value in values if value is not None and value != 0]
    if not sizes or all(size == round(size) for size in sizes):
        return 0
    return min(_MOST_DECIMALS, max(0, digits - 1 - math.floor(math.log10(min(sizes)))))


def fixed(value: float | None, decimals: int) -> str:
    """A number with fixed decimals and thousands separators; `unknown` for None.

    What is there but smaller than the last decimal shows as `<0.001`, so that it does not read as nothing.
    """
    if value is None:
        return UNKNOWN
    step = 10.0**-decimals
    if 0 < value < step / 2:
        return f"<{step:.{decimals}f}"
    text = f"{value:,.{decimals}f}"
    return text.replace("-", "\u2212")


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: `1 request`, `1,024 requests`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
