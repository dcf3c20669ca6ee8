"""Why a value is null: one row for each value that can be, and a walk that keeps the rows that apply.

A path is a JSON Pointer in which `*` stands for every element of a list or object.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass

from nsysparse.analysis import Capability, Reason
from nsysparse.kinds import HOST_STAGED, NCCL

NOT_MEASURED = "not-measured"
NEEDS_OPTION = "needs-option"
NOT_RECORDED = "not-recorded"
NOT_APPLICABLE = "not-applicable"
AMBIGUOUS = "ambiguous"

# May be null without a reason: there is simply nothing to say.
FREE = frozenset({"/notice"})

_WIRE = (
    "no movement here is proven to have met its other side in this run, with both on one clock or with more bytes than"
    " NCCL can buffer: a capture may begin between a send and its receive, only one side or only a call was recorded,"
    " one was over before the other began, or the sides are in files with clocks of their own"
)
_WIRE_FIX = "record both sides in one nsys profile that starts before NCCL's communicators are made"
_WAIT = f"{_WIRE}; or its interval is one that a host saw, which does not show who waited"
_NO_RATE = (
    "no movement (but a first use) has size and time, and more bytes than NCCL can buffer, or only calls were recorded"
)
_NO_BURST = (
    "no three movements followed on each other with more bytes behind the first than NCCL can buffer, or their sizes or"
    " times are unknown"
)
_NO_LINE = (
    "needs movements of three sizes, the largest four times the smallest, whose receiver was there first, on a rising"
    " line"
)
_NO_BREAK_EVEN = (
    "needs a request of which all is known: the fixed cost of its messages (`fixed_cost_ns` of its link), the length of"
    " its prompt, the compute of its prefill steps and the prompts of all others in them, its time on the wire apart"
    " from waiting, and that it was sent once"
)
_LINE_FIX = (
    "Record prompts of several lengths, so that messages have three sizes, the largest four times the smallest, with"
    " receives posted before their sends; annotate steps and requests: docs/reference/convention.md (kv_step,"
    " kv_request)"
)
_COMPUTE = "needs the transfer's own device, with its kernels recorded"
_STEPS_FIX = "Annotate steps and requests: docs/reference/convention.md (kv_step, kv_request)"
_NO_PATH = (
    "needs steps of prefill and of decode that name their requests, all within the capture, transfers between them, and"
    " clocks of their files that could be aligned; `missing` of a request says which it lacks"
)
_NO_LIFE = (
    "needs transfers and decode steps that name their request, and where only the other side's file shows that its KV"
    " has arrived, clocks that could be aligned"
)
_NO_CONVENTION = "which side emits the first token is not known: no trace records it"
_TTFT_FIX = "--ttft decode-emits-first|prefill-emits-first"
_LINK = "no link is named, and a trace does not record its speed"
_NAMED = ("link", "peak_gb_s", "box")
_HOST = "the peak named is of the wire between GPUs, and a link that ends at the host is another"
_ELSEWHERE = (
    "what is assumed, or a machine has, is the link between GPUs of one trace, or of two traces: this one has an end"
    " that is no device of a trace, or nothing is known of links between traces"
)
_HOST_OR = f"{_HOST}; of other links the bytes, the rate or the ceiling is not known"
_TIMELESS = "no kernel of the movements counted here was recorded, or none could be"
_NO_END = f"{_TIMELESS}; or only calls were, which need not last as long as their transfers"
_ANNOTATE = "Annotate it: docs/reference/convention.md"
_ROLE_FIX = "--role FILE=prefill|decode|mixed, or a kv_role mark (docs/reference/convention.md)"
_LINK_FIX = "--link ID (`nsysparse links list`), --box ID or --peak GB/S"
_PEAK_FIX = "--peak GB/S"
_MODEL_FIX = "--model ID (`nsysparse models list`)"


@dataclass(frozen=True, slots=True)
class Rule:
    """One possible null and its explanation; of several for a path the first that applies is told.

    Attributes:
        capability: Reason and fix come from what was not recorded, when it was not.
        unless: Settings (`link`, `peak_gb_s`, `model`) any of which, when given, makes this the wrong explanation.
        beside: A path that must be null too, or this is the wrong explanation.
        transport: One without which this explains nothing.
    """

    path: str
    code: str
    message: str = ""
    fix: str = ""
    capability: str = ""
    unless: tuple[str, ...] = ()
    beside: str = ""
    transport: str = ""


RULES = (
    *(Rule(f"/verdict/{name}", NOT_RECORDED, _NO_PATH, _STEPS_FIX)
      for name in ("value", "uncertainty", "basis")),
    Rule("/traces/*/nsys_version", NOT_RECORDED, "the file has no export metadata"),
    Rule("/traces/*/schema_version", NOT_RECORDED, "the file has no export metadata"),
    *(Rule(f"/traces/*/{name}", NOT_RECORDED, "no mark, step, range or direction of a transfer says whether this is"
           " prefill or decode", _ROLE_FIX) for name in ("role", "role_source")),
    Rule("/traces/*/duration_ns", NOT_RECORDED, "the file has no ANALYSIS_DETAILS"),
    Rule("/traces/*/gpus/*/name", NOT_RECORDED, capability="gpu_names"),
    *(Rule(f"/settings/{name}/value", NEEDS_OPTION, _LINK, _LINK_FIX, unless=_NAMED) for name in (
        "link", "peak_gb_s",
    )),
    Rule("/settings/link/value", NOT_APPLICABLE, "the peak is given by --peak, for a link without a name"),
    Rule("/settings/peak_gb_s/value", NOT_APPLICABLE, "the peak is the catalogue's, by --link"),
    Rule("/settings/box/value", NEEDS_OPTION, "no machine is named", "--box ID (`nsysparse links list --boxes`)"),
    Rule("/settings/measured/value", NEEDS_OPTION, "no benchmark's output is given, so a practical ceiling is what"
         " others measured", "--measured FILE (docs/reference/measured.md)"),
    Rule("/settings/model/value", NEEDS_OPTION, "no model is named", _MODEL_FIX),
    Rule("/settings/wire_dtype/value", NEEDS_OPTION, "values are taken to cross as they are kept", "--wire-dtype TYPE"),
    Rule("/settings/layers/value", NEEDS_OPTION, "the number of layers matters only for `layer=all` and where the"
         " order of sends tells layers", "--layers N"),
    Rule("/settings/normalize_request/value", NEEDS_OPTION, "ids of requests are taken as they are",
         "--normalize-request REGEX"),
    Rule("/settings/roles/value", NEEDS_OPTION, "the traces themselves tell their roles, or nothing does", _ROLE_FIX),
    Rule("/settings/request_pattern/value", NEEDS_OPTION, "only presets name requests", "--request-pattern REGEX"),
    Rule("/settings/time_range/value", NEEDS_OPTION, "all of the recording is read", "--time-range A..B"),
    Rule("/settings/ttft/value", NEEDS_OPTION, _NO_CONVENTION, _TTFT_FIX),
    Rule("/totals/bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/totals/bytes_known_share", NOT_APPLICABLE, "there is no movement to know the bytes of"),
    *(Rule(f"/totals/{name}", NOT_RECORDED, _TIMELESS) for name in (
        "time_ns", "send_time_ns", "busy_ns",
    )),
    *(Rule(f"/{where}/{name}", NOT_RECORDED, why, _WIRE_FIX) for where in (
        "totals", "layers/*", "requests/*", "unattributed/*",
    ) for name, why in (("wire_ns", _WIRE), ("peer_wait_ns", _WAIT))),
    *(Rule(f"/totals/{name}_known_share", NOT_APPLICABLE, "there is no time of which this part could be known")
      for name in ("wire", "wait", "exposure")),
    *(Rule(f"/{where}/overlapped_ns", NOT_RECORDED, _COMPUTE) for where in ("totals", "layers/*", "unattributed/*")),
    *(Rule(f"/{where}/{name}", NOT_RECORDED, f"needs the wire time and compute kernels of the same device: {_WIRE}",
           _WIRE_FIX, beside=f"/{where}/{part}") for where in ("totals", "layers/*", "unattributed/*")
      for name, part in (("exposed_wire_ns", "wire_ns"), ("exposed_wait_ns", "peer_wait_ns"))),
    *(Rule(f"/{where}/{name}", NOT_RECORDED, _COMPUTE) for where in ("totals", "layers/*", "unattributed/*")
      for name in ("exposed_wire_ns", "exposed_wait_ns")),
    Rule("/totals/exposed_ns", NOT_RECORDED, _COMPUTE),
    *(Rule(f"/totals/{name}", NOT_RECORDED, capability="nccl_calls") for name in (
        "exchange_count", "longer_kernel_ns", "shorter_kernel_ns", "both_present_ns",
    )),
    Rule("/totals/self_copy_bytes", NOT_RECORDED, "no own rank is known: the creation of the communicators lies outside"
         " the capture, or came without payload"),
    *(Rule(f"/totals/{name}", NOT_RECORDED, capability="nccl_communicators") for name in (
        "first_use_count", "first_use_ns",
    )),
    Rule("/totals/by_purpose/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    *(Rule(f"/{where}/*/time_ns", NOT_RECORDED, _TIMELESS) for where in (
        "totals/by_purpose", "layers", "requests", "layer_request", "unattributed", "excluded",
    )),
    Rule("/summary/wire_gb_s", NOT_RECORDED, _WIRE, _WIRE_FIX),
    Rule("/summary/peer_wait_ms", NOT_RECORDED, _WAIT, _WIRE_FIX),
    Rule("/summary/delivered_gb_s", NOT_APPLICABLE, _NO_BURST),
    Rule("/summary/exposed_ms", NOT_RECORDED, _COMPUTE),
    *(Rule(f"/summary/{name}", NEEDS_OPTION, _NO_CONVENTION, _TTFT_FIX, beside="/settings/ttft/value") for name in (
        "ttft_ms", "tpot_ms",
    )),
    *(Rule(f"/summary/{name}", NOT_RECORDED, _NO_PATH, _STEPS_FIX) for name in (
        "kv_gap_ms", "kv_gap_share", "ttft_ms", "tpot_ms", "tpot_without_gap_ms", "handoff_ms", "ready_to_decode_ms",
        "queue_ms", "prefill_ms", "transfer_span_ms", "first_decode_ms", "path_ms", "exposed_to_request_ms",
    )),
    *(Rule(f"/summary/{name}", NOT_RECORDED, f"{_WIRE}; or the way to the first token is not known", _WIRE_FIX)
      for name in ("span_wire_ms", "span_peer_wait_ms", "span_sender_wait_ms", "span_gap_ms")),
    Rule("/summary/kernel_gb_s", NOT_RECORDED, _NO_RATE),
    Rule("/summary/message_bytes", NOT_RECORDED, capability="nccl_sizes"),
    *(Rule(f"/links/*/{name}", NEEDS_OPTION, _LINK, _LINK_FIX, unless=_NAMED) for name in (
        "link_name", "peak_gb_s", "peak_source", "practical_gb_s", "practical_source", "practical_ns", "efficiency",
        "theoretical_ns",
    )),
    *(Rule(f"/links/*/{name}", NOT_APPLICABLE, _HOST, transport=HOST_STAGED) for name in (
        "link_name", "peak_gb_s", "peak_source",
    )),
    *(Rule(f"/links/*/{name}", NOT_APPLICABLE, _HOST_OR, transport=HOST_STAGED) for name in (
        "practical_gb_s", "practical_source", "practical_ns", "efficiency", "theoretical_ns",
    )),
    *(Rule(f"/links/*/{name}", NOT_APPLICABLE, _ELSEWHERE, _PEAK_FIX, beside="/links/*/peak_gb_s") for name in (
        "link_name", "peak_gb_s", "peak_source", "practical_gb_s", "practical_source", "practical_ns", "efficiency",
        "theoretical_ns",
    )),
    *(Rule(f"/links/*/{name}", NOT_APPLICABLE, "no practical ceiling is known for this peak") for name in (
        "practical_gb_s", "practical_source",
    )),
    Rule("/links/*/practical_ns", NOT_APPLICABLE, "needs the bytes and a known practical ceiling"),
    Rule("/links/*/efficiency", NOT_RECORDED, _NO_RATE),
    Rule("/links/*/theoretical_ns", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/links/*/communicator", AMBIGUOUS, "not recorded, or several communicators used this link"),
    Rule("/links/*/pairing", NOT_RECORDED, "not all of its movements were seen from both sides"),
    Rule("/links/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/links/*/busy_ns", NOT_RECORDED, _TIMELESS),
    Rule("/links/*/observed_ns", NOT_RECORDED, _NO_END),
    *(Rule(f"/links/*/{name}", NOT_RECORDED, _NO_RATE) for name in (
        "link_gb_s", "kernel_gb_s", "headline_gb_s", "headline_basis", "headline_is_bound", "headline_bytes_share",
    )),
    Rule("/links/*/wire_gb_s", NOT_RECORDED, _WIRE, _WIRE_FIX),
    Rule("/links/*/delivered_gb_s", NOT_APPLICABLE, _NO_BURST),
    *(Rule(f"/links/*/{name}", NOT_APPLICABLE, _NO_LINE) for name in ("fixed_cost_ns", "fitted_gb_s")),
    Rule("/message_sizes/*/wire_gb_s", NOT_RECORDED, _WIRE, _WIRE_FIX),
    Rule("/message_sizes/*/kernel_gb_s", NOT_RECORDED, _NO_RATE),
    Rule("/ports/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/ports/*/busy_ns", NOT_RECORDED, _TIMELESS),
    Rule("/ports/*/peak_gb_s", NEEDS_OPTION, _LINK, _LINK_FIX, unless=_NAMED),
    Rule("/ports/*/peak_gb_s", NOT_APPLICABLE, "a device's port leads to links of several kinds, or of one that is not"
         " known", _PEAK_FIX),
    Rule("/ports/*/note", NOT_APPLICABLE, "nothing is odd about this port"),
    Rule("/counters/*/device", NOT_RECORDED, "the file does not name the network adapters that were sampled"),
    Rule("/counters/*/direction", NOT_RECORDED, "the counter's name does not say which way it counts"),
    *(Rule(f"/counters/*/{name}", NEEDS_OPTION, "counters of a GPU are percent of a peak that no trace records",
           "--link ID of the GPU's NVLink or PCIe (`nsysparse links list`)", unless=("link",)) for name in (
        "counted_bytes", "ratio",
    )),
    Rule("/counters/*/counted_bytes", NOT_APPLICABLE, "the link named is not what this counter counts, or nothing was"
         " sampled while transfers ran"),
    Rule("/counters/*/payload_bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/counters/*/ratio", NOT_APPLICABLE, "needs both the counted bytes and the payload's"),
    Rule("/layers/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/layers/*/busy_ns", NOT_RECORDED, _TIMELESS),
    Rule("/layers/*/headline_gb_s", NOT_MEASURED, "rates are told per link: a layer's transfers may cross several"),
    Rule("/layers/*/wire_gb_s", NOT_RECORDED, f"{_WIRE}; or every movement is of several layers", _WIRE_FIX),
    Rule("/layers/*/kernel_gb_s", NOT_RECORDED, f"{_NO_RATE}; or every movement is of several layers"),
    Rule("/requests/*/start_ns", NOT_RECORDED, "no kv_request range gives its arrival, or files of several clocks do",
         _ANNOTATE),
    Rule("/requests/*/prompt_tokens", NOT_RECORDED, "no kv_request range gives this request's prompt length",
         _ANNOTATE),
    Rule("/requests/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/requests/*/busy_ns", NOT_RECORDED, _TIMELESS),
    Rule("/requests/*/expected_bytes", NEEDS_OPTION, "needs the model", _MODEL_FIX, unless=("model",)),
    Rule("/requests/*/expected_bytes", NOT_RECORDED, "no kv_request range gives its prompt length", _ANNOTATE),
    *(Rule(f"/requests/*/{name}", NEEDS_OPTION, _NO_CONVENTION, _TTFT_FIX, beside="/settings/ttft/value") for name in (
        "ttft_ns", "ttft_convention", "tpot_impact_ns", "tpot_ns",
    )),
    Rule("/requests/*/ttft_convention", NOT_RECORDED, _NO_PATH, _STEPS_FIX),
    Rule("/requests/*/tpot_impact_ns", NOT_APPLICABLE, "where decode emits the first token, the gap delays that token"
         " and no later one; else a request without a known gap has none here"),
    Rule("/requests/*/queue_ns", NOT_RECORDED, "needs the request's arrival, told by a kv_request range on the side"
         " that prefills, and its first prefill step", _STEPS_FIX),
    *(Rule(f"/requests/*/{name}", NOT_RECORDED, "needs two decode steps that name it", _STEPS_FIX) for name in (
        "tpot_ns", "tpot_without_gap_ns",
    )),
    *(Rule(f"/requests/*/{name}", NOT_RECORDED, _NO_PATH, _STEPS_FIX) for name in (
        "span", "gap_ns", "exposed_to_request_ns", "handoff_ns", "overlap_ns", "transfer_span_ns", "ready_to_decode_ns",
    )),
    Rule("/requests/*/span/*", NOT_RECORDED, f"{_WIRE}; or the receiver's rank was not recorded", _WIRE_FIX),
    Rule("/requests/*/attempt_count", NOT_RECORDED, "needs transfers that name their layers, all layers alike",
         _ANNOTATE),
    Rule("/requests/*/blame", NOT_RECORDED, "needs all parts of a gap that is longer than its \u00b1, and one part that"
         " is the largest however the clocks are off", _STEPS_FIX),
    *(Rule(f"/requests/*/{name}", NOT_RECORDED, _NO_PATH, _STEPS_FIX) for name in (
        "prefill_ns", "first_decode_ns", "path_ns", "path_basis", "kv_gap_ns", "kv_gap_share", "ttft_ns",
        "kv_gap_share_low", "kv_gap_share_high",
        "uncertainty_ns", "clock",
    )),
    Rule("/prompts", NOT_RECORDED, "no kv_request range gives the length of a prompt", _ANNOTATE),
    *(Rule(f"/prompts/*/{name}", NOT_RECORDED, _NO_PATH, _STEPS_FIX)
      for name in ("kv_gap_ms", "kv_gap_share", "ttft_ms")),
    Rule("/layer_request/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/unattributed/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    *(Rule(f"/coverage/*/{name}", NOT_RECORDED, capability="nccl_sizes") for name in ("bytes", "bytes_share")),
    *(Rule(f"/coverage/*/{name}", NOT_RECORDED, _TIMELESS) for name in ("time_ns", "time_share")),
    Rule("/excluded/*/bytes", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/lengths", NOT_RECORDED, "no kv_request range gives the length of a prompt", _ANNOTATE),
    Rule("/lengths/break_even_tokens", NOT_RECORDED, f"what splitting costs is known of no request: it"
         f" {_NO_PATH}", _STEPS_FIX, beside="/whatif"),
    Rule("/lengths/break_even_tokens", NOT_RECORDED, _NO_BREAK_EVEN, _LINE_FIX),
    Rule("/lengths/below_break_even_share", NOT_APPLICABLE, "needs a break-even length"),
    Rule("/lengths/critical_tokens", NEEDS_OPTION, "needs the model", _MODEL_FIX, unless=("model",)),
    Rule("/lengths/critical_tokens", NEEDS_OPTION, _LINK, _LINK_FIX, unless=_NAMED, beside="/lengths/critical_link"),
    *(Rule(f"/lengths/{name}", NOT_RECORDED, "no decode step was recorded, and none is told", "--step-ms A..B",
           beside="/lengths/step_ns") for name in ("critical_tokens", "step_ns", "step_basis")),
    Rule("/lengths/critical_tokens", NOT_APPLICABLE, "of no link here the peak is known, or no length takes just one"
         " decode step on it"),
    Rule("/lengths/critical_link", NEEDS_OPTION, _LINK, _LINK_FIX, unless=_NAMED),
    Rule("/lengths/critical_link", NOT_APPLICABLE, "of no link here the peak is known", _PEAK_FIX),
    Rule("/timeline", NOT_RECORDED, "no transfer, step or kernel of which it is known when it ran was found",
         "record kernels, NVTX ranges and CUDA calls: `nsysparse capture ENGINE` prints how"),
    Rule("/timeline/levels/*/request/*", NOT_APPLICABLE, "what is drawn as one mark is of several requests, or not all"
         " of it names one that has transfers"),
    Rule("/decode", NOT_RECORDED, "no range says which kernels are decode steps, and no device that computes only"
         " receives for decode", _STEPS_FIX),
    Rule("/decode/*/idle_while_pending_ns", NOT_RECORDED, f"of no request of the device is known when its KV had"
         f" arrived: it {_NO_LIFE}", _STEPS_FIX),
    *(Rule(f"/decode/*/{name}", NOT_RECORDED, f"of no request is known both when its KV had arrived and which decode"
           f" step on the device is its first: it {_NO_LIFE}", _STEPS_FIX) for name in (
        "delayed_step_count", "delayed_ns",
    )),
    Rule("/decode/*/uncertainty_ns", NOT_APPLICABLE, "all that is known of the device's requests is on its own clock"),
    Rule("/decode/*/token_ms_with_transfer", NOT_RECORDED, "no KV was seen to arrive between two decode steps that"
         " follow on each other for a request", _STEPS_FIX),
    Rule("/decode/*/token_ms_without_transfer", NOT_RECORDED, "no two decode steps follow on each other for a request"
         " without KV arriving meanwhile", _STEPS_FIX),
    Rule("/decode/*/slowdown_ratio", NOT_APPLICABLE, "no kernel of one name and grid ran at least 8 times in decode"
         " steps while KV was received, and 8 times while none was"),
    Rule("/prefill", NOT_RECORDED, "no device has both prefill steps with kernels and sends of KV that show when they"
         " ran", _STEPS_FIX),
    Rule("/prefill/*/layers/*/exposed_share", NOT_APPLICABLE, "the layer's sends took no time"),
    Rule("/prefill/*/tail_ms", NOT_RECORDED, "no request is named both by a prefill step of the device and by a send"
         " from it", _STEPS_FIX),
    Rule("/clocks", NOT_APPLICABLE, "one file has one clock"),
    *(Rule(f"/clocks/*/{name}", NOT_RECORDED, "the clocks of these files could not be aligned; `note` says why"
           " and what would change it") for name in (
        "offset_ns", "uncertainty_ns", "one_sided",
    )),
    Rule("/clocks/*/drift_ppm", NOT_APPLICABLE, "not told apart from none: one clock, UTC, or too short a run"),
    Rule("/theory/kv_bytes_per_token", NEEDS_OPTION, "no model is named", _MODEL_FIX),
    Rule("/theory/expected_bytes", NEEDS_OPTION, "needs the model", _MODEL_FIX, unless=("model",)),
    Rule("/theory/expected_bytes", NOT_RECORDED, "needs the prompt length of every request", _ANNOTATE),
    *(Rule(f"/theory/by_link/*/{name}", NEEDS_OPTION, _LINK, _LINK_FIX, unless=_NAMED) for name in (
        "line_rate_ns", "practical_ns",
    )),
    *(Rule(f"/theory/by_link/*/{name}", NOT_APPLICABLE, _HOST_OR, transport=HOST_STAGED) for name in (
        "line_rate_ns", "practical_ns",
    )),
    Rule("/theory/by_link/*/line_rate_ns", NOT_RECORDED, capability="nccl_sizes"),
    Rule("/theory/by_link/*/practical_ns", NOT_APPLICABLE, "needs the bytes and a known practical ceiling"),
    Rule("/theory/by_link/*/critical_tokens", NEEDS_OPTION, "needs the model", _MODEL_FIX, unless=("model",)),
    Rule("/theory/by_link/*/critical_tokens", NEEDS_OPTION, _LINK, _LINK_FIX, unless=_NAMED),
    Rule("/theory/by_link/*/critical_tokens", NOT_APPLICABLE, "no peak of this link is known, or no length takes just"
         " one decode step on it"),
    Rule("/whatif", NOT_RECORDED, "no request's gap is known with all its parts, wire and waiting among them: it"
         f" {_NO_PATH}", _STEPS_FIX),
    Rule("/whatif/*/costs_ns", NOT_RECORDED, "what it costs is not time, or time that this trace does not show:"
         " `assumption` says which"),
    Rule("/findings/*/cost_ns", NOT_RECORDED, "the cost of this cannot be told from the trace"),
)  # fmt: skip


def reasons(
    report: object,
    capabilities: Sequence[Mapping[str, Capability]],
    given: frozenset[str],
    transports: frozenset[str] = frozenset(),
) -> tuple[Reason, ...]:
    """For each null in `report` the first rule that applies, with what the trace said about why.

    Args:
        report: An analysis (or part of one) without its reasons.
        capabilities: Of every trace.
        given: Names of the settings that have a value.
        transports: Those that found something; what NCCL lacks explains nothing where it moved nothing.
    """
    nulls = set(null_paths(report))
    told: dict[str, Rule] = {}
    for rule in RULES:
        applies = not given.intersection(rule.unless) and (not rule.transport or rule.transport in transports)
        if applies and rule.path in nulls and (not rule.beside or rule.beside in nulls):
            told.setdefault(rule.path, rule)
    by_nccl = not transports or NCCL in transports
    return tuple(_explain(rule, capabilities, by_nccl=by_nccl) for rule in told.values())


def null_paths(value: object, path: str = "") -> Iterator[str]:
    """Paths of all nulls, list positions and keys of open mappings written as `*`."""
    if value is None:
        yield path
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from null_paths(getattr(value, field.name), f"{path}/{field.name}")
    elif isinstance(value, Mapping):
        named = path in NAMED_MAPPINGS
        for key, item in value.items():
            yield from null_paths(item, f"{path}/{key}" if named else f"{path}/*")
    elif isinstance(value, tuple | list):
        for item in value:
            if not isinstance(item, _WHOLE):  # a timeline has tens of thousands of these
                yield from null_paths(item, f"{path}/*")


_WHOLE = (int, float, str)
# Mappings whose keys are part of the contract; in others (by purpose, by layer or request) every key is alike.
NAMED_MAPPINGS = frozenset({"/settings", "/summary"})


def _explain(rule: Rule, capabilities: Sequence[Mapping[str, Capability]], *, by_nccl: bool) -> Reason:
    told = by_nccl or not rule.capability.startswith("nccl_")
    for found in capabilities if told else ():
        lacking = found.get(rule.capability)
        if lacking is not None and lacking.status != "present":
            return Reason(rule.path, rule.code, lacking.reason, lacking.fix)
    return Reason(rule.path, rule.code, rule.message or "what recorded these movements does not tell it", rule.fix)
