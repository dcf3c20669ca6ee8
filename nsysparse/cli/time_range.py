"""`--time-range A..B`: a part of a recording's time, as people write it."""

import re
from decimal import Decimal

from nsysparse.errors import UsageError
from nsysparse.filenames import shown_name

_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_EDGE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*(ns|us|µs|ms|s|m)")
_OPTION = "--time-range"
_EXAMPLE = f"Say for instance {_OPTION} 1.5s..2.25s, or 800ms.. for all after that."


def time_range_ns(text: str) -> tuple[int | None, int | None]:
    """From when to when, in nanoseconds since the zero of the trace's clock; None where it is open.

    Args:
        text: `A..B`, of which either may be left out: numbers with units from ns to m.

    Raises:
        UsageError: It is no such range, or holds no instant.
    """
    first, dots, last = text.partition("..")
    if not dots or not (first.strip() or last.strip()):
        raise UsageError(f"{_OPTION} {shown_name(text)}: is no range A..B.", _EXAMPLE)
    start, end = (_nanoseconds(text, each.strip()) for each in (first, last))
    if start is not None and end is not None and start >= end:
        raise UsageError(f"{_OPTION} {shown_name(text)}: ends before anything can be in it.", _EXAMPLE)
    return start, end


def _nanoseconds(text: str, edge: str) -> int | None:
    if not edge:
        return None
    found = _EDGE.fullmatch(edge)
    if found is None:
        said = shown_name(edge)
        raise UsageError(f"{_OPTION} {shown_name(text)}: {said} is no time with a unit (ns, us, ms, s, m).", _EXAMPLE)
    return int(Decimal(found[1]) * _UNITS_NS[found[2].replace("µ", "u")])
