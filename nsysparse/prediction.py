"""What `nsysparse kv` answers, field by field; docs/reference/report-json.md has the meaning of each key."""

from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.analysis import Reason
from nsysparse.lengths import Histogram

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Band:
    """A range of a number, ends included; an end that cannot be known is None."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """A range of sequence lengths; an end that does not exist is None."""

    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Steps:
    """The decode step that transfers are held against, in nanoseconds, from the shortest to the longest."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a shipment beside its size.

    Attributes:
        tokens: Lengths of sequences, at least one.
        batch: How many of a length cross at once, at least one.
        step_ns: The decode step, from the shortest to the longest.
        layer_ns: Time to compute one layer; None: layers are not sent as they are computed.
        fixed_cost_ns: What a transfer costs whatever its size; None: unknown.
        benefit_ns: What a request gains from disaggregation before its transfer is paid for; None: not asked.
        lengths: How long requests are; None: not asked.
    """

    tokens: Sequence[int]
    batch: Sequence[int]
    step_ns: Steps
    layer_ns: int | None = None
    fixed_cost_ns: int | None = None
    benefit_ns: int | None = None
    lengths: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One cache over one kind of link.

    `bytes` cross in all, `link_bytes` of them on the busiest of `link_count` links side by side, whose times are told.
    `steps` is the time at the line rate in decode steps: of the longest, of the shortest. `critical_tokens` and
    `fixed_cost_tokens` are of one request over this link, whatever the row's own length and batch.
    """

    link: str | None
    peak_gb_s: float
    peak_source: str
    practical_gb_s: float | None
    practical_source: str | None
    link_count: int
    batch: int
    tokens: int
    bytes: int
    saved_bytes: int
    rank_bytes: int
    link_bytes: int
    line_rate_ns: int
    practical_ns: int | None
    steps: Band
    critical_tokens: Tokens
    practical_critical_tokens: Tokens
    fixed_cost_tokens: int | None
    exposed_ns: int | None


@dataclass(frozen=True, slots=True)
class Packing:
    """What a type of cached values would make of one token, and its part of what the cache's own type takes."""

    dtype: str
    name: str
    kv_bytes_per_token: int
    share: float


@dataclass(frozen=True, slots=True)
class LinkShares:
    """Shares of requests over one kind of link: below the fixed cost, above a decode step, worth the transfer."""

    link: str | None
    below_fixed_cost_share: float | None
    above_critical_share: Band
    pays_share: float | None


@dataclass(frozen=True, slots=True)
class Lengths:
    """Requests by length, and their shares; those beside `total` are the only link's, None where there are several."""

    source: str
    total: int
    unknown_count: int
    p50: int | None
    p90: int | None
    p99: int | None
    edges: Sequence[int]
    counts: Sequence[int]
    below_fixed_cost_share: float | None
    above_critical_share: Band
    pays_share: float | None
    by_link: Sequence[LinkShares]


@dataclass(frozen=True, slots=True)
class Prediction:
    """All of it: the model, what was asked, a row per link, batch and length, and why what is missing is missing."""

    format_version: int
    nsysparse: str
    model: str
    model_note: str
    kv_bytes_per_token: int
    late_kv_bytes_per_token: int
    state_bytes: int
    bytes_per_rank: int
    batch: Sequence[int]
    tokens: Sequence[int]
    tp: int
    pp: int
    block: int
    mla: str
    nics: int
    kv_dtype: str
    wire_dtype: str | None
    step_ns: Steps
    layer_count: int
    layer_ns: int | None
    fixed_cost_ns: int | None
    benefit_ns: int | None
    rows: Sequence[Row]
    packings: Sequence[Packing]
    lengths: Lengths | None
    reasons: Sequence[Reason]
