"""Figures as SVG: known values at known places, in percent of the width and pixels of the height."""

import math
import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup

from nsysparse.document import (
    Band,
    Dot,
    Fit,
    Histogram,
    Lane,
    Lanes,
    MarkLevel,
    Meter,
    PartRow,
    RateBySize,
    Segment,
    SizeRate,
    SizeSeries,
    Spread,
    Strip,
    Tone,
    Waterfall,
    Way,
    WayRow,
)
from nsysparse.render.figures import axis_of, curve, histogram, lanes, meter, part_bar, row, steps, strip, way
from nsysparse.render.figures.scale import ticks, usual_top
from nsysparse.render.figures.ways import Axis

MS = 1_000_000


def elements(svg: Markup, tag: str, look: str = "") -> list[ET.Element]:
    """Elements of a figure with a class."""
    root = ET.fromstring(svg)  # noqa: S314 (our own markup)
    return [each for each in root.iter(tag) if not look or look in (each.get("class") or "").split()]


def place(found: ET.Element, *names: str) -> tuple[float, ...]:
    return tuple(float((found.get(name) or "").removesuffix("%")) for name in names)


def rects(svg: Markup, look: str = "") -> list[tuple[float, ...]]:
    """Where filled marks begin and how wide they are, in percent."""
    return [place(each, "x", "width") for each in elements(svg, "rect", look)]


def lines(svg: Markup, look: str) -> list[tuple[float, ...]]:
    return [place(each, "x1", "x2") for each in elements(svg, "line", look)]


def texts(svg: Markup) -> list[str]:
    return [each.text or "" for each in elements(svg, "text")]


def told(dots: Sequence[Dot], middle: float | None = 0.2) -> Strip:
    return Strip("Shares", "", dots, 0.2, "threshold 20 %", middle, 0.05, "p50 20 ± 5 %", "shares")


def test_dots_lie_at_their_share_and_the_median_with_its_doubt_above() -> None:
    drawn = strip(told([Dot(0.1, "a", "good"), Dot(0.3, "b", "bad")]))
    # The axis ends at twice the threshold, 40 %.
    assert [place(each, "cx") for each in elements(drawn, "circle", "dot-good")] == [(25,)]
    assert [place(each, "cx") for each in elements(drawn, "circle", "dot-bad")] == [(75,)]
    assert lines(drawn, "threshold") == [(50, 50)]
    assert lines(drawn, "p50") == [(50, 50)]
    assert lines(drawn, "whisker")[0] == (37.5, 62.5)
    assert rects(drawn, "okzone") == [(0, 50)]
    assert rects(drawn, "overzone") == [(50, 50)]
    assert "p50 20 ± 5 %" in texts(drawn)
    assert [each.text for each in elements(drawn, "title")][1:] == ["a: 10.0 %", "b: 30.0 %"]


def test_of_few_shares_there_is_no_median() -> None:
    drawn = strip(told([Dot(0.1, "a", "good")], middle=None))
    assert lines(drawn, "p50") == []
    assert lines(drawn, "whisker") == []


def test_dots_that_would_touch_have_other_heights() -> None:
    drawn = strip(told([Dot(0.1, name, "good") for name in "abc"]))
    assert len({place(each, "cy") for each in elements(drawn, "circle", "dot")}) == 3


def test_more_dots_than_can_be_told_apart_are_counted_in_columns() -> None:
    tones: list[Tone] = ["good"] * 200 + ["bad"] * 100
    drawn = strip(told([*(Dot(0.1, "a", tone) for tone in tones), Dot(0.3125, "b", "bad")]))
    assert elements(drawn, "circle") == []
    (good,) = elements(drawn, "rect", "dot-good")
    lower, upper = sorted(elements(drawn, "rect", "dot-bad"), key=lambda each: place(each, "x"))
    (ok,), (bad,), (single,) = (place(each, "height") for each in (good, lower, upper))
    assert (ok, bad) == pytest.approx((40 * 2 / 3, 40 / 3), abs=0.1)  # the highest bin fills 40 pixels
    assert single == 1.5  # in proportion it would be too low to be seen
    assert (place(good, "x"), place(upper, "x")) == ((25,), (77.5,))  # in eightieths of the axis


WAY = Way(
    "Where it goes",
    "req-0",
    [
        Segment("prefill", "compute", 60.0, "60 ms"),
        Segment("hand-off", "handoff", 10.0, "10 ms"),
        Segment("wire", "wire", 20.0, "20 ms"),
        Segment("first decode step", "compute", 10.0, "10 ms"),
        Segment("queue", "queue", None, "unknown"),
    ],
    (1, 2),
    "KV gap 30 ms",
    "middle",
)


def test_a_way_is_to_scale_and_what_is_judged_is_bracketed() -> None:
    drawn = way(WAY)
    assert rects(drawn, "seg") == [(0, 60), (60, 10), (70, 20), (90, 10), (100, 0)]
    assert lines(drawn, "bracket") == [(60, 90), (60, 60), (90, 90)]
    assert {"prefill", "60 ms", "KV gap 30 ms"} <= set(texts(drawn))
    assert [is_judged for _, is_judged, _ in steps(WAY)] == [False, True, True, False, False]


def test_a_row_goes_both_ways_from_where_prefill_ends() -> None:
    shown = WayRow(
        "request-x",
        "x",
        [],
        [Segment("prefill", "compute", 25.0, "25 ms")],
        [Segment("hand-off", "handoff", 10.0, "10 ms"), Segment("wire", "wire", 20.0, "20 ms")],
        ahead=Segment("sent while prefill ran", "wire", 5.0, "5 ms"),
        doubt=5.0,
        doubted=30.0,
    )
    drawn = row(shown, Axis(50, 50), "ms")
    assert lines(drawn, "zero") == [(50, 50)]
    assert rects(drawn, "mark-compute") == [(25, 25)]
    assert rects(drawn, "mark-handoff") == [(50, 10)]
    assert rects(drawn, "mark-wire") == [(45, 5), (60, 20)]
    assert lines(drawn, "whisker") == [(75, 85), (80, 80)]
    assert elements(drawn, "path", "break") == []


def test_what_is_not_known_of_a_way_is_hatched_to_the_end_and_said() -> None:
    shown = WayRow("r", "x", [], [], [Segment("hand-off", "handoff", 10.0, "10 ms")], "not captured", "no decode step")
    drawn = row(shown, Axis(50, 50), "ms")
    assert rects(drawn, "mark-unknown") == [(0, 50), (60, 40)]
    assert {"not captured", "no decode step"} <= set(texts(drawn))


def test_a_way_longer_than_the_axis_is_broken_and_says_its_length() -> None:
    shown = WayRow("r", "x", [], [Segment("prefill", "compute", 80.0, "")], [Segment("wire", "wire", 70.0, "")])
    drawn = row(shown, Axis(50, 50), "ms")
    assert len(elements(drawn, "path", "break")) == 2
    assert texts(drawn) == ["−80 ms", "+70 ms"]  # noqa: RUF001 (a real minus)
    assert rects(drawn, "seg") == [(0, 50), (50, 50)]


def test_an_outlier_does_not_set_the_axis_of_all_ways() -> None:
    usual = [WayRow("r", "x", [], [], [Segment("wire", "wire", 10.0, "")]) for _ in range(99)]
    late = WayRow("r", "x", [], [], [Segment("wire", "wire", 1000.0, "")])
    axis = axis_of(Waterfall("c", "ms", "prefill ends", [], [late, *usual], [], "waterfall"))
    assert axis.right == pytest.approx(10 * 1.15 * 1.02)


def rate_chart(*points: SizeRate, fit: Fit | None = None) -> RateBySize:
    return RateBySize("Rate", [SizeSeries("a → b", points, fit)], 50.0, None, "sizes-chart")


def size_rate(size: int, rate: float, *, is_bound: bool = False) -> SizeRate:
    return SizeRate(size, 10, Spread(rate, rate, rate), is_bound)


def test_rates_lie_over_the_logarithm_of_their_size() -> None:
    fit = Fit(100_000.0, 50.0, "100 µs + bytes ÷ 50 GB/s")
    drawn = curve(rate_chart(size_rate(10**6, 25.0), size_rate(10**8, 50.0, is_bound=True), fit=fit))
    first, last = [each for each in elements(drawn, "svg") if each.get("width") == "1"]
    # From 0.8 MB at 5.5 % to 125 MB at 98 %; up to 54 GB/s over 228 pixels.
    span = math.log(156.25)
    assert place(first, "x", "y") == pytest.approx((5.5 + 92.5 * math.log(1.25) / span, 262 - 228 * 25 / 54), abs=0.1)
    assert place(last, "x", "y") == pytest.approx((98 - 92.5 * math.log(1.25) / span, 262 - 228 * 50 / 54), abs=0.1)
    assert [("pt-bound" in (each[0].get("class") or "")) for each in (first, last)] == [False, True]
    (line,) = elements(drawn, "line", "lineref")
    assert place(line, "y1") == pytest.approx((262 - 228 * 50 / 54,), abs=0.1)
    (fitted,) = elements(drawn, "path", "fit")
    start = re.match(r"M0 ([\d.]+)", fitted.get("d") or "")
    assert start is not None
    rate = 0.8e6 / (100_000 + 0.8e6 / 50)
    assert float(start[1]) == pytest.approx(1000 - rate / 54 * 1000, abs=0.1)
    assert "line rate 50" in texts(drawn)


@pytest.mark.parametrize("sizes", [(1_300_000, 1_500_000), (8_388_608, 9_000_000), (4096, 10**9), (1, 2)])
def test_an_axis_of_sizes_says_at_least_two_and_no_more_than_fit(sizes: tuple[int, int]) -> None:
    drawn = curve(rate_chart(*(size_rate(size, 10.0) for size in sizes)))
    named = [text for text in texts(drawn) if re.fullmatch(r"[\d.]+ [kMGT]?B", text)]
    assert 2 <= len(named) <= 7
    assert len(set(named)) == len(named)


def lengths_chart(counts: Sequence[int], bands: Sequence[Band] = ()) -> Histogram:
    edges = [512 * 2**at for at in range(len(counts) + 1)]
    return Histogram("Requests", "prompt tokens", edges, counts, bands, "lengths-chart")


def test_columns_are_as_high_as_their_count_and_say_it_above_where_they_are_low() -> None:
    drawn = histogram(lengths_chart([1, 100, 0]))
    low, high = elements(drawn, "rect", "bin")
    assert (place(low, "height"), place(high, "height")) == ((1.6,), (164,))
    assert place(low, "width")[0] == pytest.approx(place(high, "width")[0], abs=0.02)  # doubling is one step
    at = {each.text: place(each, "y")[0] for each in elements(drawn, "text", "lbl")}
    assert at["1"] < place(low, "y")[0]
    assert at["100"] > place(high, "y")[0]
    assert [each.text for each in elements(drawn, "title")][1:] == ["512 to 1,023: 1", "1,024 to 2,047: 100"]


def test_bands_lie_on_the_axis_of_the_columns() -> None:
    drawn = histogram(lengths_chart([3, 4], [Band("break-even", 512, 1024, "512 to 1,024", "doubt")]))
    (band,), first = rects(drawn, "band-doubt"), rects(drawn, "bin")[0]
    assert band == pytest.approx(first, abs=0.02)


def test_parts_fill_the_bar_and_are_named_where_there_is_room() -> None:
    parts = [
        Segment("computing", "compute", 0.74, "74.0 %, 74 ms"),
        Segment("idle, KV in flight", "wire", 0.25, "25.0 %, 25 ms"),
        Segment("unknown", "unknown", 0.01, "1.0 %, 1 ms"),
    ]
    drawn = part_bar(PartRow("decode:gpu0", "", parts))
    assert rects(drawn, "seg") == [(0, 73.94), (74, 24.94), (99, 0.94)]
    assert texts(drawn) == ["computing 74.0 %", "25.0 %"]
    assert [each.text for each in elements(drawn, "title")][1:] == [f"{part.label}: {part.text}" for part in parts]


def test_marks_of_a_timeline_lie_in_their_lane_from_when_to_when() -> None:
    level = MarkLevel(
        0, [0, 1], ["compute", "wire"], [5 * MS, 30 * MS], [55 * MS, 55 * MS], [50 * MS, 25 * MS], [1, 1], [None, None]
    )
    shown = Lanes(
        "What happened", 5 * MS, 105 * MS, [Lane("", "gpu0 steps"), Lane("prefill", "gpu0 sends")],
        [level], [], [], [], "timeline-chart",
    )  # fmt: skip
    drawn = lanes(shown)
    found = {each.get("class"): each.get("d") for each in elements(drawn, "path", "lane")}
    assert found["lane mark-wire"] == "M250 725h250"  # a quarter from the left, in the lower half
    assert found["lane mark-compute"] == "M0 225h500"
    assert {"gpu0 steps", "prefill gpu0 sends", "20", "100", "ms from the start"} <= set(texts(drawn))


def test_a_mark_of_no_length_is_still_seen() -> None:
    level = MarkLevel(0, [0], ["unknown"], [0], [0], [0], [1], [None])
    drawn = lanes(Lanes("c", 0, MS, [Lane("", "gpu0 sends")], [level], [], [], [], "timeline-chart"))
    assert [each.get("d") for each in elements(drawn, "path", "lane")] == ["M0 450h1.2"]


def test_a_meter_is_a_share_of_its_end_with_its_references() -> None:
    drawn = meter(Meter(10.0, 40.0, "wire", line=30.0, ceiling=20.0))
    assert rects(drawn, "mark-wire") == [(0, 25)]
    assert lines(drawn, "lineref") == [(75, 75)]
    assert lines(drawn, "pracref") == [(50, 50)]
    assert ET.fromstring(drawn).get("aria-hidden") == "true"  # noqa: S314 (our own markup)
    assert rects(meter(Meter(None, 40.0, "wire")), "mark-unknown") == [(0, 100)]


def test_a_gap_beyond_the_one_before_is_marked_as_worse() -> None:
    drawn = meter(Meter(30.0, 40.0, "gap", line=20.0))
    assert rects(drawn, "mark-worse") == [(50, 25)]
    assert rects(meter(Meter(30.0, 40.0, "wire", line=20.0)), "mark-worse") == []


@pytest.mark.parametrize(
    ("top", "expected"), [(54.0, [20, 40]), (1.0, [0.25, 0.5, 0.75, 1.0]), (0.0, []), (40.0, [10, 20, 30, 40])]
)
def test_ticks_are_round_and_few(top: float, expected: list[float]) -> None:
    assert ticks(top) == pytest.approx(expected)


def test_an_axis_ends_at_the_largest_unless_few_are_far_out() -> None:
    assert usual_top([]) == 1.0
    assert usual_top([1.0, 2.0, 3.0]) == 3.0
    assert usual_top([*([2.0] * 99), 50.0]) == 2.5
