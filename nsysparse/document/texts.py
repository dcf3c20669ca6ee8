"""What is read: headings, sentences, key figures, and what could not be known."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nsysparse.document.meanings import Meaning

Tone = Literal["plain", "good", "bad", "doubt", "muted"]

CHANGE_THAT = "To change that:"
"""What stands before a verdict's advice, in every format."""

_COMMAND = re.compile(r"--\w|([A-Z_]+=\S+ )*nsys(parse)? |(ib_\w+_bw|nvbandwidth|nixlbench|mpirun) -")

SECTION_LEVEL = 2
"""The level of headings that start a section; deeper ones divide it."""


def is_command(advice: str) -> bool:
    """Whether advice is a command or an option to be copied as it is, rather than a sentence to be read."""
    return _COMMAND.match(advice) is not None and "`" not in advice


@dataclass(frozen=True, slots=True)
class Heading:
    """A section title; `anchor` is a stable, safe id for deep links."""

    text: str
    anchor: str
    level: int = SECTION_LEVEL


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; a muted one explains, and a format with little room may leave it out."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Meter:
    """A number as a short bar: how far from zero to `end`, what it means, and marks beside it (`line`, `ceiling`)."""

    value: float | None
    end: float
    meaning: Meaning
    line: float | None = None
    ceiling: float | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One key figure: label, value with unit, a note on what it means or why it is unknown, and its definition."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"
    term: str = ""
    meter: Meter | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """A row of key figures."""

    items: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Callout:
    """Something the reader must not miss: the verdict, or a notice to know before any number.

    A verdict may carry one big `figure` and the `doubt` about it; `title` is its state in words, `note` what it rests
    on, `advice` what would change it: a command (`is_command`) or words.
    """

    kind: Literal["verdict", "notice"]
    title: str
    text: str
    tone: Tone = "plain"
    figure: str = ""
    doubt: str = ""
    note: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Abstention:
    """What could not be known, why, and the command, option or advice that would change it (`is_command`)."""

    subject: str
    reason: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """What one number means; `anchor` is what columns and facts point to as their `term`."""

    term: str
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Definitions:
    """A glossary of the numbers shown."""

    items: Sequence[Definition]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One item of a ranking: what it costs, what it is, what to do, what shows it, and where (`target`)."""

    cost: float | None
    text: str
    unit: str
    meaning: Meaning
    title: str
    advice: str
    evidence: str
    target: str = ""
    target_text: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Items by what they cost, worst first."""

    caption: str
    items: Sequence[Ranked]
    anchor: str
    dropped: str = ""
