"""How a change is judged, in words: colour alone is no sign."""

from collections.abc import Mapping
from types import MappingProxyType

from nsysparse.document import RangeRow, Tone

JUDGED: Mapping[Tone, str] = MappingProxyType({"bad": "worse", "good": "better", "doubt": "in doubt"})
"""Of the tones that judge; the others say nothing."""
UNKNOWN = "unknown"


def judged(row: RangeRow) -> str:
    """The change of a row with its judgement, e.g. `+18 % worse`."""
    return f"{row.change} {JUDGED.get(row.tone, '')}".strip()


def told(row: RangeRow) -> str:
    """Both runs and the change of a row in one sentence without its end."""
    base, candidate = (UNKNOWN if each is None else each.text for each in (row.base, row.candidate))
    said = f"{base} \u2192 {candidate}"
    return f"{said}, {judged(row)}" if judged(row) else said
