"""A request looked at closer: by click, key, link and address; and tables taken along."""

from collections.abc import Callable
from typing import TypeVar

import factories
import pytest
from browsing import LAPTOP, PHONE, Opened, OpenReport, plain, quiet
from playwright.sync_api import Locator
from reported import Report

from nsysparse.document import Block, Lanes, Waterfall, Way
from nsysparse.render import to_html
from nsysparse.render.names import visible
from nsysparse.sections import build

Reports = Callable[[str], Report]
T = TypeVar("T", bound=Block)

_COPIED = """(press) => {
  const seen = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => { seen.push(text); return Promise.resolve(); } } });
  press.click();
  return seen[0];
}"""  # noqa: E501


def figure(of: Report, kind: type[T]) -> T:
    (found,) = (block for block in of.document.blocks if isinstance(block, kind))
    return found


def button(opened: Opened, name: str) -> Locator:
    opened.page.set_default_timeout(5000)
    return opened.page.get_by_role("table").get_by_role("button", name=visible(name), exact=True)


def is_open(opened: Opened, name: str) -> bool:
    """Whether the row says so, and whether what belongs to it stands below it."""
    said = button(opened, name).get_attribute("aria-expanded") == "true"
    below = button(opened, name).evaluate("(b) => b.closest('tr').nextElementSibling?.matches(':not([id])') || false")
    assert said == below
    return said


def test_one_request_at_a_time_is_open_and_a_second_press_closes_it(open_report: OpenReport, report: Reports) -> None:
    drawn = figure(report("rich"), Waterfall)
    opened = open_report(report("rich").path)
    first, second = drawn.rows[0], drawn.rows[3]
    button(opened, first.name).click()
    assert is_open(opened, first.name)
    below = opened.page.locator(f'tr[id="{first.anchor}"] + tr')
    text = plain(below.inner_text())
    assert [each.text for each in (*first.before, *first.after) if plain(visible(each.text)) not in text] == []
    assert [note for note in first.notes if plain(visible(note)) not in text] == []
    assert below.get_by_role("img").count() == 1  # its time by layer
    button(opened, second.name).focus()
    opened.page.keyboard.press("Enter")
    assert (is_open(opened, first.name), is_open(opened, second.name)) == (False, True)
    button(opened, second.name).click()
    assert not is_open(opened, second.name)
    quiet(opened)


def test_escape_closes_and_leaves_the_focus_where_it_was_opened(open_report: OpenReport, report: Reports) -> None:
    row = figure(report("rich"), Waterfall).rows[2]
    opened = open_report(report("rich").path)
    button(opened, row.name).click()
    opened.page.get_by_role("main").focus()
    opened.page.keyboard.press("Escape")
    assert not is_open(opened, row.name)
    assert button(opened, row.name).evaluate("(button) => button === document.activeElement")


def test_a_link_opens_its_request_each_time_it_is_followed(open_report: OpenReport, report: Reports) -> None:
    way = figure(report("rich"), Way)
    name = next(row.name for row in figure(report("rich"), Waterfall).rows if row.anchor == way.target)
    opened = open_report(report("rich").path)
    link = opened.page.get_by_role("link", name=name)
    for _ in range(2):
        link.click()
        opened.settle()
        assert is_open(opened, name)
        opened.page.keyboard.press("Escape")
        assert not is_open(opened, name)
    quiet(opened)


def test_an_address_opens_its_request(open_report: OpenReport, report: Reports) -> None:
    row = figure(report("rich"), Waterfall).rows[5]
    opened = open_report(report("rich").path)
    opened.page.evaluate("(id) => { location.hash = id; }", row.anchor)
    opened.page.reload()
    opened.settle()
    assert is_open(opened, row.name)
    assert button(opened, row.name).evaluate("(b) => { const y = b.getBoundingClientRect().y; return y > 0 && y < innerHeight; }")  # noqa: E501  # fmt: skip


def test_sorting_closes_what_stood_open(open_report: OpenReport, report: Reports) -> None:
    drawn = figure(report("rich"), Waterfall)
    opened = open_report(report("rich").path)
    button(opened, drawn.rows[0].name).click()
    opened.page.get_by_role("button", name="Sort by KV gap, ms").first.click()
    assert not is_open(opened, drawn.rows[0].name)
    rows = opened.page.locator(f'[id="{drawn.anchor}"] tbody tr')
    assert rows.count() == len(drawn.rows)


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
def test_a_table_is_a_table_however_it_is_laid_out(open_report: OpenReport, report: Reports, width: int) -> None:
    """As the browser tells it to a screen reader, where rows stand as grids and cells as blocks, too."""
    drawn = figure(report("rich"), Waterfall)
    opened = open_report(report("rich").path, width=width)
    session = opened.page.context.new_cdp_session(opened.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    known = {node["nodeId"]: node for node in nodes}
    name = plain(visible(drawn.rows[0].name))
    buttons = [
        node
        for node in nodes
        if node.get("role", {}).get("value") == "button" and node.get("name", {}).get("value") == name
    ]
    (node,) = buttons
    above = []
    while "parentId" in node:
        node = known[node["parentId"]]
        above.append(node.get("role", {}).get("value"))
    assert [role for role in above if role in ("cell", "gridcell", "row", "rowgroup", "table")] == [
        "cell", "row", "rowgroup", "table",
    ]  # fmt: skip


def test_a_timeline_that_is_zoomed_before_it_came_near_is_drawn_once(open_report: OpenReport, report: Reports) -> None:
    drawn = figure(report("rich"), Lanes)
    opened = open_report(report("rich").path)
    place = opened.page.locator(f'[id="{drawn.anchor}"]')
    place.get_by_role("button", name="Zoom in").evaluate("(button) => button.click()")
    opened.draw()
    opened.page.evaluate("window.__drawn = 0; (() => { const react = Plotly.react; Plotly.react = (place, ...rest) => { window.__drawn += place.closest('.lanebox') ? 1 : 0; return react(place, ...rest); }; })()")  # noqa: E501  # fmt: skip
    opened.page.emulate_media(color_scheme="dark")
    opened.page.wait_for_function("() => window.__drawn > 0")
    opened.settle()
    assert opened.page.evaluate("window.__drawn") == 1
    quiet(opened)


@pytest.mark.parametrize("name", ["=1+1", "-2+3+cmd|'x'!A0", "@SUM(A1)", "+1-1", "-x"])
def test_a_spreadsheet_computes_nothing_of_what_is_copied(open_report: OpenReport, name: str) -> None:
    opened = open_report(to_html.render(build(factories.rich(requests=2, layers=2, ids=(name,)))))
    copy = opened.page.get_by_role("button", name="Copy table: Requests, worst first")
    rows = [line.split("\t") for line in copy.evaluate(_COPIED).split("\n")]
    assert f"'{name}" in [row[0] for row in rows]
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "@", "+", "-")]
    quiet(opened)


def test_paper_is_light_whatever_the_screen_is(open_report: OpenReport, report: Reports) -> None:
    opened = open_report(report("rich").path, theme="dark", printed=True)
    ground = "getComputedStyle(document.documentElement).getPropertyValue('--bg')"
    assert opened.page.evaluate("matchMedia('print').matches")
    assert opened.page.evaluate(ground) == "#fff"
    opened.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert opened.page.evaluate(ground) == "#fff", "chosen"
