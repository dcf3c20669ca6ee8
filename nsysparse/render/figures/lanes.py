"""A timeline that stands without scripts: the coarsest marks, a row per lane, one path per lane and meaning."""

from markupsafe import Markup

from nsysparse.document import Lane, Lanes, MarkLevel, Meaning
from nsysparse.render.figures.scale import mark, side, ticks
from nsysparse.render.names import shortened
from nsysparse.render.svg import chart, element, horizontal, label, pixels, plane, vertical
from nsysparse.units import NS_PER_MS, NS_PER_S

_LANE, _BAR = 24, 15
_LONGEST_SOURCE, _LONGEST_NAME = 10, 16
_LEFT = 17.0
_FINEST = 1.2
"""A mark is at least this wide, in thousandths of the axis: a pixel of a usual window, as thinner marks of two colours
mix to a grey that means compute."""
_ABOVE = {"whole": 1, "wait": 1, "wire": 2}
"""What is drawn over what: a wire mark may lie within a wait."""
_SECONDS_FROM = 10 * NS_PER_S


def lanes(shown: Lanes) -> Markup:
    """All lanes from the first to the last mark."""
    span = max(shown.end_ns - shown.start_ns, 1)
    height = _LANE * len(shown.lanes)
    marks = []
    for place, lane in enumerate(shown.lanes):
        y = place * _LANE
        marks += [
            horizontal(y + _LANE - 0.5, _LEFT, 100, "grid"),
            label(_LEFT, y + 16, lane_name(lane), anchor="end", look="tick", dx=-8),
        ]
    if shown.levels:
        marks.append(plane(_LEFT, 100 - _LEFT, 0, height, *_paths(shown.levels[0], shown, span)))
    marks += _ruler(span, height)
    return chart(height + 40, *marks, label=f"{shown.caption}: {len(shown.lanes):,} lanes")


def lane_name(lane: Lane) -> str:
    """What stands beside a lane, where there is little room."""
    source = f"{shortened(lane.source, _LONGEST_SOURCE)} " if lane.source else ""
    return f"{source}{shortened(lane.label, _LONGEST_NAME)}"


def _paths(level: MarkLevel, shown: Lanes, span: int) -> list[Markup]:
    """Strokes as thick as a bar: the fewest bytes for many marks."""
    found: dict[tuple[int, Meaning], list[str]] = {}
    unit = 1000 / len(shown.lanes)
    columns = zip(level.lane, level.meaning, level.start_ns, level.end_ns, strict=True)
    for lane, meaning, start, end in columns:
        x = (start - shown.start_ns) / span * 1000
        width = max((end - start) / span * 1000, _FINEST)
        found.setdefault((lane, meaning), []).append(f"M{_short(x)} {_short((lane + 0.45) * unit)}h{_short(width)}")
    ranked = sorted(found.items(), key=lambda item: (_ABOVE.get(item[0][1], 0), item[0]))
    return [
        element("path", d="".join(each), class_=f"lane {mark(meaning)}", stroke_width=pixels(_BAR))
        for (_, meaning), each in ranked
    ]


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _ruler(span: int, height: int) -> list[Markup]:
    unit, per = ("s", NS_PER_S) if span >= _SECONDS_FROM else ("ms", NS_PER_MS)
    marks = [horizontal(height, _LEFT, 100, "axis")]
    for tick in (0.0, *ticks(span / per, 6)):
        x = _LEFT + tick * per / span * (100 - _LEFT)
        marks += [
            vertical(x, height, height + 4, "axis"),
            label(x, height + 18, f"{tick:,g}", anchor=side(x), look="tick"),
        ]
    return [*marks, label(100, height + 36, f"{unit} from the start", anchor="end", look="tick")]
