"""Tables of fixed-width text: columns that line up, the less important ones dropped and long words wrapped to fit."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from nsysparse.document import Cell, Column, Table, Tone
from nsysparse.render.marks import bar
from nsysparse.render.names import sentence, shortened, unbroken, visible

_GAP = "  "
_BAR = 22
_LONGEST_NAME, _SHORTEST_NAME = 36, 16
_JOINT = "\x00"
"""Holds a number and its unit together while lines are broken; no visible text has it."""
_LEAST_WORDS = 18
"""A column of words is not squeezed below this many characters."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text in one style."""

    text: str
    tone: Tone = "plain"
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output."""

    spans: Sequence[Span]

    def plain(self) -> str:
        """The line without styles and without blanks at its end."""
        return "".join(span.text for span in self.spans).rstrip()


def text_line(text: str, tone: Tone = "plain", *, is_strong: bool = False) -> Line:
    """A line in one style."""
    return Line([Span(text, tone, is_strong)])


def width(text: str) -> int:
    """How many terminal cells a text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def padded(text: str, cells: int, align: str = "left") -> str:
    """The text filled with blanks to a width in terminal cells."""
    blanks = " " * max(0, cells - width(text))
    return blanks + text if align == "right" else text + blanks


def broken(text: str, cells: int, *, indent: str = "", at_hyphens: bool = True) -> list[str]:
    """A text as lines of a width, with plain blanks, of which none parts a number from its unit.

    Where others left it no room, it stands a character a line.
    """
    lines = wrap(
        unbroken(text, _JOINT),
        max(cells, 1),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=at_hyphens,
    )
    return [line.replace(_JOINT, " ") for line in lines]


def laid_out(table: Table, room: int, most_rows: int, indent: str) -> tuple[list[Line], list[str]]:
    """The table's head and rows as lines, and the titles of the columns that found no room.

    Too wide a table first puts units below titles, then loses its minor columns, last first, then wraps its words and
    titles, then shortens its names.
    """
    rows = table.rows[:most_rows]
    texts = [[_shown(cell) for cell in row] for row in rows]
    heads = [[column.heading] for column in table.columns]
    widths = _widths(heads, texts)
    if _total(widths) > room:
        heads = [[column.title, column.unit] for column in table.columns]
        widths = _widths(heads, texts)
    dropped: list[str] = []
    for place in reversed([place for place, column in enumerate(table.columns) if column.minor]):
        if _total(widths) <= room:
            break
        del widths[place]
        dropped.insert(0, table.columns[place].title)
    _squeeze(
        widths,
        room,
        [place for place in widths if any(row[place].kind != "name" and " " in row[place].text for row in rows)],
    )
    if _total(widths) > room or any(width(line) > cells for place, cells in widths.items() for line in heads[place]):
        heads = _wrapped_heads(table.columns, texts, widths)
        whole = _widths(heads, texts)
        widths = {place: min(cells, whole[place]) for place, cells in widths.items()}
    _shorten(widths, room, rows, texts, heads)
    lines = _head(heads, table.columns, widths, indent)
    for row, shown in zip(rows, texts, strict=True):
        lines += _row(row, shown, table.columns, widths, indent)
    return lines, dropped


def _wrapped_heads(
    columns: Sequence[Column],
    texts: Sequence[Sequence[str]],
    widths: dict[int, int],
) -> list[list[str]]:
    """Titles on as many lines as it takes not to be wider than what stands below, units last; all equally many."""
    heads = []
    for place, column in enumerate(columns):
        values = min(max((width(row[place]) for row in texts), default=0), widths.get(place, 0))
        longest = max(map(width, column.title.split()), default=1)
        heads.append([*wrap(column.title, max(values, longest, width(column.unit))), column.unit])
    lines = max(len(heads[place]) for place in widths)
    return [[""] * (lines - len(head)) + head for head in heads]


def _head(heads: Sequence[Sequence[str]], columns: Sequence[Column], widths: dict[int, int], indent: str) -> list[Line]:
    levels = [
        _GAP.join(padded(heads[place][level], cells, columns[place].align) for place, cells in widths.items())
        for level in range(max((len(heads[place]) for place in widths), default=0))
    ]
    return [text_line(indent + level, "muted") for level in levels if level.strip()]


def _shown(cell: Cell) -> str:
    """A command is to be copied, so it wraps; a name is cut in the middle; a meter without words is a bar."""
    if not cell.text and cell.meter is not None:
        return bar(cell.meter.value, cell.meter.end, _BAR)
    if cell.kind == "words":
        return sentence(cell.text)
    return visible(cell.text) if cell.kind == "command" else shortened(cell.text, _LONGEST_NAME)


def _widths(heads: Sequence[Sequence[str]], texts: Sequence[Sequence[str]]) -> dict[int, int]:
    """By column, the cells that its widest text takes."""
    return {place: max([*map(width, head), *(width(row[place]) for row in texts)]) for place, head in enumerate(heads)}


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1)


def _squeeze(widths: dict[int, int], room: int, wordy: Sequence[int]) -> None:
    """Take what is too much from the widest columns of words; their cells wrap. Names and numbers stay whole."""
    while _total(widths) > room:
        widest = max(wordy, key=lambda place: (widths[place], -place), default=None)
        if widest is None or widths[widest] <= _LEAST_WORDS:
            return
        widths[widest] -= 1


def _shorten(
    widths: dict[int, int],
    room: int,
    rows: Sequence[Sequence[Cell]],
    texts: list[list[str]],
    heads: Sequence[Sequence[str]],
) -> None:
    """Cut names further where that is all that is left to make the table fit."""
    for place in [place for place in widths if any(row[place].kind == "name" for row in rows)]:
        limit = max(_SHORTEST_NAME, *map(width, heads[place]), widths[place] - max(0, _total(widths) - room))
        if limit < widths[place]:
            for row, shown in zip(rows, texts, strict=True):
                if row[place].kind == "name":
                    shown[place] = shortened(row[place].text, limit)
            widths[place] = limit


def _row(
    cells: Sequence[Cell], texts: Sequence[str], columns: Sequence[Column], widths: dict[int, int], indent: str
) -> list[Line]:
    wrapped = {
        place: broken(texts[place], cells_wide, at_hyphens=False) or [""] for place, cells_wide in widths.items()
    }
    lines = []
    for at in range(max(len(parts) for parts in wrapped.values())):
        spans = [Span(indent)]
        for place, parts in wrapped.items():
            text = padded(parts[at] if at < len(parts) else "", widths[place], columns[place].align)
            spans.append(Span(text + _GAP, cells[place].tone))
        lines.append(Line(spans))
    return lines
