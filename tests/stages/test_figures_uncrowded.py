"""Figures in which no text lies on another's line, no two series look alike, and no axis is without a scale."""

import re
from itertools import combinations

import pytest

from nsysparse.document import (
    Callout,
    Document,
    Fact,
    Facts,
    Lane,
    Lanes,
    MarkLevel,
    RateBySize,
    Segment,
    SizeRate,
    SizeSeries,
    Spread,
    Way,
)
from nsysparse.render import to_html
from nsysparse.render.figures import curve, dot, lanes, way

WIDTH = 1000
"""Pixels for which places are worked out; texts are laid out for less."""
CHARACTER = 6.8


def middle_request(*values: float) -> Way:
    meanings = ("queue", "compute", "handoff", "wait", "wire", "pause", "ready", "compute")
    segments = [
        Segment(f"segment {place}", meaning, value, f"{value:g} ms")
        for place, (meaning, value) in enumerate(zip(meanings, values, strict=True))
    ]
    return Way("c", "n", segments, (2, 6), "KV gap", "middle")


def notes(svg: str) -> list[tuple[float, float, float, float]]:
    """Of each text below the bar: where its line comes down, how deep, and the ends of the text."""
    found = re.findall(
        r'<svg x="([\d.]+)%" y="([\d.]+)"[^>]*><path d="M0 0V([\d.]+)h(-?\d+)" class="leader"/></svg>'
        r'<text x="[\d.]+%"[^>]*dx="(-?\d+)">([^<]+)</text>',
        svg,
    )
    placed = []
    for x, top, down, elbow, shift, text in found:
        line, start = float(x) / 100 * WIDTH, float(x) / 100 * WIDTH + int(shift)
        end = start + (1 if int(elbow) > 0 else -1) * len(text) * CHARACTER
        placed.append((line, float(top) + float(down), *sorted((start, end))))
    return placed


@pytest.mark.parametrize(
    "values",
    [
        (141, 62, 0.9, 0.9, 5.5, 1.5, 7.4, 7.8),
        (1, 1.2, 1, 1.3, 1, 1, 1, 200),
        (3, 100, 1, 1, 100, 2, 1, 1),
        (1, 40, 1, 1, 1, 1, 40, 1),
    ],
)
def test_notes_of_the_wide_bar_lie_neither_on_each_other_nor_on_a_line(values: tuple[float, ...]) -> None:
    placed = notes(way(middle_request(*values)))
    assert len(placed) >= 4
    for (line, depth, start, end), (other, below, left, right) in combinations(placed, 2):
        assert depth != below or end <= left or right <= start
        assert below <= depth or not start < other < end
        assert depth <= below or not left < line < right
    assert all(start >= 0 and end <= WIDTH for _, _, start, end in placed)


def sizes(*of_each: list[int]) -> RateBySize:
    spread = Spread(10.0, 12.0, 14.0)
    series = [
        SizeSeries(f"link {place}", [SizeRate(size, 3, spread, is_bound=False) for size in found], None)
        for place, found in enumerate(of_each)
    ]
    return RateBySize("c", series, 50.0, 49.0, "a")


def test_six_links_have_a_shape_and_a_colour_each() -> None:
    drawn = [dot(place, "0%", 0) for place in range(6)]
    assert len({re.search(r' d="([^"]+)"', each)[1] for each in drawn}) == 6
    assert len({re.search(r' class="([^"]+)"', each)[1] for each in drawn}) == 6
    page = to_html.render(Document("t", "s", "g", [sizes(*[[2**20, 2**23]] * 6)]))
    key = page.partition('aria-label="Links"')[2].partition("</ul>")[0]
    assert re.findall(r'class="pt (series-\d)"', key) == [f"series-{place}" for place in range(6)]


def test_names_of_references_stand_over_what_crosses_them() -> None:
    svg = curve(sizes([2**20, 2**23]))
    assert svg.index("line rate 50") > svg.rindex('class="pt ')


def test_thin_marks_are_as_wide_as_a_pixel_of_a_usual_window() -> None:
    level = MarkLevel(0, [0, 0], ["wait", "wire"], [0, 500_000], [1000, 501_000], [1000, 1000], [1, 1], [None, None])
    shown = Lanes("c", 0, 1_000_000, [Lane("gpu0 sends", "")], [level], (), (), (), "a")
    widths = [float(width) for width in re.findall(r"h([\d.]+)\" class=\"lane", lanes(shown))]
    assert len(widths) == 2
    assert min(widths) / 1000 * 0.83 * WIDTH >= 0.95


@pytest.mark.parametrize(
    ("figure", "number", "unit"),
    [("31 %", "31", "%"), ("≤ 100 %", "≤ 100", "%"), ("≥ 2.5 ms", "≥ 2.5", "ms"), ("12", "12", None)],
)
def test_the_big_number_keeps_its_bound_and_parts_only_from_its_unit(
    figure: str, number: str, unit: str | None
) -> None:
    page = to_html.render(Document("t", "s", "g", [Callout("verdict", "over", "said", figure=figure)]))
    found = re.search(r'<p class="figure [^"]*">([^<]+)(?:<span class="unit">([^<]+)</span>)?', page)
    assert found is not None
    assert found.groups() == (number, unit)


def test_a_long_reason_can_be_read_on_and_a_short_one_stands_whole() -> None:
    reason = (
        "no movement is proven to have met its other side, as a capture may begin between a send and its receive; " * 2
    )
    page = to_html.render(Document("t", "s", "g", [Facts([Fact("a", "unknown", reason), Fact("b", "1", "so")])]))
    (summary, rest) = re.findall(r"<details class=\"why\"><summary>([^<]+)</summary><p>([^<]+)</p>", page)[0]
    assert f"{summary} {rest}" == reason
    assert 30 <= len(summary) <= 120
    assert '<dd class="small">so</dd>' in page
