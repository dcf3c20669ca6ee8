"""What a report leaves out to fit a number of bytes, in which order, and how it says so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nsysparse.document import SECTION_LEVEL, Block, Callout, Heading, Table
from nsysparse.render.tabled import as_table

_OF_A_REPORT = (
    "definitions",
    "heatmap",
    "timeline",
    "requests",
    "layers",
    "sizes",
    "prefill-devices",
    "counters",
    "decode",
    "lengths",
    "totals",
    "whatif",
    "quality",
    "links",
    "path",
    "findings",
)
_OF_A_COMPARISON = (
    "diff-definitions",
    "diff-heatmap",
    "diff-all",
    "diff-requests",
    "diff-runs",
    "diff-comparability",
    "diff-layers",
    "diff-links",
    "diff-gates",
)
SHED_FIRST = (*_OF_A_REPORT, *_OF_A_COMPARISON)
"""Anchors of sections, what is missed least first. A section that is not named here goes before all of these."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A section with its heading's anchor and text, both empty for what stands before the first one."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What of a report is shown: the lead, sections in their order, and what is not, in words."""

    lead: Part
    sections: Sequence[Part]
    left_out: Sequence[str] = ()


def parts(blocks: Sequence[Block]) -> tuple[Part, list[Part]]:
    """The lead, and the sections without their own headings; figures whose values fit a table as tables, with rows."""
    lead: list[Block] = []
    sections: list[tuple[Heading, list[Block]]] = []
    for block in (as_table(block) or block for block in blocks):
        if isinstance(block, Heading) and block.level == SECTION_LEVEL:
            sections.append((block, []))
        else:
            (sections[-1][1] if sections else lead).append(block)
    return Part("", "", lead), [Part(heading.anchor, heading.text, within) for heading, within in sections]


def choices(lead: Part, sections: Sequence[Part]) -> Iterator[Choice]:
    """The whole report, then ever less of it: without sections, rows of the last section, rows and rest of the lead.

    Callouts stay to the end.
    """
    yield Choice(lead, sections)
    kept, gone = list(sections), list[str]()
    for part in sorted(sections, key=lambda part: _rank(part, sections)):
        if len(kept) == 1:
            for fewer, said in _with_fewer_rows(part):
                yield Choice(lead, [fewer], [*gone, said])
        kept.remove(part)
        gone.append(part.title)
        yield Choice(lead, kept.copy(), gone.copy())
    for fewer, said in _with_fewer_rows(lead):
        yield Choice(fewer, (), [*gone, said])
    if tables := [block.caption for block in lead.blocks if isinstance(block, Table)]:
        gone += tables
        lead = replace(lead, blocks=[block for block in lead.blocks if not isinstance(block, Table)])
        yield Choice(lead, (), gone)
    blocks = list(lead.blocks)
    for place in range(len(blocks) - 1, -1, -1):
        if not isinstance(blocks[place], Callout):
            del blocks[place]
            yield Choice(replace(lead, blocks=blocks.copy()), (), [*gone, "remarks"])


def _rank(part: Part, sections: Sequence[Part]) -> tuple[int, int]:
    """Unnamed sections first, of these the last one first."""
    if part.anchor in SHED_FIRST:
        return SHED_FIRST.index(part.anchor), 0
    return -1, -sections.index(part)


def _with_fewer_rows(part: Part) -> Iterator[tuple[Part, str]]:
    """The part with ever fewer rows, those of its last table first, and what is then missing in words."""
    rows = sum(len(block.rows) for block in part.blocks if isinstance(block, Table))
    for room in range(rows - 1, 0, -1):
        left, blocks = room, list[Block]()
        for block in part.blocks:
            if isinstance(block, Table):
                shown = block.rows[:left]
                left -= len(shown)
                if shown:
                    blocks.append(replace(block, rows=shown))
            else:
                blocks.append(block)
        named = part.title or next(block.caption for block in part.blocks if isinstance(block, Table))
        yield replace(part, blocks=blocks), f"{rows - room} of {rows} rows of “{named}”"
