"""The HTML report opens from a file, without a network: silent, still, and no wider than the window."""

from collections.abc import Callable

import pytest
from browsing import LAPTOP, PHONE, WALL, OpenReport, quiet
from reported import ALL, Report

Reports = Callable[[str], Report]
# Every report on the narrowest screen, where least has room; those that differ most on the others, too.
CASES = [*((name, PHONE) for name in ALL), *((name, width) for name in ("rich", "unknown") for width in (LAPTOP, WALL))]


@pytest.mark.parametrize(("name", "width"), CASES)
def test_page_opens_without_a_word_stands_still_and_fits(
    open_report: OpenReport, report: Reports, name: str, width: int
) -> None:
    opened = open_report(report(name).path, width=width)
    quiet(opened)
    assert opened.layout_shift < 0.01
    for _ in ("folded", "unfolded"):
        assert opened.overhangs() == []
        assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= width
        opened.unfold()


def test_what_a_page_should_not_do_would_be_seen(open_report: OpenReport) -> None:
    """The silence above is that of the page, not of the watch."""
    noisy = """<!doctype html><meta charset="utf-8"><title>x</title><body><p style="width: 200vw">wide</p>
        <img src="http://example.invalid/a.png" alt=""><script>
        console.info("said"); fetch("http://example.invalid/b").catch(() => 0);
        setTimeout(() => { throw new Error("thrown"); });
        addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(() => {
          document.body.prepend(document.createElement("hr"), document.createElement("pre"));
          document.querySelector("pre").textContent = "moved\\n".repeat(20);
        })));
        </script>"""
    opened = open_report(noisy)
    assert sorted(opened.requests) == ["http://example.invalid/a.png", "http://example.invalid/b"]
    assert "info: said" in opened.said
    assert opened.errors == ["thrown"]
    assert opened.layout_shift > 0.01
    assert any(each.startswith("p ends at") for each in opened.overhangs())
    with pytest.raises(AssertionError):
        quiet(opened)


def test_policy_stops_what_is_injected(open_report: OpenReport, report: Reports) -> None:
    html = report("unknown").path.read_text(encoding="utf-8")
    injected = """<script>document.title = "owned"</script><img src="http://example.invalid/x.png" alt="">
        <p style="position: fixed" onclick="0">x</p>"""
    opened = open_report(html.replace("</main>", f"{injected}</main>"))
    stopped = {each.partition(":")[0] for each in opened.violations}
    assert stopped == {"script-src-elem", "script-src-attr", "img-src", "style-src-attr"}
    assert any("Content Security Policy" in each for each in opened.said)
    assert opened.page.title() != "owned"
