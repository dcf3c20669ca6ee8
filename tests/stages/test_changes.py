"""A comparison as a document: the answer first, only what moved in the tables, every name neutral in every format."""

from collections.abc import Callable
from dataclasses import replace

import factories
import pytest
from markdown_it import MarkdownIt

from nsysparse.analysis import Analysis
from nsysparse.changes import SECTIONS, build, build_review, build_summary
from nsysparse.compare import compare, parse
from nsysparse.comparison import Comparison
from nsysparse.document import Block, Callout, Document, Dumbbells, Heading, Heatmap, Ranges, Table
from nsysparse.render import to_html, to_markdown, to_text
from nsysparse.render.budget import SHED_FIRST
from tests.stages.test_compare import slow_layers, with_summary

MADE: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
    "hostile": lambda: factories.hostile("</script>|`@someone` <!-- x --> \u202e\x1b[31m"),
}


@pytest.fixture(params=[(one, other) for one in MADE for other in MADE], ids="-".join)
def comparison(request: pytest.FixtureRequest) -> Comparison:
    base, candidate = request.param
    gates = [parse(each) for each in ("wire_gb_s.p50<-5%", "link.headline_gb_s<-5%", "regressed")]
    return compare([MADE[base]()], MADE[candidate](), conditions=gates)


def regressed() -> Comparison:
    base = factories.rich()
    slower = slow_layers(with_summary(base, wire_gb_s=0.8), range(10, 21), 0.8)
    return compare([base], slower, conditions=[parse("wire_gb_s.p50<-5%"), parse("wire_gb_s.p10>900")])


def tables(document: Document) -> dict[str, Table]:
    return {block.anchor: block for block in document.blocks if isinstance(block, Table)}


def test_every_pair_is_drawn_in_every_format(comparison: Comparison) -> None:
    for document in (build(comparison), build_review(comparison), build_summary(comparison)):
        first = document.blocks[0]
        assert isinstance(first, Callout)
        assert (first.kind, first.text) == ("verdict", comparison.verdict.text)
        page, comment, text = to_html.render(document), to_markdown.render(document), to_text.render(document)
        assert comment.startswith("<!-- nsysparse:diff -->\n")
        assert "</script>|" not in page
        assert "\u202e" not in page + comment + text
        assert "\x1b" not in page + comment + text
        html = MarkdownIt("commonmark").enable("table").render(comment)
        assert "<!-- x -->" not in html
        assert "@someone" not in comment.replace("&#64;", "").replace("@&#8203;", "")


def test_a_run_against_itself_has_no_rows() -> None:
    base = factories.rich()
    document = build(compare([base], base))
    assert {anchor for anchor, table in tables(document).items() if table.rows} == {
        "diff-all-table", "diff-runs-table", "diff-comparability-table",
    } & set(tables(document))  # fmt: skip
    text = to_text.render(build_summary(compare([base], base)))
    assert text.startswith("Nothing changed: both sides are the same analysis.\n")
    assert "No metric of the whole run moved beyond noise" in text


def test_what_moved_is_marked_with_its_values_and_difference() -> None:
    rows = tables(build(regressed()))["diff-moved-table"].rows
    assert [[cell.text for cell in row] for row in rows] == [
        ["\u2212", "Wire rate, p50", "39.5 GB/s", "31.6 GB/s", "\u22127.90 GB/s", "\u221220.0 %"],
        ["\u2212", "Wire rate, p10", "17.0 GB/s", "13.6 GB/s", "\u22123.40 GB/s", "\u221220.0 %"],
    ]
    assert {cell.tone for cell in rows[0]} >= {"bad"}


def test_only_the_slow_layers_have_rows_and_all_are_drawn() -> None:
    document = build(regressed())
    rows = tables(document)["diff-layers-table"].rows
    assert {int(row[1].text) for row in rows} == set(range(10, 21))
    figure = next(block for block in document.blocks if isinstance(block, Dumbbells))
    assert len(figure.labels) == 32
    assert [label for label, tone in zip(figure.labels, figure.tones, strict=True) if tone == "bad"] == [
        str(number) for number in range(10, 21)
    ]


def test_both_runs_lie_on_one_axis_and_cells_go_both_ways() -> None:
    document = build(regressed())
    assert {block.anchor for block in document.blocks if isinstance(block, Ranges)} >= {
        "diff-links-chart", "diff-rates-chart",
    }  # fmt: skip
    heatmap = next(block for block in document.blocks if isinstance(block, Heatmap))
    assert (heatmap.views[0].middle, heatmap.views[0].unit) == (0.0, "%")


def test_gates_are_said_failed_first() -> None:
    rows = tables(build(regressed()))["diff-gates-table"].rows
    assert [row[1].text for row in rows] == ["failed", "passed"]
    text = to_text.render(build_summary(regressed()))
    assert "1 gate failed: wire_gb_s.p50<-5% (\u221220.0 %, 39.5 \u2192 31.6 GB/s)" in text


def test_what_else_differs_is_said_before_the_tables() -> None:
    base = factories.rich()
    fewer = compare([base], factories.rich(layers=8))
    text = to_markdown.render(build_review(fewer))
    assert "Before comparing: " in text
    assert text.index("Before comparing: ") < text.index("<details>")
    assert fewer.comparability[0].message.lower() in text.lower()


def test_every_section_has_its_place_in_the_budget(comparison: Comparison) -> None:
    anchors = [
        block.anchor
        for section in SECTIONS.values()
        for block in section(comparison)
        if isinstance(block, Heading) and block.level == 2
    ]
    assert set(anchors) <= set(SHED_FIRST)
    assert len(anchors) == len(set(anchors))


def test_a_comment_that_has_little_room_keeps_the_answer() -> None:
    found = build_review(regressed())
    text = to_markdown.render(found, 2500)
    assert len(text.encode()) <= 2500
    assert "Transfer regressed" in text
    assert "1 gate failed" in text
    assert "Left out to stay within" in text


def test_the_order_in_which_files_are_named_does_not_matter_to_rows() -> None:
    base, other = factories.rich(), with_summary(factories.rich(), wire_gb_s=0.8)
    twice = compare([base, replace(base)], other)
    assert twice.metrics[0].verdict == compare([base], other).metrics[0].verdict
    blocks: list[Block] = list(build(twice).blocks)
    assert any("median of 2 runs" in getattr(block, "note", "") for block in blocks)
