"""The HTML report in a real browser: it draws, sorts and stays silent. Skips where there is no Chromium."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import factories
import pytest

from nsysparse.analysis import WhatIf
from nsysparse.render import to_html
from nsysparse.sections import build

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOSTILE = "</script><script>document.title='owned'</script>\" onmouseover=x \u202e\x1b"


@pytest.fixture(scope="module")
def chromium() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser on PATH (looked for {', '.join(NAMES)})")
    return found


def load(chromium: str, page: Path, profile: Path, *, width: int = 1280) -> tuple[str, list[str]]:
    """The page's DOM after its scripts ran, and every console message."""
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
        f"--window-size={width},2000",
        "--virtual-time-budget=10000",
        "--enable-logging=stderr",
        "--v=0",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("name", ["rich", "unknown"])
def test_page_loads_without_a_word_on_the_console(chromium: str, tmp_path: Path, name: str) -> None:
    page = tmp_path / "report.html"
    page.write_text(to_html.render(build(getattr(factories, name)())), encoding="utf-8")
    dom, console = load(chromium, page, tmp_path / "profile")
    assert console == []
    assert dom.count('aria-label="Sort by') > 3  # the script ran


def test_heatmap_is_drawn_by_plotly_within_the_policy(chromium: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(to_html.render(build(factories.rich())), encoding="utf-8")
    dom, console = load(chromium, page, tmp_path / "profile")
    assert console == []
    assert 'class="heatbox drawn"' in dom
    assert re.search(r'<g class="hm"[^>]*>\s*<image[^>]* (?:xlink:)?href="data:image/png', dom)
    assert "layer" in dom


def test_hostile_names_run_nothing(chromium: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(to_html.render(build(factories.hostile(HOSTILE))), encoding="utf-8")
    dom, console = load(chromium, page, tmp_path / "profile")
    assert console == []
    title = re.search(r"<title>(.*?)</title>", dom)
    assert title is not None
    assert title[1] != "owned"
    assert 'class="heatbox drawn"' in dom
    assert not re.search(r"<[^>]* onmouseover=", re.sub(r'"[^"]*"', '""', dom))


def test_policy_would_stop_an_injected_script(chromium: str, tmp_path: Path) -> None:
    # Shows that silence above is not the absence of a policy.
    html = to_html.render(build(factories.unknown()))
    page = tmp_path / "report.html"
    page.write_text(html.replace("</main>", "<script>document.title='owned'</script></main>"), encoding="utf-8")
    dom, console = load(chromium, page, tmp_path / "profile")
    assert any("Content Security Policy" in line for line in console)
    assert "<title>owned</title>" not in dom


MEASURE = """<script>
addEventListener("load", () => {
  const room = document.querySelector("main").clientWidth;
  const cells = Array.from(document.querySelectorAll("#whatif-table td.words"));
  const lines = (cell) => cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight);
  document.body.dataset.measured = JSON.stringify({
    page: innerWidth,
    narrowest: Math.min(...cells.map((cell) => cell.clientWidth)) / room,
    most_lines: Math.max(...cells.map(lines)),
    overflow: document.querySelector("#whatif-table .scroll").scrollWidth / room,
    titles: cells.map((cell) => getComputedStyle(cell, "::before").content),
  });
});
</script>"""


@pytest.mark.parametrize("width", [500, 1280])
def test_sentences_in_tables_can_be_read_on_a_narrow_screen(chromium: str, tmp_path: Path, width: int) -> None:
    """There each cell has a line of its own, as wide as the page, under the title of its column."""
    said = "all time on the wire is taken to shrink where no line through the messages tells their fixed cost. " * 3
    ideas = tuple(WhatIf(name, 4_000_000, 2_000_000, None, 4, said, said) for name in ("wire-fp8", "more-streams"))
    html = to_html.render(build(replace(factories.rich(), whatif=ideas)))
    assert '<table class="sortable stacks" aria-labelledby="whatif-table-caption">' in html
    page = tmp_path / "report.html"
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)  # to let it be measured
    page.write_text(open_page.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    dom, _ = load(chromium, page, tmp_path / "profile", width=width)
    found = re.search(r'data-measured="([^"]*)"', dom)
    assert found is not None
    measured = json.loads(unescape(found[1]))
    assert measured["page"] == width
    assert measured["overflow"] <= 1
    if width < 600:
        assert measured["narrowest"] > 0.95
        assert set(measured["titles"]) == {'"Rests on"', '"If"'}
    else:
        assert set(measured["titles"]) == {"none"}
    assert measured["most_lines"] < 12
