"""A report as GitHub-flavoured Markdown, for a comment or a file: the verdict first, what proves it folded below.

A folded document (`sections.build_review`) has every section closed; of others what comes before a section's first
table or figure stays open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, singledispatch
from types import MappingProxyType

from nsysparse.document import (
    CHANGE_THAT,
    Abstention,
    BarChart,
    Block,
    Callout,
    Cell,
    ColumnChart,
    Definitions,
    Document,
    Dumbbells,
    Facts,
    Heading,
    Heatmap,
    Lanes,
    Paragraph,
    RateBySize,
    Strip,
    Table,
    is_command,
)
from nsysparse.errors import UsageError
from nsysparse.render.budget import Part, choices, parts
from nsysparse.render.figures import axis_end, summary, verdicts
from nsysparse.render.marks import MOST_LEVELS, bar, levels
from nsysparse.render.names import shortened
from nsysparse.render.neutral import html, name, prose
from nsysparse.units import counted, significant

_LONGEST_COMMAND = 300
_LONGEST_SUMMARY = 160
_BAR_WIDTH = 16
_CELL_BAR_WIDTH = 12
_ICONS = {"bad": "\U0001f534", "good": "\U0001f7e2", "doubt": "\U0001f7e1"}
_NO_ICON = "\u26aa"
_FOLDED_KINDS = (Table, ColumnChart, Heatmap, Definitions, RateBySize, Lanes, Dumbbells)
_NO_IMAGES: Mapping[str, str] = MappingProxyType({})


def render(document: Document, max_bytes: int = 0, images: Mapping[str, str] = _NO_IMAGES) -> str:
    """The report as Markdown with a final line end; the same document gives the same bytes.

    Args:
        document: The report.
        max_bytes: Of UTF-8. What does not fit is left out whole, in the order of `budget.choices`, and named; 0: no
            limit.
        images: Anchor of a figure → link to its picture, as it stands in Markdown.

    Raises:
        UsageError: Not even the verdict fits.
    """
    lead, sections = parts(document.blocks)
    foot = f"<sub>{prose(document.generator)} · {name(document.source)}</sub>"

    @cache  # a section is written once, however much else must go
    def written(part: Part) -> str:
        return "".join(f"{line}\n" for line in (_fold if document.folded else _section)(part, images))

    sizes = []
    for choice in choices(lead, sections):
        shown = _shown(choice.lead.blocks, images)
        if choice.left_out:
            shown += [f"Left out to stay within {name('--max-bytes')}: {prose(' · '.join(choice.left_out))}.", ""]
        text = "".join(
            [
                f"{marker(document)}\n",
                *(f"{line}\n" for line in shown),
                *(written(each) for each in choice.sections),
                f"{foot}\n",
            ]
        )
        sizes.append(len(text.encode("utf-8")))
        if not max_bytes or sizes[-1] <= max_bytes:
            return text
    raise UsageError(
        f"--max-bytes {max_bytes}: the verdict alone takes {min(sizes):,} bytes.",
        f"Say at least --max-bytes {min(sizes)}, or 0 for no limit.",
    )


def marker(document: Document) -> str:
    """The hidden first line by which a bot finds its own comment again."""
    return f"<!-- nsysparse:{document.marker} -->"


def _shown(blocks: Iterable[Block], images: Mapping[str, str]) -> list[str]:
    """The blocks as lines, each figure below its picture."""
    lines = []
    for block in blocks:
        if picture := images.get(getattr(block, "anchor", "")):
            lines += [f"![{prose(getattr(block, 'caption', ''))}]({picture})", ""]
        lines += _written(block)
    return lines


def _fold(part: Part, images: Mapping[str, str]) -> list[str]:
    """A whole section behind a line that says what is in it."""
    summary = f"<b>{html(part.title)}</b>{html(_contents(part))}"
    blocks = [
        replace(block, caption="") if isinstance(block, Table) and block.caption == part.title else block
        for block in part.blocks
    ]
    return [f"<details><summary>{summary}</summary>", "", *_shown(blocks, images), "</details>", ""]


def _contents(part: Part) -> str:
    """Tables with their rows and figures by name; of a section that has neither, what it says."""
    found = []
    for block in part.blocks:
        caption = getattr(block, "caption", "")
        named = "" if caption == part.title else caption
        if isinstance(block, Table):
            rows = counted(len(block.rows), "row")
            found.append(f"{named} ({rows})" if named else rows)
        elif isinstance(block, Definitions):
            found.append(counted(len(block.items), "term"))
        elif named:
            found.append(named)
    if found:
        return f": {' · '.join(found)}"
    said = next((block.reason for block in part.blocks if isinstance(block, Abstention)), "")
    return f": {shortened(said, _LONGEST_SUMMARY)}" if said else ""


def _section(part: Part, images: Mapping[str, str]) -> list[str]:
    """What comes before the first table or figure stays open, the rest folds."""
    blocks = part.blocks
    cut = next((place for place, block in enumerate(blocks) if isinstance(block, _FOLDED_KINDS)), len(blocks))
    shown, folded = blocks[:cut], blocks[cut:]
    lines = [*_written(Heading(part.title, part.anchor)), *_shown(shown, images)]
    if folded:
        captions = [caption for block in folded if (caption := getattr(block, "caption", ""))]
        lines += [f"<details><summary>{html(' · '.join(captions) or 'Show')}</summary>", ""]
        lines += [*_shown(folded, images), "</details>", ""]
    return lines


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
    lines += [f"{CHANGE_THAT} {_advice(block.advice)}", ""] if block.advice else []
    return [*lines, prose(basis), ""] if basis else lines


def _advice(text: str) -> str:
    """A command is to be copied, anything else is read."""
    return name(text, _LONGEST_COMMAND) if is_command(text) else prose(text)


@_written.register
def _(block: Facts) -> list[str]:
    rows = [f"| {prose(fact.label)} | **{prose(fact.value)}** | {prose(fact.note)} |" for fact in block.items]
    return ["| | | |", "|:--|--:|:--|", *rows, ""]


@_written.register
def _(block: Table) -> list[str]:
    head = "| " + " | ".join(prose(column.heading) for column in block.columns) + " |"
    rule = "|" + "|".join("--:" if column.align == "right" else ":--" for column in block.columns) + "|"
    rows = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in block.rows]
    is_said = block.caption in ("", block.columns[0].heading)
    lines = [*([] if is_said else [f"**{prose(block.caption)}**", ""]), head, rule, *rows, ""]
    return [*lines, prose(block.dropped), ""] if block.dropped else lines


def _cell(cell: Cell) -> str:
    """A command is kept whole to be copied, a name is cut in the middle; before either stands its meter."""
    if cell.meter is not None:
        value, end = cell.meter.value, cell.meter.end
        drawn = " " * _CELL_BAR_WIDTH if value is not None and value <= 0 else bar(value, end, _CELL_BAR_WIDTH)
        return f"`{drawn}` {prose(cell.text)}".rstrip()
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
def _(block: Dumbbells) -> list[str]:
    """Which categories became worse or better, a character each where they fit a line, and all in a sentence."""
    is_drawn = 0 < len(block.labels) <= MOST_LEVELS
    lines = [f"**{prose(block.caption)}**", "", *([f"`{verdicts(block)}`", ""] if is_drawn else [])]
    notes = [f"{summary(block)}.", block.note, block.dropped]
    return [*lines, *(line for note in notes if note for line in (prose(note), ""))]


@_written.register
def _(block: Heatmap) -> list[str]:
    size = f"{len(block.y):,} by {len(block.x):,} cells"
    return [prose(f"{block.caption} ({size}) is drawn in the HTML report and stands in the JSON report."), ""]


@_written.register
def _(block: Strip) -> list[str]:
    parts = (block.caption, block.note, block.middle_text, block.threshold_text)
    return [prose(f"{' · '.join(part for part in parts if part)}."), ""]


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
    return [*lines, _advice(block.fix), ""]


@_written.register
def _(block: Definitions) -> list[str]:
    return [*(f"- **{prose(item.term)}**: {prose(item.text)}" for item in block.items), ""]
