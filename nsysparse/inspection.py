"""What a trace holds and what can be answered from it, before any analysis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from nsysparse.analysis import TEACH, Capability, Gpu
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import holding
from nsysparse.source import nccl_domain
from nsysparse.source.trace import Trace
from nsysparse.transports import TRANSPORTS, Transport
from nsysparse.units import counted

FORMAT_VERSION = 1
ANNOTATE = "Annotate transfers: docs/reference/convention.md"
STEPS = "docs/reference/convention.md (kv_step)"


@dataclass(frozen=True, slots=True)
class Communicator:
    """A NCCL communicator; `id` is its decimal digits. Ranks are those whose creation was recorded."""

    id: str
    rank_count: int | None
    ranks: tuple[int, ...]
    process_count: int
    send_count: int
    recv_count: int
    collective_count: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of what was recorded. `send_recv_kernel_count` are kernels that can carry Send and Recv."""

    nvtx_range_count: int
    nvtx_mark_count: int
    kernel_count: int
    copy_count: int
    memset_count: int
    graph_launch_count: int
    send_recv_kernel_count: int
    send_call_count: int
    recv_call_count: int
    group_count: int
    process_count: int
    thread_count: int


@dataclass(frozen=True, slots=True)
class TransportCount:
    """What one transport found, each movement counted once per side that was recorded; a copy is one transfer.

    `transfer_count` and the counts by side are None where the trace lacks what this transport is found by: `why` says
    what. Where it found none, `why` says what it cannot see. `bytes` is the sum of the sizes that are known, over all
    sides; `bytes_known_share` the share of the transfers that have one.
    """

    transport: str
    transfer_count: int | None
    send_count: int | None
    recv_count: int | None
    copy_count: int | None
    unknown_side_count: int | None
    bytes: int | None
    bytes_known_share: float | None
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a question can be answered from this trace: yes, partly or no; why, and what would change it."""

    question: str
    answer: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class TraceInspection:
    """One file, looked at."""

    trace_id: str
    file: str
    nsys_version: str | None
    schema_version: str | None
    duration_ns: int | None
    synthetic: str | None
    gpus: tuple[Gpu, ...]
    presets: tuple[str, ...]
    counts: Counts
    communicators: tuple[Communicator, ...]
    transports: tuple[TransportCount, ...]
    capabilities: dict[str, Capability]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """All files of a command; `answers` are what they answer together, as one run."""

    format_version: int
    nsysparse: str
    traces: tuple[TraceInspection, ...]
    answers: tuple[Answer, ...] = ()


def look(trace: Trace, scopes: ScopeTable, found: pl.DataFrame, presets: Sequence[str]) -> TraceInspection:
    """Counts, communicators, transports and answerable questions of one trace that was read with all its GPU work.

    Args:
        trace: The trace.
        scopes: Its ranges that a preset knows.
        found: Its transfers, from `annotate`; of several sources of one movement only the one that stands.
        presets: Those that are active in it, strongest first.
    """
    counts = _counts(trace)
    return TraceInspection(
        trace_id=trace.trace_id,
        file=trace.file,
        nsys_version=trace.nsys_version,
        schema_version=trace.schema_version,
        duration_ns=trace.duration_ns,
        synthetic=trace.synthetic,
        gpus=trace.gpus,
        presets=tuple(presets),
        counts=counts,
        communicators=_communicators(trace),
        transports=tuple(_transport(each, found, trace.capabilities) for each in TRANSPORTS),
        capabilities=trace.capabilities,
        answers=_answers(trace, scopes, found),
    )


def first_token(named: pl.DataFrame) -> Answer:
    """Whether the way to the first token can be told of any request of the files together.

    Args:
        named: A row for each request and phase that a step of any file names: `phase`, `request_id`.
    """
    question = "Where does the time to the first token go?"
    by_phase = {phase: set(named.filter(phase=phase)["request_id"]) for phase in ("prefill", "decode")}
    both = len(by_phase["prefill"] & by_phase["decode"])
    if both:
        of = len(by_phase["prefill"] | by_phase["decode"])
        why = f"prefill and decode steps name {both:,} of {counted(of, 'request')}"
        return Answer(question, "yes", f"{why}; of several files the clocks must be aligned too", "")
    if all(by_phase.values()):
        why = "prefill and decode steps name requests, but none that both name"
        return Answer(question, "no", why, "--normalize-request REGEX, where two engines spell one id differently")
    for phase, other in (("prefill", "decode"), ("decode", "prefill")):
        if by_phase[phase]:
            why = f"{phase} steps name {counted(len(by_phase[phase]), 'request')}, and no {other} step names any"
            return Answer(
                question, "no", why, f"Give the trace of the {other} side too, or annotate its steps: {STEPS}"
            )
    return Answer(question, "no", "no step that says prefill or decode names a request", f"Annotate steps: {STEPS}")


def _counts(trace: Trace) -> Counts:
    kinds = dict(trace.gpu_ops.group_by("kind").len().iter_rows())
    styles = dict(trace.ranges.group_by("style").len().iter_rows())
    nccl = trace.ranges.join(trace.labels.filter(nccl_domain.is_nccl()), on="label_id")
    calls = dict(nccl.group_by("name").len().iter_rows())
    send_recv = trace.gpu_ops.filter(
        (pl.col("kind") == "kernel") & pl.col("name").str.contains(nccl_domain.SEND_RECV_KERNEL)
    )
    return Counts(
        nvtx_range_count=sum(count for style, count in styles.items() if style != "mark"),
        nvtx_mark_count=styles.get("mark", 0),
        kernel_count=kinds.get("kernel", 0),
        copy_count=kinds.get("memcpy", 0),
        memset_count=kinds.get("memset", 0),
        graph_launch_count=kinds.get("graph", 0),
        send_recv_kernel_count=send_recv.height,
        send_call_count=sum(calls.get(name, 0) for name in nccl_domain.SENDS),
        recv_call_count=sum(calls.get(name, 0) for name in nccl_domain.RECEIVES),
        group_count=calls.get(nccl_domain.GROUP_END, 0),
        process_count=pl.concat([trace.ranges["process"], trace.gpu_ops["process"]]).drop_nulls().n_unique(),
        thread_count=trace.ranges["thread"].n_unique(),
    )


def _communicators(trace: Trace) -> tuple[Communicator, ...]:
    seen = (
        trace.payloads.filter(pl.col("communicator").is_not_null())
        .join(trace.ranges.select("range_id", "process", "label_id"), on="range_id")
        .join(trace.labels.select("label_id", "name"), on="label_id")
    )
    counted = seen.group_by("communicator").agg(
        rank_count=pl.col("rank_count").max(),
        ranks=pl.col("rank").drop_nulls().unique().sort(),
        process_count=pl.col("process").n_unique(),
        send_count=pl.col("name").is_in(nccl_domain.SENDS).sum(),
        recv_count=pl.col("name").is_in(nccl_domain.RECEIVES).sum(),
        collective_count=pl.col("name").is_in(nccl_domain.COLLECTIVES).sum(),
    )
    return tuple(
        Communicator(id=str(row.pop("communicator")), ranks=tuple(row.pop("ranks")), **row)
        for row in counted.sort("communicator").iter_rows(named=True)
    )


def _transport(transport: Transport, found: pl.DataFrame, facts: dict[str, Capability]) -> TransportCount:
    own = found.filter(pl.col("transport") == transport.NAME)
    if own.is_empty():
        lacking = [_first_absent(names, facts) for names in transport.SHOWN_BY]
        could_look = None in lacking
        fact = lacking[0] or Capability("present")
        none = 0 if could_look else None
        why = f"cannot see: {transport.UNSEEN}" if could_look else fact.reason
        fix = ANNOTATE if could_look else fact.fix
        return TransportCount(transport.NAME, none, none, none, none, none, None, None, why, fix)
    sides = dict(own.group_by("side").len().iter_rows())
    known = own["bytes"].drop_nulls()
    return TransportCount(
        transport=transport.NAME,
        transfer_count=own.height,
        send_count=sides.get("send", 0),
        recv_count=sides.get("recv", 0),
        copy_count=sides.get("copy", 0),
        unknown_side_count=sides.get(None, 0),
        bytes=int(known.sum()) if known.len() else None,
        bytes_known_share=known.len() / own.height,
        why="",
        fix="",
    )


def _first_absent(names: Sequence[str], facts: dict[str, Capability]) -> Capability | None:
    return next((facts[name] for name in names if facts[name].status == "absent"), None)


def _answers(trace: Trace, scopes: ScopeTable, found: pl.DataFrame) -> tuple[Answer, ...]:
    facts = trace.capabilities
    both_ends = pl.all_horizontal(pl.col("src_end", "dst_end").is_not_null())
    messages = pl.all_horizontal(pl.col("communicator", "peer").is_not_null())
    timed, sized = pl.col("time_ns").is_not_null(), pl.col("bytes").is_not_null()
    meets = messages | both_ends | pl.col("match_key").is_not_null()
    questions = (
        ("How long did transfers take?", timed, "a time", _TIME),
        ("How much was moved, and how fast at least?", timed & sized, "size and time", _SIZE),
        ("Which send met which receive?", meets, "a name for both ends", _ENDS),
    )
    return (
        *(_of_transfers(question, found.with_columns(known=known), what, needs, facts)
          for question, known, what, needs in questions),
        _rowless(facts),
        *(_named(f"Which {field} did each transfer serve?", field, scopes, found, facts)
          for field in ("layer", "request")),
    )  # fmt: skip


# What a transport's transfers lack a fact for, the most telling first.
_TIME: Mapping[str, tuple[str, ...]] = {"nccl": ("graph_nodes", "gpu_kernels", "nccl_calls")}
_SIZE: Mapping[str, tuple[str, ...]] = {
    "nccl": ("nccl_calls", "nccl_sizes", "graph_nodes", "gpu_kernels"), "nixl": ("nixl_requests",),
    "ucx": ("ucx_messages",),
}  # fmt: skip
_ENDS: Mapping[str, tuple[str, ...]] = {"nccl": ("nccl_calls", "nccl_communicators"), "memcpy": ("ipc_copies",)}


def _of_transfers(
    question: str, found: pl.DataFrame, what: str, needs: Mapping[str, tuple[str, ...]], facts: dict[str, Capability]
) -> Answer:
    """Whether a fact is known of all transfers, of some or of none, and what was not recorded where it is not.

    Args:
        question: What is asked.
        found: Transfers with `transport` and `known`.
        what: The fact, as the object of a sentence.
        needs: Per transport the capabilities that the fact comes from.
        facts: The trace's capabilities.
    """
    known = int(found["known"].sum())
    if known and known == found.height:
        return Answer(question, "yes", f"{counted(known, 'transfer')} found, each with {what}", "")
    if found.is_empty():
        fact = _first_absent(needs["nccl"], facts) or Capability(
            "absent", "no transfer of any kind was found", ANNOTATE
        )
        return Answer(question, "no", fact.reason, fact.fix)
    unknown = found.filter(~pl.col("known"))["transport"].unique()
    lacking = [facts[name] for each in TRANSPORTS if each.NAME in unknown for name in needs.get(each.NAME, ())]
    worst = next((fact for status in ("absent", "partial") for fact in lacking if fact.status == status), None)
    why = f"{known:,} of {counted(found.height, 'transfer')} found have {what}"
    if worst is not None:
        why += f": {worst.reason}"
    return Answer(question, "partly" if known else "no", why, worst.fix if worst else "")


def _rowless(facts: dict[str, Capability]) -> Answer:
    """RDMA of an engine's own (Mooncake's) leaves no row, so that only what counts all traffic could tell."""
    question = "Was KV moved by RDMA of the engine's own, as Mooncake's?"
    rowless = "it leaves no row in any trace"
    if facts["nic_metrics"].status == "present":
        return Answer(question, "partly", f"{rowless}, and what the sampled adapters counted beyond the transfers found"
                      " may be that or any other traffic of the node", ANNOTATE)  # fmt: skip
    return Answer(
        question, "no", f"{rowless}, and no network adapter was sampled", f"{ANNOTATE}, or {facts['nic_metrics'].fix}"
    )


def _lacking(question: str, facts: dict[str, Capability], name: str) -> Answer:
    return Answer(question, "no", facts[name].reason, facts[name].fix)


def _named(question: str, field: str, scopes: ScopeTable, found: pl.DataFrame, facts: dict[str, Capability]) -> Answer:
    """Of how many transfers ranges name a layer (or request); where of none, what else names them."""
    if facts["nvtx_ranges"].status == "absent":
        return _lacking(question, facts, "nvtx_ranges")
    known = found.filter(pl.col(f"{field}_text").is_not_null()).height
    naming = holding(scopes, pl.col(field).is_not_null()).height
    why = f"{counted(naming, 'range names', 'ranges name')} a {field}" if naming else f"no range names a {field}"
    if known:
        why = f"ranges name it for {known:,} of {counted(found.height, 'transfer')}"
    elif naming:
        why += ", but none around the call of a transfer, on its thread"
    if known == found.height and known:
        return Answer(question, "yes", why, "")
    return Answer(question, "partly" if known else "no", why, TEACH)
