"""On a phone, words of requests stand beside each other, and what belongs together stays in sight on any screen."""

from collections.abc import Callable
from pathlib import Path

import factories
import pytest
from browsing import LAPTOP, PHONE, OpenReport, quiet
from reported import Report, written

# Pairs of cells of one row whose words meet, as their boxes and not those of their cells.
_MEETING = """(table) => Array.from(table.rows, (row) => {
  const words = Array.from(row.querySelectorAll("td:not(.pathcell)")).filter((cell) => !cell.querySelector("td, svg"))
    .map((cell) => { const range = document.createRange(); range.selectNodeContents(cell);
      return [cell.textContent, range.getBoundingClientRect()]; });
  return words.flatMap(([text, a], at) => words.slice(at + 1)
    .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
    .map(([other]) => `${text} | ${other}`));
}).flat()"""

_TO_THE_END = "(box) => { box.scrollIntoView(); box.scrollTop = box.scrollHeight; }"


@pytest.mark.parametrize("name", ["rich", "pd-oneprofile", "pd-two-hosts"])
def test_numbers_of_a_request_do_not_meet_on_a_phone(
    open_report: OpenReport, report: Callable[[str], Report], name: str
) -> None:
    opened = open_report(report(name).path, width=PHONE)
    opened.page.locator("table.waterfall tbody tr").first.click()
    assert opened.page.locator("table.waterfall tr.closer table td").count() > 0
    assert opened.page.locator("table.waterfall").evaluate(_MEETING) == []
    assert opened.overhangs() == []
    quiet(opened)


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
def test_the_ruler_stays_above_hundreds_of_requests(open_report: OpenReport, tmp_path: Path, width: int) -> None:
    opened = open_report(written(factories.rich(requests=120, layers=4), tmp_path / "many.html").path, width=width)
    rows = opened.page.locator("table.waterfall tbody tr")
    opened.page.locator(".scroll:has(> table.waterfall)").evaluate(_TO_THE_END)
    ruler, row = opened.page.locator("table.waterfall th.axis").bounding_box(), rows.last.bounding_box()
    assert ruler is not None
    assert row is not None
    assert 0 <= ruler["y"] < row["y"] < 900
    assert ruler["y"] + ruler["height"] <= row["y"]
