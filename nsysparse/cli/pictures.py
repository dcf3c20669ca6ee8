"""Pictures beside a Markdown report: their files, and the links by which the report shows them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from nsysparse.errors import UsageError

if TYPE_CHECKING:
    from nsysparse.document import Document

KINDS = ("svg", "png")
_PLAIN = re.compile(r"[\w.~!$+,;=:@%/-]+", re.ASCII)
"""What an address may have that nothing in Markdown acts on."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A file to write, of the figure at `anchor`."""

    anchor: str
    path: Path
    content: bytes


def check_base_url(text: str) -> str:
    """The start of the pictures' addresses, ending with a slash.

    Raises:
        UsageError: It is neither an http or https address nor a relative path, or holds what no plain address does.
    """
    if not (_PLAIN.fullmatch(text) and (_is_web(text) or _is_path(text))):
        raise UsageError(
            f"--image-base-url {text}: is neither an http or https address nor a relative path.",
            "Say for instance --image-base-url https://host.example/run-7, without a query; a blank is %20.",
        )
    return text if text.endswith("/") else f"{text}/"


def _is_web(text: str) -> bool:
    """Without a user's name and password, which a comment would publish."""
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.netloc) and "@" not in parts.netloc


def _is_path(text: str) -> bool:
    """Not //host either, which is an address without its scheme."""
    return ":" not in text and not text.startswith("//")


def pictures(document: "Document", kind: str, report: Path) -> list[Picture]:
    """Every figure of the report as a file beside it, named after it and the figure.

    Raises:
        OutputError: PNG is wanted, and no browser could draw it.
    """
    from nsysparse.render.standalone import WIDTH, figures

    drawn = figures(document)
    if kind == "svg":
        contents = [figure.svg.encode("utf-8") for figure in drawn]
    else:
        from nsysparse.render.browser import find_browser, png

        browser = find_browser()
        contents = [png(browser, figure.svg, WIDTH, figure.height) for figure in drawn]
    return [
        Picture(figure.anchor, report.with_name(f"{report.stem}-{figure.anchor}.{kind}"), content)
        for figure, content in zip(drawn, contents, strict=True)
    ]


def links(drawn: list[Picture], base: str) -> dict[str, str]:
    """Anchor → address of its picture, as it stands in Markdown."""
    return {each.anchor: f"{base}{quote(each.path.name, safe='')}" for each in drawn}
