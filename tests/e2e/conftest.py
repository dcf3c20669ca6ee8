"""A browser, pages opened in it without a network, and reports to open."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browsing import Opened, OpenReport, open_in, started
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


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[OpenReport]:
    """Open a page, given as its file or as HTML; the options are those of `browsing.open_in`."""
    with ExitStack() as windows:

        def open_(page: Path | str, **how: Any) -> Opened:
            if isinstance(page, Path):
                path = page
            else:
                path = tmp_path / "page.html"
                path.write_text(page, encoding="utf-8")
            opened, context = open_in(browser, path, **how)
            windows.callback(context.close)
            return opened

        yield open_


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
