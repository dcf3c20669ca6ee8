"""Figures: what is to be compared by eye, as data. Each renderer draws them by its own means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.document.meanings import Meaning
from nsysparse.document.tables import Cell, Column
from nsysparse.document.texts import Tone


@dataclass(frozen=True, slots=True)
class Spread:
    """How single observations lie around a bar's value: the 10th, 50th and 90th percentile, in the chart's unit."""

    p10: float
    p50: float
    p90: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One observed value on a scale with up to two references.

    `text` is the value with its unit, `detail` what it was measured on, `verdict` how it stands against the references.
    `is_bound` marks a lower bound: the true value may be higher.
    """

    label: str
    value: float | None
    text: str
    line_rate: float | None = None
    practical: float | None = None
    is_bound: bool = False
    spread: Spread | None = None
    detail: str = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars on one axis from zero, against line rate and practical ceiling.

    `references` names the sources of the references; `dropped` says which bars were left out.
    """

    caption: str
    unit: str
    bars: Sequence[Bar]
    anchor: str
    references: str = ""
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One layer of a stacked column chart: a value per category, all of one meaning."""

    label: str
    meaning: Meaning
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """Vertical stacked columns from zero, one per category (e.g. a model layer)."""

    caption: str
    x_title: str
    y_title: str
    labels: Sequence[str]
    series: Sequence[Series]
    anchor: str


@dataclass(frozen=True, slots=True)
class HeatView:
    """What the cells of a heatmap show: one row per `y`; None cells are not observed and must not look like zero.

    `floor` is the value that has no colour yet; without one the scale begins at zero or, where values span more than
    a linear scale shows, at the least of them. With a `middle` the scale goes both ways from there instead, `least`
    far at the least, so that noise does not look like structure, and `most` far at the most, so that a few far out do
    not hide the rest: a quarter of the way has no colour. `ends` says what it means to lie below and above the middle.
    """

    title: str
    unit: str
    values: Sequence[Sequence[float | None]]
    floor: float | None = None
    middle: float | None = None
    least: float = 0.0
    most: float = math.inf
    ends: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A matrix with one or more things to show of each cell; the first is drawn where only one can be.

    `x_name` is what one of `x` is.
    """

    caption: str
    x_title: str
    y_title: str
    x: Sequence[str]
    y: Sequence[str]
    views: Sequence[HeatView]
    anchor: str
    dropped: str = ""
    x_labels: Sequence[str] = ()
    x_anchors: Sequence[str] = ()
    x_name: str = "request"


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a bar: how long (None is unknown), and how that is said, with unit and doubt."""

    label: str
    meaning: Meaning
    value: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """One observation of a strip: where it lies, whose it is, and how it is judged."""

    value: float
    label: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Strip:
    """Every observation of one share (0 to 1) on one axis, against a threshold.

    `middle` is the median and `doubt` how far it may be off; None where there are too few to have one.
    """

    caption: str
    note: str
    dots: Sequence[Dot]
    threshold: float
    threshold_text: str
    middle: float | None
    doubt: float
    middle_text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Way:
    """Segments that follow on each other, end to end: where one thing's time went.

    `bracket` are the first and the last segment of what is judged, and `bracket_text` says how much that is. `target`
    is the anchor of the row in which the thing stands among others.
    """

    caption: str
    note: str
    segments: Sequence[Segment]
    bracket: tuple[int, int]
    bracket_text: str
    anchor: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class WayRow:
    """One row of a waterfall: its cells, and the segments before and after the common line.

    `before` starts at the line and goes backwards. `unknown_before` and `unknown_after` say what is not known beyond
    the last segment. `ahead` is what happened before the line behind something else, `doubt` how far the sum of the
    segments may be off, `doubted` the sum itself; all in the chart's unit. `notes` and `profile` (a value per label of
    the waterfall's `profile_labels`) are for whoever looks closer.
    """

    anchor: str
    name: str
    cells: Sequence[Cell]
    before: Sequence[Segment]
    after: Sequence[Segment]
    unknown_before: str = ""
    unknown_after: str = ""
    ahead: Segment | None = None
    doubt: float = 0.0
    doubted: float | None = None
    notes: Sequence[str] = ()
    profile: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Ways of many things, aligned on one line (`zero`), worst first; `key` names what its colours mean."""

    caption: str
    unit: str
    zero: str
    columns: Sequence[Column]
    rows: Sequence[WayRow]
    key: Sequence[tuple[Meaning, str]]
    anchor: str
    dropped: str = ""
    profile_title: str = ""
    profile_labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PartRow:
    """One whole divided into parts, as a bar as long as all the others."""

    label: str
    detail: str
    parts: Sequence[Segment]


@dataclass(frozen=True, slots=True)
class Parts:
    """Bars of equal length that show shares of a whole."""

    caption: str
    rows: Sequence[PartRow]
    key: Sequence[tuple[Meaning, str]]
    anchor: str
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class SizeRate:
    """How fast the messages of one size were, in GB/s; `is_bound` marks a lower bound."""

    size: int
    count: int
    spread: Spread
    is_bound: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through time against size: the fixed cost of a message, and the rate without it."""

    fixed_ns: float
    gb_s: float
    text: str


@dataclass(frozen=True, slots=True)
class SizeSeries:
    """The messages of one link."""

    label: str
    points: Sequence[SizeRate]
    fit: Fit | None


@dataclass(frozen=True, slots=True)
class RateBySize:
    """Rate against message size of links that share both references.

    `ceiling` is what messages of each size (bytes) reach in a benchmark of such a link, in GB/s, by size.
    """

    caption: str
    series: Sequence[SizeSeries]
    line_rate: float | None
    practical: float | None
    anchor: str
    note: str = ""
    dropped: str = ""
    ceiling: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of an axis, from `low` to `high`, with a meaning of its own; `tone` colours it."""

    label: str
    low: float
    high: float
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts between edges, one more edge than counts, with bands on the same axis."""

    caption: str
    x_title: str
    edges: Sequence[int]
    counts: Sequence[int]
    bands: Sequence[Band]
    anchor: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of a timeline: whose it is where several are, and what of it."""

    source: str
    label: str


@dataclass(frozen=True, slots=True)
class MarkLevel:
    """The marks of a timeline at one level of detail, a column each: what is closer than `merged_below_ns` is one mark.

    `busy_ns` is the time within a mark in which something ran, `count` how many it stands for, `owner` a place in the
    timeline's `owners` or None.
    """

    merged_below_ns: int
    lane: Sequence[int]
    meaning: Sequence[Meaning]
    start_ns: Sequence[int]
    end_ns: Sequence[int]
    busy_ns: Sequence[int]
    count: Sequence[int]
    owner: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Lanes:
    """A timeline: what happened when, one lane per device and kind, in levels from coarse to fine."""

    caption: str
    start_ns: int
    end_ns: int
    lanes: Sequence[Lane]
    levels: Sequence[MarkLevel]
    owners: Sequence[str]
    owner_anchors: Sequence[str]
    key: Sequence[tuple[Meaning, str]]
    anchor: str
    note: str = ""
