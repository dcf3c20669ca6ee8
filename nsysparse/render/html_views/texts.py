"""What is read: verdict, key figures, findings, definitions, and what could not be known."""

import re

from nsysparse.document import Abstention, Callout, Definitions, Fact, Facts, Meter, Ranked, Ranking, is_command
from nsysparse.render.figures import meter
from nsysparse.render.html_views.base import View, coded, fields_of, said, view
from nsysparse.render.names import visible

_MOST_FACTS_IN_A_ROW = 6
_LONGEST_NOTE, _LEAST_CLAUSE = 120, 30
_CLAUSE = re.compile(r"[:;,] ")
_GLYPHS = {"bad": "▲", "good": "✓", "doubt": "≈"}


@view.register
def _(block: Abstention) -> View:
    return fields_of(block) | _advice(block.fix)


def _advice(advice: str) -> View:
    """A command is to be copied whole, anything else is read."""
    command = is_command(advice)
    return {"fix": visible(advice) if command else coded(said(advice)), "is_command": command}


@view.register
def _(block: Callout) -> View:
    number, _, unit = visible(block.figure).rpartition(" ")
    return fields_of(block) | {
        "number": number or unit,
        "unit": unit if number else "",
        "glyph": _GLYPHS.get(block.tone, "?"),
        **_advice(block.advice),
    }


@view.register
def _(block: Facts) -> View:
    count = len(block.items)
    rows = -(-count // _MOST_FACTS_IN_A_ROW)
    return {"facts": [_fact(fact) for fact in block.items], "per_row": -(-count // rows) if rows else 1}


def _fact(fact: Fact) -> View:
    note, more = _begun(said(fact.note))
    return fields_of(fact) | {"note": note, "more": more, "svg": None if fact.meter is None else meter(fact.meter)}


def _begun(note: str) -> tuple[str, str]:
    """A note that would tower over its neighbours as its first clause and the rest; else whole."""
    if len(note) <= _LONGEST_NOTE:
        return note, ""
    ends = [found.end() for found in _CLAUSE.finditer(note) if _LEAST_CLAUSE <= found.end() <= _LONGEST_NOTE]
    end = ends[0] if ends else note.rfind(" ", 0, _LONGEST_NOTE) + 1 or _LONGEST_NOTE
    return note[:end].rstrip(), note[end:]


@view.register
def _(block: Definitions) -> View:
    return {"terms": [fields_of(item) for item in block.items]}


@view.register
def _(block: Ranking) -> View:
    end = max((item.cost for item in block.items if item.cost is not None), default=0.0)
    return fields_of(block) | {"ranked": [_ranked(item, end) for item in block.items]}


def _ranked(item: Ranked, end: float) -> View:
    bar = Meter(item.cost, end or 1.0, item.meaning)
    return fields_of(item) | {
        "is_known": item.cost is not None,
        "advice": coded(said(item.advice)),
        "evidence": coded(said(item.evidence)),
        "title": coded(said(item.title)),
        "svg": None if item.cost is None else meter(bar),
    }
