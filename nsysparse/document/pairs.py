"""Figures of two runs: each thing twice, on the same axis, and whether it became better or worse."""

from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.document.meanings import Meaning
from nsysparse.document.texts import Tone


@dataclass(frozen=True, slots=True)
class Range:
    """Where one run's observations lie: their median and, where known, the 10th and 90th percentile.

    `text` is the median with its unit. `is_bound` marks a lower bound, which `text` says, too.
    """

    p50: float
    text: str
    p10: float | None = None
    p90: float | None = None
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class RangeRow:
    """One thing in both runs, None where unknown, with up to two references.

    `change` says how far the candidate is from the base; its `tone` is good, bad, doubt or plain.
    """

    label: str
    base: Range | None
    candidate: Range | None
    change: str = ""
    tone: Tone = "plain"
    note: str = ""
    line_rate: float | None = None
    practical: float | None = None


@dataclass(frozen=True, slots=True)
class Ranges:
    """Two runs on one horizontal axis from zero; `meaning` is that of what is measured and colours the candidate."""

    caption: str
    unit: str
    rows: Sequence[RangeRow]
    anchor: str
    base_name: str = "base"
    candidate_name: str = "candidate"
    meaning: Meaning = "gap"
    note: str = ""
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Dumbbells:
    """One value of both runs per category (e.g. a model layer), None where unknown, joined in the tone of its change.

    `labels`, `base`, `candidate` and `tones` are columns of one length.
    """

    caption: str
    x_title: str
    y_title: str
    labels: Sequence[str]
    base: Sequence[float | None]
    candidate: Sequence[float | None]
    tones: Sequence[Tone]
    anchor: str
    base_name: str = "base"
    candidate_name: str = "candidate"
    meaning: Meaning = "gap"
    note: str = ""
    dropped: str = ""
