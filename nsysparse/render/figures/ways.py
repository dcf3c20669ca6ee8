"""Ways to the first token: one wide bar with its segments named, and rows aligned on the end of prefill."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nsysparse.document import Meaning, Segment, Waterfall, Way, WayRow
from nsysparse.render.figures.scale import mark, side, ticks, usual_top
from nsysparse.render.names import shortened
from nsysparse.render.svg import chart, element, horizontal, label, percent, pixels, rect, vertical

_BAR_TOP, _BAR_HEIGHT = 34, 46
_CHARACTER = 7.2
"""Pixels of a character in a bar."""
_LEAST_WIDTH = 760
"""Pixels for which the labels of the wide bar are laid out; on less it stands as steps."""
_MIDDLE = 50
_ROW, _ROW_TOP, _ROW_BAR = 28, 5, 16
_NOTE, _ELBOW, _APART = 18, 8, 1.0
"""Pixels from note to note, pixels of a leader beside its text, and percent between texts of one line."""
_CUT_TEXT = 0.06
"""Share of the width at which the text of a cut bar has its middle."""
_LEAST_STEP = 0.6
_LEAST_SHOWN = 0.35
"""Percent of the width below which a segment is not named."""


def way(shown: Way) -> Markup:
    """The wide bar: segments named inside, or below where they are too narrow, and the judged part bracketed."""
    total = sum(segment.value or 0 for segment in shown.segments) or 1.0
    marks, noted, x = [], [], 0.0
    edges = [0.0, 0.0]
    for place, segment in enumerate(shown.segments):
        width = (segment.value or 0) / total * 100
        if place == shown.bracket[0]:
            edges[0] = x
        if place == shown.bracket[1]:
            edges[1] = x + width
        look = mark(segment.meaning)
        marks.append(rect(x, width, _BAR_TOP, _BAR_HEIGHT, look=f"seg {look}", title=f"{segment.label} {segment.text}"))
        middle = x + width / 2
        if width > max(len(segment.label), len(segment.text)) * _CHARACTER / _LEAST_WIDTH * 100 + 1:
            marks += [
                label(middle, _BAR_TOP + 19, segment.label, anchor="middle", look=f"in on-{segment.meaning}"),
                label(middle, _BAR_TOP + 36, segment.text, anchor="middle", look=f"in on-{segment.meaning} strong-in"),
            ]
        elif width > _LEAST_SHOWN:
            noted.append((f"{segment.label} {segment.text}", middle))
        x += width
    left, right = edges
    middle = min(max((left + right) / 2, 12), 88)
    head = [
        horizontal(24, left, right, "bracket"),
        vertical(left, 24, 32, "bracket"),
        vertical(right, 24, 32, "bracket"),
        label(middle, 16, shown.bracket_text, anchor="middle", look="lbl strong"),
    ]
    said = ", ".join(f"{segment.label} {segment.text}" for segment in shown.segments)
    notes, depth = _below(noted)
    height = _BAR_TOP + _BAR_HEIGHT + 10 + _NOTE * depth
    return chart(height, *head, *marks, *notes, label=f"{shown.caption}: {said}. {shown.bracket_text}")


def _below(noted: Sequence[tuple[str, float]]) -> tuple[list[Markup], int]:
    """Texts under the bar beside a line to what they name, and how many lines of text that takes.

    The first texts run to the right and the others to the left, the outermost the lowest: so no line crosses a text.
    """
    widths = [len(text) * 6.8 / _LEAST_WIDTH * 100 + _APART for text, _ in noted]
    count = _running_right([x for _, x in noted], widths)
    marks: list[Markup] = []
    depth = 0
    for is_right, places in ((False, range(count - 1, -1, -1)), (True, range(count, len(noted)))):
        placed: list[tuple[float, float, int]] = []
        for place in places:
            text, x = noted[place]
            start, end = (x - widths[place], x) if is_right else (x, x + widths[place])
            lane = max((taken + 1 for low, high, taken in placed if low < end and high > start), default=0)
            placed.append((start, end, lane))
            depth = max(depth, lane + 1)
            marks += _note(text, x, lane, is_right=is_right)
    return marks, depth


def _running_right(places: Sequence[float], widths: Sequence[float]) -> int:
    """How many of the texts may run to the right so that none meets one of those that run to the left, or an edge."""
    middle = sum(x < _MIDDLE for x in places)
    for count in sorted(range(len(places) + 1), key=lambda each: abs(each - middle)):
        ends = [x + width for x, width in zip(places[:count], widths[:count], strict=True)]
        starts = [x - width for x, width in zip(places[count:], widths[count:], strict=True)]
        if max(ends, default=0) <= min(starts, default=100) and min(starts, default=0) >= 0:
            return count
    return middle


def _note(text: str, x: float, lane: int, *, is_right: bool) -> list[Markup]:
    top, y = _BAR_TOP + _BAR_HEIGHT + 2, _BAR_TOP + _BAR_HEIGHT + 20 + lane * _NOTE
    elbow = -_ELBOW if is_right else _ELBOW
    leader = element("path", d=f"M0 0V{y - 4 - top}h{elbow}", class_="leader")
    return [
        element("svg", leader, x=percent(x), y=pixels(top), width="1", height="1", overflow="visible"),
        label(x, y, text, anchor="end" if is_right else "start", look="lbl", dx=elbow + (-4 if is_right else 4)),
    ]


def steps(shown: Way) -> list[tuple[Segment, bool, Markup]]:
    """The same for a narrow screen: each segment, whether it is judged, and a bar that starts where the last ended."""
    total = sum(segment.value or 0 for segment in shown.segments) or 1.0
    rows, x = [], 0.0
    for place, segment in enumerate(shown.segments):
        width = (segment.value or 0) / total * 100
        bar = rect(min(x, 100 - _LEAST_STEP), max(width, _LEAST_STEP), 2, 12, look=mark(segment.meaning))
        is_judged = shown.bracket[0] <= place <= shown.bracket[1]
        rows.append((segment, is_judged, chart(16, horizontal(15.5, 0, 100, "grid"), bar, label="")))
        x += width
    return rows


@dataclass(frozen=True, slots=True)
class Axis:
    """How far the rows reach before and after the common line, in the unit of their chart."""

    left: float
    right: float

    def at(self, value: float) -> float:
        """The place of a value in percent, within the axis."""
        inside = min(max(value, -self.left), self.right)
        return (inside + self.left) / (self.left + self.right) * 100


def axis_of(shown: Waterfall) -> Axis:
    """Right: nearly all ways whole. Left: no more room than right, since what comes before the line is not judged."""
    after = [max(_sum(row.after), (row.doubted or 0) + row.doubt) for row in shown.rows]
    before = [_sum(row.before) for row in shown.rows]
    right = usual_top([value for value in after if value] or [1.0], room=1.15)
    left = min(max(before, default=0), right * 0.8) or right * 0.1
    return Axis(left * 1.02, right * 1.02)


def _sum(segments: Sequence[Segment]) -> float:
    return sum(segment.value or 0 for segment in segments)


def axis_marks(shown: Waterfall, axis: Axis) -> Markup:
    """The ruler above the rows."""
    zero = axis.at(0)
    marks = [label(zero, 12, shown.zero, anchor=side(zero, 10), look="tick strong")]
    marks += [vertical(zero, 16, 34, "zero")]
    step = ticks(max(axis.right, axis.left), 4)[0]
    places = [step * count for count in range(-int(axis.left / step), int(axis.right / step) + 1)]
    for place in places:
        x = axis.at(place)
        text = "0" if place == 0 else f"{'+' if place > 0 else '−'}{abs(place):g}"  # noqa: RUF001 (a real minus)
        marks.append(vertical(x, 29, 34, "axis"))
        if place:
            marks.append(label(x, 26, text, anchor=side(x), look="tick"))
    return chart(34, *marks, label=f"{shown.unit} from where {shown.zero}")


def row(shown: WayRow, axis: Axis, unit: str) -> Markup:
    """One way: what came before the line to the left, the rest to the right, the doubt as a whisker below."""
    marks = [vertical(axis.at(0), 0, _ROW, "zero")]
    marks += _before(shown, axis, unit)
    if shown.ahead is not None and shown.ahead.value:
        start = axis.at(-shown.ahead.value)
        text = f"{shown.ahead.label} {shown.ahead.text}"
        marks.append(rect(start, axis.at(0) - start, 17, 4, look=mark(shown.ahead.meaning), title=text))
        if shown.ahead.value > axis.left:
            marks.append(_break(0.4))
    marks += _after(shown, axis, unit)
    if shown.doubted is not None and shown.doubt:
        low, high = axis.at(max(0, shown.doubted - shown.doubt)), axis.at(shown.doubted + shown.doubt)
        marks += [horizontal(24, low, high, "whisker"), vertical(axis.at(shown.doubted), 21, 27, "whisker")]
        if shown.doubted + shown.doubt > axis.right:
            marks.append(_break(98.2))
    said = ", ".join(f"{each.label} {each.text}" for each in (*reversed(shown.before), *shown.after))
    unknown = "; ".join(text for text in (shown.unknown_before, shown.unknown_after) if text)
    return chart(_ROW, *marks, label=f"{said}. {unknown}".strip(" ."))


def _before(shown: WayRow, axis: Axis, unit: str) -> list[Markup]:
    marks, reached = [], 0.0
    for segment in shown.before:
        start = reached + (segment.value or 0)
        if reached < axis.left and segment.value:
            x = axis.at(-start)
            marks.append(_bar(segment, x, axis.at(-reached) - x))
        reached = start
    if shown.unknown_before:
        marks += _unknown(0, axis.at(-reached), shown.unknown_before, "start")
    elif reached > axis.left * 1.001:
        meaning = _at(shown.before, axis.left - (axis.left + axis.right) * _CUT_TEXT)
        halo = "halo-queue" if meaning == "queue" else "halo-in"
        marks += [_break(0.4), label(2.6, 17, f"−{reached:,.3g} {unit}", look=f"in on-{meaning} {halo}")]  # noqa: RUF001
    return marks


def _at(segments: Sequence[Segment], place: float) -> Meaning:
    """The meaning of the segment there, which a text must stand out from."""
    reached, meaning = 0.0, segments[-1].meaning
    for segment in segments:
        reached += segment.value or 0
        if reached >= place:
            return segment.meaning
    return meaning


def _after(shown: WayRow, axis: Axis, unit: str) -> list[Markup]:
    marks, reached = [], 0.0
    for segment in shown.after:
        if reached < axis.right and segment.value:
            x = axis.at(reached)
            marks.append(_bar(segment, x, axis.at(reached + segment.value) - x))
        reached += segment.value or 0
    if shown.unknown_after:
        marks += _unknown(axis.at(reached), 100, shown.unknown_after, "end")
    elif reached > axis.right * 1.001:
        marks += [_break(98.2), label(97.6, 17, f"+{reached:,.3g} {unit}", anchor="end", look="lbl strong halo")]
    return marks


def _bar(segment: Segment, x: float, width: float) -> Markup:
    title = f"{segment.label} {segment.text}"
    return rect(x, width, _ROW_TOP, _ROW_BAR, look=f"seg {mark(segment.meaning)}", title=title)


def _unknown(left: float, right: float, text: str, side: str) -> list[Markup]:
    x = 1.0 if side == "start" else 99.0
    return [
        rect(left, right - left, _ROW_TOP, _ROW_BAR, look="mark-unknown", title=text),
        label(x, 17, shortened(text, 44), anchor=side, look="lbl halo"),
    ]


def _break(x: float) -> Markup:
    """Two slashes: the bar goes on."""
    slashes = element("path", d="M4 3l-4 20M9 3l-4 20", class_="break")
    return element("svg", slashes, x=percent(x), y="0", width="12", height=pixels(_ROW), overflow="visible")
