"""SVG that stretches from a phone to a wall: x in percent, y in pixels, no viewBox, so text keeps its size.

Every attribute value and every text goes through escaping, here and nowhere else: `element` alone puts markup together.
"""

from markupsafe import Markup, escape

Number = float | int
_EMPTY = ("rect", "line", "path", "circle")
"""May close themselves: a page has thousands of them."""
_MIXED = ("viewBox", "preserveAspectRatio")


def element(tag: str, /, *children: str | None, **attributes: object) -> Markup:
    """One element. `class_` becomes class, `data_x` data-x; None attributes and children are left out."""
    written = "".join(f' {_name(name)}="{escape(value)}"' for name, value in attributes.items() if value is not None)
    inside = "".join(escape(child) for child in children if child is not None)
    if not inside and tag in _EMPTY:
        return Markup(f"<{tag}{written}/>")  # noqa: S704 (tags and names are ours, and all else is escaped)
    return Markup(f"<{tag}{written}>{inside}</{tag}>")  # noqa: S704 (likewise)


def _name(given: str) -> str:
    return given if given in _MIXED else given.rstrip("_").replace("_", "-")


def percent(value: Number) -> str:
    """A share of the width, with as many digits as a wide screen has pixels."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def pixels(value: Number) -> str:
    """A vertical position, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def chart(height: Number, *children: str, label: str, width: Number | None = None, look: str = "") -> Markup:
    """The outer element of a figure, all the width there is or `width` pixels of it; a screen reader says `label`.

    Without a label it says nothing: then a text beside the figure says the same.
    """
    return element(
        "svg",
        element("title", label) if label else None,
        *children,
        class_=f"chart {look}".rstrip(),
        width="100%" if width is None else pixels(width),
        height=pixels(height),
        role="img" if label else None,
        aria_hidden=None if label else "true",
    )


def plane(x: Number, width: Number, y: Number, height: Number, *children: str) -> Markup:
    """A square of 1,000 by 1,000 stretched over part of a chart, for curves; its strokes must not scale."""
    return element(
        "svg",
        *children,
        x=percent(x),
        width=percent(width),
        y=pixels(y),
        height=pixels(height),
        viewBox="0 0 1000 1000",
        preserveAspectRatio="none",
        overflow="visible",
    )


def rect(x: Number, width: Number, y: Number, height: Number, *, look: str, title: str | None = None) -> Markup:
    """A filled mark; `title` shows on hovering."""
    return element(
        "rect",
        element("title", title) if title else None,
        x=percent(x),
        width=percent(max(width, 0)),
        y=pixels(y),
        height=pixels(height),
        class_=look,
    )


def label(
    x: Number, y: Number, text: str, *, anchor: str = "start", look: str = "lbl", dx: int | None = None
) -> Markup:
    """A text; `dx` shifts it by pixels."""
    at = None if anchor == "start" else anchor
    return element("text", text, x=percent(x), y=pixels(y), text_anchor=at, class_=look, dx=dx or None)


def vertical(x: Number, top: Number, bottom: Number, look: str) -> Markup:
    """A vertical line."""
    return element("line", x1=percent(x), x2=percent(x), y1=pixels(top), y2=pixels(bottom), class_=look)


def horizontal(y: Number, left: Number, right: Number, look: str) -> Markup:
    """A horizontal line."""
    return element("line", x1=percent(left), x2=percent(right), y1=pixels(y), y2=pixels(y), class_=look)
