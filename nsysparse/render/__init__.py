"""Output formats: one module each, loaded when it is used, and one line in `FORMATS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

__all__ = ["COMMENT_BYTES", "FORMATS", "Format"]

COMMENT_BYTES = 60_000
"""Fits a comment on GitHub, which holds 65,536 characters, with room for what a bot adds."""


@dataclass(frozen=True, slots=True)
class Format:
    """An output format: its file extension, and whether it draws a `document` or writes the `result` itself."""

    extension: str
    module: str
    subject: Literal["document", "result"] = "document"

    @property
    def render(self) -> Callable[..., str]:
        """The format's render function; its module (jinja2, plotly, rich) loads here and not before."""
        function: Any = import_module(self.module).render
        return function  # type: ignore[no-any-return]


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "html": Format(".html", "nsysparse.render.to_html"),
        "markdown": Format(".md", "nsysparse.render.to_markdown"),
        "json": Format(".json", "nsysparse.render.to_json", "result"),
        "text": Format(".txt", "nsysparse.render.to_text"),
    }
)
