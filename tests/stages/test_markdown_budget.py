"""A budget of bytes: what is left out is left out whole, in a fixed order, and named."""

import re
from functools import cache
from html import unescape

import factories
import pytest
from markdown_it import MarkdownIt

from nsysparse import changes
from nsysparse.compare import compare, parse
from nsysparse.document import SECTION_LEVEL, Callout, Document, Heading, Paragraph, Ranking, Table
from nsysparse.errors import UsageError
from nsysparse.render import COMMENT_BYTES, to_markdown
from nsysparse.render.budget import SHED_FIRST, choices, parts
from nsysparse.sections import build_review
from tests.conftest import ROOT

LEFT_OUT = "Left out to stay within"


@cache
def rich() -> Document:
    return build_review(factories.rich())


@cache
def huge() -> Document:
    """The report of a run with 200 requests whose names are 50,000 characters each, 10 MB in all."""
    names = [f"{at:03d}" + "<|`@#\u202e\n漢"[at % 8] * 49_990 + f"{at:07d}" for at in range(200)]
    assert sum(len(name) for name in names) == 10_000_000
    return build_review(factories.rich(requests=200, layers=2, ids=names))


def left_out(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.startswith(LEFT_OUT)]
    assert len(lines) <= 1
    return lines[0].partition(": ")[2].removesuffix(".").split(" · ") if lines else []


def titles(text: str) -> list[str]:
    return re.findall(r"<details><summary><b>(.*?)</b>", text)


def least(document: Document) -> int:
    with pytest.raises(UsageError) as refused:
        to_markdown.render(document, 1)
    found = re.search(r"--max-bytes (\d+)", refused.value.hint)
    assert found is not None
    return int(found[1])


def test_what_fits_is_left_whole() -> None:
    whole = to_markdown.render(rich())
    assert to_markdown.render(rich(), len(whole.encode())) == whole
    assert LEFT_OUT not in whole
    assert left_out(to_markdown.render(rich(), len(whole.encode()) - 1)) == ["Definitions"]


def test_sections_go_in_the_documented_order_and_are_named() -> None:
    headings = {block.anchor: block.text for block in rich().blocks
                if isinstance(block, Heading) and block.level == SECTION_LEVEL}  # fmt: skip
    order = [headings[anchor] for anchor in SHED_FIRST if anchor in headings]
    sizes = range(least(rich()), len(to_markdown.render(rich()).encode()), 97)
    for size in sizes:
        text = to_markdown.render(rich(), size)
        gone = [each for each in left_out(text) if each in order]
        assert gone == order[: len(gone)]
        assert [unescape(each) for each in titles(text)] == [text for text in headings.values() if text not in gone]


def test_every_section_of_a_report_has_its_place_in_the_order() -> None:
    anchors = [block.anchor for block in rich().blocks if isinstance(block, Heading) and block.level == SECTION_LEVEL]
    assert sorted(set(anchors) - set(SHED_FIRST)) == []


def test_the_guide_has_the_same_order() -> None:
    guide = (ROOT / "docs/how-to/share-a-report.md").read_text(encoding="utf-8").partition("The order is fixed")[2]
    listed = re.findall(r"^\d\. (.*)$", guide, flags=re.MULTILINE)[1:-1]
    named = re.sub(": .*", "", ", ".join(listed)).lower().split(", ")
    words = {"layers": "time per layer", "sizes": "rate against message size", "decode": "decode devices",
             "lengths": "prompt lengths", "whatif": "what would help", "quality": "data quality",
             "links": "observed against theory", "heatmap": "the heatmap's section",
             "path": "request paths to the first token"}  # fmt: skip
    assert named == [
        words.get(anchor, anchor.replace("-", " ")) for anchor in SHED_FIRST if not anchor.startswith("diff-")
    ]


def test_sections_of_a_comparison_go_in_the_order_of_the_guide() -> None:
    guide = (ROOT / "docs/how-to/share-a-report.md").read_text(encoding="utf-8")
    found = re.search(r"Of a comparison: (.*?)\.", guide, flags=re.DOTALL)
    assert found is not None
    base = factories.rich()
    whole = changes.build(compare([base], base, conditions=[parse("regressed")]))
    headings = {each.anchor: each.text for each in whole.blocks if isinstance(each, Heading)}
    named = [headings[anchor] for anchor in SHED_FIRST if anchor.startswith("diff-")]
    # What moved stands before the first section of a comment, and is the last to go.
    assert " ".join(found[1].split()).split(", ") == [*named, headings["diff-moved"]]
    anchors = ["diff-gates", "diff-all", "diff-links", "diff-definitions"]
    document = Document("t", "s", "g", [Callout("verdict", "t", "v"), *(
        block for anchor in anchors for block in (Heading(anchor, anchor), Paragraph("x " * 40))
    )])  # fmt: skip
    whole = len(to_markdown.render(document).encode())
    assert left_out(to_markdown.render(document, whole - 1)) == ["diff-definitions"]
    assert left_out(to_markdown.render(document, whole - 200)) == ["diff-definitions", "diff-all", "diff-links"]


def test_a_section_that_the_order_does_not_name_goes_first() -> None:
    blocks = [Callout("verdict", "t", "v"), Heading("Findings", "findings"), Paragraph("a"), Heading("New", "new"),
              Paragraph("b"), Heading("Newer", "newer"), Paragraph("c")]  # fmt: skip
    assert [choice.left_out for choice in choices(*parts(blocks))] == [
        (), ["Newer"], ["Newer", "New"], ["Newer", "New", "Findings"],
    ]  # fmt: skip


def test_rows_go_after_sections_findings_before_the_table_that_is_open() -> None:
    steps = [choice.left_out for choice in choices(*parts(rich().blocks))]
    rows = [step[-1] for step in steps if step and " rows of " in step[-1]]
    named = next(block.caption for block in rich().blocks if isinstance(block, Table))
    findings = next(block for block in rich().blocks if isinstance(block, Ranking))
    expected = [f"{gone} of {len(findings.items)} rows of “Findings”" for gone in range(1, len(findings.items))]
    opened = next(block for block in rich().blocks if isinstance(block, Table))
    expected += [f"{gone} of {len(opened.rows)} rows of “{named}”" for gone in range(1, len(opened.rows))]
    assert rows == expected


def test_the_smallest_report_is_marker_verdict_notice_and_what_is_missing() -> None:
    size = least(rich())
    text = to_markdown.render(rich(), size)
    assert len(text.encode()) == size
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == to_markdown.marker(rich())
    assert "KV transfer is 31 %" in lines[1]
    assert "Synthetic" in lines[3]
    assert lines[4].startswith(LEFT_OUT)
    assert left_out(text)[-1] == "remarks"
    assert lines[5].startswith("<sub>")
    assert len(lines) == 6


def test_a_budget_below_that_is_refused_with_the_least_that_would_do() -> None:
    size = least(rich())
    with pytest.raises(UsageError, match=f"the verdict alone takes {size:,} bytes"):
        to_markdown.render(rich(), size - 1)


def test_bytes_count_not_characters() -> None:
    document = Document("t", "s", "g", [Callout("verdict", "t", "漢" * 50), Heading("A", "a"), Paragraph("x " * 99)])
    whole = to_markdown.render(document)
    assert len(whole.encode()) >= len(whole) + 100
    assert left_out(to_markdown.render(document, len(whole))) == ["A"]
    assert left_out(to_markdown.render(document, len(whole.encode()))) == []


@pytest.mark.parametrize("size", [3_000, 20_000, COMMENT_BYTES, 200_000])
def test_names_of_ten_megabytes_fit_and_stay_neutral(size: int) -> None:
    text = to_markdown.render(huge(), size)
    assert len(text.encode()) <= size
    assert text.count(to_markdown.marker(huge())) == 1
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert html.count("<details>") == html.count("</details>") == text.count("<details>")
    assert "\u202e" not in text
    assert to_markdown.render(huge(), size) == text


def test_a_notice_of_megabytes_takes_no_budget_from_the_verdict() -> None:
    whole = rich()
    long = Callout("notice", "synthetic", "a b " * 1_000_000)
    blocks = [long if isinstance(block, Callout) and block.kind == "notice" else block for block in whole.blocks]
    text = to_markdown.render(Document(whole.title, whole.source, whole.generator, blocks), COMMENT_BYTES)
    assert len(text.encode()) <= COMMENT_BYTES
    assert "KV transfer is 31 %" in text


@pytest.mark.parametrize("size", [2_500, 5_000, 10_000, 30_000])
def test_nothing_is_cut_in_the_middle(size: int) -> None:
    """Every block that is shown reads as it does in the whole report."""
    text, whole = to_markdown.render(rich(), size), to_markdown.render(rich())
    said = set(whole.splitlines())
    assert [line for line in text.splitlines() if line not in said and not line.startswith(LEFT_OUT)] == []
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    for kind in ("table", "tr", "td"):
        opened = sum(token.type == f"{kind}_open" for token in parsed)
        assert opened == sum(token.type == f"{kind}_close" for token in parsed)
