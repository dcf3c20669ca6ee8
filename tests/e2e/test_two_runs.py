"""Figures of two runs in a browser: on any screen, in both themes, for everybody, on a page that is no report."""

from pathlib import Path

import pair_scenes
import pytest
from browsing import LAPTOP, PHONE, WALL, OpenReport, quiet
from test_accessible import violations

from nsysparse.render import to_html

# Pairs of texts of one figure that lie on each other, as far as they are seen.
_MEETING = """(figure) => {
  const seen = Array.from(figure.querySelectorAll("text, .name b, .name span, .runs span, .change, li"))
    .filter((text) => text.textContent.trim() && text.checkVisibility() && !text.closest(".plot"))
    .map((text) => [text.textContent.trim(), text.getBoundingClientRect()]);
  return seen.flatMap(([text, a], at) => seen.slice(at + 1)
    .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
    .map(([other]) => `${text} | ${other}`));
}"""
_MIDDLES = """(row) => {
  const middle = (each) => { const box = each.getBoundingClientRect(); return (box.top + box.bottom) / 2; };
  const marks = Array.from(row.querySelectorAll("svg svg"), middle);
  const words = Array.from(row.querySelectorAll(".runs span"), middle);
  return marks.map((mark, at) => Math.abs(mark - words[at]));
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "runs.html"
    path.write_text(to_html.render(pair_scenes.document()), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [PHONE, LAPTOP, WALL])
def test_nothing_hangs_over_or_lies_on_another(open_report: OpenReport, page: Path, width: int) -> None:
    opened = open_report(page, width=width)
    opened.draw()
    assert opened.overhangs() == []
    figures = opened.page.locator("figure").all()
    assert len(figures) == 5
    assert [figure.evaluate(_MEETING) for figure in figures] == [[]] * 5
    quiet(opened)


@pytest.mark.parametrize("width", [LAPTOP, WALL])
def test_words_stand_beside_their_marks(open_report: OpenReport, page: Path, width: int) -> None:
    opened = open_report(page, width=width)
    off = opened.page.locator(".pair").first.evaluate(_MIDDLES)
    assert len(off) == 2
    assert max(off) < 3


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
def test_nothing_keeps_anybody_out(open_report: OpenReport, page: Path, width: int) -> None:
    opened = open_report(page, width=width)
    opened.draw()
    found = {}
    for theme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=theme)
        found[theme] = violations(opened)
    assert found == {"light": [], "dark": []}


def test_the_key_of_a_scale_shows_with_its_view_alone(open_report: OpenReport, page: Path) -> None:
    opened = open_report(page)
    opened.draw()
    figure = opened.page.locator("#pairs-heatmap")
    key, bar = figure.get_by_text("slower: +15 to +20"), figure.locator(".colorbar")
    assert key.is_visible()
    assert bar.count() == 0
    assert "hatch" in figure.locator("rect.bg").first.evaluate("(ground) => getComputedStyle(ground).fill")
    figure.get_by_role("button", name="time").click()
    opened.settle()
    assert not key.is_visible()
    assert bar.count() > 0
    assert "hatch" not in figure.locator("rect.bg").first.evaluate("(ground) => getComputedStyle(ground).fill")
    quiet(opened)


def test_all_stands_without_scripts(open_report: OpenReport, page: Path) -> None:
    opened = open_report(page, scripts=False)
    figure = opened.page.locator("#pairs-heatmap")
    assert figure.locator(".heat path").count() == 3  # the middle, 10 % faster, and 20 % slower
    assert figure.get_by_text("slower: +15 to +20").is_visible()
    assert opened.page.locator("#ranges-chart .change").first.is_visible()
