"""One value of both runs per category, joined by a line in the tone of its change; of many as curves."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from nsysparse.document import Dumbbells, Tone
from nsysparse.render.figures.pair_words import named, said_of, summary
from nsysparse.render.figures.scale import mark, round_step
from nsysparse.render.figures.tones import JUDGED, UNKNOWN
from nsysparse.render.names import shortened, visible
from nsysparse.render.svg import chart, element, horizontal, label, percent, pixels, plane, rect, vertical
from nsysparse.units import significant

_TOP, _ROOM, _BASE, _HEIGHT = 34, 16, 224, 266
"""In pixels; above values that are cut off there is room for the largest number."""
_LEFT, _RIGHT = 7.0, 100.0
_WIDEST, _TICKS_WIDTH = 64, 48
"""In pixels. A chart of few categories is only as wide as they need, so that it is not mostly empty."""
_MOST_IN_NARROW = 12
_RADII = ((16, 6.0), (40, 5.0), (80, 3.8), (120, 2.8))
"""Up to so many categories, marks are so large; of more there are curves, as marks would lie on each other."""
_THICK_TO = 40
_BEAD = 0.65
"""Of the ring's radius, so that both are seen where they meet."""
_STRIP = 6
_MOST_NAMED = 10
_FEW, _USUAL, _CUT_FROM, _CUT_ROOM = 8, 0.9, 2.5, 1.3
"""Values this many times nine tenths of the others are cut off, so that the others can be read."""
_HIDDEN_BELOW, _SAME_BELOW, _LEAST_SPAN, _SPAN_ROOM = 0.1, 0.01, 0.1, 1.2
"""Shares of the largest value. Where all lie closer than the first but not the second, an axis from zero would hide
what differs; one that begins later still spans the third, as noise must not look like structure."""
_TONES: tuple[Tone, ...] = ("plain", "muted", "doubt", "good", "bad")
_NEAR_LEFT = 40
_LONGEST_TICK = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """The values at both ends, and the pixel of the upper one."""

    low: float
    high: float
    roof: float

    def y(self, value: float) -> float:
        """The pixel of a value; beyond an end that of the end."""
        inside = min(max(value, self.low), self.high)
        return _BASE - (inside - self.low) / (self.high - self.low) * (_BASE - self.roof)

    def ticks(self) -> list[float]:
        """Round numbers above the lower end."""
        step = round_step(self.high - self.low)
        first = math.floor(self.low / step + 1e-9) + 1
        return [place * step for place in range(first, int(self.high / step + 1e-9) + 1)]


def vertical_axis(shown: Dumbbells) -> Axis:
    """From zero, unless that hides what differs, to the largest, unless that flattens the others."""
    known = sorted(value for value in (*shown.base, *shown.candidate) if value is not None)
    if not known:
        return Axis(0.0, 1.0, _TOP)
    least, largest = known[0], known[-1]
    if _SAME_BELOW * largest < largest - least < _HIDDEN_BELOW * largest:
        span = max(largest - least, _LEAST_SPAN * largest) * _SPAN_ROOM
        step = round_step(span)
        return Axis(math.floor((largest + least - span) / 2 / step) * step, (largest + least + span) / 2, _TOP)
    usual = known[int(len(known) * _USUAL) - 1] if len(known) >= _FEW else largest
    if 0 < usual * _CUT_FROM < largest:
        return Axis(0.0, usual * _CUT_ROOM, _TOP + _ROOM)
    return Axis(0.0, largest if largest > 0 else 1.0, _TOP)


def dumbbells(shown: Dumbbells) -> Markup:
    """The base hollow, the candidate filled; where one is unknown the foot of the category is hatched."""
    count = len(shown.labels)
    narrow = _TICKS_WIDTH + count * _WIDEST if count <= _MOST_IN_NARROW else None
    left = _LEFT if narrow is None else _TICKS_WIDTH / narrow * 100
    step = (_RIGHT - left) / max(count, 1)
    axis = vertical_axis(shown)

    def across(at: int) -> float:
        return left + (at + 0.5) * step

    marks = _ruled(shown, axis, across)
    radius = next((radius for most, radius in _RADII if count <= most), None)
    marks += _curves(shown, axis, left) if radius is None else _pairs(shown, axis, across, radius)
    marks += _beyond(shown, axis, across)
    marks.append(horizontal(_BASE, left, _RIGHT, "axis"))
    marks += _unknown(shown, left, step)
    marks += [
        rect(left + at * step, step, _TOP, _BASE - _TOP + _STRIP, look="hit", title=said_of(shown, at))
        for at in range(count)
    ]
    return chart(_HEIGHT, *marks, label=visible(f"{shown.caption}: {summary(shown)}"), width=narrow)


def joint(tone: Tone) -> Markup:
    """The line of a tone, for a key."""
    return element("line", x1=0, x2=14, y1=5, y2=5, class_=_joined(tone))


def _joined(tone: Tone) -> str:
    return f"joint joint-{tone}" if tone in JUDGED else "joint"


def _ruled(shown: Dumbbells, axis: Axis, across: Callable[[int], float]) -> list[Markup]:
    """The grid with its numbers on its lines, titles, and where the axis begins if not at zero."""
    marks = [label(0, 14, shown.y_title, look="tick")]
    for tick in axis.ticks():
        marks += [horizontal(axis.y(tick), 0, _RIGHT, "grid"), label(0, axis.y(tick) - 3, f"{tick:g}", look="tick")]
    every = max(1, math.ceil(len(shown.labels) / _MOST_NAMED))
    marks += [
        label(across(at), _BASE + 20, shortened(shown.labels[at], _LONGEST_TICK), anchor="middle", look="tick")
        for at in range(0, len(shown.labels), every)
    ]
    if axis.low:
        marks.append(label(0, _BASE + 38, f"axis from {axis.low:g}, not from zero", look="lbl"))
    return [*marks, label(_RIGHT, _BASE + 38, shown.x_title, anchor="end", look="tick")]


def _pairs(shown: Dumbbells, axis: Axis, across: Callable[[int], float], radius: float) -> list[Markup]:
    """A line, a ring and a bead each."""
    thick = "" if len(shown.labels) <= _THICK_TO else " thin"
    joints, rings, beads = [], [], []
    for at, (base, candidate, tone) in enumerate(zip(shown.base, shown.candidate, shown.tones, strict=True)):
        x = across(at)
        if base is not None and candidate is not None:
            joints.append(vertical(x, axis.y(base), axis.y(candidate), f"{_joined(tone)}{thick}"))
        if base is not None and base <= axis.high:
            rings.append(element("circle", cx=percent(x), cy=pixels(axis.y(base)), r=radius, class_="ring"))
        if candidate is not None and candidate <= axis.high:
            look = f"bead {mark(shown.meaning)}"
            beads.append(
                element("circle", cx=percent(x), cy=pixels(axis.y(candidate)), r=pixels(radius * _BEAD), class_=look)
            )
    return [*joints, *rings, *beads]


def _curves(shown: Dumbbells, axis: Axis, left: float) -> list[Markup]:
    """Both runs as curves that break where one is unknown, and what lies between them in the tones of the changes."""
    step = 1000 / len(shown.labels)

    def up(value: float) -> str:
        inside = min(max(value, axis.low), axis.high)
        return f"{(axis.high - inside) / (axis.high - axis.low) * 1000:.0f}"

    def path(values: Sequence[float | None]) -> str:
        runs = groupby(enumerate(values), key=lambda each: each[1] is None)
        pieces = [[f"{(at + 0.5) * step:.1f} {up(value)}" for at, value in run if value is not None] for _, run in runs]
        return "".join(f"M{'L'.join(piece)}{'h.5' if len(piece) == 1 else ''}" for piece in pieces if piece)

    strokes: dict[Tone, list[str]] = {}
    for at, (base, candidate, tone) in enumerate(zip(shown.base, shown.candidate, shown.tones, strict=True)):
        if base is not None and candidate is not None:
            strokes.setdefault(tone, []).append(f"M{(at + 0.5) * step:.1f} {up(base)}V{up(candidate)}")
    between = [
        element("path", d="".join(strokes[tone]), class_=f"{_joined(tone)} dense") for tone in _TONES if tone in strokes
    ]
    curves = [
        element("path", d=path(values), class_=look)
        for values, look in ((shown.base, "course"), (shown.candidate, f"course now {mark(shown.meaning)}"))
    ]
    return [plane(left, _RIGHT - left, axis.roof, _BASE - axis.roof, *between, *curves)]


def _beyond(shown: Dumbbells, axis: Axis, across: Callable[[int], float]) -> list[Markup]:
    """An arrow where a value is higher than the axis, and the largest of them in words."""
    highest = [max(value or 0.0 for value in pair) for pair in zip(shown.base, shown.candidate, strict=True)]
    beyond = [at for at, value in enumerate(highest) if value > axis.high]
    if not beyond:
        return []
    arrows = [
        element(
            "svg", element("path", d="M-4 6L0 0L4 6", class_="beyond"), x=percent(across(at)), y=pixels(axis.roof - 8),
            width="1", height="1", overflow="visible",
        )
        for at in beyond
    ]  # fmt: skip
    top = max(beyond, key=lambda at: highest[at])
    values = " \u2192 ".join(
        UNKNOWN if value is None else significant(value) for value in (shown.base[top], shown.candidate[top])
    )
    more = f"; {len(beyond) - 1:,} more beyond the axis" if len(beyond) > 1 else ""
    x = across(top)
    text = f"{named(shown, top)}: {values}{more}"
    anchor = "start" if x < _NEAR_LEFT else "end"
    return [*arrows, label(x, axis.roof - 14, text, anchor=anchor, look="lbl strong halo")]


def _unknown(shown: Dumbbells, left: float, step: float) -> list[Markup]:
    """Neighbours as one strip below the axis."""
    marks, start = [], 0
    for is_unknown, run in groupby(
        base is None or candidate is None for base, candidate in zip(shown.base, shown.candidate, strict=True)
    ):
        length = sum(1 for _ in run)
        if is_unknown:
            marks.append(rect(left + start * step, length * step, _BASE + 1, _STRIP, look="mark-unknown"))
        start += length
    return marks
