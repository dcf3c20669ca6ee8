"""What a step quotes in the summary is text there: Markdown takes nothing out of a stranger's name."""

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

RUNNER = Path(__file__).parents[2] / "action/runner.sh"


@pytest.mark.parametrize(
    "name",
    [
        "[l](http://evil.example)", "![i](http://evil.example/x.png)", "**b** *i* __u__ _u_ ___u___ ~~s~~", "`c` ``d``",
        "<img src=x>", "a --> <!-- b", "&lt;b&gt; &#64;x", r"\[l](x) \\`c`", "$x$", "|a|b|", "<http://evil.example>",
        "wire_gb_s.p50<1",
    ],
)  # fmt: skip
def test_a_name_stays_text(name: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'source "{RUNNER}"; escaped'],
        input=name, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    drawn = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(f"**Said**: {done.stdout}\n")
    said = re.fullmatch(r"<p><strong>Said</strong>: (.*)</p>\n", drawn, re.DOTALL)
    assert said is not None
    assert set(re.findall(r"<[^>]*>", said[1])) <= {"<wbr>"}
    assert unescape(said[1].replace("<wbr>", "")) == name


@pytest.mark.parametrize("name", ["@someone", "https://evil.example", "www.evil.example", "WWW.evil.example"])
def test_no_name_becomes_a_mention_or_an_address(name: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'source "{RUNNER}"; escaped'],
        input=name, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert not re.search(r"@\w|://|(?i:www)\.\w", unescape(done.stdout))
