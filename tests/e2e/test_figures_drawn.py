"""All that the document holds is on the page: each figure with marks and caption, each table with its rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import factories
import pytest
from browsing import Opened, OpenReport, plain, quiet
from reported import ALL, Report

from nsysparse.analysis import TimelineLevel
from nsysparse.document import (
    BarChart,
    ColumnChart,
    Figure,
    Heatmap,
    Histogram,
    Lanes,
    Parts,
    Strip,
    Table,
    Waterfall,
    Way,
)
from nsysparse.render import to_html
from nsysparse.render.names import visible
from nsysparse.sections import build

Reports = Callable[[str], Report]

# Shapes with a size that can be seen, and pictures as plotly paints them. Patterns are paint, and keys are lists.
_MARKS = """(id) => Array.from(document.getElementById(id).querySelectorAll("svg :is(path, rect, circle, line, image)"))
  .filter((mark) => !mark.closest("defs, ul") && mark.checkVisibility({ visibilityProperty: true }))
  .map((mark) => mark.getBoundingClientRect())
  .filter((box) => box.width > 0.5 || box.height > 0.5).length"""
# What a screen reader would announce a table as, its headings, and of each row whether it can be seen.
_TABLES = """(anchors) => anchors.map((anchor) => document.getElementById(anchor)).map((place) => {
  const table = place && (place.matches("table") ? place : place.querySelector("table"));
  if (!table) return null;
  const labels = (table.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id));
  return {
    name: labels.map((label) => label && label.textContent).join(" ") || (table.caption && table.caption.textContent),
    headings: Array.from(table.tHead.rows[0].cells, (cell) => cell.innerText),
    rows: Array.from(table.tBodies).flatMap((body) => Array.from(body.rows, (row) => row.checkVisibility())),
  };
})"""
_IDS = "(all) => all.map((each) => each.id)"


def figures(of: Report) -> list[Any]:
    """The document's figures of all kinds."""
    return [block for block in of.document.blocks if isinstance(block, Figure)]


def tables(of: Report) -> list[Table]:
    return [block for block in of.document.blocks if isinstance(block, Table)]


_WORDS: dict[type, Callable[[Any], list[str]]] = {
    BarChart: lambda figure: [bar.text for bar in figure.bars],
    ColumnChart: lambda figure: [each.label for each in figure.series],
    Heatmap: lambda figure: [view.unit for view in figure.views],
    Histogram: lambda figure: [
        *(f"{count:,}" for count in figure.counts if count),
        *(band.text for band in figure.bands),
    ],
    Lanes: lambda figure: [text for _, text in figure.key],
    Parts: lambda figure: [row.detail for row in figure.rows],
    Strip: lambda figure: [figure.threshold_text, figure.middle_text],
    Waterfall: lambda figure: [cell.text for row in figure.rows for cell in row.cells if cell.kind != "name"],
    Way: lambda figure: [figure.bracket_text, *(segment.text for segment in figure.segments)],
}
"""What a figure must say beside or in its picture, by kind."""


def assert_drawn(opened: Opened, of: Report) -> None:
    """Figures in the document's order, each with its marks, its caption and its words."""
    assert opened.page.eval_on_selector_all("figure[id]", _IDS) == [figure.anchor for figure in figures(of)]
    for figure in figures(of):
        drawn = opened.page.locator(f'[id="{figure.anchor}"]')
        assert opened.page.evaluate(_MARKS, figure.anchor) > 0, figure.anchor
        assert plain(visible(figure.caption)) in plain(drawn.locator("figcaption").first.inner_text())
        text = plain(drawn.text_content() or "")
        assert [
            word for word in _WORDS.get(type(figure), lambda _: [])(figure) if plain(visible(word)) not in text
        ] == [], figure.anchor


def assert_tabled(opened: Opened, of: Report) -> None:
    """Tables, each with its name, its headings and all its rows to be seen."""
    found = opened.page.evaluate(_TABLES, [block.anchor for block in tables(of)])
    for block, drawn in zip(tables(of), found, strict=True):
        assert drawn is not None, block.anchor
        assert plain(drawn["name"]) == plain(visible(block.caption))
        assert [plain(text) for text in drawn["headings"]] == [plain(visible(each.heading)) for each in block.columns]
        assert drawn["rows"] == [True] * len(block.rows), block.anchor


@pytest.mark.parametrize("name", ALL)
def test_every_figure_and_every_table_is_on_the_page(open_report: OpenReport, report: Reports, name: str) -> None:
    of = report(name)
    opened = open_report(of.path)
    opened.unfold()
    quiet(opened)
    assert_drawn(opened, of)
    assert_tabled(opened, of)


@pytest.mark.parametrize("name", ["rich", "unknown", "pd-two-hosts"])
def test_page_stands_without_scripts(open_report: OpenReport, report: Reports, name: str) -> None:
    of = report(name)
    opened = open_report(of.path, scripts=False)
    opened.unfold()
    quiet(opened)
    assert_drawn(opened, of)
    assert_tabled(opened, of)
    assert opened.page.get_by_role("main").get_by_role("button").count() == 0  # nothing that would do nothing


def test_only_scripts_make_figures_interactive(open_report: OpenReport, report: Reports) -> None:
    """Where they are on, what plotly drew stands in place of the picture that stood before."""
    of = report("rich")
    painted = {Heatmap: 'image[*|href^="data:image/png"]', Lanes: ".barlayer .point"}
    drawn = [figure for figure in figures(of) if type(figure) in painted]
    assert [type(figure) for figure in drawn] == [Heatmap, Lanes]
    for scripts in (True, False):
        opened = open_report(of.path, scripts=scripts)
        if scripts:
            opened.draw()
        for figure in drawn:
            place = opened.page.locator(f'[id="{figure.anchor}"]')
            assert (place.locator(f".js-plotly-plot {painted[type(figure)]}").count() > 0) == scripts
            assert place.locator(":is(svg, canvas):visible").count() > 0


def test_instants_at_both_ends_of_a_timeline_are_drawn(open_report: OpenReport) -> None:
    """Of a call alone only when it began is known: a mark without length, here the first and the last one."""
    end = 19 * factories.MS
    level = TimelineLevel(
        merged_below_ns=0, lane=(0, 0, 0), kind=(6, 6, 6), start_ns=(0, end // 2, end), end_ns=(0, end // 2, end),
        busy_ns=(0, 0, 0), count=(1, 1, 1), request=(None, None, None),
    )  # fmt: skip
    calls = factories.timeline(end_ns=end, levels=(level,))
    opened = open_report(to_html.render(build(replace(factories.rich(), timeline=calls))))
    opened.draw()
    figure = opened.page.locator('[id="timeline-chart"]')
    assert figure.locator(".barlayer .point").count() == 3
    assert figure.locator(".told").inner_text() == "3 marks; nothing merged"
