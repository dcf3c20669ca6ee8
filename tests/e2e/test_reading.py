"""What a reader does with the page: sort, skip, switch themes, print, read on a small screen."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from unicodedata import normalize

import factories
import pytest
from browsing import LAPTOP, PHONE, Opened, OpenReport, plain, quiet
from playwright.sync_api import Locator
from pypdf import PdfReader
from reported import Report, written

from nsysparse.document import Cell, Figure, Table
from nsysparse.render.names import visible

Reports = Callable[[str], Report]

_COLOURS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
  };
  const ground = [document.body, document.documentElement].map((each) => getComputedStyle(each).backgroundColor)
    .find((colour) => colour !== "rgba(0, 0, 0, 0)") || "white";
  return { ground: luminance(ground), text: luminance(getComputedStyle(document.querySelector("h1")).color) };
}"""


def half_known(of: Report) -> tuple[Table, int]:
    """A table and the place of its first column of numbers some of which are unknown."""
    for block in of.document.blocks:
        if isinstance(block, Table) and len(block.rows) > 5:
            for at in range(len(block.columns)):
                keys = [row[at].sort for row in block.rows]
                if None in keys and len({key for key in keys if isinstance(key, float | int)}) > 3:
                    return block, at
    pytest.fail("no table has a column of numbers some of which are unknown")


def sorted_texts(block: Table, at: int, direction: str) -> list[str]:
    """A column's texts in the order asked for: what is unknown last, what is equal as before."""
    cells: Sequence[Cell] = [row[at] for row in block.rows]
    known = sorted((cell for cell in cells if cell.sort is not None), key=lambda cell: cell.sort)
    if direction == "descending":
        known = sorted((cell for cell in cells if cell.sort is not None), key=lambda cell: -cell.sort)
    return [plain(visible(cell.text)) for cell in [*known, *(cell for cell in cells if cell.sort is None)]]


class Column:
    """One column of a table on the page, as it stands there."""

    def __init__(self, opened: Opened, block: Table, at: int) -> None:
        opened.unfold()
        self.table = opened.page.locator(f'[id="{block.anchor}"] table, table[id="{block.anchor}"]')
        self.head = self.table.locator("thead th").nth(at)
        self.button = self.head.get_by_role("button")
        self.cells: Locator = self.table.locator(f"tbody tr > :nth-child({at + 1})")

    def texts(self) -> list[str]:
        return [plain(text) for text in self.cells.all_inner_texts()]


def press(opened: Opened, key: str, until: Locator, most: int) -> bool:
    """Press a key until the element has the focus; whether it came to have it."""
    for _ in range(most):
        opened.page.keyboard.press(key)
        if until.evaluate("(each) => each === document.activeElement"):
            return True
    return False


def test_a_click_sorts_and_keeps_what_is_unknown_last(open_report: OpenReport, report: Reports) -> None:
    block, at = half_known(report("rich"))
    opened = open_report(report("rich").path)
    column = Column(opened, block, at)
    seen = set()
    for _ in range(2):
        column.button.click()
        direction = column.head.get_attribute("aria-sort") or ""
        seen.add(direction)
        assert column.texts() == sorted_texts(block, at, direction)
    assert seen == {"ascending", "descending"}
    assert column.table.locator("[aria-sort]").count() == 1
    quiet(opened)


def test_the_keyboard_sorts_and_shows_where_it_is(open_report: OpenReport, report: Reports) -> None:
    block, at = half_known(report("rich"))
    opened = open_report(report("rich").path)
    column = Column(opened, block, at)
    column.table.get_by_role("button").first.focus()
    assert press(opened, "Tab", column.button, most=3 * at)
    outline = column.button.evaluate("(button) => parseFloat(getComputedStyle(button).outlineWidth)")
    assert outline >= 1
    for key in ("Enter", "Space"):
        opened.page.keyboard.press(key)
        assert column.texts() == sorted_texts(block, at, column.head.get_attribute("aria-sort") or "")
        assert column.button.evaluate("(button) => button === document.activeElement")
    quiet(opened)


def test_the_first_tab_leads_past_the_navigation(open_report: OpenReport, report: Reports) -> None:
    opened = open_report(report("rich").path)
    link = opened.page.get_by_role("link", name=re.compile("skip", re.IGNORECASE))
    assert press(opened, "Tab", link, most=1)
    box = link.bounding_box()
    assert box is not None
    assert min(box["x"], box["y"]) >= 0
    assert min(box["width"], box["height"]) > 10
    opened.page.keyboard.press("Enter")
    main = opened.page.get_by_role("main")
    assert main.evaluate("(main) => main === document.activeElement")
    opened.page.keyboard.press("Tab")
    assert main.evaluate("(main) => main.contains(document.activeElement)")


@pytest.mark.parametrize("name", ["rich", "unknown"])
def test_page_follows_the_theme_even_while_open(open_report: OpenReport, report: Reports, name: str) -> None:
    opened = open_report(report(name).path, theme="dark")
    dark = opened.page.evaluate(_COLOURS)
    opened.page.emulate_media(color_scheme="light")
    opened.settle()
    light = opened.page.evaluate(_COLOURS)
    assert dark["ground"] < 0.15
    assert dark["text"] > 0.7
    assert light["ground"] > 0.85
    assert light["text"] < 0.15
    quiet(opened)


def unspaced(text: str) -> str:
    """Letters without blanks and ligatures, which a PDF places as its lines need them."""
    return "".join(normalize("NFKC", text).split())


@pytest.mark.parametrize("name", ["rich", "pd-two-hosts"])
def test_print_has_the_verdict_and_every_caption(open_report: OpenReport, report: Reports, name: str) -> None:
    """Read from the PDF itself; what is folded stays out of it."""
    of = report(name)
    opened = open_report(of.path)
    pages = PdfReader(BytesIO(opened.page.pdf(format="A4"))).pages
    assert len(pages) > 1
    printed = unspaced(" ".join(page.extract_text() for page in pages))
    verdict = next(block for block in of.document.blocks if getattr(block, "kind", "") == "verdict")
    assert unspaced(verdict.text) in printed
    shown = [block for block in of.document.blocks if isinstance(block, Figure | Table)]
    captions = [block.caption for block in shown if not getattr(block, "folded", False)]
    assert [each for each in captions if unspaced(visible(each)) not in printed] == []
    quiet(opened)


_SENTENCES = """(said) => {
  const room = document.querySelector("main").clientWidth;
  const cells = Array.from(document.querySelectorAll("td")).filter((cell) => cell.innerText.includes(said));
  return cells.map((cell) => ({
    share: cell.clientWidth / room,
    lines: cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight),
    title: getComputedStyle(cell, "::before").content + cell.innerText,
    right: cell.getBoundingClientRect().right,
  }));
}"""


@pytest.mark.parametrize("width", [PHONE, 500, LAPTOP])
def test_sentences_in_tables_can_be_read_on_a_narrow_screen(
    open_report: OpenReport, tmp_path: Path, width: int
) -> None:
    """There each cell has a line of its own, as wide as the page, under the title of its column."""
    said = "all time on the wire is taken to shrink where no line through the messages tells their fixed cost. "
    rich = factories.rich()
    assert rich.whatif is not None
    ideas = tuple(replace(idea, basis=said * 3, assumption=said * 3) for idea in rich.whatif)
    opened = open_report(written(replace(rich, whatif=ideas), tmp_path / "said.html").path, width=width)
    opened.unfold()
    cells = opened.page.evaluate(_SENTENCES, said.strip())
    assert len(cells) == 2 * len(ideas)
    assert all(cell["right"] <= width for cell in cells)
    assert all(cell["lines"] < (20 if width == PHONE else 12) for cell in cells)
    titles = [cell["title"].partition(said)[0] for cell in cells]
    named = [sum(title in each for each in titles) for title in ("Rests on", "If")]
    if width < 600:
        assert all(cell["share"] > 0.95 for cell in cells)
        assert named == [len(ideas), len(ideas)]
    else:
        assert named == [0, 0]  # it stands above the column
