"""A report as one HTML file that needs no network and trusts no name in it.

Jinja2 escapes every text; data for scripts stands in JSON blocks that cannot end early; the Content-Security-Policy
lets only this page's own style and scripts run, by their hashes. The same document gives the same bytes.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from nsysparse.document import CHANGE_THAT, SECTION_LEVEL, Block, Document, Heading, Heatmap, Lanes, Table
from nsysparse.render.html_views import LONGEST_TITLE, View, data, json_block, view
from nsysparse.render.names import shortened, visible

_PLOTTED = (Heatmap, Lanes)
_SCRIPTS: Sequence[tuple[str, tuple[type, ...] | None]] = (
    ("page.js", None),
    ("ways.js", None),
    ("tables.js", None),
    ("place.js", None),
    ("plots.js", _PLOTTED),
    ("heatmap.js", (Heatmap,)),
    ("timeline.js", (Lanes,)),
)
"""In the order in which they run, with the blocks that need them."""


def render(document: Document) -> str:
    """The page as text, to be written as UTF-8."""
    parts = _parts(document.blocks)
    css, js, boot = _slim(_asset("report.css")), _script(document.blocks), _asset("theme.js")
    is_interactive = any(isinstance(block, _PLOTTED) for block in document.blocks)
    plotly = _asset("plotly-cartesian.min.js") if is_interactive else ""
    return _template().render(
        parts=parts,
        change_that=CHANGE_THAT,
        title=f"{visible(document.title)} · {shortened(document.source, 80)}",
        source=shortened(document.source, 120),
        source_full=shortened(document.source, LONGEST_TITLE),
        generator=visible(document.generator),
        csp=_policy(css, (boot, js), plotly),
        css=_raw(css, "</style"),
        js=_raw(js, "</script"),
        boot=_raw(boot, "</script"),
        plotly=_raw(plotly, "</script"),
    )


@cache
def _asset(*path: str) -> str:
    return files("nsysparse.render").joinpath("assets", *path).read_text(encoding="utf-8")


def _slim(css: str) -> str:
    """A style sheet of ours without comments and blanks, which no reader of a report needs."""
    return re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)).strip()


def _script(blocks: Sequence[Block]) -> str:
    """The page's own scripts as one, those alone that the blocks need; what they share is known nowhere else."""
    kinds = {type(block) for block in blocks}
    needed = [name for name, kind in _SCRIPTS if kind is None or kinds & set(kind)]
    return '"use strict";\n(function () {\n' + _plain("".join(_asset("scripts", name) for name in needed)) + "})();\n"


def _plain(script: str) -> str:
    """A script of ours without indents and lines of comment; none of our texts goes over several lines."""
    return re.sub(r"^\s*(?://.*\n)?", "", script, flags=re.MULTILINE)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_asset("report.html.j2"))


def _raw(text: str, end: str) -> Markup:
    """Our own style or script, unescaped; it must not be able to end its element."""
    if end in text.lower():
        raise ValueError(f"an asset contains {end!r}, which would end its own element")
    return Markup(text)  # noqa: S704 (an asset of this package)


def _policy(css: str, own: Sequence[str], plotly: str) -> str:
    """Nothing but the page's own style and scripts.

    Plotly also paints heatmaps as data images and sets the empty style attribute, nothing more.
    """
    scripts, styles, images = " ".join(_hash(script) for script in own), _hash(css), ""
    if plotly:
        scripts += f" {_hash(plotly)}"
        styles += f" 'unsafe-hashes' {_hash('')}"
        images = " img-src data:;"
    return f"default-src 'none'; script-src {scripts}; style-src {styles};{images} base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _parts(blocks: Sequence[Block]) -> list[View]:
    """The blocks grouped by their level-2 headings; what comes before the first heading has no anchor."""
    parts: list[dict[str, Any]] = [{"anchor": "", "title": "", "blocks": []}]
    above = ""
    for block in blocks:
        if isinstance(block, Heading) and block.level == SECTION_LEVEL:
            parts.append({"anchor": block.anchor, "title": visible(block.text), "blocks": []})
            above = visible(block.text)
        else:
            drawn = view(block)
            if (values := data(block)) is not None:
                drawn["json"] = json_block(values)
            if isinstance(block, Table):
                drawn["repeats_title"] = drawn["caption"] == above
            elif isinstance(block, Heading):
                above = drawn["text"]
            parts[-1]["blocks"].append((type(block).__name__, drawn))
    for part in parts:
        part["is_empty"] = [kind for kind, _ in part["blocks"]] == ["Abstention"]
    return parts
