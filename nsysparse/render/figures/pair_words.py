"""Values of both runs per category, in words: one of them, and all in a sentence."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from nsysparse.document import Dumbbells, Tone
from nsysparse.render.figures.tones import JUDGED, UNKNOWN
from nsysparse.render.names import shortened
from nsysparse.units import significant

_LONGEST_LABEL = _LONGEST_NAME = 40
_MARKS: Mapping[Tone, str] = MappingProxyType({"bad": "\u2212", "good": "+", "doubt": "?"})
_PLACES = 9
"""Of ratios: of several that are the same, the first is named."""


def said_of(shown: Dumbbells, at: int) -> str:
    """One category in words."""
    base, candidate = shown.base[at], shown.candidate[at]
    ratio = _ratio(base, candidate)
    names = shortened(shown.base_name, _LONGEST_NAME), shortened(shown.candidate_name, _LONGEST_NAME)
    unit = shown.y_title.partition(",")[0]
    values = [
        f"{name} {UNKNOWN if value is None else f'{significant(value)} {unit}'}"
        for name, value in zip(names, (base, candidate), strict=True)
    ]
    change = "" if ratio is None else f" ({(ratio - 1) * 100:+.1f} %)".replace("-", "\u2212")
    verdict = JUDGED.get(shown.tones[at], "")
    said = f"{named(shown, at)}: {', '.join(values)}{change}"
    return f"{said}, {verdict}" if verdict else said


def verdicts(shown: Dumbbells) -> str:
    """A character per category: - worse, + better, ? not known in both runs or in doubt, · neither."""
    return "".join(
        _MARKS.get(tone, "\u00b7") if base is not None and candidate is not None else "?"
        for base, candidate, tone in zip(shown.base, shown.candidate, shown.tones, strict=True)
    )


def named(shown: Dumbbells, at: int) -> str:
    """What a category is called, e.g. `layer 3`."""
    return f"{shown.x_title} {shortened(shown.labels[at], _LONGEST_LABEL)}"


def summary(shown: Dumbbells) -> str:
    """All categories in one sentence without its end."""
    every = [_ratio(base, candidate) for base, candidate in zip(shown.base, shown.candidate, strict=True)]
    known = [(round(ratio, _PLACES), at) for at, ratio in enumerate(every) if ratio is not None]
    if not known:
        return f"no {shown.x_title} is known in both runs"
    ends = [f"{significant(ratio)} ({named(shown, at)})" for ratio, at in (min(known), max(known))]
    parts = [f"{shown.y_title}, {shown.x_title} {shown.labels[0]} to {shown.labels[-1]}"]
    parts.append(f"candidate \u00f7 base from {' to '.join(ends)}")
    judged = [f"{shown.tones.count(tone):,} {JUDGED[tone]}" for tone in ("bad", "good", "doubt") if tone in shown.tones]
    parts.append(", ".join(judged) or "none better or worse")
    if len(known) < len(shown.labels):
        parts.append(f"{len(shown.labels) - len(known):,} not known in both runs")
    return "; ".join(parts)


def _ratio(base: float | None, candidate: float | None) -> float | None:
    ratio = candidate / base if base and candidate is not None else None
    return ratio if ratio is not None and math.isfinite(ratio) else None
