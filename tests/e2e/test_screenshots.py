"""Pictures of three reports, for people to look at: on a phone, in a window and on a large screen, in both themes.

They go to the folder that SCREENSHOTS_OF_NSYSPARSE names, else to `.artefacts/screenshots/`.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from browsing import LAPTOP, PHONE, WALL, OpenReport, quiet
from reported import SAMPLED, Report

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def folder() -> Path:
    place = Path(os.environ.get("SCREENSHOTS_OF_NSYSPARSE") or ROOT / ".artefacts" / "screenshots")
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.mark.parametrize("width", [PHONE, LAPTOP, WALL])
@pytest.mark.parametrize("name", SAMPLED)
def test_picture(open_report: OpenReport, report: Callable[[str], Report], folder: Path, name: str, width: int) -> None:
    opened = open_report(report(name).path, width=width)
    opened.page.context.new_cdp_session(opened.page).send("Emulation.setScrollbarsHidden", {"hidden": True})
    pictures = []
    for theme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=theme)
        opened.settle()
        pictures.append(opened.page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True))
    widths = {int.from_bytes(picture[16:20], "big") for picture in pictures}  # of a PNG's first chunk
    assert widths == {width}
    assert pictures[0] != pictures[1]
    quiet(opened)
