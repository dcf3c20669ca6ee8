"""A report as plain text: the verdict on the first line, then what fits a terminal or a log, at most 100 wide.

Explanations (muted paragraphs), folded tables, heatmaps and definitions stay with the other formats; the last line
names them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch

from nsysparse.document import (
    CHANGE_THAT,
    Abstention,
    BarChart,
    Block,
    Callout,
    ColumnChart,
    Document,
    Dumbbells,
    Facts,
    Heading,
    Heatmap,
    Paragraph,
    Table,
    Tone,
    is_command,
)
from nsysparse.render.figures import axis_end, summary
from nsysparse.render.marks import bar, levels
from nsysparse.render.names import sentence, shortened, visible
from nsysparse.render.tabled import as_table
from nsysparse.render.text_table import Line, Span, broken, laid_out, padded, text_line, width
from nsysparse.units import counted, significant

WIDTH = 100
LEAST_WIDTH = 80
"""Below this, lines are left to the terminal to wrap."""
MOST_ROWS = 12

_INDENT = "  "
_LEAST_BAR, _LONGEST_BAR = 10, 22
_LEAST_NAME, _LONGEST_NAME = 16, 36
_CAPTION_LINES = 2
"""A table starts with an empty line and its caption."""
_STYLES: dict[Tone, str] = {"good": "green", "bad": "bold red", "doubt": "yellow", "muted": "dim"}


@dataclass(frozen=True, slots=True)
class Frame:
    """The room there is: characters in a line, rows in a table."""

    width: int
    most_rows: int


def render(document: Document, *, colour: bool = False, most_rows: int = MOST_ROWS, width: int = WIDTH) -> str:
    """The text with a final line end.

    Args:
        document: What to write.
        colour: Style it for a terminal with ANSI escapes; leave it off for pipes and files.
        most_rows: How many rows of each table are shown; the number of the others is said.
        width: Characters in a line, taken to be between `LEAST_WIDTH` and `WIDTH`.
    """
    frame = Frame(max(LEAST_WIDTH, min(WIDTH, width)), most_rows)
    lines: list[Line] = []
    heading: Heading | None = None
    left_out: list[str] = []
    is_first = True
    for block in (as_table(block) or block for block in document.blocks):
        if isinstance(block, Heading):
            heading, is_first = block, False
            continue
        if is_first and isinstance(block, Paragraph):
            # What belongs to the verdict explains nothing: it is part of the answer.
            lines += _wrapped(frame, block.text, block.tone, "")
            continue
        if isinstance(block, Heatmap) or (isinstance(block, Table) and block.folded):
            left_out.append(visible(block.caption))
            continue
        written = _written(block, frame)
        if written and heading:
            # A heading waits until something of its section is shown.
            if isinstance(block, Table) and block.caption == heading.text:
                written = written[_CAPTION_LINES:]
            lines += [text_line(""), *_headed(visible(heading.text).upper(), written)]
            heading = None
        else:
            lines += written
    if left_out:
        note = f"Not in here: {'; '.join(left_out)} (-f html or -f markdown)."
        lines += [text_line(""), *_wrapped(frame, note, "muted", "")]
    return _styled(lines) if colour else "".join(line.plain() + "\n" for line in lines)


def _headed(title: str, lines: list[Line]) -> list[Line]:
    """The lines under a title, which stands in the first of them where that has room: titles of columns further on."""
    first = lines[0].plain() if lines else ""
    if first and not first[: len(title) + len(_INDENT)].strip():
        return [Line([Span(title, is_strong=True), Span(first[len(title) :], "muted")]), *lines[1:]]
    return [text_line(title, is_strong=True), *lines]


def _styled(lines: Iterable[Line]) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", no_color=False, legacy_windows=False)
    for line in lines:
        text = Text()
        for span in line.spans:
            text.append(span.text, _STYLES.get(span.tone, "bold" if span.is_strong else ""))
        console.print(text, soft_wrap=True, highlight=False)
    return out.getvalue()


def _wrapped(frame: Frame, text: str, tone: Tone = "plain", indent: str = _INDENT) -> list[Line]:
    return [text_line(line, tone) for line in broken(sentence(text), frame.width, indent=indent)]


@singledispatch
def _written(block: Block, frame: Frame) -> list[Line]:
    """A block as lines; none where the summary leaves it to the other formats."""
    del block, frame
    return []


@_written.register
def _(block: Paragraph, frame: Frame) -> list[Line]:
    return [] if block.tone == "muted" else _wrapped(frame, block.text, block.tone)


@_written.register
def _(block: Callout, frame: Frame) -> list[Line]:
    if block.kind == "notice":
        return _wrapped(frame, f"{block.title.capitalize()}. {block.text}", block.tone, "")
    # The verdict is one line however long: it is what a log is searched for.
    text = f"{block.text} {CHANGE_THAT} {block.advice}" if block.advice else block.text
    lines = [text_line(sentence(text), block.tone, is_strong=True)]
    figures = " ".join(part for part in (block.figure, block.doubt) if part)
    basis = " · ".join(part for part in (figures, block.note) if part)
    return [*lines, *_wrapped(frame, basis, "muted", "")] if basis else lines


@_written.register
def _(block: Facts, frame: Frame) -> list[Line]:
    labels = max((width(visible(fact.label)) for fact in block.items), default=0)
    values = max((width(visible(fact.value)) for fact in block.items), default=0)
    room = frame.width - labels - values - 3 * len(_INDENT)
    lines = []
    for fact in block.items:
        first, *rest = broken(sentence(fact.note), room) or [""]
        label = Span(f"{_INDENT}{padded(visible(fact.label), labels)}{_INDENT}")
        value = Span(padded(visible(fact.value), values, "right"), fact.tone, is_strong=True)
        lines.append(Line([label, value, Span(_INDENT + first, "muted")]))
        lines += [text_line(" " * (frame.width - room) + more, "muted") for more in rest]
    return lines


@_written.register
def _(block: Table, frame: Frame) -> list[Line]:
    lines = [text_line(""), text_line(_INDENT + visible(block.caption), is_strong=True)]
    body, dropped = laid_out(block, frame.width - len(_INDENT), frame.most_rows, _INDENT)
    lines += body
    notes = [block.dropped] if block.dropped else []
    if len(block.rows) > frame.most_rows:
        notes.append(f"{counted(len(block.rows) - frame.most_rows, 'more row')}.")
    if dropped:
        notes.append(f"No room for {', '.join(dropped)}.")
    return [*lines, *_wrapped(frame, " ".join(notes), "muted")] if notes else lines


@_written.register
def _(block: BarChart, frame: Frame) -> list[Line]:
    end = axis_end(block)
    shown = block.bars[: frame.most_rows]
    values = max((width(each.text) for each in shown), default=0)
    verdicts = max((width(visible(each.verdict)) for each in shown), default=0)
    room = frame.width - len(_INDENT) - values - verdicts - 3 * len(_INDENT)
    below = room < _LEAST_NAME + _LEAST_BAR
    if below:
        room += verdicts
    labels = [shortened(each.label, min(_LONGEST_NAME, max(_LEAST_NAME, room - _LEAST_BAR))) for each in shown]
    longest = max(map(width, labels), default=0)
    bar_width = min(_LONGEST_BAR, max(_LEAST_BAR, room - longest))
    lines = []
    for each, label in zip(shown, labels, strict=True):
        mark = Span(bar(each.value, end, bar_width))
        value = Span(padded(each.text, values, "right"), is_strong=True)
        lines.append(Line([Span(f"{_INDENT}{padded(label, longest)}  "), mark, Span("  "), value]))
        if below:
            lines += _wrapped(frame, each.verdict, "muted", 2 * _INDENT)
        else:
            lines[-1] = Line([*lines[-1].spans, Span("  " + visible(each.verdict), "muted")])
    if len(block.bars) > len(shown):
        lines += _wrapped(frame, f"{len(block.bars) - len(shown):,} more in the other formats.", "muted")
    return [*lines, *_wrapped(frame, block.references, "muted")] if block.references else lines


@_written.register
def _(block: ColumnChart, frame: Frame) -> list[Line]:
    totals = [sum(series.values[place] for series in block.series) for place in range(len(block.labels))]
    span = (
        f"{block.x_title} {block.labels[0]} to {block.labels[-1]}, highest {significant(max(totals))} {block.y_title}"
    )
    return [text_line(_INDENT + levels(totals)), *_wrapped(frame, span, "muted")]


@_written.register
def _(block: Dumbbells, frame: Frame) -> list[Line]:
    return _wrapped(frame, f"{block.caption}: {summary(block)}.")


@_written.register
def _(block: Abstention, frame: Frame) -> list[Line]:
    lines = _wrapped(frame, block.reason, "muted")
    if block.fix and not is_command(block.fix):
        return [*lines, *_wrapped(frame, block.fix, "muted")]
    # A command stands on a line of its own however long, so that it can be copied.
    return [*lines, text_line(f"{_INDENT}  {visible(block.fix)}")] if block.fix else lines
