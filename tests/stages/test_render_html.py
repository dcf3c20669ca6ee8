"""The HTML report: one offline file under a strict policy, the same bytes every time, complete without scripts."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import factories
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.document import (
    Abstention,
    Bar,
    BarChart,
    Cell,
    Column,
    ColumnChart,
    Document,
    Heading,
    Heatmap,
    HeatView,
    Paragraph,
    Series,
    Spread,
    Table,
)
from nsysparse.render import to_html
from nsysparse.render.charts import heatmap_json
from nsysparse.render.figures import axis_end, columns, throughput_bar
from nsysparse.render.heat import SHADES, ShadeScale, picture, shade_limits, shade_scale
from nsysparse.render.html_views import json_block
from nsysparse.render.names import NO_BREAK_SPACE
from nsysparse.sections import build


class Page(HTMLParser):
    """Elements with their attributes, and the text of style and script elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.elements[-1] if self.elements else ("", {})
        if self.cdata_elem:
            self.raw.append((tag, attributes, data))
        else:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def rich() -> str:
    return to_html.render(build(factories.rich()))


@pytest.fixture(scope="module")
def page(rich: str) -> Page:
    return Page(rich)


def policy(page: Page) -> dict[str, str]:
    (content,) = [each["content"] for each in page.of("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    directives = (part.strip().partition(" ") for part in (content or "").split(";"))
    return {name: value for name, _, value in directives}


def sha(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_policy_allows_nothing_but_our_own_style_and_scripts(page: Page) -> None:
    rules = policy(page)
    styles = [text for tag, _, text in page.raw if tag == "style"]
    scripts = [text for tag, attributes, text in page.raw if tag == "script" and "type" not in attributes]
    assert rules["default-src"] == "'none'"
    assert sorted(rules["script-src"].split()) == sorted(map(sha, scripts))
    assert rules["style-src"].split() == [sha(styles[0]), "'unsafe-hashes'", sha("")]
    assert rules["img-src"] == "data:"
    assert set(rules) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}


def test_policy_is_tighter_without_plotly() -> None:
    page = Page(to_html.render(build(factories.unknown())))
    rules = policy(page)
    assert "img-src" not in rules
    assert "unsafe" not in rules["style-src"]
    assert len(rules["script-src"].split()) == 2  # the theme before the first paint, and the page's own


def test_nothing_is_loaded_and_nothing_sets_style_or_handlers(page: Page) -> None:
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name == "style" or name.startswith("on")}
    assert not names & {"src", "srcset", "action", "formaction", "data", "poster"}
    links = {value for _, attributes in page.elements for name, value in attributes.items() if name == "href"}
    assert all(value and value.startswith("#") for value in links)


def test_every_link_inside_the_page_has_a_target(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"] for _, attributes in page.elements if "href" in attributes}
    assert {target.removeprefix("#") for target in targets if target} <= set(ids)


def test_same_document_same_bytes(rich: str) -> None:
    assert to_html.render(build(factories.rich())) == rich


def test_generator_names_us(page: Page) -> None:
    assert {"name": "generator", "content": "nsysparse 0.1.0"} in page.of("meta")


def test_verdict_and_numbers_stand_in_the_markup(page: Page) -> None:
    text = page.text.replace(NO_BREAK_SPACE, " ")
    assert factories.rich().verdict.text in text
    for said in ("38.9 GB/s", "ceiling 47.4 · line rate 50", "≥ 18.8 GB/s", "77.7 % of line rate"):
        assert said in text, said
    assert len(page.of("h1")) == 1


def test_plotly_is_embedded_once_and_only_for_a_heatmap(rich: str) -> None:
    banner = "plotly.js (cartesian - minified) v4.1.1"
    assert rich.count(banner) == 1
    assert banner not in to_html.render(build(factories.unknown()))


def test_bundle_fits_what_plotly_writes() -> None:
    from plotly.offline import get_plotlyjs_version

    assert get_plotlyjs_version().split(".")[0] == "4"


@pytest.mark.parametrize(
    "view",
    [
        HeatView("Time", "ms", [[1.0, 2.0], [None, 3.5]]),
        HeatView("Time", "ms", [[1.0, 200.0], [None, 30000.0]]),
        HeatView("Change", "%", [[-1.0, 2.0], [None, 3.0]], middle=0),
    ],
    ids=["linear", "logarithmic", "both ways"],
)
@pytest.mark.parametrize("labels", [(), ("1k", "2k")])
def test_figures_are_what_plotly_itself_would_write(view: HeatView, labels: tuple[str, ...]) -> None:
    """Its package checks every attribute, and refuses those that plotly.js would not know."""
    from plotly import graph_objects

    drawn = Heatmap("c", "<x>", "y/z", ["a<b>", "</script>"], ["0", "1"], [view], "heatmap-chart", x_labels=labels)
    (figure,) = json.loads(heatmap_json(drawn))["figures"]
    theirs = graph_objects.Figure(figure).to_json(engine="json")

    assert json.loads(theirs) == figure
    ours = heatmap_json(drawn).replace("<", "\\u003c").replace(">", "\\u003e")
    assert theirs in ours


def test_size_stays_within_the_limit_at_the_largest_heatmap() -> None:
    largest = to_html.render(build(factories.rich(requests=640, layers=32)))
    assert len(largest.encode()) <= 2_500_000


def test_heatmap_data_is_valid_json_and_holds_the_values(page: Page) -> None:
    (text,) = [text for _, attributes, text in page.raw if attributes.get("id") == "heatmap-chart-data"]
    known = json.loads(text)
    trace = known["figures"][0]["data"][0]
    values = np.frombuffer(base64.b64decode(trace["customdata"]["bdata"]), dtype=trace["customdata"]["dtype"])
    assert trace["customdata"]["shape"] == "32, 24"
    whole = factories.rich()
    first = next(cell for cell in whole.layer_request if cell.layer == 0 and cell.request_id == known["names"][0])
    assert values[0] == pytest.approx(first.time_ns / 1e6)
    assert values.sum() == pytest.approx(sum(cell.time_ns for cell in whole.layer_request) / 1e6, rel=1e-4)


def test_json_block_cannot_end_its_element() -> None:
    text = json.dumps("</script><!--&\u2028\u2029", ensure_ascii=False)
    block = json_block(text)
    assert not set("<>&\u2028\u2029") & set(block)
    assert json.loads(block) == json.loads(text)


def test_tables_carry_sort_values_and_unknown_carries_none(page: Page) -> None:
    cells = [attributes for tag, attributes in page.elements if tag == "td"]
    assert any(attributes.get("data-v") == "40" for attributes in cells)
    assert any("data-v" not in attributes for attributes in cells)
    assert all(attributes.get("data-v") != "unknown" for attributes in cells)


def test_a_section_with_only_an_abstention_is_one_line() -> None:
    document = Document("t", "s", "g", [Heading("Layers", "layers"), Abstention("Layers", "no layer", "--layers N")])
    page = Page(to_html.render(document))
    assert {"id": "layers", "aria-labelledby": "layers-h", "class": "empty"} in page.of("section")
    assert "--layers N" in page.text


def heatmap(values: list[list[float | None]]) -> Heatmap:
    x, y = [f"r{place}" for place in range(len(values[0]))], [str(place) for place in range(len(values))]
    return Heatmap("c", "requests", "layer", x, y, [HeatView("time", "ms", values)], "a")


def scale(values: list[list[float | None]], floor: float | None = None) -> ShadeScale:
    return shade_scale(HeatView("time", "ms", values, floor))


def test_cells_not_observed_are_not_drawn() -> None:
    svg = picture(heatmap([[1.0, None, 1.0], [None, None, None]]))
    assert svg.count("M") == 2
    assert "M0 0.5h1M2 0.5h1" in svg


def test_equal_neighbours_are_one_stroke() -> None:
    assert "M0 0.5h3" in picture(heatmap([[5.0, 5.0, 5.0]]))


def test_shades_are_linear_from_zero_until_values_span_too_much() -> None:
    linear, wide = scale([[1.0, 10.0]]), scale([[0.001, 10.0]])
    assert not linear.is_log
    assert linear.place(5.0) == pytest.approx(0.5)
    assert wide.is_log
    assert wide.place(0.1) == pytest.approx(0.5)
    assert wide.place(0.0) == 0.0
    assert len(shade_limits(HeatView("time", "ms", [[1.0, 10.0]]))) == SHADES


def test_a_scale_with_a_floor_starts_there_and_spans_twice_it_at_least() -> None:
    flat, steep = scale([[1.0, 1.01]], floor=1.0), scale([[0.5, 16.0]], floor=1.0)
    assert (flat.low, flat.high) == (1.0, 2.0)
    assert [steep.place(value) for value in (0.5, 1.0, 4.0, 16.0)] == pytest.approx([0, 0, 0.5, 1])


def test_heatmap_of_zeros_is_drawn() -> None:
    assert "heat-0" in picture(heatmap([[0.0, 0.0]]))


def test_bar_lengths_and_references_share_one_axis() -> None:
    bar = Bar("a", 25.0, "25 GB/s", 50.0, 40.0)
    chart = BarChart("c", "GB/s", [bar], "a")
    svg = throughput_bar(bar, axis_end(chart))
    assert axis_end(chart) == 60.0
    assert 'width="41.67%"' in svg  # 25 of 60
    assert 'x1="83.33%"' in svg  # 50 of 60
    assert 'x1="66.67%"' in svg  # 40 of 60


RATES = st.floats(0.001, 1e4)
BARS = st.builds(
    Bar,
    label=st.just("a"),
    value=st.none() | RATES,
    text=st.just("t"),
    line_rate=st.none() | RATES,
    practical=st.none() | RATES,
    spread=st.none() | st.tuples(RATES, RATES, RATES).map(lambda three: Spread(*sorted(three))),
)


@given(st.lists(BARS, min_size=1, max_size=4))
def test_no_mark_of_a_bar_lies_beyond_the_axis(bars: list[Bar]) -> None:
    end = axis_end(BarChart("c", "GB/s", bars, "a"))
    for bar in bars:
        assert not bar.spread or bar.spread.p90 < end
        ends = [float(x) for x in re.findall(r' x2="([0-9.]+)%"', throughput_bar(bar, end))]
        assert all(x < 100 for x in ends), bar


def test_a_whisker_longer_than_all_bars_ends_the_axis() -> None:
    bar = Bar("a", 22.98, "≥ 23.0 GB/s", spread=Spread(10.0, 20.0, 27.9))
    assert axis_end(BarChart("c", "GB/s", [bar], "a")) == pytest.approx(27.9 * 1.2)


def test_numbers_do_not_break_from_their_units() -> None:
    text = Page(
        to_html.render(Document("t", "s", "g", [Paragraph("87.9 % in 3.82 ms, at ≥ 5 GB/s; 12 pairs, 3 sends")]))
    ).text
    assert "87.9\u00a0% in 3.82\u00a0ms, at ≥\u00a05\u00a0GB/s; 12 pairs, 3 sends" in text


def test_commands_are_code_and_advice_is_text() -> None:
    rows = [
        [Cell(text, kind=kind)] for text, kind in (("nsys profile -o 5 ms", "command"), ("read `a` first", "words"))
    ]
    blocks = [
        Table("t", [Column("c")], rows, "a"),
        Abstention("s", "Why.", "nsysparse report --layers 5"),
        Abstention("s", "Why.", "Annotate it: docs/reference/convention.md"),
    ]
    page = to_html.render(Document("t", "s", "g", blocks))
    assert "<code>nsys profile -o 5 ms</code>" in page
    assert "read <code>a</code> first" in page
    assert '<code class="cmd">nsysparse report --layers 5</code>' in page
    assert "<p>Annotate it: docs/reference/convention.md</p>" in page


def test_a_chart_of_few_columns_is_no_wider_than_they_need() -> None:
    def drawn(count: int) -> str:
        labels = [str(place) for place in range(count)]
        return columns(ColumnChart("c", "layer", "ms", labels, [Series("wire", "wire", [1.0] * count)], "a"))

    assert 'class="chart" width="304" ' in drawn(4)
    assert 'class="chart" width="100%" ' in drawn(32)
    for count in (1, 4, 12, 32):
        edges = [float(x) + float(w) for x, w in re.findall(r'<rect x="([\d.]+)%" width="([\d.]+)%"', drawn(count))]
        assert len(edges) == count
        assert 80 < max(edges) <= 100


def test_bound_is_striped_and_unknown_is_hatched() -> None:
    assert "mark-bound" in throughput_bar(Bar("a", 1.0, "≥ 1 GB/s", is_bound=True), 2.0)
    unknown = throughput_bar(Bar("a", None, "unknown"), 2.0)
    assert "mark-unknown" in unknown
    assert "mark-wire" not in unknown


def test_a_column_that_would_flatten_the_rest_is_cut_and_written_out() -> None:
    values = [100.0, *[1.0] * 19]
    chart = ColumnChart(
        "c", "layer", "ms, all", [str(place) for place in range(20)], [Series("wire", "wire", values)], "a"
    )
    svg = columns(chart)
    assert "layer 0: 100" in svg
    assert "break" in svg
    even = ColumnChart("c", "layer", "ms, all", ["0", "1"], [Series("wire", "wire", [1.0, 2.0])], "a")
    assert "break" not in columns(even)


def test_an_asset_that_could_end_its_element_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # The template is taken before: it is kept for later pages.
    to_html.render(Document("t", "s", "g", []))
    monkeypatch.setattr(to_html, "_asset", lambda *path: "</SCRIPT>" if path[-1] == "page.js" else "")
    with pytest.raises(ValueError, match="</script"):
        to_html.render(Document("t", "s", "g", []))


def test_no_machine_path_or_time_in_the_page(rich: str) -> None:
    ours = re.sub(r"<script>/\*\*.*?</script>", "", rich, flags=re.DOTALL)
    assert not re.search(r"/(?:home|root|tmp|usr|mnt)/", ours)
    assert not re.search(r"\b20\d\d-\d\d-\d\d", ours)


def test_words_of_ours_are_never_cut_and_names_are() -> None:
    said = "all time on the wire " * 40 + "would shrink."
    rows = [[Cell(said), Cell(f"nsysparse report {said}", kind="command"), Cell("n" * 300, kind="name")]]
    table = Table("Long", [Column("If"), Column("Do"), Column("Of")], rows, "long-table")
    html = to_html.render(Document(title="t", source="s", generator="g", blocks=[table]))
    assert html.count(said) == 2
    assert "n" * 300 not in re.sub(r'title="[^"]*"', "", html)
    assert "n\u2026n" in html
