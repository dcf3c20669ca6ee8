"""A report's figures as SVG files of their own: fixed width, styled inside, without script or reference to outside.

Any block whose view has SVG (under `svg`, or in rows under `bars`) is drawn; what the page writes around it as text
stands in the picture.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from textwrap import wrap

from markupsafe import Markup

from nsysparse.document import Block, Document, Heatmap, Table, Waterfall
from nsysparse.render.figure_style import patterns, style
from nsysparse.render.heat import picture, shade_key, unseen
from nsysparse.render.html_views import View, view
from nsysparse.render.names import shortened, visible
from nsysparse.render.svg import element, pixels
from nsysparse.units import counted

MARKER = "nsysparse:figure"
"""In a comment near the file's begin, by which its writer knows it again."""
WIDTH = 960
_MARGIN = 24
_INSIDE = WIDTH - 2 * _MARGIN
_LINE = 18
_GAP = 12
_CHARACTER = 7
"""Pixels that a character takes on average; only for distances between words."""
_CHARACTERS = _INSIDE // _CHARACTER
_SWATCH = 14
MOST_WAYS = 12
_LONGEST_CELL = 48
_HEIGHT = re.compile(r'<svg(?: [\w-]+="[^"]*")*? height="([\d.]+)"')


@dataclass(frozen=True, slots=True)
class Figure:
    """A file to be: the block's anchor, the SVG, and its height in whole pixels."""

    anchor: str
    svg: str
    height: int


@dataclass(frozen=True, slots=True)
class Row:
    """SVG with lines of text above it, of which the first is its name."""

    svg: Markup
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """What stands below a caption: a key of (class, words), rows, and notes."""

    rows: Sequence[Row]
    key: Sequence[tuple[Markup, str]] = ()
    notes: Sequence[str] = ()


def figures(document: Document) -> list[Figure]:
    """Every figure of a report, in its order."""
    found = []
    for block in document.blocks:
        anchor, caption = getattr(block, "anchor", ""), getattr(block, "caption", "")
        drawing = _drawing(block) if caption and not isinstance(block, Table) else None
        if drawing is not None and drawing.rows:
            unit = getattr(block, "unit", "")
            said = f"{caption}, {unit}" if unit else caption
            svg, height = standalone(said, drawing)
            found.append(Figure(anchor, svg, height))
    return found


def standalone(caption: str, drawing: Drawing) -> tuple[str, int]:
    """An SVG file, ending with a line end, and how high it had to be."""
    marks, end = _laid_out(caption, drawing)
    height = math.ceil(end)
    plot = element("g", *marks, class_="chart")
    ground = element("rect", width="100%", height="100%", class_="ground")
    css = style(plot + ground)
    if "url(#" in css:
        plot = Markup(patterns()) + plot  # noqa: S704 (our own, from the page's template)
        css = style(plot + ground)
    if "<" in css or "&" in css:
        raise ValueError("a style with markup in it would end its element")
    file = element(
        "svg",
        Markup(f"<!-- {MARKER} -->"),  # noqa: S704 (a constant)
        element("title", visible(caption)),
        element("style", Markup(css)),  # noqa: S704 (an asset of this package, checked above)
        ground,
        plot,
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=height,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
    )
    return "\n".join(visible(line) for line in file.split("\n")) + "\n", height


def _laid_out(caption: str, drawing: Drawing) -> tuple[list[Markup], float]:
    """Everything at its place, from top to bottom, and where it ends."""
    y: float = _MARGIN + 16
    marks = [_text(caption, y, "caption")]
    y += _GAP
    if drawing.key:
        keyed, y = _key(drawing.key, y)
        marks += keyed
    for row in drawing.rows:
        for place, line in enumerate(row.lines):
            y += _LINE
            marks.append(_text(line, y, "lbl" if place else "strong"))
        y += _GAP / 2 if row.lines else 0
        height = _height(row.svg)
        marks.append(element("svg", row.svg, x=_MARGIN, y=pixels(y), width=_INSIDE, height=pixels(height),
                             overflow="visible"))  # fmt: skip
        y += height + _GAP
    for note in drawing.notes:
        for line in wrap(note, _CHARACTERS):
            y += _LINE
            marks.append(_text(line, y, "tick"))
    return marks, y + _MARGIN


def _key(key: Sequence[tuple[Markup, str]], y: float) -> tuple[list[Markup], float]:
    """Swatches with their words, in as many lines as they need."""
    marks: list[Markup] = []
    x = float(_MARGIN)
    y += _LINE
    for swatch, words in key:
        room = _SWATCH + 6 + len(words) * _CHARACTER + _LINE
        if x + room > WIDTH - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + _LINE
        marks += [
            element("svg", swatch, x=pixels(x), y=pixels(y - 9), width=_SWATCH, height=10),
            _text(words, y, "tick", x + _SWATCH + 6),
        ]
        x += room
    return marks, y + _GAP


def _text(text: str, y: float, look: str, x: float = _MARGIN) -> Markup:
    return element("text", text, x=pixels(x), y=pixels(y), class_=look)


def _height(svg: Markup) -> float:
    found = _HEIGHT.match(svg)
    if found is None:
        raise ValueError("a figure says its height in pixels")
    return float(found[1])


@singledispatch
def _drawing(block: Block) -> Drawing:
    """What the page draws of a block."""
    seen = view(block)
    rows = [Row(seen["svg"])] if "svg" in seen else [Row(bar["svg"], _lines(bar)) for bar in seen.get("bars", ())]
    key = [
        (each.get("dot") or element("rect", class_=each["look"], width=_SWATCH, height=10), each["label"])
        for each in seen.get("key", ())
    ]
    return Drawing(
        rows, key, [note for note in (seen.get("references"), seen.get("note"), seen.get("dropped")) if note]
    )


def _lines(bar: View) -> list[str]:
    more = " · ".join(text for text in (bar.get("detail"), bar.get("verdict")) if text)
    return [line for line in (bar["label"], shortened(more, _CHARACTERS)) if line]


@_drawing.register
def _(block: Waterfall) -> Drawing:
    """The worst rows, each with its cells above its way."""
    seen, shown = view(block), block.rows[:MOST_WAYS]
    rows = [Row(seen["axis"])]
    for row, drawn in zip(shown, seen["rows"], strict=False):
        told = [
            f"{column.title} {shortened(cell.text, _LONGEST_CELL)}{f' {column.unit}' if column.unit else ''}"
            for cell, column in zip(row.cells[1:], block.columns[1:], strict=True)
        ]
        rows.append(Row(drawn["svg"], [shortened(row.name, _LONGEST_CELL), " · ".join(told)]))
    key = [(element("rect", class_=each["look"], width=_SWATCH, height=10), each["label"]) for each in seen["key"]]
    more = len(block.rows) - len(shown)
    return Drawing(rows, key, [f"{counted(more, 'more row')} in the report."] if more else [])


@_drawing.register
def _(block: Heatmap) -> Drawing:
    """On a ground of its own, with what the page says below it."""
    across = f"{len(block.x):,} {block.x_title}"
    down = f"{block.y_title} {shortened(block.y[0], 20)} to {shortened(block.y[-1], 20)}"
    notes = [f"Across: {across}. Down: {down}. {unseen(block.views[0])}", *([block.dropped] if block.dropped else [])]
    key = [
        (element("path", class_=f"shade {look}", d=f"M0 5h{_SWATCH}"), label)
        for look, label in shade_key(block.views[0])
    ]
    drawn = picture(block)
    ground = element("rect", width="100%", height="100%", class_="pattern-ground")
    framed = element("svg", ground, drawn, width="100%", height=pixels(_height(drawn)))
    return Drawing([Row(framed)], key, notes)
