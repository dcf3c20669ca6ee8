"""Names from a trace are untrusted: in no format may one become markup, a mention, a link or a terminal command."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from html import unescape
from html.parser import HTMLParser
from typing import get_args, get_origin, get_type_hints
from xml.etree import ElementTree as ET

import factories
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from nsysparse.analysis import Analysis
from nsysparse.document import Document
from nsysparse.render import FORMATS, neutral, to_html, to_json, to_markdown, to_text
from nsysparse.render.names import sentence, shortened, unique, visible
from nsysparse.render.standalone import figures
from nsysparse.sections import build, build_review

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "attribute": '" onmouseover=alert(1) x="',
    "single-quote": "' onfocus=alert(1) autofocus '",
    "comment": "--><!-- <style>*{display:none}</style>",
    "template": "{{ 7*7 }}{% raw %}${7*7}",
    "pipe": "a|b||c",
    "backticks": "```\n``x`` `y`",
    "mention": "@user @org/team user@example.com",
    "issue": "#123 GH-45 org/repo#6",
    "link": "https://evil.example/a www.evil.example [x](javascript:alert(1)) <https://evil.example>",
    "image": "![x](https://evil.example/p.png)",
    "emphasis": "*a* __b__ ~~c~~ $d$",
    "details": "</details></code></td></table><h1>x",
    "entity": "&lt;b&gt; &#64;user &amp;",
    "escape": "\x1b[31mred\x1b]0;title\x07\x1b[2J",
    "c1": "\x9b31m\x85\x90",
    "bidi": "abc\u202edcb\u2066x\u2069\u200f",
    "nul": "a\0b",
    "lines": "a\nb\r\nc\u2028d\u2029e\tf\x0bg",
    "invisible": "a\u200bb\ufeffc\u00add\U000e0041",
    "formula": "=1+1",
    "plotly": "<b>x</b><a href='javascript:alert(1)'>y</a><br>%{z}",
    "marker": "<!-- nsysparse:report -->",
    "marker-on-its-line": "a\n<!-- nsysparse:report -->\n--\\>",
    "cell-and-link": "](https://evil.example) | x |\n|---|\n@user #1 ![](//evil.example)",
    "long": "A" * 3000,
    "long-mixed": '<"|`@#1\x1b\u202e' * 300,
}
TERMINAL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


# Texts of an analysis that are words of ours: no trace, server or file can say them.
OURS = {
    "Analysis.nsysparse": "this program's version",
    "AnalysisWarning.code": "one of MESSAGES",
    "Capability.status": "present, partial or absent",
    "Clock.method": "how clocks can be aligned",
    "CounterCheck.direction": "egress or ingress",
    "CounterCheck.source": "which kind of counter",
    "Coverage.field": "layer, request, phase or role",
    "Coverage.provenance": "how it is known",
    "DecodeDevice.basis": "steps or kernels",
    "Excluded.purpose": "kv, unknown or other",
    "Finding.id": "which finding",
    "Finding.kind": "what costs time",
    "Finding.severity": "high, medium or low",
    "Link.headline_basis": "wire, kernel or delivered",
    "Link.pairing": "what proves the pairs",
    "Link.transport": "one of TRANSPORTS",
    "MessageSize.transport": "one of TRANSPORTS",
    "Notice.code": "which notice",
    "Port.direction": "egress or ingress",
    "Reason.code": "one of the rows of reasons.py",
    "Request.blame": "what the gap is made of",
    "Lane.kind": "steps, compute, sends, receives or transfers",
    "Lengths.step_basis": "option or measured",
    "Lengths.unit": "what lengths are counted in",
    "Request.clock": "how clocks can be aligned",
    "Request.missing": "why the gap is not known",
    "Request.path_basis": "arrival or prefill",
    "Request.ttft_convention": "one of CONVENTIONS",
    "Request.verdict": "ok, over, unresolved or unknown",
    "Timeline.kinds": "kinds of marks",
    "Undrawn.reason": "no-time, clock or lanes",
    "TraceFacts.role": "prefill, decode or mixed",
    "TraceFacts.role_source": "what says the role",
    "Verdict.basis": "which percentile of what",
    "Verdict.state": "ok, over, unresolved or unknown",
}


def texts_in(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text in an analysis, with the field that it stands in; keys of mappings are names of ours."""
    if isinstance(value, str):
        yield place, value
    elif is_dataclass(value):
        for each in fields(value):
            yield from texts_in(getattr(value, each.name), f"{type(value).__name__}.{each.name}")
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts_in(each, place)
    elif isinstance(value, Sequence):
        for each in value:
            yield from texts_in(each, place)


def text_fields(kind: object = Analysis, place: str = "") -> set[str]:
    """The fields of an analysis, and of all that it holds, which may be or hold texts."""
    if kind is str or kind is object:
        return {place}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return {
            found for each in fields(kind) for found in text_fields(hints[each.name], f"{kind.__name__}.{each.name}")
        }
    inner = get_args(kind)[1:] if get_origin(kind) is Mapping else get_args(kind)
    return {found for each in inner for found in text_fields(each, place)}


def test_hostile_analysis_has_the_name_wherever_one_can_stand() -> None:
    """A new field of the analysis is named by `hostile`, or is a word of ours."""
    probe = "PROBE"
    found: dict[str, bool] = {}
    for place, text in texts_in(factories.hostile(probe)):
        found[place] = found.get(place, False) or probe in text
    named = {place for place, is_named in found.items() if is_named}
    assert text_fields() - set(OURS) == named
    assert not named & set(OURS)
    assert not set(OURS) - text_fields()


@pytest.fixture(params=HOSTILE, ids=str)
def name(request: pytest.FixtureRequest) -> str:
    return HOSTILE[request.param]


class Skeleton(HTMLParser):
    """The structure of a page: tags and attribute names in order, and the values that may act."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.acting: list[tuple[str, str | None]] = []
        self.comments: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A title, a sort value or a column's title may be there or not; they hold text and do nothing.
        # Long names make a table stack on a narrow screen: with titles beside its cells, and roles.
        names = tuple(key for key, _ in attrs if key not in ("title", "data-v", "data-t", "class", "role"))
        self.tags.append((tag, names))
        self.acting += [(key, value) for key, value in attrs if key in ("href", "src", "id", "class", "data-figure")]

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def ours_only(html: str) -> str:
    """The page without the plotly bundle, which is the same for every name and slow to parse."""
    return re.sub(r"<script>/\*\*.*?</script>", "<script></script>", html, flags=re.DOTALL)


def skeleton(name: str) -> Skeleton:
    return Skeleton(ours_only(to_html.render(build(factories.hostile(name)))))


@pytest.fixture(scope="module")
def harmless() -> Skeleton:
    return skeleton("harmless")


def test_html_has_the_structure_of_a_harmless_name(name: str, harmless: Skeleton) -> None:
    found = skeleton(name)
    figures = ("path", "rect", "title")  # marks depend on order, which depends on names
    assert [each for each in found.tags if each[0] not in figures] == [
        each for each in harmless.tags if each[0] not in figures
    ]
    assert not found.comments
    allowed = {value for _, value in harmless.acting} | {
        "",
        "r",
        "word",
        "words",
        "sortable",
        "sortable compact",
        "sortable stacks",
    }
    named = {value for _, value in found.acting if value is not None and re.fullmatch(r"#?request-[0-9a-f]{12}", value)}
    assert {value for _, value in found.acting} - named <= allowed


def test_html_json_blocks_hold_and_name_nothing_active(name: str) -> None:
    html = to_html.render(build(factories.hostile(name)))
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, flags=re.DOTALL)
    ways, heat, timeline = [json.loads(block) for block in blocks]
    figures = heat["figures"]
    # Plotly reads its texts as markup of its own.
    axes = [text for figure in figures for text in (*figure["data"][0]["x"], *figure["data"][0]["y"])]
    assert all("<" not in text for text in (*axes, *heat["names"]))
    assert not any("evil" in figure["data"][0]["hovertemplate"] for figure in figures)
    assert all(
        re.fullmatch(r"request-[0-9a-f]{12}", anchor)
        for anchor in (*heat["anchors"], *timeline["anchors"], *ways["rows"])
    )
    names = (*heat["names"], *timeline["owners"], *timeline["lanes"], *(row["name"] for row in ways["rows"].values()))
    assert not TERMINAL.search("".join((*axes, *names)))


def test_html_shows_no_character_that_acts_on_text(name: str) -> None:
    html = ours_only(to_html.render(build(factories.hostile(name))))
    assert not TERMINAL.search(html)


def test_html_stays_small_whatever_the_names() -> None:
    html = ours_only(to_html.render(build(factories.hostile("\u202e" * 3000))))
    assert len(html) < 400_000


def markdown_tokens(text: str) -> list[tuple[str, str]]:
    """Kinds and levels of everything the parser made of the text, inline parts included."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    kinds = []
    for token in parser.parse(text):
        kinds.append((token.type, token.tag))
        if token.type == "html_block":
            kinds.append(("html", re.sub(r">[^<]*<", "><", token.content)))
        for child in token.children or []:
            if child.type == "html_inline":
                kinds.append(("html", child.content))
            elif child.type not in ("text", "text_special"):
                kinds.append((child.type, child.tag))
    return kinds


FORMS = {"whole": build, "review": build_review}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Callable[[Analysis], Document]:
    return FORMS[request.param]


@cache
def markdown(name: str, form: Callable[[Analysis], Document]) -> str:
    return to_markdown.render(form(factories.hostile(name)))


def test_markdown_has_the_structure_of_a_harmless_name(name: str, form: Callable[[Analysis], Document]) -> None:
    harmless = markdown_tokens(markdown("harmless", form))
    found = markdown_tokens(markdown(name, form))
    assert [each for each in found if each != ("html", "<wbr>")] == harmless


def test_markdown_has_no_mention_link_or_issue_in_what_is_rendered(
    name: str, form: Callable[[Analysis], Document]
) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = markdown(name, form)
    html = parser.render(text)
    outside_code = unescape(re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL))
    assert not re.search(r"@\w", outside_code)
    assert not re.search(r"#\d", outside_code)
    assert not re.search(r"GH-\d", outside_code)
    # GitHub links bare addresses from the source text, even inside code elements.
    assert not re.search(r"://\w|www\.\w|@\w", text)
    assert "<a " not in html
    assert "<img" not in html


def test_no_name_forges_the_markdown_marker(name: str, form: Callable[[Analysis], Document]) -> None:
    text = markdown(name, form)
    assert text.startswith("<!-- nsysparse:report -->\n")
    assert text.count("<!-- nsysparse:report -->") == 1
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert Skeleton(html).comments == [" nsysparse:report "]


def test_markdown_shows_no_character_that_acts_on_text(name: str, form: Callable[[Analysis], Document]) -> None:
    assert not TERMINAL.search(markdown(name, form))


def test_markdown_lines_stay_lines(name: str, form: Callable[[Analysis], Document]) -> None:
    assert len(markdown(name, form).splitlines()) == len(markdown("harmless", form).splitlines())


def test_pictures_hold_every_name_as_text(name: str) -> None:
    drawn = figures(build_review(factories.hostile(name)))
    harmless = figures(build_review(factories.hostile("harmless")))
    for found, plain in zip(drawn, harmless, strict=True):
        assert not TERMINAL.search(found.svg)
        tree = ET.fromstring(found.svg)  # noqa: S314 (our own file, which must hold no entity of its own)
        tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert tags <= {"svg", "title", "style", "rect", "g", "defs", "pattern", "text", "line", "path"}
        attributes = {key for element in tree.iter() for key in element.attrib}
        assert not any(key.startswith("on") or "href" in key for key in attributes)
        assert found.svg.count("<!--") == 1
        assert (
            found.svg.partition("<style>")[2].partition("</style>")[0]
            == (plain.svg.partition("<style>")[2].partition("</style>")[0])
        )


@pytest.mark.parametrize("colour", [False, True])
def test_text_sends_nothing_to_the_terminal_but_our_styles(name: str, *, colour: bool) -> None:
    text = to_text.render(build(factories.hostile(name)), colour=colour)
    assert not TERMINAL.search(re.sub(r"\x1b\[[0-9;]*m", "", text) if colour else text)
    assert "\x1b" not in text or colour
    styles = set(re.findall(r"\x1b\[[^m]*m", text))
    assert styles <= {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[32m", "\x1b[1;31m"}


def test_json_gives_every_name_back_and_sends_nothing_to_the_terminal(name: str) -> None:
    text = to_json.render(factories.hostile(name))
    report = json.loads(text)
    assert report["traces"][0]["file"] == name
    assert name in {each["request_id"] for each in report["requests"]}
    assert not TERMINAL.search(text)


def test_every_format_takes_every_name(name: str) -> None:
    whole = factories.hostile(name)
    for each in FORMATS.values():
        text = each.render(whole if each.subject == "result" else build(whole))
        text.encode("utf-8")  # no lone surrogate
        assert text.endswith(("\n", "</html>"))


def test_a_lone_surrogate_does_not_break_any_format() -> None:
    whole = factories.hostile("a\ud800b")
    for each in FORMATS.values():
        each.render(whole if each.subject == "result" else build(whole)).encode("utf-8")


def test_controls_are_spelled_out() -> None:
    assert visible("\x1b[31m") == "⟨1B⟩[31m"
    assert visible("a\u202eb\0") == "a⟨202E⟩b⟨0⟩"
    assert visible("naïve 漢字\u00a0x") == "naïve 漢字\u00a0x"


def test_sentences_are_cut_only_in_words_too_long_to_be_ours() -> None:
    said = "see " + "x" * 160 + " and " + "y" * 200 + "END."
    assert sentence(said).startswith("see " + "x" * 160 + " and yyy")
    assert sentence(said).endswith("y…yyyyEND.")
    assert len(sentence(said).split()[-1]) == 160


def test_long_names_keep_both_ends_and_stay_apart() -> None:
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("request-" + "x" * 50 + "-00000017", 24) == "request-xxxxxxx…00000017"
    assert unique(["a", "b", "a", "a (2)", "a"]) == ["a", "b", "a (2)", "a (2) (2)", "a (3)"]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_stays_one_inline_text_in_a_table(text: str) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    row = f"| a | b |\n|---|---|\n| {neutral.name(text)} | {neutral.prose(text)} |\n"
    parsed = parser.parse(row)
    cells = [token for token in parsed if token.type == "inline"]
    assert len(cells) == 4
    kinds = {
        child.type if child.type != "html_inline" else child.content for cell in cells for child in cell.children or []
    }
    assert kinds <= {"text", "text_special", "<code>", "</code>", "<wbr>"}
