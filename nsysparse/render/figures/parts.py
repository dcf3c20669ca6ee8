"""Bars of equal length that show shares of one whole."""

from markupsafe import Markup

from nsysparse.document import PartRow
from nsysparse.render.figures.scale import mark
from nsysparse.render.names import shortened
from nsysparse.render.svg import chart, label, rect

_TOP, _HEIGHT = 2, 26
_CHARACTER, _LEAST_WIDTH, _NARROW = 7.4, 560, 320
"""Pixels of a character, and the widths for which texts are laid out on a wide and a narrow screen; what does not fit
is in the tooltip and the table."""
_PARTED = 0.06
"""Percent left blank between neighbours, so that two of like colour stay two."""


def part_bar(row: PartRow) -> Markup:
    """One bar, each part named inside where it has room."""
    marks, x = [], 0.0
    for part in row.parts:
        width = (part.value or 0) * 100
        title = f"{part.label}: {part.text}"
        marks.append(rect(x, max(width - _PARTED, 0), _TOP, _HEIGHT, look=f"seg {mark(part.meaning)}", title=title))
        share = part.text.partition(",")[0]
        for text in (f"{part.label} {share}", share):
            if len(text) * _CHARACTER < width / 100 * _LEAST_WIDTH:
                look = f"in on-{part.meaning}"
                if len(text) * _CHARACTER > width / 100 * _NARROW:
                    look += " wide"
                marks.append(label(x + width / 2, _TOP + 18, text, anchor="middle", look=look))
                break
        x += width
    said = ", ".join(f"{part.label} {part.text}" for part in row.parts)
    return chart(_TOP * 2 + _HEIGHT, *marks, label=f"{shortened(row.label, 80)}: {said}")
