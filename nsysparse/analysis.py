"""The result of analysing traces: every number of a report, once, with its reasons.

The tree mirrors the JSON contract (docs/reference/report-json.md) name by name; docs/metrics.md defines each
number. Unknown is None and `reasons` says why. Lists are sorted by their key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

FORMAT_VERSION = 1
# Between what a verdict's text says and the command that would change it, where it ends in one.
ADVICE = " To change that: "
# What to do where no range names a layer or a request.
TEACH = (
    "Annotate transfers (nsysparse convention --python), or teach nsysparse your own ranges:"
    " `nsysparse presets check generic TRACE` lists those that no rule knows."
)
PURPOSES: Mapping[str, tuple[str, ...]] = {
    "kv+unknown": ("kv", "unknown"),
    "kv": ("kv",),
    "all": ("kv", "unknown", "other"),
}
"""What can be asked to be counted, and the purposes that it covers; the first is the default."""
DEFAULT_PURPOSE = next(iter(PURPOSES))
DEFAULT_THRESHOLD = 0.20
"""Share of the way to the first token over which the KV gap is too much."""
DECODE_FIRST, PREFILL_FIRST = "decode-emits-first", "prefill-emits-first"
CONVENTIONS = (DECODE_FIRST, PREFILL_FIRST)
"""Which side emits the first token of a request."""
PREFILL, DECODE, MIXED = "prefill", "decode", "mixed"
ROLES = (PREFILL, DECODE, MIXED)
"""What a trace, a process or a transfer may be of."""
READERS = ("auto", "pages", "sql")
"""How whole tables are read: from the pages of the file wherever these tell all, from pages, or by SQL."""
CLOCK_MODES = ("auto", "utc", "estimate", "none")
"""How clocks of several traces may be aligned; the first is the default."""
UTC_ERROR_NS = 50_000_000
"""How far the UTC of two hosts is taken to be apart: NTP is off by one to tens of milliseconds, as NVIDIA's user guide
has it (“Time Synchronization”)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The run's one answer. `state` is ok, over, unresolved or unknown; `value` is the p50 of kv_gap_share.

    `text` says it in one sentence, after which `ADVICE` may name what would change it; `detail` has what more is known:
    over how many requests, what moved, and why a rate is not known, at length.
    Of `request_count` requests the share of `known_count` is known; of these `over_count` are over the threshold and
    `unresolved_count` may be, as far as clocks can tell. `cut_count` are cut by the capture's beginning or end.
    """

    state: str
    text: str
    value: float | None = None
    uncertainty: float | None = None
    threshold: float | None = None
    basis: str | None = None
    over_count: int | None = None
    known_count: int | None = None
    request_count: int | None = None
    unresolved_count: int | None = None
    cut_count: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader must know before any number, e.g. that the trace is synthetic."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Gpu:
    """A device as the trace names it."""

    device_id: int
    name: str | None


@dataclass(frozen=True, slots=True)
class Capability:
    """Whether a fact was recorded: status is present, partial or absent; `fix` is the command that records it."""

    status: str
    reason: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """One input file."""

    trace_id: str
    file: str
    nsys_version: str | None
    schema_version: str | None
    role: str | None
    role_source: str | None
    duration_ns: int | None
    gpus: tuple[Gpu, ...]
    capabilities: Mapping[str, Capability]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting and where it came from (option, default, trace, …)."""

    value: object
    source: str


@dataclass(frozen=True, slots=True)
class PurposeTotals:
    """What one purpose (kv, unknown or other) contributes to the totals, where these cover it."""

    movement_count: int
    bytes: int | None
    time_ns: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over movements of the purposes counted (kv and unknown unless asked); per-side sums say so in their name."""

    movement_count: int
    transfer_count: int
    paired_count: int | None
    kernel_count: int
    fused_kernel_count: int
    bytes: int | None
    bytes_known_share: float | None
    time_ns: int | None
    send_time_ns: int | None
    busy_ns: int | None
    wire_ns: int | None
    peer_wait_ns: int | None
    exposed_wire_ns: int | None
    exposed_wait_ns: int | None
    overlapped_ns: int | None
    exposed_ns: int | None
    wire_known_share: float | None
    wait_known_share: float | None
    exposure_known_share: float | None
    exchange_count: int | None
    longer_kernel_ns: int | None
    shorter_kernel_ns: int | None
    both_present_ns: int | None
    self_copy_bytes: int | None
    first_use_count: int | None
    first_use_ns: int | None
    by_purpose: Mapping[str, PurposeTotals]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Percentiles (linear between ranks) over movements or requests; without first uses and self copies."""

    count: int
    p10: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class SizeCeiling:
    """What messages of one size reached in a benchmark of the link, in GB/s."""

    bytes: int
    gb_s: float


@dataclass(frozen=True, slots=True)
class Link:
    """One directed link: what crossed it, how fast, and what it could have done. Rates in GB/s."""

    link_key: str
    link_name: str | None
    transport: str
    src: str
    dst: str
    communicator: str | None
    pairing: str | None
    movement_count: int
    bytes: int | None
    busy_ns: int | None
    link_gb_s: float | None
    wire_gb_s: Distribution | None
    kernel_gb_s: Distribution | None
    delivered_gb_s: float | None
    headline_gb_s: float | None
    headline_basis: str | None
    headline_is_bound: bool | None
    headline_bytes_share: float | None
    peak_gb_s: float | None
    peak_source: str | None
    practical_gb_s: float | None
    practical_source: str | None
    practical_curve: tuple[SizeCeiling, ...]
    efficiency: float | None
    theoretical_ns: int | None
    practical_ns: int | None
    observed_ns: int | None
    fixed_cost_ns: int | None
    fitted_gb_s: float | None
    inconsistent_count: int


@dataclass(frozen=True, slots=True)
class Port:
    """Bytes and union time of one device in one direction (egress or ingress); `gpu` as in the ends of links."""

    trace_id: str
    device_id: int
    gpu: str
    direction: str
    bytes: int | None
    busy_ns: int | None
    peak_gb_s: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class CounterCheck:
    """One hardware counter beside the transfers that it should have seen.

    A counter sees all that its device or node moved, so `ratio` = `counted_bytes` / `payload_bytes` is near or above 1
    where sizes and device are right; it proves neither.
    """

    trace_id: str
    source: str
    device: str | None
    metric: str
    direction: str | None
    covered_ns: int
    counted_bytes: int | None
    payload_bytes: int | None
    ratio: float | None
    note: str


@dataclass(frozen=True, slots=True)
class Layer:
    """What one model layer's transfers cost. `provenance` counts movements by how their layer is known.

    Rates in GB/s are over movements that are of this layer alone.
    """

    layer: int
    movement_count: int
    bytes: int | None
    time_ns: int | None
    busy_ns: int | None
    wire_ns: int | None
    peer_wait_ns: int | None
    exposed_wire_ns: int | None
    exposed_wait_ns: int | None
    overlapped_ns: int | None
    headline_gb_s: float | None
    provenance: Mapping[str, int]
    wire_gb_s: Distribution | None
    kernel_gb_s: Distribution | None


@dataclass(frozen=True, slots=True)
class Request:
    """What one request's transfers cost, and where its time to first token went.

    `path_basis` says whether the path begins with its arrival or its prefill. `missing` says why its gap, or its share,
    is not known, and is empty where both are. `blame` is what most of the gap is made of: link, wait (a late sender),
    receiver (a late one), transfer (link or wait), fragmentation, handoff or scheduler. `attempt_count` is how often
    its whole KV was sent.
    `uncertainties` says how far each time of two clocks, or of two devices of one file, may be off, `uncertainty_ns`
    the KV gap.
    """

    request_id: str
    start_ns: int | None
    span: Mapping[str, int | None] | None
    movement_count: int
    bytes: int | None
    expected_bytes: int | None
    time_ns: int | None
    busy_ns: int | None
    wire_ns: int | None
    peer_wait_ns: int | None
    gap_ns: int | None
    exposed_to_request_ns: int | None
    provenance: Mapping[str, int]
    prompt_tokens: int | None
    queue_ns: int | None
    prefill_ns: int | None
    handoff_ns: int | None
    overlap_ns: int | None
    transfer_span_ns: int | None
    ready_to_decode_ns: int | None
    first_decode_ns: int | None
    path_ns: int | None
    kv_gap_ns: int | None
    kv_gap_share: float | None
    ttft_ns: int | None
    ttft_convention: str | None
    tpot_impact_ns: int | None
    verdict: str
    uncertainty_ns: int | None
    clock: str | None
    path_basis: str | None
    tpot_ns: int | None
    tpot_without_gap_ns: int | None
    prefill_step_count: int
    decode_step_count: int
    attempt_count: int | None
    blame: str | None
    missing: str
    kv_gap_share_low: float | None
    kv_gap_share_high: float | None
    uncertainties: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell where a layer and a request cross; `bytes` None when the sizes are unknown."""

    layer: int
    request_id: str
    bytes: int | None
    time_ns: int | None


@dataclass(frozen=True, slots=True)
class MessageSize:
    """All movements of one size on one link, by one transport, with the rates of those that prove any."""

    link_key: str
    transport: str
    bytes: int
    count: int
    wire_gb_s: Distribution | None
    kernel_gb_s: Distribution | None


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the timeline: what one device did of one kind.

    `gpu` as in the ends of links; where no device is known, the process (`pid300`), or `unknown`. `kind` is steps,
    compute (of a device without steps), sends, receives, or transfers of which it is not known which way they go.
    `uncertainty_ns` is how far the lane may be off those of the base's own clock.
    """

    trace_id: str
    gpu: str
    kind: str
    uncertainty_ns: int


@dataclass(frozen=True, slots=True)
class TimelineLevel:
    """The marks of one level of detail, a column each, sorted by lane and start.

    A mark is made of stretches of one lane and kind between which less than `merged_below_ns` passes; of 0 ns, of those
    that overlap. `lane`, `kind` and `request` are indices into `Timeline.lanes`, `Timeline.kinds` and
    `Analysis.requests`; `request` is None unless all stretches are of one request. `busy_ns` is how much of the mark
    they cover, `count` how many they are.
    """

    merged_below_ns: int
    lane: tuple[int, ...]
    kind: tuple[int, ...]
    start_ns: tuple[int, ...]
    end_ns: tuple[int, ...]
    busy_ns: tuple[int, ...]
    count: tuple[int, ...]
    request: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Undrawn:
    """Stretches of one trace that are in no level.

    `reason` is no-time (it is not known when they were), clock (the trace's could not be aligned with the base's) or
    lanes (there are too many).
    """

    trace_id: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened when, on the clock of the trace `base`, at several levels of detail, the coarsest first.

    Times count from `origin_ns` of that clock: there the first mark begins, so `start_ns` is 0. `end_ns` is the end of
    the last. `marks_dropped` is the sum of `undrawn`.
    """

    base: str
    origin_ns: int
    start_ns: int
    end_ns: int
    lanes: tuple[Lane, ...]
    kinds: tuple[str, ...]
    levels: tuple[TimelineLevel, ...]
    marks_dropped: int
    undrawn: tuple[Undrawn, ...]


@dataclass(frozen=True, slots=True)
class Unattributed:
    """The share of the total without a layer (or request)."""

    movement_count: int
    bytes: int | None
    time_ns: int | None
    wire_ns: int | None = None
    peer_wait_ns: int | None = None
    exposed_wire_ns: int | None = None
    exposed_wait_ns: int | None = None
    overlapped_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what moved has a field (layer, request, phase, role) by one provenance; `none`: has not."""

    field: str
    provenance: str
    movement_count: int
    bytes: int | None
    bytes_share: float | None
    time_ns: int | None
    time_share: float | None


@dataclass(frozen=True, slots=True)
class Excluded:
    """Traffic that is not KV, and the rule that says so."""

    purpose: str
    rule: str
    transfer_count: int
    movement_count: int
    kernel_count: int
    bytes: int | None
    time_ns: int | None


@dataclass(frozen=True, slots=True)
class LinkTheory:
    """What moving all observed bytes of one link would take at its line rate and at its practical ceiling."""

    link: str
    line_rate_ns: int | None
    practical_ns: int | None
    critical_tokens: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Theory:
    """What the model says must move."""

    kv_bytes_per_token: int | None
    expected_bytes: int | None
    by_link: tuple[LinkTheory, ...]


@dataclass(frozen=True, slots=True)
class Clock:
    """How the clock of one trace (`other`) stands against that of another (`base`).

    `offset_ns` is `other` - `base` after the recorded UTC of both, in the middle of the run, null where the two could
    not be aligned: then `method` is `refused` and `note` says why. `uncertainty_ns` is the largest error over the run.
    """

    base: str
    other: str
    method: str
    offset_ns: int | None
    uncertainty_ns: int | None
    drift_ppm: float | None
    one_sided: bool | None
    pair_count: int
    note: str


@dataclass(frozen=True, slots=True)
class DecodeDevice:
    """What one decode device did between its first and its last decode work.

    `by_reason` divides `idle_ns`. `delayed_…` are steps that began only after KV of their new requests had arrived.
    `uncertainty_ns` is idle time of which the clocks of other files decide the reason, None where all is of one clock.
    `token_ms_…` are times from one step's end to the next, with and without KV arriving meanwhile; `slowdown_ratio` is
    the time of the same kernels while KV arrived over that while none did.
    """

    trace_id: str
    device_id: int
    gpu: str
    basis: str
    step_count: int
    active_ns: int
    idle_ns: int
    idle_share: float | None
    by_reason: Mapping[str, int]
    idle_while_pending_ns: int | None
    delayed_step_count: int | None
    delayed_ns: int | None
    uncertainty_ns: int | None
    token_ms_with_transfer: Distribution | None
    token_ms_without_transfer: Distribution | None
    slowdown_ratio: float | None
    slowdown_kernel_count: int


@dataclass(frozen=True, slots=True)
class PrefillLayer:
    """How much of one layer's sends a prefill device hid behind compute."""

    layer: int
    time_ns: int
    exposed_ns: int
    overlapped_ns: int
    exposed_share: float | None


@dataclass(frozen=True, slots=True)
class PrefillDevice:
    """What sending cost one prefill device.

    `stall_ns` is time within prefill steps in which a send ran and no compute did; `tail_ms` is per request how long
    after the end of its prefill its last send ended.
    """

    trace_id: str
    device_id: int
    gpu: str
    step_count: int
    step_ns: int
    stall_ns: int
    stall_share: float | None
    send_ns: int
    exposed_ns: int
    layers: tuple[PrefillLayer, ...]
    tail_ms: Distribution | None


@dataclass(frozen=True, slots=True)
class PromptBucket:
    """Requests whose prompts have from `low` to below `high` tokens."""

    low: int
    high: int
    request_count: int
    over_count: int
    kv_gap_ms: Distribution | None
    kv_gap_share: Distribution | None
    ttft_ms: Distribution | None


@dataclass(frozen=True, slots=True)
class Band:
    """A range of whole numbers, ends included."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Requests by the length of their prompts, and the lengths at which splitting begins, and ceases, to pay.

    `counts[k]` requests have from `edges[k]` to below `edges[k + 1]` tokens; `total` have a known length. Below
    `break_even_tokens` (the 10th to 90th percentile of `break_even_count` requests) messages' fixed cost takes longer
    than the prefill that splitting keeps from a request that decodes. A prompt of more than `critical_tokens` needs
    longer at the line rate of `critical_link` than a decode step of `step_ns`, which is told (`step_basis` option) or
    the 10th to 90th percentile of the run's own `step_count` steps (measured).
    """

    unit: str
    edges: tuple[int, ...]
    counts: tuple[int, ...]
    total: int
    break_even_tokens: Band | None
    critical_tokens: Band | None
    below_break_even_share: float | None
    unknown_count: int
    break_even_count: int
    critical_link: str | None
    step_ns: Band | None
    step_basis: str | None
    step_count: int


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What one change would do to the KV gap, per request in the median, computed from the run's own numbers.

    `kv_gap_ns` is the gap today of the requests that it would touch. Medians do not add up.
    """

    id: str
    kv_gap_ns: int | None
    predicted_kv_gap_ns: int | None
    saves_ns: int | None
    costs_ns: int | None
    request_count: int
    basis: str
    assumption: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth doing something about, in nanoseconds lost."""

    id: str
    kind: str
    severity: str
    title: str
    evidence: str
    cost_ns: int | None
    advice: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a value is null: `path` is a JSON Pointer into the report, `fix` the command or option that changes it."""

    path: str
    code: str
    message: str
    fix: str = ""


MISSING_FILES = "traces-unreadable"
_OF_A_PART = frozenset({MISSING_FILES, "part-of-the-time"})
"""Warnings that no number of the report is of the whole."""


@dataclass(frozen=True, slots=True)
class AnalysisWarning:
    """Something odd that was seen `count` times and did not stop the analysis."""

    code: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything a report says."""

    nsysparse: str
    verdict: Verdict
    notice: Notice | None
    traces: tuple[TraceFacts, ...]
    settings: Mapping[str, Setting]
    totals: Totals
    summary: Mapping[str, Distribution | None]
    links: tuple[Link, ...]
    ports: tuple[Port, ...] | None
    counters: tuple[CounterCheck, ...]
    layers: tuple[Layer, ...]
    requests: tuple[Request, ...]
    layer_request: tuple[Cell, ...]
    message_sizes: tuple[MessageSize, ...]
    lengths: Lengths | None
    timeline: Timeline | None
    unattributed: Mapping[str, Unattributed]
    coverage: tuple[Coverage, ...]
    excluded: tuple[Excluded, ...]
    decode: tuple[DecodeDevice, ...] | None
    clocks: tuple[Clock, ...] | None
    theory: Theory
    whatif: tuple[WhatIf, ...] | None
    findings: tuple[Finding, ...]
    reasons: tuple[Reason, ...]
    warnings: tuple[AnalysisWarning, ...]
    prefill: tuple[PrefillDevice, ...] | None = None
    prompts: tuple[PromptBucket, ...] | None = None
    worst: tuple[str, ...] = ()
    format_version: int = field(default=FORMAT_VERSION)

    @property
    def of_a_part(self) -> tuple[AnalysisWarning, ...]:
        """What its numbers are not of: a time that was left out, files that could not be read."""
        return tuple(each for each in self.warnings if each.code in _OF_A_PART)

    def reason(self, path: str) -> Reason | None:
        """Why the value at `path`, a JSON Pointer into the report, is null; None where no reason is given."""
        return next((each for each in self.reasons if each.path == path), None)
