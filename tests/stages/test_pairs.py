"""Figures of two runs: both at their places on one axis, what is unknown hatched, and every judgement in words, too."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

import pair_scenes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from nsysparse.document import Document, Dumbbells, Range, RangeRow, Ranges, Table, Tone
from nsysparse.render import to_html, to_markdown, to_text
from nsysparse.render.figures import dumbbells, range_axis, range_row, summary, verdicts
from nsysparse.render.standalone import figures
from nsysparse.render.tabled import as_table

BASE_LINE, CANDIDATE_LINE = 12.0, 36.0


def elements(svg: Markup, tag: str, look: str = "") -> list[ET.Element]:
    root = ET.fromstring(svg)  # noqa: S314 (our own markup)
    return [each for each in root.iter(tag) if not look or look in (each.get("class") or "").split()]


def place(found: ET.Element, *names: str) -> tuple[float, ...]:
    return tuple(float((found.get(name) or "").removesuffix("%")) for name in names)


def titles(svg: Markup) -> list[str]:
    return [each.text or "" for each in elements(svg, "title")]


def texts(svg: Markup) -> list[str]:
    return [each.text or "" for each in elements(svg, "text")]


def two_runs(base: Range | None, candidate: Range | None, **more: object) -> Ranges:
    # The axis ends at 106 % of the largest value, here of the line rate of another row: at 106.
    wall = RangeRow("wall", None, None, line_rate=100.0)
    return Ranges("c", "ms", [RangeRow("r", base, candidate, **more), wall], "a", meaning="wire")  # type: ignore[arg-type]


def marked(svg: Markup) -> dict[float, float]:
    """Where the marks of both medians lie, by their line."""
    at = [each for each in elements(svg, "svg") if each.get("width") == "1"]
    return {place(each, "y")[0]: place(each, "x")[0] for each in at}


def test_both_runs_lie_on_one_axis_from_zero() -> None:
    shown = two_runs(Range(53.0, "53 ms", 26.5, 79.5), Range(10.6, "10.6 ms", 5.3, 21.2))
    drawn = range_row(shown.rows[0], shown)
    assert marked(drawn) == {BASE_LINE: 50.0, CANDIDATE_LINE: 10.0}
    lines = {place(each, "y", "height"): place(each, "x", "width") for each in elements(drawn, "rect")}
    assert lines[9.0, 6.0] == (25, 50)
    assert lines[33.0, 6.0] == (5, 15)
    assert lines[11.0, 2.0] == (0, 25)  # from zero to where the line begins
    (thread,) = elements(drawn, "line", "thread")
    assert place(thread, "x1", "x2", "y1") == (50, 50, 12)
    assert titles(drawn) == [
        "r: 53 ms → 10.6 ms",
        "base: 53 ms, p10 26.5, p90 79.5",
        "candidate: 10.6 ms, p10 5.30, p90 21.2",
    ]
    assert texts(range_axis(shown)) == ["0", "50", "100"]


def test_an_unknown_run_is_hatched_over_all_of_the_axis_and_has_no_mark() -> None:
    shown = two_runs(None, Range(53.0, "53 ms"))
    drawn = range_row(shown.rows[0], shown)
    (hatched,) = elements(drawn, "rect", "mark-unknown")
    assert place(hatched, "x", "width", "y") == (0, 100, 7)
    assert marked(drawn) == {CANDIDATE_LINE: 50.0}
    assert elements(drawn, "line", "thread") == []
    assert "base: unknown" in titles(drawn)


def test_a_median_alone_has_no_line_and_a_bound_points_on() -> None:
    shown = two_runs(Range(53.0, "53 ms"), Range(53.0, "≥ 53 ms", is_bound=True))
    drawn = range_row(shown.rows[0], shown)
    assert [place(each, "height") for each in elements(drawn, "rect")] == [(2,), (2,)]
    base, candidate = (each.get("d") for each in elements(drawn, "path"))
    assert base != candidate
    assert candidate == "M-5 -6L6 0L-5 6z"


def test_references_of_a_row_are_named_and_make_room_for_their_names() -> None:
    shown = pair_scenes.ranges()
    with_both, without = (range_row(row, shown) for row in shown.rows[:2])
    (solid,), (dashed,) = elements(with_both, "line", "lineref"), elements(with_both, "line", "pracref")
    assert place(solid, "x1") == (pytest.approx(50 / 53 * 100, abs=0.01),)
    assert place(dashed, "x1") == (pytest.approx(47 / 53 * 100, abs=0.01),)
    assert "ceiling 47 · line rate 50" in texts(with_both)
    assert [ET.fromstring(each).get("height") for each in (with_both, without)] == ["70", "48"]  # noqa: S314


def test_every_judgement_stands_in_words_on_the_page() -> None:
    page = to_html.render(Document("t", "s", "g", [pair_scenes.ranges()]))
    text = re.sub(r"<[^>]*>", "", page.replace("\u00a0", " "))
    for said in (
        "\u221220 % worse",
        "+50 % better",
        "in doubt",
        "not in the candidate",
        "unknown",
        "≥ 18.0 GB/s",
        "As measured.",
    ):
        assert said in text


def test_ranges_are_a_table_where_nothing_can_be_drawn() -> None:
    table = as_table(pair_scenes.ranges())
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == ["", "main.sqlite", "pr.sqlite", "Change", "Note"]
    rows = [[cell.text for cell in row] for row in table.rows]
    assert rows[0][1:] == ["40.0 GB/s", "32.0 GB/s", "\u221220 % worse", "IB NDR, 768 movements"]
    assert rows[3][1:] == ["18.0 GB/s", "unknown", "", "not in the candidate"]
    assert [row[3].tone for row in table.rows] == ["bad", "good", "doubt", "plain", "plain"]
    assert as_table(replace(pair_scenes.ranges(), rows=[RangeRow("x", None, None)])) == Table(
        "Throughput per link", table.columns[:4],
        [[replace(table.rows[0][0], text="x"), replace(table.rows[0][1], text="unknown", sort=None)] * 1
         + [replace(table.rows[0][1], text="unknown", sort=None), replace(table.rows[4][3], text="")]],
        "ranges-chart", "As measured.",
    )  # fmt: skip


RATES = st.floats(0.001, 1e4)
SIDES = st.none() | st.builds(
    lambda three, bound: Range(three[1], "t", three[0], three[2], bound),
    st.tuples(RATES, RATES, RATES).map(sorted),
    st.booleans(),
)


@given(st.lists(st.builds(RangeRow, st.just("r"), SIDES, SIDES, line_rate=st.none() | RATES), min_size=1, max_size=4))
def test_nothing_lies_beyond_the_axis(rows: list[RangeRow]) -> None:
    shown = Ranges("c", "ms", rows, "a")
    for row in rows:
        drawn = range_row(row, shown)
        assert all(sum(place(each, "x", "width")) <= 100.01 for each in elements(drawn, "rect"))
        assert all(at < 100 for at in marked(drawn).values())


def pairs(base: Sequence[float | None], candidate: Sequence[float | None], tone: Tone = "plain") -> Dumbbells:
    count = len(base)
    return Dumbbells("c", "layer", "ms", [str(at) for at in range(count)], base, candidate, [tone] * count, "a")


def heights(svg: Markup, look: str) -> list[float]:
    return [place(each, "cy")[0] for each in elements(svg, "circle", look)]


def test_values_stand_above_their_category_on_an_axis_from_zero() -> None:
    drawn = dumbbells(pairs([10.0, 5.0], [5.0, 10.0], "bad"))
    # 190 pixels from 224 up; two categories of 64 pixels right of 48 for numbers.
    assert heights(drawn, "ring") == [34, 129]
    assert heights(drawn, "bead") == [129, 34]
    assert [place(each, "cx")[0] for each in elements(drawn, "circle", "ring")] == pytest.approx(
        [(48 + 32) / 176 * 100, (48 + 96) / 176 * 100], abs=0.01
    )
    assert [place(each, "y1", "y2") for each in elements(drawn, "line", "joint-bad")] == [(34, 129), (129, 34)]
    assert "layer 0: base 10.0 ms, candidate 5.00 ms (\u221250.0 %), worse" in titles(drawn)


def test_an_unknown_value_has_no_mark_no_line_and_a_hatched_foot() -> None:
    drawn = dumbbells(pairs([10.0, None, None, 10.0], [None, None, 5.0, 10.0]))
    assert len(heights(drawn, "ring")) == 2
    assert len(heights(drawn, "bead")) == 2
    assert len(elements(drawn, "line", "joint")) == 1
    (hatched,) = elements(drawn, "rect", "mark-unknown")  # of the first three, as one
    left = 48 / (48 + 4 * 64) * 100
    assert place(hatched, "x", "width") == pytest.approx((left, (100 - left) * 3 / 4), abs=0.01)
    assert "layer 1: base unknown, candidate unknown" in titles(drawn)
    assert elements(dumbbells(pairs([10.0], [9.0])), "rect", "mark-unknown") == []


def test_an_axis_is_cut_only_where_one_from_zero_would_hide_what_differs_and_says_so() -> None:
    def said(base: float, candidate: float) -> list[str]:
        return [text for text in texts(dumbbells(pairs([base], [candidate]))) if "not from zero" in text]

    assert said(50.0, 40.0) == []
    assert said(50.0, 50.0) == []
    assert said(50.0, 49.9) == []  # nothing to be seen: noise must not look like structure
    assert said(50.0, 48.0) == ["axis from 46, not from zero"]
    drawn = dumbbells(pairs([50.0], [48.0]))
    assert abs(heights(drawn, "ring")[0] - heights(drawn, "bead")[0]) < 190 / 2


def test_a_value_that_would_flatten_the_others_is_cut_marked_and_written_out() -> None:
    drawn = dumbbells(pairs([100.0, *[1.0] * 20], [150.0, *[1.1] * 20]))
    assert len(elements(drawn, "path", "beyond")) == 1
    assert "layer 0: 100.0 → 150.0" in texts(drawn)
    assert len(heights(drawn, "bead")) == 20
    assert min(heights(drawn, "bead")) < 120  # of those that are usual, above the middle


def test_of_many_categories_there_are_curves_that_break_where_one_is_unknown() -> None:
    shown = pair_scenes.dumbbells(1000)
    drawn = dumbbells(shown)
    assert elements(drawn, "circle") == []
    base, candidate = (each.get("d") or "" for each in elements(drawn, "path", "course"))
    assert (base.count("M"), candidate.count("M")) == (2, 2)
    assert base.count("L") == 1000 - 1 - 2  # a value less, and two pieces
    (worse,) = elements(drawn, "path", "joint-bad")
    assert (worse.get("d") or "").count("M") == 11
    assert len(elements(drawn, "rect", "hit")) == 1000
    assert len(drawn) < 200_000


def test_all_categories_are_told_in_a_sentence() -> None:
    shown = pair_scenes.dumbbells()
    assert summary(shown) == (
        "GB/s, p50, layer 0 to 31; candidate ÷ base from 0.800 (layer 10) to 1.20 (layer 2);"
        " 11 worse, 1 better; 3 not known in both runs"
    )
    assert summary(pairs([1.0], [1.0])).endswith("none better or worse")
    assert summary(pairs([None], [1.0])) == "no layer is known in both runs"
    assert summary(pairs([0.0, 2.0], [1.0, 0.0])).count("1 not known in both runs") == 1  # nothing is a share of 0
    assert verdicts(pairs([1.0, None], [1.0, 1.0])) == "\u00b7?"


def test_text_has_the_sentence_and_markdown_a_mark_per_category_too() -> None:
    few, many = pair_scenes.dumbbells(), pair_scenes.dumbbells(1000)
    text = to_text.render(Document("t", "s", "g", [few]))
    assert "11 worse, 1 better" in " ".join(text.split())
    assert "▆" not in text
    written = to_markdown.render(Document("t", "s", "g", [few]))
    (marks,) = re.findall(r"^`(.*)`$", written, flags=re.MULTILINE)
    assert marks == "\u00b7\u00b7+\u00b7\u00b7???\u00b7\u00b7" + "\u2212" * 11 + "\u00b7" * 11
    assert "`" not in to_markdown.render(Document("t", "s", "g", [many]))


VALUES = st.none() | st.just(0.0) | st.floats(1e-9, 1e9)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=150))
def test_any_values_are_drawn_inside_the_figure(values: list[tuple[float | None, float | None]]) -> None:
    shown = pairs([base for base, _ in values], [candidate for _, candidate in values])
    drawn = dumbbells(shown)
    for look in ("ring", "bead"):
        assert all(33.9 <= y <= 224 for y in heights(drawn, look))
    assert not re.search(r"\bnan\b|\binf\b", drawn)
    if values:
        assert summary(shown)


HOSTILE = "<img src=x onerror=1>\u202e\x1b[31m|`@here --> \u2028"


@pytest.mark.parametrize("render", [to_html.render, to_markdown.render, to_text.render])
def test_names_of_runs_and_rows_are_seen_and_not_obeyed(render: Callable[[Document], str]) -> None:
    base = pair_scenes.ranges()
    rows = [replace(row, label=HOSTILE, note=HOSTILE) for row in base.rows]
    shown = replace(base, base_name=HOSTILE, candidate_name=HOSTILE, rows=rows, note=HOSTILE, dropped=HOSTILE)
    by_layer = replace(pair_scenes.dumbbells(), base_name=HOSTILE, labels=[HOSTILE] * pair_scenes.LAYERS, note=HOSTILE)
    document = Document("t", "s", "g", [shown, by_layer])
    text = render(document)
    assert not set(text) & {"\u202e", "\x1b", "\u2028"}
    assert to_text.render is render or not re.search(r"(?<!\\)<img", text)
    assert render is not to_markdown.render or "@here" not in text
    if render is to_html.render:
        svgs = "".join(figure.svg for figure in figures(document))
        assert "<img" not in svgs
        assert not set(svgs) & {"\u202e", "\x1b", "\u2028"}
