"""A report as GitHub-flavoured Markdown, for a comment or a file: the verdict first, tables folded below."""

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

from nsysparse.document import (
    SECTION_LEVEL,
    Abstention,
    BarChart,
    Block,
    Callout,
    Cell,
    ColumnChart,
    Definitions,
    Document,
    Facts,
    Heading,
    Heatmap,
    Histogram,
    Lanes,
    Paragraph,
    Parts,
    Ranking,
    RateBySize,
    Strip,
    Table,
    Waterfall,
    Way,
    is_command,
)
from nsysparse.render.figures import axis_end
from nsysparse.render.marks import bar, levels
from nsysparse.render.neutral import entities, name, prose
from nsysparse.render.tabled import as_table
from nsysparse.units import significant

MARKER = "<!-- nsysparse:report -->"
"""The hidden first line by which a bot finds its own comment again."""

_LONGEST_COMMAND = 300
_BAR_WIDTH = 16
_ICONS = {"bad": "\U0001f534", "good": "\U0001f7e2", "doubt": "\U0001f7e1"}
_NO_ICON = "\u26aa"
_FOLDED_KINDS = (Table, ColumnChart, Heatmap, Definitions, Waterfall, Parts, RateBySize, Histogram, Lanes)


def render(document: Document) -> str:
    """The report as Markdown with a final line end; the same document gives the same bytes."""
    lines = [MARKER]
    for blocks in _sections(document.blocks):
        lines += _section(blocks)
    lines.append(f"<sub>{prose(document.generator)} · {name(document.source)}</sub>")
    return "\n".join(lines) + "\n"


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """The blocks, a new list from each section heading on."""
    section: list[Block] = []
    for block in blocks:
        if isinstance(block, Heading) and block.level == SECTION_LEVEL and section:
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _section(blocks: Sequence[Block]) -> list[str]:
    """What comes before the first table or figure stays open, the rest folds."""
    cut = next((place for place, block in enumerate(blocks) if isinstance(block, _FOLDED_KINDS)), len(blocks))
    shown, folded = blocks[:cut], blocks[cut:]
    lines = [line for block in shown for line in _written(block)]
    if folded:
        lines += [f"<details><summary>{_summary(folded)}</summary>", ""]
        lines += [line for block in folded for line in _written(block)]
        lines += ["</details>", ""]
    return lines


def _summary(blocks: Sequence[Block]) -> str:
    captions = [
        block.caption for block in blocks if isinstance(block, _FOLDED_KINDS) and not isinstance(block, Definitions)
    ]
    return entities(" · ".join(captions) or "Show")  # a block of HTML: Markdown is not read in it


@singledispatch
def _written(block: Block) -> list[str]:
    """A block as lines, an empty one after it."""
    raise NotImplementedError(f"Markdown has no form for {type(block).__name__}")


@_written.register
def _(block: Heading) -> list[str]:
    return [f"{'#' * (block.level + 2)} {prose(block.text)}", ""]


@_written.register
def _(block: Paragraph) -> list[str]:
    return [prose(block.text), ""]


@_written.register
def _(block: Callout) -> list[str]:
    if block.kind == "notice":
        return [f"> **{prose(block.title.capitalize())}.** {prose(block.text)}", ""]
    figures = " ".join(part for part in (block.figure, block.doubt) if part)
    basis = " · ".join(part for part in (figures, block.note) if part)
    lines = [f"### {_ICONS.get(block.tone, _NO_ICON)} {prose(block.text)}", ""]
    return [*lines, prose(basis), ""] if basis else lines


@_written.register
def _(block: Facts) -> list[str]:
    rows = [f"| {prose(fact.label)} | **{prose(fact.value)}** | {prose(fact.note)} |" for fact in block.items]
    return ["| | | |", "|:--|--:|:--|", *rows, ""]


@_written.register
def _(block: Table) -> list[str]:
    head = "| " + " | ".join(prose(column.heading) for column in block.columns) + " |"
    rule = "|" + "|".join("--:" if column.align == "right" else ":--" for column in block.columns) + "|"
    rows = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in block.rows]
    lines = [f"**{prose(block.caption)}**", "", head, rule, *rows, ""]
    return [*lines, prose(block.dropped), ""] if block.dropped else lines


def _cell(cell: Cell) -> str:
    """A command is kept whole to be copied, a name is cut in the middle."""
    if cell.kind == "words" or not cell.text:
        return prose(cell.text)
    return name(cell.text, _LONGEST_COMMAND) if cell.kind == "command" else name(cell.text)


@_written.register
def _(block: BarChart) -> list[str]:
    end = axis_end(block)
    rows = [
        f"| {name(each.label)} | `{bar(each.value, end, _BAR_WIDTH)}` | **{prose(each.text)}** | {prose(each.verdict)} "
        f"| {prose(each.detail)} |"
        for each in block.bars
    ]
    lines = [f"| {prose(block.caption)} | | {prose(block.unit)} | | |", "|:--|:--|--:|:--|:--|", *rows, ""]
    notes = [note for note in (block.references, block.dropped) if note]
    return [*lines, *(line for note in notes for line in (prose(note), ""))]


@_written.register
def _(block: ColumnChart) -> list[str]:
    totals = [sum(series.values[place] for series in block.series) for place in range(len(block.labels))]
    span = (
        f"{block.x_title} {block.labels[0]} to {block.labels[-1]}, highest {significant(max(totals))} {block.y_title}"
    )
    return [f"**{prose(block.caption)}**", "", f"`{levels(totals)}`", "", prose(span), ""]


@_written.register
def _(block: Heatmap) -> list[str]:
    size = f"{len(block.y):,} by {len(block.x):,} cells"
    return [prose(f"{block.caption} ({size}) is drawn in the HTML report and stands in the JSON report."), ""]


@_written.register
def _(block: Strip) -> list[str]:
    parts = (block.caption, block.note, block.middle_text, block.threshold_text)
    return [prose(f"{' · '.join(part for part in parts if part)}."), ""]


@_written.register(Ranking)
@_written.register(Way)
@_written.register(Waterfall)
@_written.register(Parts)
@_written.register(Histogram)
def _(block: Ranking | Way | Waterfall | Parts | Histogram) -> list[str]:
    shown = as_table(block)
    return [] if shown is None else _written(shown)


@_written.register
def _(block: RateBySize) -> list[str]:
    return [prose(f"{block.caption} is drawn in the HTML report. {block.note}"), ""]


@_written.register
def _(block: Lanes) -> list[str]:
    return [prose(f"{block.caption} is drawn in the HTML report."), ""]


@_written.register
def _(block: Abstention) -> list[str]:
    lines = [prose(block.reason), ""]
    if not block.fix:
        return lines
    return [*lines, name(block.fix, _LONGEST_COMMAND) if is_command(block.fix) else prose(block.fix), ""]


@_written.register
def _(block: Definitions) -> list[str]:
    return [*(f"- **{prose(item.term)}**: {prose(item.text)}" for item in block.items), ""]
