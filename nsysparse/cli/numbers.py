"""Numbers and ranges as users write them, read exactly: decimals never pass through binary fractions."""

import re
from collections.abc import Sequence
from fractions import Fraction

from nsysparse.errors import UsageError

_DECIMAL = re.compile(r"\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
LONGEST_NS = 3_600_000_000_000
"""An hour: no step, layer or cost is longer."""
_MOST_VALUES = 32


def nanoseconds(option: str, text: str, ns_per_unit: int, *, example: str, least: int = 1) -> int:
    """A time as whole nanoseconds.

    Args:
        option: How messages call the option.
        text: A decimal number of units.
        ns_per_unit: Nanoseconds of one unit.
        example: A value that would do.
        least: The shortest that is one, in nanoseconds.

    Raises:
        UsageError: It is no such number.
    """
    if _DECIMAL.fullmatch(text):
        value = round(Fraction(text) * ns_per_unit)
        if least <= value <= LONGEST_NS:
            return value
    raise UsageError(f"{option} {_shown(text)}: is no time from 1 ns to 1 h.", f"Say for instance {option} {example}.")


def band_ns(option: str, text: str, ns_per_unit: int, *, example: str) -> tuple[int, int]:
    """A range of times `A..B`, or one time as a range of itself; arguments and errors as for `nanoseconds`."""
    first, dots, last = text.partition("..")
    low = nanoseconds(option, first, ns_per_unit, example=example)
    high = nanoseconds(option, last, ns_per_unit, example=example) if dots else low
    if low > high:
        raise UsageError(f"{option} {_shown(text)}: ends before it begins.", f"Write {option} {last}..{first}.")
    return low, high


def whole_numbers(option: str, text: str, most: int, *, example: str) -> Sequence[int]:
    """Numbers from 1 to `most`, parted by commas, in the order given and each once.

    Raises:
        UsageError: One is no such number, or there are too many.
    """
    found: dict[int, None] = {}
    for part in text.split(",", _MOST_VALUES):
        each = part.strip()
        if not (_WHOLE.fullmatch(each) and 1 <= int(each) <= most):
            raise UsageError(
                f"{option} {_shown(text)}: {_shown(each) or 'nothing'} is no whole number from 1 to {most:,}.",
                f"Say for instance {option} {example}.",
            )
        found[int(each)] = None
    return tuple(found)


def part_of_one(option: str, text: str, *, example: str) -> float:
    """A share between 0 and 1, both left out, or as much in percent: `0.2` or `20%`.

    Raises:
        UsageError: It is neither.
    """
    number, percent, rest = text.partition("%")
    if _DECIMAL.fullmatch(number.strip()) and not rest.strip():
        value = Fraction(number.strip()) / (100 if percent else 1)
        if 0 < value < 1:
            return float(value)
    raise UsageError(f"{option} {_shown(text)}: is no share between 0 and 1.", f"Say for instance {option} {example}.")


def _shown(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 (enough to find it again)
