"""The Markdown report, read by somebody else's parser: verdict first, tables whole, the rest folded."""

import re
from collections.abc import Callable
from html import unescape

import factories
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nsysparse.analysis import Analysis
from nsysparse.document import (
    SECTION_LEVEL,
    Abstention,
    Bar,
    BarChart,
    Callout,
    Cell,
    Column,
    Document,
    Heading,
    Meter,
    Paragraph,
    Table,
)
from nsysparse.render import to_markdown
from nsysparse.sections import build, build_review

ANALYSES: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
}


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)


def shown(text: str) -> str:
    """What a reader sees: the rendered text without elements."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize("name", ANALYSES)
def test_marker_then_verdict(name: str) -> None:
    whole = ANALYSES[name]()
    text = to_markdown.render(build(whole))
    assert text.splitlines()[0] == "<!-- nsysparse:report -->"
    assert text.splitlines()[1].startswith("### ")
    assert whole.verdict.text in shown(text).splitlines()[1]


def test_a_document_has_a_marker_of_its_own_that_cannot_end_its_comment() -> None:
    assert to_markdown.render(Document("t", "s", "g", [], marker="diff-x")).startswith("<!-- nsysparse:diff-x -->\n")
    for word in ("", "a--b", "-a", "a-", "a -->", "A", "a\n", "a1"):
        with pytest.raises(ValueError, match="no marker"):
            Document("t", "s", "g", [], marker=word)


def test_signs_of_a_mark_column_stay_signs() -> None:
    table = Table("t", [Column(""), Column("a")], [[Cell(sign, tone="bad"), Cell("x")] for sign in "+\u2212~"], "t")
    written = to_markdown.render(Document("t", "s", "g", [table]))
    assert [line for line in shown(written).splitlines() if line in ("+", "\u2212", "~")] == ["+", "\u2212", "~"]
    kinds = {token.type for token in tokens(written)}
    assert "bullet_list_open" not in kinds
    assert "s_open" not in kinds


@pytest.mark.parametrize("name", ANALYSES)
def test_tables_are_whole(name: str) -> None:
    document = build(ANALYSES[name]())
    rows = sum(len(block.rows) for block in document.blocks if isinstance(block, Table))
    parsed = tokens(to_markdown.render(document))
    bodies = sum(token.type == "tbody_open" for token in parsed)
    headed = sum(token.type == "tr_open" for token in parsed) - bodies
    assert headed >= rows
    assert bodies >= sum(isinstance(block, Table) for block in document.blocks)


@pytest.mark.parametrize("name", ANALYSES)
def test_details_open_and_close_in_pairs(name: str) -> None:
    text = to_markdown.render(build(ANALYSES[name]()))
    lines = [line for line in text.splitlines() if line.startswith(("<details>", "</details>"))]
    assert lines
    assert [line.startswith("</") for line in lines] == [False, True] * (len(lines) // 2)
    # Markdown is read inside only after an empty line.
    assert "</summary>\n\n" in text
    assert not re.search(r"</summary>\n(?!\n)", text)


def test_key_figures_and_links_stay_open() -> None:
    text = to_markdown.render(build(factories.rich()))
    folded = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    for said in ("10.3 GB", "38.9 GB/s", "≥ 18.8 GB/s", "Synthetic"):
        assert said in folded
    assert "cmpl-" not in folded


def test_same_document_same_bytes() -> None:
    assert to_markdown.render(build(factories.rich())) == to_markdown.render(build(factories.rich()))


def test_numbers_read_as_they_are() -> None:
    text = to_markdown.render(build(factories.rich()))
    assert "| **10.3 GB** |" in text
    assert "83.9 %" in text
    assert "8203" not in re.sub(r"(@|#)&#8203;", "", text)


def test_commands_stay_whole() -> None:
    fix = "nsys profile --trace=cuda,nvtx --output=a_b *"
    text = to_markdown.render(Document("t", "s", "g", [Heading("H", "h"), Abstention("s", "why", fix)]))
    assert fix in shown(text)


def test_text_that_looks_like_a_list_or_heading_stays_text() -> None:
    for said in ("1. one", "2) two", "- three", "# four", "> five", "* six", "=== seven", "    eight", "--- nine"):
        text = to_markdown.render(Document("t", "s", "g", [Paragraph(said)]))
        kinds = {token.type for token in tokens(text)}
        assert kinds <= {"html_block", "paragraph_open", "paragraph_close", "inline"}, said
        assert said.strip() in shown(text).replace("\u200b", "")


def test_empty_cells_keep_their_place() -> None:
    table = Table("t", [Column("a"), Column("b")], [[Cell(""), Cell("x", kind="name")]], "t")
    text = to_markdown.render(Document("t", "s", "g", [table]))
    assert "|  | <code>x</code> |" in text


def test_a_command_is_code_and_advice_is_text() -> None:
    told = [Abstention("s", "Why.", fix) for fix in ("nsys profile x", "Annotate it: docs/x.md")]
    lines = to_markdown.render(Document("t", "s", "g", told)).splitlines()
    assert "<code>nsys profile x</code>" in lines
    assert "Annotate it: docs/x.md" in lines


# --- the form for a review --------------------------------------------------------------------------------------------


def outside_folds(text: str) -> str:
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", ANALYSES)
def test_a_review_has_one_open_table_of_ten_rows_at_most(name: str) -> None:
    parsed = tokens(outside_folds(to_markdown.render(build_review(ANALYSES[name]()))))
    tables = sum(token.type == "table_open" for token in parsed)
    assert tables == (0 if name == "unknown" else 1)
    assert sum(token.type == "tr_open" for token in parsed) <= 11
    assert not [token for token in parsed if token.type == "heading_open" and token.tag != "h3"]


@pytest.mark.parametrize("name", ANALYSES)
def test_a_review_folds_every_section_behind_its_title(name: str) -> None:
    document = build_review(ANALYSES[name]())
    text = to_markdown.render(document)
    titles = [block.text for block in document.blocks if isinstance(block, Heading) and block.level == SECTION_LEVEL]
    assert [unescape(each) for each in re.findall(r"<summary><b>(.*?)</b>", text)] == titles
    assert text.count("<details>") == text.count("\n</details>\n\n") == len(titles)


def test_a_fold_says_how_many_rows_it_holds_or_why_it_holds_none() -> None:
    text = to_markdown.render(build_review(factories.rich()))
    assert "<b>Findings</b>: 1 row</summary>" in text
    assert "Requests, worst first (24 rows)" in text
    blocks = [Table("Open", [Column("a")], [[Cell("x")]], "o"), Heading("H", "h"), Abstention("s", "Because @me #1.")]
    told = to_markdown.render(Document("t", "s", "g", blocks, folded=True))
    assert "<b>H</b>: Because &#64;&#8203;me &#35;&#8203;1.</summary>" in told


def test_bars_are_to_scale_and_nothing_is_no_bar() -> None:
    rows = [
        [Cell("whole", meter=Meter(1.0, 1.0, "count"))],
        [Cell("half", meter=Meter(2.0, 4.0, "count"))],
        [Cell("", meter=Meter(0.0, 1.0, "count"))],
    ]
    text = to_markdown.render(Document("t", "s", "g", [Table("t", [Column("a")], rows, "t")]))
    assert "| `████████████` whole |" in text
    assert "| `██████      ` half |" in text
    assert "| `            ` |" in text


def test_pictures_stand_above_their_figures_and_nowhere_else() -> None:
    document = build_review(factories.rich())
    text = to_markdown.render(document, images={"links-chart": "https://h.example/a-links-chart.svg", "none": "x"})
    assert text.count("![") == 1
    lines = text.splitlines()
    place = lines.index("![Throughput per link](https://h.example/a-links-chart.svg)")
    assert lines[place + 2].startswith("| Throughput per link |")
    images = [child for token in tokens(text) for child in token.children or [] if child.type == "image"]
    assert [image.attrs["src"] for image in images] == ["https://h.example/a-links-chart.svg"]


def test_a_picture_whose_caption_is_hostile_stays_one_picture() -> None:
    chart = BarChart("](javascript:x) ![", "GB/s", [Bar("a", 1.0, "1")], "c")
    text = to_markdown.render(Document("t", "s", "g", [chart]), images={"c": "c.svg"})
    images = [child for token in tokens(text) for child in token.children or [] if child.type == "image"]
    assert [(image.attrs["src"], image.content) for image in images] == [("c.svg", r"\](javascript:x) !\[")]


def test_a_verdicts_command_can_be_copied() -> None:
    block = Callout("verdict", "t", "Nothing found.", advice="nsys profile --trace=cuda_x")
    text = to_markdown.render(Document("t", "s", "g", [block]))
    assert "<code>nsys profile --trace=cuda&#95;x</code>" in text
    assert "### ⚪ Nothing found.\n" in text
