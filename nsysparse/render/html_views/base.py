"""What views of all kinds share: a block's own fields, and texts as they stand on the page."""

from dataclasses import fields
from functools import singledispatch
from typing import Any

from markupsafe import Markup, escape

from nsysparse.document import Block
from nsysparse.render.names import sentence, unbroken
from nsysparse.render.svg import element

View = dict[str, Any]
"""What the template reads of a block, by name."""

LONGEST_TITLE = 500
LONGEST_NAME = 48


@singledispatch
def view(block: Block) -> View:
    """A block's own fields, as sentences; kinds that need more have their own function below."""
    return fields_of(block)


def fields_of(item: object) -> View:
    """The fields of a block or of a part of one by name, its texts as sentences."""
    values = {field.name: getattr(item, field.name) for field in fields(item)}  # type: ignore[arg-type]
    return {name: said(value) if isinstance(value, str) else value for name, value in values.items()}


def said(text: str) -> str:
    """A sentence as it wraps on the page."""
    return unbroken(sentence(text))


def coded(text: str) -> Markup:
    """A text of ours in which what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(element("code", part) if place % 2 else escape(part) for place, part in enumerate(parts))
