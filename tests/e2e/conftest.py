"""A browser, pages opened in it without a network, and reports to open."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browsing import Opened, OpenReport, Window, started
from playwright.sync_api import Browser
from reported import MADE, Report, written

from nsysparse.analysis import Analysis
from nsysparse.api import Options, analyse

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium_path() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser on PATH (looked for {', '.join(NAMES)})")
    return found


# Not for the session: while Playwright runs, no other test of this process could call `asyncio.run`.
@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    with started(chromium_path) as running:
        yield running


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Callable[[bool], Window]]:
    """The window in which scripts run, or do not; opened when first asked for."""
    with ExitStack() as opened:

        @cache
        def of(scripts: bool) -> Window:  # noqa: FBT001 (the key of a cache)
            each = Window(browser, scripts=scripts)
            opened.callback(each.close)
            return each

        yield of


@pytest.fixture
def open_report(window: Callable[[bool], Window], tmp_path: Path) -> OpenReport:
    """Open a page in place of the one before, given as its file or as HTML; options as in `browsing.Window.open`."""

    def open_(page: Path | str, *, scripts: bool = True, **how: Any) -> Opened:
        if isinstance(page, Path):
            path = page
        else:
            path = tmp_path / "page.html"
            path.write_text(page, encoding="utf-8")
        return window(scripts).open(path, **how)

    return open_


@pytest.fixture(scope="session")
def report(
    tmp_path_factory: pytest.TempPathFactory,
    sample: Callable[[str], Path],
    runs: dict[str, dict[str, Any]],
) -> Callable[[str], Report]:
    """The report by one of the names of `reported.ALL`; each is made once."""
    folder = tmp_path_factory.mktemp("reports")
    known: dict[str, Report] = {}

    def analysed(name: str) -> Analysis:
        if name in MADE:
            return MADE[name]()
        if name in runs:
            return analyse([sample(path) for path in runs[name]["paths"]], Options(link="ib-ndr"))
        return analyse([sample(f"synthetic/{name}.sqlite")], Options(link="ib-ndr", model="llama-3-8b"))

    def of(name: str) -> Report:
        if name not in known:
            known[name] = written(analysed(name), folder / f"{name}.html")
        return known[name]

    return of
