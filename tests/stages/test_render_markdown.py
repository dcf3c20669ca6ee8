"""The Markdown report, read by somebody else's parser: verdict first, tables whole, the rest folded."""

import re
from collections.abc import Callable

import factories
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nsysparse.analysis import Analysis
from nsysparse.document import Abstention, Cell, Column, Document, Heading, Paragraph, Table
from nsysparse.render import to_markdown
from nsysparse.sections import build

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
    from html import unescape

    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize("name", ANALYSES)
def test_marker_then_verdict(name: str) -> None:
    whole = ANALYSES[name]()
    text = to_markdown.render(build(whole))
    assert text.splitlines()[0] == to_markdown.MARKER == "<!-- nsysparse:report -->"
    assert text.splitlines()[1].startswith("### ")
    assert whole.verdict.text in shown(text).splitlines()[1]


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
