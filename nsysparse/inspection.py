"""What a trace holds and what can be answered from it, before any analysis."""

from dataclasses import dataclass

import polars as pl

from nsysparse.analysis import Capability, Gpu
from nsysparse.source import nccl_domain
from nsysparse.source.trace import Trace

FORMAT_VERSION = 1


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
    counts: Counts
    communicators: tuple[Communicator, ...]
    capabilities: dict[str, Capability]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """All files of a command."""

    format_version: int
    nsysparse: str
    traces: tuple[TraceInspection, ...]


def look(trace: Trace, scopes: pl.DataFrame) -> TraceInspection:
    """Counts, communicators and answerable questions of one trace that was read with all its GPU work.

    Args:
        trace: The trace.
        scopes: Its ranges that a preset knows.
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
        counts=counts,
        communicators=_communicators(trace),
        capabilities=trace.capabilities,
        answers=_answers(trace, scopes, counts),
    )


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


def _answers(trace: Trace, scopes: pl.DataFrame, counts: Counts) -> tuple[Answer, ...]:
    facts = trace.capabilities
    layers = scopes.filter(pl.col("layer").is_not_null() & (pl.col("style") != "mark")).height
    requests = scopes.filter(pl.col("request").is_not_null() & (pl.col("style") != "mark")).height
    annotate = "Annotate transfers: docs/reference/convention.md"
    moved = "How long did Send/Recv take?"
    if counts.send_recv_kernel_count:
        first = Answer(moved, "yes", f"{counts.send_recv_kernel_count} SendRecv kernels were recorded", "")
    else:
        first = _lacking(moved, facts, "graph_nodes", "gpu_kernels", "nccl_calls")
    return (
        first,
        _needs("How much was moved, and how fast at least?", facts, counts, "nccl_calls", "nccl_sizes"),
        _needs("Which send met which receive?", facts, counts, "nccl_calls", "nccl_communicators"),
        _found("Which layer did each transfer serve?", layers, "layer", annotate, facts),
        _found("Which request did each transfer serve?", requests, "request", annotate, facts),
    )


def _needs(question: str, facts: dict[str, Capability], counts: Counts, *names: str) -> Answer:
    lacking = [facts[name] for name in names if facts[name].status != "present"]
    if not lacking and counts.send_call_count + counts.recv_call_count:
        return Answer(question, "yes", "calls and their payloads were recorded", "")
    worst = next((fact for fact in lacking if fact.status == "absent"), lacking[0] if lacking else None)
    if worst is None:
        return Answer(question, "no", "there is no Send or Recv to tell of", "")
    return Answer(question, "no" if worst.status == "absent" else "partly", worst.reason, worst.fix)


def _lacking(question: str, facts: dict[str, Capability], *names: str) -> Answer:
    for name in names:
        if facts[name].status == "absent":
            return Answer(question, "no", facts[name].reason, facts[name].fix)
    return Answer(question, "no", "no SendRecv kernel is among the recorded kernels", "")


def _found(question: str, ranges: int, what: str, fix: str, facts: dict[str, Capability]) -> Answer:
    if facts["nvtx_ranges"].status == "absent":
        return _lacking(question, facts, "nvtx_ranges")
    if ranges:
        return Answer(question, "partly", f"{ranges} ranges name a {what}; transfers issued inside them have one", "")
    return Answer(question, "no", f"no range names a {what}", fix)
