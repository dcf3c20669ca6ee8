"""The result of comparing two runs: every change once, with how it is judged and why.

The tree mirrors the JSON contract (docs/reference/diff-json.md) name by name; docs/metrics.md defines each number.
Unknown is None and `reason` says why. Of several base runs a value is the median, and their spread widens the floor.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nsysparse.analysis import Distribution, Notice, Setting

FORMAT_VERSION = 1
IMPROVED, REGRESSED, CHANGED, UNCHANGED, NOT_COMPARABLE = (
    "improved",
    "regressed",
    "changed",
    "unchanged",
    "not-comparable",
)
MIXED = "mixed"
"""Of a whole comparison: some of it improved, some regressed."""
DEFAULT_NOISE = 0.05
"""Share of the larger of two values by which they must differ to count as changed."""
DEFAULT_SAMPLES = 8
"""So many observations a percentile of either run needs to be compared."""


@dataclass(frozen=True, slots=True)
class Change:
    """One metric of one subject in both runs.

    `subject` is a layer, a link, a request, a class of prompt lengths, or empty for the whole run. `better` is higher,
    lower or neither. `delta` is candidate - base, `ratio` candidate / base, None where the base is 0. `verdict` is
    improved, regressed, changed (where neither direction is better), unchanged or not-comparable; `reason` says why
    what is not comparable is not, or why what moved does not count. To count, a change must exceed the relative
    threshold and `floor` (in the metric's unit, set by `floor_basis`: metric, base-runs or clocks). `base_doubt` and
    `candidate_doubt` are how far clocks may have either value off. `base_count` and `candidate_count` are
    observations, None for sums. The comparison's verdict rests on those that `decides`.
    """

    subject: str
    metric: str
    unit: str
    better: str
    base: float | None
    candidate: float | None
    delta: float | None
    ratio: float | None
    verdict: str
    reason: str
    floor: float | None
    floor_basis: str | None
    base_doubt: float
    candidate_doubt: float
    base_count: int | None
    candidate_count: int | None
    decides: bool


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition under which the comparison fails: `passed` is None where it cannot be answered, `reason` says why.

    `value` is what it was held against: a share of the base's value for `%` with a sign, else in the metric's unit.
    """

    expression: str
    value: float | None
    passed: bool | None
    reason: str


@dataclass(frozen=True, slots=True)
class Remark:
    """What a reader must know before comparing: `code` is stable, `message` says what differs."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The comparison's one answer: `state` is improved, regressed, mixed, unchanged or not-comparable."""

    state: str
    text: str
    improved_count: int
    regressed_count: int
    unchanged_count: int
    not_comparable_count: int


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs, or several base runs: `files` of each, and what its own report says first."""

    files: tuple[tuple[str, ...], ...]
    nsysparse: str
    state: str
    value: float | None
    text: str
    settings: Mapping[str, Setting]
    notice: Notice | None


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution of both runs, for one axis; of several base runs the first's."""

    metric: str
    unit: str
    base: Distribution | None
    candidate: Distribution | None


@dataclass(frozen=True, slots=True)
class LinkRate:
    """A link's rate in one run, in GB/s."""

    headline_gb_s: float | None
    headline_basis: str | None
    headline_is_bound: bool | None
    wire_gb_s: Distribution | None
    peak_gb_s: float | None
    practical_gb_s: float | None
    movement_count: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class LinkPair:
    """A link in both runs; None in a run without it."""

    link: str
    base: LinkRate | None
    candidate: LinkRate | None


@dataclass(frozen=True, slots=True)
class LayerCurve:
    """One metric of all layers in both runs, a column each."""

    metric: str
    unit: str
    layer: tuple[int, ...]
    base: tuple[float | None, ...]
    candidate: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """How much longer a byte took, by layer and request, or class of prompt lengths (`by` id or prompt-length).

    `change[k][n]` is candidate / base - 1 of layer `layers[k]` and column `columns[n]`, of time over bytes, waiting
    included; of several base runs the first's. `dropped_count` columns with less transfer time are left out.
    """

    by: str
    layers: tuple[int, ...]
    columns: tuple[str, ...]
    change: tuple[tuple[float | None, ...], ...]
    dropped_count: int


@dataclass(frozen=True, slots=True)
class Requests:
    """How requests were compared: `matched_by` is id, prompt-length or none; rows by what moved most."""

    matched_by: str
    note: str
    base_count: int
    candidate_count: int
    matched_count: int
    rows: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """How many rows of each kind were compared; those that neither moved nor failed to compare are in no list."""

    metrics: int
    links: int
    layers: int
    requests: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, held against each other.

    `metrics` has all of the whole run; `links`, `layers` and `requests` have what moved or cannot be compared, what
    moved most first.
    """

    nsysparse: str
    verdict: Outcome
    base: Side
    candidate: Side
    base_run_count: int
    noise: float
    min_samples: int
    comparability: tuple[Remark, ...]
    gates: tuple[Gate, ...]
    metrics: tuple[Change, ...]
    links: tuple[Change, ...]
    layers: tuple[Change, ...]
    requests: Requests
    compared: Compared
    spreads: tuple[Spread, ...]
    link_pairs: tuple[LinkPair, ...]
    layer_curves: tuple[LayerCurve, ...]
    cells: Cells | None
    format_version: int = FORMAT_VERSION
