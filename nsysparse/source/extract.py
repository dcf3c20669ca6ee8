"""Read one export: its NVTX ranges, GPU work and its launches, as typed frames in a total order.

Nothing relies on the order of rows in the file: newer exporters promise none.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import polars as pl

from nsysparse.filenames import shown_name
from nsysparse.frames import Frame, Labels, Ranges, Work
from nsysparse.source import nccl_domain, nixl_domain, schema
from nsysparse.source.access import Access
from nsysparse.source.anchor import read_anchor
from nsysparse.source.capabilities import capabilities
from nsysparse.source.carried import read_carried, read_payloads
from nsysparse.source.compute import Noted, read_compute
from nsysparse.source.counters import read_counters
from nsysparse.source.devices import read_gpus
from nsysparse.source.export import Export
from nsysparse.source.extent import nothing_in
from nsysparse.source.gpu_work import read_gpu_ops
from nsysparse.source.graph_nodes import read_graph_nodes
from nsysparse.source.nccl_trace import is_traced, read_nccl_trace
from nsysparse.source.nvtx import read_events
from nsysparse.source.ranges import in_order, until
from nsysparse.source.trace import Trace
from nsysparse.source.ucp import read_ucp
from nsysparse.source.work import read_work

Wanted = Callable[[pl.DataFrame], bool]
"""Asked with the labels of a trace whether something else of it matters."""


def _never(_: pl.DataFrame) -> bool:
    return False


def _nobody(labels: pl.DataFrame) -> pl.Series:
    return labels["label_id"].clear()


def read_trace(
    path: Path,
    trace_id: str,
    *,
    all_gpu_work: bool,
    all_ranges: bool = True,
    speaking: Callable[[pl.DataFrame], pl.Series] = _nobody,
    local_copies: Wanted = _never,
    steps: Wanted = _never,
    access: Access | None = None,
) -> Trace:
    """Read one export.

    Args:
        path: The .sqlite file.
        trace_id: Name of this input within the command.
        all_gpu_work: Also read kernels that are neither NCCL's nor pack KV, all copies, memsets and graphs.
            Copies between devices are always read.
        all_ranges: Also ranges that are neither NCCL's nor NIXL's nor of labels that speak.
        speaking: Asked with the labels for the ids of those that say something.
        local_copies: Asked with the labels whether copies to and from the host and within a device matter too.
        steps: Asked with them whether ranges tell of steps, so that it matters from when to when their kernels ran.
        access: How the file is read, and from when to when.

    Raises:
        NotAnExport: The file is no export.
        InputError: It cannot be read, or lacks a column that this needs.
    """
    with Export(path, access) as export:
        anomalies: Counter[str] = Counter()
        metadata = export.read_metadata()
        anchor = read_anchor(export, metadata)
        export.shift_ns = anchor.shift_ns
        duration = export.read(schema.ANALYSIS)["duration_ns"].max()
        with ThreadPoolExecutor(1, thread_name_prefix="ranges") as beside:
            found = _ranges(export, speaking, _as_int(duration), anomalies, beside, everything=all_ranges)
            labels = found.labels
            noted, has_steps = Noted(export), steps(labels)
            ops = read_gpu_ops(
                export,
                trace_id,
                anomalies,
                everything=all_gpu_work,
                local_copies=all_gpu_work or local_copies(labels),
                noting=None if has_steps else noted,
            )
            ranges = until(found.ordered.result(), _as_int(ops["end_ns"].max()))
        anomalies.update(found.odd)
        if export.window is not None and found.is_over and not _has_work(export):
            raise nothing_in(export.window, path)
        if export.window is not None:
            anomalies["part-of-the-time"] += 1
        payloads = read_payloads(export, ranges, labels, anomalies)
        nccl_ops = read_nccl_trace(ranges, labels, anomalies)
        nodes = read_graph_nodes(export, labels, ops, anomalies)
        typed = Ranges.validate(ranges.select(Ranges.column_names()))
        work = read_work(export, trace_id) if has_steps else Work.create_empty()
        return Trace(
            trace_id=trace_id,
            file=shown_name(path.name),
            nsys_version=metadata.get("EXPORT_PRODUCT_VERSION"),
            schema_version=metadata.get("EXPORT_SCHEMA_VERSION"),
            duration_ns=_as_int(duration) or None,
            synthetic=metadata.get("NSYSPARSE_SYNTHETIC"),
            gpus=read_gpus(export, ops),
            labels=labels,
            ranges=typed,
            payloads=payloads,
            gpu_ops=ops,
            compute=read_compute(export, trace_id, ops, work, noted),
            work=work,
            capabilities=capabilities(export, metadata, labels, typed, payloads, nccl_ops, ops, nodes),
            nccl_ops=nccl_ops,
            ucp=read_ucp(export, trace_id, anomalies),
            counters=read_counters(export, trace_id, anomalies),
            anomalies=anomalies,
            graph_nodes=nodes,
            anchor=anchor,
            threads=found.threads,
            window=export.window,
        )


class _Ranges(NamedTuple):
    """What is known of NVTX ranges and marks at once, and what will be.

    Attributes:
        labels: What they are called.
        threads: Global ids of the threads that have any.
        is_over: Whether nothing of them happened in the time to which reading is confined.
        ordered: From `in_order`, those that are wanted.
        odd: What `in_order` counts; complete once it is done.
    """

    labels: Frame[Labels]
    threads: tuple[int, ...]
    is_over: bool
    ordered: Future[pl.DataFrame]
    odd: Counter[str]


def _ranges(
    export: Export,
    speaking: Callable[[pl.DataFrame], pl.Series],
    duration: int,
    anomalies: Counter[str],
    beside: Executor,
    *,
    everything: bool,
) -> _Ranges:
    """Read them; they are put in order `beside`, after which what nobody wants is given up."""
    events = read_events(export, anomalies)
    told = speaking(events.labels)
    kept = None if everything else pl.concat([told, events.labels.filter(_of_transports())["label_id"]])
    ends = max(duration, events.last_ns), duration or None
    carried, odd = read_carried(export, events, kept), Counter[str]()
    return _Ranges(
        events.labels,
        events.owners,
        not events.happened_since(None if export.window is None else export.window.start_ns),
        beside.submit(in_order, events, carried, told, kept, ends, odd),
        odd,
    )


def _has_work(export: Export) -> bool:
    """Whether any work of a GPU or call of UCX lies in the window, of those too that no stage asked for."""
    return any(export.read(spec, limit=1).height for spec in (*schema.LAUNCHED, schema.UCP_SUBMIT, schema.UCP_PROGRESS))


def _of_transports() -> pl.Expr:
    return nccl_domain.is_nccl() | is_traced() | pl.col("name").str.starts_with(nixl_domain.PREFIX)


def _as_int(value: object) -> int:
    return value if isinstance(value, int) else 0
