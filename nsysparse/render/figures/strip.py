"""Every request's share as a dot on one line against the threshold; above it the median and how far it may be off."""

from collections.abc import Callable, Sequence

from markupsafe import Markup

from nsysparse.document import Dot, Strip, Tone
from nsysparse.render.figures.scale import side, ticks
from nsysparse.render.names import shortened
from nsysparse.render.svg import chart, element, horizontal, label, percent, pixels, rect, vertical

MOST_DOTS = 300
"""More are drawn as columns of counts: dots would lie on each other."""
_BINS = 80
_WHISKER, _TOP, _BASE, _HEIGHT = 38, 46, 90, 112
_RADIUS = 5
_LANES = (0, -11, 11, -6, 6)
_LANE_WIDTH = 1.5
_LEAST_END = 0.05
_LEAST_COLUMN = 1.5
"""Pixels: one request among thousands must be seen."""


def strip(shown: Strip) -> Markup:
    """The figure; its text says what the picture shows."""
    values = [dot.value for dot in shown.dots]
    reach = 0 if shown.middle is None else shown.middle + shown.doubt
    end = min(max(shown.threshold * 2, max([*values, reach]) * 1.12, _LEAST_END), 1.0)

    def at(value: float) -> float:
        return min(max(value, 0), end) / end * 100

    line = at(shown.threshold)
    marks = [
        rect(0, line, _TOP, _BASE - _TOP, look="okzone"),
        rect(line, 100 - line, _TOP, _BASE - _TOP, look="overzone"),
        horizontal(_BASE, 0, 100, "axis"),
        label(0, _BASE + 18, "0 %", look="tick"),
    ]
    for tick in ticks(end * 100, 6):
        x = at(tick / 100)
        marks += [vertical(x, _BASE, _BASE + 4, "axis")]
        marks += [label(x, _BASE + 18, f"{tick:g} %", anchor=side(x), look="tick")]
    marks += _columns(shown.dots, end) if len(values) > MOST_DOTS else _dots(shown.dots, at)
    marks += [
        vertical(line, 14, _BASE, "threshold"),
        label(line, 12, shown.threshold_text, anchor="end" if line > 25 else "start", look="lbl"),  # noqa: PLR2004
    ]
    if shown.middle is not None:
        marks += _middle(shown, at(shown.middle), at(shown.middle - shown.doubt), at(shown.middle + shown.doubt))
    said = f"{shown.caption}: {len(values):,} requests, {shown.threshold_text}"
    return chart(_HEIGHT, *marks, label=f"{said}, {shown.middle_text}" if shown.middle_text else said)


def _middle(shown: Strip, x: float, low: float, high: float) -> list[Markup]:
    """The median as a line, its doubt as a whisker, its text on a line of its own."""
    marks = [vertical(x, _WHISKER, _BASE, "p50")]
    if high > low:
        marks += [horizontal(_WHISKER, low, high, "whisker")]
        marks += [vertical(end, _WHISKER - 4, _WHISKER + 4, "whisker") for end in (low, high)]
    anchor = "start" if x < 50 else "end"  # noqa: PLR2004 (to the side where there is more room)
    return [*marks, label(x, _WHISKER - 8, shown.middle_text, anchor=anchor, look="lbl strong halo over-line")]


def _dots(dots: Sequence[Dot], at: Callable[[float], float]) -> list[Markup]:
    """Dots that would touch go to other lanes."""
    last = [-9.0] * len(_LANES)
    marks = []
    for dot in dots:
        x = at(dot.value)
        lane = next((place for place, taken in enumerate(last) if x - taken > _LANE_WIDTH), 0)
        last[lane] = x
        title = element("title", f"{shortened(dot.label, 60)}: {dot.value * 100:.1f} %")
        y = (_TOP + _BASE) / 2 + _LANES[lane]
        marks.append(element("circle", title, cx=percent(x), cy=pixels(y), r=_RADIUS, class_=f"dot dot-{dot.tone}"))
    return marks


def _columns(dots: Sequence[Dot], end: float) -> list[Markup]:
    """Counts per bin, stacked by verdict; the highest bin fills the height."""
    order: tuple[Tone, ...] = ("bad", "doubt", "good", "muted")
    bins: list[dict[Tone, int]] = [{} for _ in range(_BINS)]
    for dot in dots:
        place = min(_BINS - 1, int(dot.value / end * _BINS))
        bins[place][dot.tone] = bins[place].get(dot.tone, 0) + 1
    most = max(sum(each.values()) for each in bins)
    marks = []
    for place, each in enumerate(bins):
        y = float(_BASE)
        for tone in order:
            if count := each.get(tone, 0):
                height = max(count / most * (_BASE - _TOP - 4), _LEAST_COLUMN)
                y -= height
                title = f"{place / _BINS * end * 100:.1f} to {(place + 1) / _BINS * end * 100:.1f} %: {count:,}"
                marks.append(rect(place / _BINS * 100, 80 / _BINS, y, height, look=f"dot-{tone}", title=title))
    return marks
