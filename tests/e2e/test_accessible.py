"""axe-core finds nothing against WCAG 2.1 AA: on a phone and in a window, in both themes."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import LAPTOP, PHONE, Opened, OpenReport, quiet
from reported import Report

Reports = Callable[[str], Report]
OPTIONS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}
# Most of the time goes into contrast, text by text: a row built like two before it in its table is left out.
_MARK_REPEATED = """() => document.querySelectorAll("tbody").forEach((body) => {
  const seen = new Map();
  Array.from(body.rows).forEach((row) => {
    const shape = [row, ...row.querySelectorAll("*")].map((each) => each.tagName + each.getAttribute("class")).join();
    seen.set(shape, (seen.get(shape) || 0) + 1);
    if (seen.get(shape) > 2) row.dataset.repeated = "";
  });
})"""
_CONTEXT = {"exclude": ["[data-repeated]"]}


def violations(opened: Opened) -> list[str]:
    """What axe finds, an element each: rule, where, and what it measured."""
    opened.page.evaluate(_MARK_REPEATED)
    opened.settle()
    found: dict[str, Any] = Axe().run(opened.page, context=_CONTEXT, options=OPTIONS).response
    assert found["passes"], "axe looked at nothing"
    return sorted(
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {reason['message']}"
        for rule in found["violations"]
        for node in rule["nodes"]
        for reason in [*node["any"], *node["all"], *node["none"]][:1]
    )


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("name", ["rich", "unknown", "pd-two-hosts"])
def test_nothing_keeps_anybody_out(open_report: OpenReport, report: Reports, name: str, width: int) -> None:
    opened = open_report(report(name).path, width=width)
    opened.unfold()
    found = {}
    for theme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=theme)
        found[theme] = violations(opened)
    assert found == {"light": [], "dark": []}
    quiet(opened)


def test_what_keeps_somebody_out_would_be_seen(open_report: OpenReport) -> None:
    opened = open_report("""<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title>
        <p style="color: #999; background: #fff">pale</p><button></button>""")
    assert [each.partition(":")[0] for each in violations(opened)] == ["button-name", "color-contrast"]
