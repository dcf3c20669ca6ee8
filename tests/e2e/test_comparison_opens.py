"""The page of a comparison in a browser: silent, for everybody, on a phone and a wall, and deaf to what names say."""

from dataclasses import replace
from pathlib import Path

import factories
import pytest
from browsing import LAPTOP, PHONE, WALL, OpenReport, quiet
from test_accessible import violations
from test_hostile_names_live import OWN, PROBES

from nsysparse.analysis import Analysis, Notice
from nsysparse.changes import build
from nsysparse.compare import compare, parse
from nsysparse.render import to_html
from tests.stages.test_compare import slow_layers, with_summary


def page(base: Analysis, candidate: Analysis, folder: Path) -> Path:
    path = folder / "diff.html"
    gates = [parse(each) for each in ("wire_gb_s.p50<-5%", "ttft_ms.p50>+5%", "kv_gap_share.p50>0.9")]
    path.write_text(to_html.render(build(compare([base], candidate, conditions=gates))), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = factories.rich()
    changed = slow_layers(with_summary(base, wire_gb_s=0.8, kv_gap_ms=1.4), range(10, 21), 0.8)
    cells = tuple(
        replace(each, time_ns=int((each.time_ns or 0) * 1.3)) if 10 <= each.layer <= 20 else each
        for each in base.layer_request
    )
    return page(base, replace(changed, layer_request=cells), tmp_path_factory.mktemp("slower"))


@pytest.mark.parametrize("width", [PHONE, LAPTOP, WALL])
def test_it_opens_without_a_word_and_fits(open_report: OpenReport, slower: Path, width: int) -> None:
    opened = open_report(slower, width=width)
    quiet(opened)
    assert opened.layout_shift < 0.01
    opened.unfold()
    assert opened.overhangs() == []
    assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_it_keeps_nobody_out_and_stands_without_scripts(open_report: OpenReport, slower: Path) -> None:
    opened = open_report(slower)
    opened.draw()
    found = {}
    for theme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=theme)
        found[theme] = violations(opened)
    assert found == {"light": [], "dark": []}
    still = open_report(slower, scripts=False)
    for shown in ("#diff-moved-table", "#diff-layers-table", "#diff-heatmap-chart .heat", "#diff-links-chart"):
        assert still.page.locator(shown).first.is_visible(), shown


def test_names_in_a_comparison_are_text(open_report: OpenReport, tmp_path: Path) -> None:
    """Wherever a saved report has words that a comparison repeats."""
    for name, probe in PROBES.items():
        base = factories.hostile(probe)
        told = {key: replace(each, value=probe) for key, each in base.settings.items() if key in ("model", "link")}
        candidate = replace(
            with_summary(factories.rich(), wire_gb_s=0.5),
            nsysparse=probe,
            notice=Notice("synthetic", probe),
            settings={**factories.rich().settings, **told},
        )
        opened = open_report(page(base, candidate, tmp_path))
        opened.draw()
        assert opened.page.evaluate("window.__owned") is None, (name, OWN)
        assert opened.errors == [], name
        assert opened.requests == [], name
