"""A report as one HTML file that needs no network and trusts no name in it.

Jinja2 escapes every text; data for scripts stands in JSON blocks that cannot end early; the Content-Security-Policy
lets only this page's own style and scripts run, by their hashes. The same document gives the same bytes.
"""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from nsysparse.document import SECTION_LEVEL, Block, Document, Heading, Heatmap, Table
from nsysparse.render.html_views import LONGEST_TITLE, View, view
from nsysparse.render.names import shortened, visible


def render(document: Document) -> str:
    """The page as text, to be written as UTF-8."""
    parts = _parts(document.blocks)
    css, js = _asset("report.css"), _asset("report.js")
    has_heatmap = any(isinstance(block, Heatmap) for block in document.blocks)
    plotly = _asset("plotly-cartesian.min.js") if has_heatmap else ""
    return _template().render(
        parts=parts,
        title=f"{visible(document.title)} · {shortened(document.source, 80)}",
        source=shortened(document.source, 120),
        source_full=shortened(document.source, LONGEST_TITLE),
        generator=visible(document.generator),
        csp=_policy(css, js, plotly),
        css=_raw(css, "</style"),
        js=_raw(js, "</script"),
        plotly=_raw(plotly, "</script"),
    )


@cache
def _asset(name: str) -> str:
    return files("nsysparse.render").joinpath("assets", name).read_text(encoding="utf-8")


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


def _policy(css: str, js: str, plotly: str) -> str:
    """Nothing but the page's own style and scripts.

    Plotly also paints its heatmap as a data image and sets the empty style attribute, nothing more.
    """
    scripts, styles, images = _hash(js), _hash(css), ""
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
    for block in blocks:
        if isinstance(block, Heading) and block.level == SECTION_LEVEL:
            parts.append({"anchor": block.anchor, "title": visible(block.text), "blocks": []})
        else:
            drawn = view(block)
            if isinstance(block, Table):
                drawn["repeats_title"] = drawn["caption"] == parts[-1]["title"]
            parts[-1]["blocks"].append((type(block).__name__, drawn))
    for part in parts:
        part["is_empty"] = [kind for kind, _ in part["blocks"]] == ["Abstention"]
    return parts
