"""Units: GB is 1e9 bytes, times are integer nanoseconds, rates are GB/s.

Bytes per nanosecond and GB/s are the same number, which is why no factor appears in `gb_s`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

UNKNOWN = "unknown"
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
GB = 1_000_000_000

_DIGITS = 3
_ROUNDS_TO_ONE = 0.99995
"""From here on a part of a unit would show as 1000.0 of the smaller one."""
_BYTE_UNITS = (("B", 1), ("kB", 10**3), ("MB", 10**6), ("GB", 10**9), ("TB", 10**12))
_TIME_UNITS = (("ns", 1), ("µs", 10**3), ("ms", 10**6), ("s", 10**9))


def gb_s(nbytes: int | None, ns: int | None) -> float | None:
    """Rate in GB/s of `nbytes` bytes in `ns` nanoseconds; None when either is unknown or no time passed."""
    if nbytes is None or ns is None or ns <= 0:
        return None
    return nbytes / ns


def transfer_ns(nbytes: int, bytes_per_s: float) -> int:
    """Nanoseconds that `nbytes` bytes take at `bytes_per_s`, to the nearest nanosecond (halves to even)."""
    return round(Fraction(nbytes) * NS_PER_S / Fraction(bytes_per_s))


def significant(value: float) -> str:
    """A number with three digits, trailing zeros included so that neighbours compare: `1.50`, `47.0`, `169.5`.

    From 100 on there is still one decimal, so that parts which stand beside their sum add up to it.
    """
    size = abs(value)
    if size == 0:
        return "0"
    decimals = max(1, _DIGITS - 1 - math.floor(math.log10(size)))
    if round(size, decimals) >= 10.0 ** (_DIGITS - decimals) and decimals > 1:
        decimals -= 1  # rounded up to one more digit before the point: 9.996 is 10.0
    return f"{value:.{decimals}f}"


def _in_unit(value: int, units: Sequence[tuple[str, int]]) -> str:
    """Whole in the first unit, else in the largest of which it is at least one, as it will be rounded."""
    name, scale = next((unit for unit in reversed(units) if abs(value) >= unit[1] * _ROUNDS_TO_ONE), units[0])
    return f"{value} {name}" if scale == 1 else f"{significant(value / scale)} {name}"


def human_bytes(nbytes: int | None) -> str:
    """Decimal bytes with three digits, four from 100 on: `512 B`, `8.39 MB`, `335.5 MB`; `unknown` for None."""
    return UNKNOWN if nbytes is None else _in_unit(nbytes, _BYTE_UNITS)


def human_ns(ns: int | None) -> str:
    """A duration with three digits, four from 100 on: `850 ns`, `12.3 µs`, `15.0 ms`; `unknown` for None."""
    return UNKNOWN if ns is None else _in_unit(ns, _TIME_UNITS)


FINEST_PERCENT = 0.05
"""Less does not show in one decimal."""


def within(value: float, doubt: float) -> str:
    """A value that may be off by `doubt`, no finer than that: `9.6 ± 0.7`; `≤ 1.4` where the doubt exceeds it.

    Without a doubt it has three digits.
    """
    if doubt <= 0:
        return significant(value)
    decimals = min(_MOST_DECIMALS, max(0, -math.floor(math.log10(doubt))))
    if abs(value) < doubt:
        return f"\u2264 {abs(value) + doubt:,.{decimals}f}"
    return f"{value:,.{decimals}f} \u00b1 {doubt:.{decimals}f}".replace("-", "\u2212")


def human_within(ns: int, doubt_ns: int) -> str:
    """A duration that may be off by `doubt_ns`, no finer than that: `9.6 ± 0.7 ms`."""
    scale = time_scale([ns, doubt_ns])
    return f"{within(ns / scale.per_unit, doubt_ns / scale.per_unit)} {scale.unit}"


def share_within(value: float, doubt: float) -> str:
    """A share that may be off by `doubt`, itself a share, as a percentage no finer than that: `9.6 ± 0.7 %`.

    As `human_share` where the doubt does not show.
    """
    if doubt * 100 < FINEST_PERCENT:
        return human_share(value)
    return f"{within(value * 100, doubt * 100)} %"


def human_rate(value: float | None) -> str:
    """A rate in GB/s with three digits, four from 100 on; `unknown` for None."""
    return UNKNOWN if value is None else f"{significant(value)} GB/s"


def human_share(value: float | None, decimals: int = 1) -> str:
    """A share as a percentage; `unknown` for None. Never rounds a part up to the whole or down to nothing.

    Nothing and the whole are plain (`0 %`, `100 %`); `share` writes them with decimals, for columns.
    """
    return f"{value * 100:.0f} %" if value in (0, 1) else share(value, decimals)


def share(value: float | None, decimals: int) -> str:
    """A share as a percentage with fixed decimals, else as `human_share`."""
    if value is None:
        return UNKNOWN
    step = 10.0**-decimals
    if 0 < value * 100 < step:
        return f"<{step:.{decimals}f} %"
    if 100 - step < value * 100 < 100:  # noqa: PLR2004 (the whole)
        return f">{100 - step:.{decimals}f} %"
    return f"{value * 100:.{decimals}f} %"


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


def decimals_for(values: Iterable[float | None]) -> int:
    """How many decimals (0 to 3) a column needs so that its smallest non-zero value shows three digits."""
    sizes = [abs(value) for value in values if value is not None and value != 0]
    if not sizes or all(size == round(size) for size in sizes):
        return 0
    return min(_MOST_DECIMALS, max(0, _DIGITS - 1 - math.floor(math.log10(min(sizes)))))


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


def capitalised(text: str) -> str:
    """A text as the beginning of a sentence; the rest keeps its capitals."""
    return f"{text[:1].upper()}{text[1:]}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: `1 request`, `1,024 requests`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
