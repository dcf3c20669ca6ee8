"""Small figures made of block characters, for formats that can only write text."""

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"
MOST_LEVELS = 96
"""More columns than this do not fit a line; neighbours are then merged, the largest of them shown."""


def bar(value: float | None, end: float, width: int) -> str:
    """A bar from zero to `value` on an axis that ends at `end`, padded to `width` characters; `?` when unknown."""
    if value is None:
        return "?".ljust(width)
    eighths = round(min(max(value / end, 0.0), 1.0) * width * 8)
    full, rest = divmod(max(eighths, 1), 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def levels(values: Sequence[float | None]) -> str:
    """Columns from zero, one character each; `?` where unknown. What is below zero has the lowest."""
    merged = _merged(values)
    top = max((value for value in merged if value is not None and value > 0), default=1.0)
    return "".join("?" if value is None else _LEVELS[min(7, max(0, int(value / top * 8)))] for value in merged)


def _merged(values: Sequence[float | None]) -> list[float | None]:
    per_mark = -(-len(values) // MOST_LEVELS) or 1
    groups = [values[start : start + per_mark] for start in range(0, len(values), per_mark)]
    return [max((value for value in group if value is not None), default=None) for group in groups]
