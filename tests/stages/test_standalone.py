"""Figures as files: SVG that needs nothing around it, in light and dark, whatever block it was drawn from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import factories
import pair_scenes
import pytest

from nsysparse.document import Document
from nsysparse.render import html_views, standalone
from nsysparse.render.figure_style import style
from nsysparse.render.names import visible
from nsysparse.render.standalone import Figure, figures
from nsysparse.render.svg import chart, label
from nsysparse.sections import build_review

SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> dict[str, Figure]:
    documents = (build_review(factories.rich()), pair_scenes.document())
    return {figure.anchor: figure for document in documents for figure in figures(document)}


@pytest.fixture(
    params=["links-chart", "layers-chart", "heatmap-chart", "ranges-chart", "dumbbells-chart", "many", "pairs-heatmap"]
)
def figure(request: pytest.FixtureRequest) -> Figure:
    return drawn()[request.param]


def css(figure: Figure) -> str:
    return figure.svg.partition("<style>")[2].partition("</style>")[0]


def test_a_report_without_figures_has_none() -> None:
    assert figures(build_review(factories.unknown())) == []


def test_the_same_report_gives_the_same_bytes() -> None:
    assert drawn() == drawn()


def test_it_is_as_wide_as_all_and_as_high_as_it_says(figure: Figure) -> None:
    root = ET.fromstring(figure.svg)  # noqa: S314 (our own file)
    assert root.tag == f"{SVG}svg"
    assert (root.get("width"), root.get("height")) == ("960", str(figure.height))
    assert root.get("viewBox") == f"0 0 960 {figure.height}"
    bottoms = [float(each.get("y", 0)) + float(each.get("height", 0)) for each in root.findall(f"{SVG}g/{SVG}svg")]
    assert max(bottoms) < figure.height


def test_it_refers_to_nothing_outside(figure: Figure) -> None:
    assert re.findall(r"https?://[^\"]*", figure.svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|<foreignObject|href|@import|<image|\son\w+=|data:", figure.svg)
    referred = set(re.findall(r"url\(([^)]*)\)", figure.svg))
    defined = {f"#{name}" for name in re.findall(r' id="([^"]*)"', figure.svg)}
    assert referred <= defined


def test_every_class_has_its_rule_and_every_colour_its_two_values(figure: Figure) -> None:
    used = {name for names in re.findall(r' class="([^"]*)"', figure.svg) for name in names.split()}
    assert {name for name in used if not re.search(rf"\.{name}\b", css(figure))} == set()
    light, dark = re.findall(r":root \{ (.*?) \}", css(figure))
    colours = set(re.findall(r"var\((--[\w-]+)\)", css(figure)))
    assert set(re.findall(r"(--[\w-]+):", light)) == colours
    assert set(re.findall(r"(--[\w-]+):", dark)) == colours - {"--sans", "--mono"}
    assert "@media (prefers-color-scheme: dark)" in css(figure)


def test_it_says_what_the_page_says_around_it() -> None:
    def texts(anchor: str) -> str:
        root = ET.fromstring(drawn()[anchor].svg)  # noqa: S314 (our own file)
        return " ".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))

    links = texts("links-chart")
    for said in ("Throughput per link, GB/s", "prefill:gpu0 → decode:gpu0", "80.0\u00a0% of line rate", "ib_write_bw"):
        assert said in links
    assert "peer wait" in texts("layers-chart")
    assert "Blank: not observed." in texts("heatmap-chart")
    assert texts("heatmap-chart").count("≤") == 6
    for said in ("Throughput per link, GB/s", "main.sqlite", "40.0 GB/s → 32.0 GB/s, \u221220 % worse", "As measured."):
        assert said in texts("ranges-chart").replace("\u00a0", " ")
    assert "worse" in texts("dumbbells-chart")
    assert "slower: +15 to +20 %" in texts("pairs-heatmap")
    assert "Hatched: unknown." in texts("pairs-heatmap")


@dataclass(frozen=True, slots=True)
class Rainfall:
    """A block of a kind that is not there yet."""

    caption: str
    anchor: str
    drops: Sequence[int]


def test_a_new_kind_of_figure_needs_no_change_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def view(block: object) -> html_views.View:
        assert isinstance(block, Rainfall)
        text = label(50, 10, "wet \x1b", look="lbl")
        return {"svg": chart(40, text, label="rain"), "key": [{"label": "rain", "look": "mark-wait"}]}

    monkeypatch.setattr(standalone, "view", view)
    block = Rainfall("Rain <b>", "rain", [1])
    (found,) = figures(Document("t", "s", "g", [block]))  # type: ignore[list-item]
    assert found.anchor == "rain"
    assert "Rain &lt;b&gt;" in found.svg
    assert visible("wet \x1b") in found.svg
    assert ".mark-wait" in css(found)


def test_rules_for_paper_and_for_html_stay_out() -> None:
    found = style('<g class="chart mark-wire bars"></g>')
    assert "@media print" not in found
    assert "figcaption" not in found
