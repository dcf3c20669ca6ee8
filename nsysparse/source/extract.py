"""Read NVTX ranges, GPU work and its launches out of an export as typed frames in a total order.

Nothing relies on the order of rows in the file: newer exporters promise none.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dataframely as dy
import polars as pl
import sqlalchemy as sa

from nsysparse.analysis import Gpu
from nsysparse.frames import Compute, GpuOps, GraphNodes, Labels, Payloads, Ranges, device_key, pid, thread_process
from nsysparse.intervals import merge
from nsysparse.source import nccl_domain, nixl_domain, nixl_payloads, pack_kernels, schema
from nsysparse.source.capabilities import capabilities
from nsysparse.source.counters import read_counters
from nsysparse.source.export import Export
from nsysparse.source.graph_nodes import with_making
from nsysparse.source.launches import with_launches
from nsysparse.source.nccl_trace import SIDES, is_traced, read_nccl_trace
from nsysparse.source.payloads import MAX_BYTES, Decoder, decode, read_schemas
from nsysparse.source.trace import Trace
from nsysparse.source.ucp import read_ucp
from nsysparse.source.usable import MAX_TIME_NS, usable_times

_OF_SOME_KIND = ("grid_x", "src_device_id", "dst_device_id", "copy_count")  # of kernels, of copies
_MAX_DEVICES, _MAX_BATCH = 2**16, 2**32  # beyond these an ordinal or a count means "not recorded", or damage
MAX_GPU_WORK_NS = 2**50  # 13 days: no kernel runs longer, and sums of thousands such still fit 64 bits
_STYLES = {schema.NVTX_PUSH_POP: "push_pop", schema.NVTX_START_END: "start_end", schema.NVTX_MARK: "mark"}


def _never(_: pl.DataFrame) -> bool:
    return False


def read_trace(
    path: Path, trace_id: str, *, all_gpu_work: bool, local_copies: Callable[[pl.DataFrame], bool] = _never
) -> Trace:
    """Read one export.

    Args:
        path: The .sqlite file.
        trace_id: Name of this input within the command.
        all_gpu_work: Also read kernels that are neither NCCL's nor pack KV, all copies, memsets and graphs; the filter
            runs in SQLite. Copies between devices are always read.
        local_copies: Asked with the labels whether copies to and from the host and within a device matter too.

    Raises:
        NotAnExport: The file is no export.
        InputError: It cannot be read, or lacks a column that this needs.
    """
    with Export(path) as export:
        anomalies: Counter[str] = Counter()
        metadata = export.read_metadata()
        duration = export.read(schema.ANALYSIS)["duration_ns"].max()
        labels, events = _label(export, _nvtx_events(export, anomalies))
        local = all_gpu_work or local_copies(labels)
        ops = _gpu_ops(export, trace_id, anomalies, everything=all_gpu_work, local_copies=local)
        last = max(_as_int(events["end_ns"].max()), _as_int(events["start_ns"].max()), _as_int(ops["end_ns"].max()))
        trace_end = max(_as_int(duration), last)
        ranges = _ranges(events, trace_id, trace_end, session_end=_as_int(duration) or None, anomalies=anomalies)
        own = ranges.join(labels.filter(is_traced()), on="label_id", how="anti")
        payloads = _payloads(export, own, labels, anomalies)
        nccl_ops = read_nccl_trace(ranges, labels, anomalies)
        nodes = _graph_nodes(export, labels, ops, anomalies)
        typed = Ranges.validate(ranges.select(Ranges.column_names()))
        return Trace(
            trace_id=trace_id,
            file=shown_name(path.name),
            nsys_version=metadata.get("EXPORT_PRODUCT_VERSION"),
            schema_version=metadata.get("EXPORT_SCHEMA_VERSION"),
            duration_ns=_as_int(duration) or None,
            synthetic=metadata.get("NSYSPARSE_SYNTHETIC"),
            gpus=_gpus(export, ops),
            labels=labels,
            ranges=typed,
            payloads=payloads,
            gpu_ops=ops,
            compute=_compute(export, trace_id, ops),
            capabilities=capabilities(export, metadata, labels, typed, payloads, nccl_ops, ops, nodes),
            nccl_ops=nccl_ops,
            ucp=read_ucp(export, trace_id, anomalies),
            counters=read_counters(export, trace_id, anomalies),
            anomalies=anomalies,
            graph_nodes=nodes,
        )


def shown_name(name: str) -> str:
    """A file name as text that can be written: bytes that are no UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _string_ids_like(*patterns: str) -> sa.Select[Any]:
    """Ids of strings that look like one of `patterns`, whatever the case of ASCII letters."""
    alike = sa.or_(*(sa.column("value").like(pattern) for pattern in patterns))
    return sa.select(sa.column("id")).select_from(sa.table(schema.STRINGS.table)).where(alike)


def _as_int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _nvtx_events(export: Export, anomalies: Counter[str]) -> pl.DataFrame:
    """Ranges, marks and domain rows of NVTX_EVENTS, with payload columns for those that may be NCCL's or NIXL's."""
    wanted = (*_STYLES, schema.NVTX_DOMAIN_CREATE)
    where = sa.column("eventType").in_(wanted)
    # Only rows that are called nccl… or a NIXL post: other payloads can be anything and of any size.
    wordy = _named_like(export, "nccl%") | _named_like(export, nixl_domain.POST_PREFIX + "%")
    if "category" in export.columns(schema.NVTX.table):  # advanced NCCL tracing has no prefix, but categories
        traced = sa.or_(sa.false(), *(_named_like(export, name) for name in SIDES))
        wordy = wordy | (sa.column("category").is_not(None) & traced)
    numbered = _named_like(export, nixl_domain.PREFIX + "%")
    extra: dict[str, tuple[sa.ColumnElement[Any], type[pl.DataType]]] = {}
    carriers = (*((wordy, item) for item in schema.NVTX_PAYLOAD_COLUMNS.items()),
                *((numbered, item) for item in schema.NVTX_NUMBER_COLUMNS.items()))  # fmt: skip
    for carrying, (ours, (theirs, dtype)) in carriers:
        if export.holds(schema.NVTX.table, theirs):  # nearly always empty: one scan is cheaper than a test per row
            # Declared TEXT, holds bytes.
            stored = sa.cast(sa.column(theirs), sa.LargeBinary) if dtype is pl.Binary else sa.column(theirs)
            extra[ours] = (sa.case((carrying, stored), else_=sa.null()), dtype)
    events = export.read(schema.NVTX, where=where, extra=extra)
    empty = {ours: dtype for _, (ours, (_, dtype)) in carriers if ours not in extra}
    events = events.with_columns(pl.lit(None, dtype=dtype).alias(ours) for ours, dtype in empty.items())
    number = pl.coalesce("unsigned_value", "signed_value")
    events = events.with_columns(handle=number.reinterpret(signed=False)).drop("unsigned_value", "signed_value")
    unowned = events["thread"].null_count()
    if unowned:
        anomalies["ranges-without-thread"] += unowned
    return usable_times(events.filter(pl.col("thread").is_not_null()), "ranges", anomalies).with_columns(
        process=thread_process(pl.col("thread")), domain_id=pl.col("domain_id").fill_null(0)
    )


def _named_like(export: Export, pattern: str) -> sa.ColumnElement[bool]:
    """Whether the name of an NVTX event looks like `pattern`, whatever the case of ASCII letters."""
    present = export.columns(schema.NVTX.table)
    named: sa.ColumnElement[bool] = sa.false()
    if "text" in present:
        named = named | sa.column("text").like(pattern)
    if "textId" in present:
        named = named | sa.column("textId").in_(_string_ids_like(pattern))
    return named


def _label(export: Export, events: pl.DataFrame) -> tuple[dy.DataFrame[Labels], pl.DataFrame]:
    """Replace text and domain of each event by the code of its distinct (domain, name) pair."""
    strings = export.read_strings(pl.concat([events["text_id"], events["json_text_id"]]))
    text = dict(zip(strings["id"].to_list(), strings["value"].to_list(), strict=True))
    distinct = events.select("domain_id", "process", "text", "text_id").unique()
    named = distinct.with_columns(
        name=pl.coalesce(
            "text", pl.col("text_id").replace_strict(text, default=None, return_dtype=pl.String)
        ).fill_null("")
    )
    domains = (
        events.filter(event_type=schema.NVTX_DOMAIN_CREATE)
        .join(named, on=["domain_id", "process", "text", "text_id"], nulls_equal=True)
        .filter(pl.col("domain_id") != 0)
        .sort("process", "domain_id", "name")
        .unique(["process", "domain_id"], keep="first")
        .select("process", "domain_id", domain="name")
    )
    named = named.join(domains, on=["process", "domain_id"], how="left").with_columns(
        is_default_domain=pl.col("domain_id") == 0
    )
    key = ["domain", "is_default_domain", "name"]
    labels = (
        named.select(key)
        .unique()
        .sort(key, nulls_last=False)
        .with_row_index("label_id")
        .with_columns(pl.col("label_id").cast(pl.UInt32))
    )
    coded = named.join(labels, on=key, nulls_equal=True)
    events = events.filter(pl.col("event_type") != schema.NVTX_DOMAIN_CREATE).join(
        coded.select("domain_id", "process", "text", "text_id", "label_id"),
        on=["domain_id", "process", "text", "text_id"],
        nulls_equal=True,
    )
    json = pl.coalesce(
        "json_text", pl.col("json_text_id").replace_strict(text, default=None, return_dtype=pl.String)
    ).alias("json")
    return Labels.validate(labels.select(Labels.column_names())), events.with_columns(json)


def _ranges(
    events: pl.DataFrame, trace_id: str, trace_end: int, session_end: int | None, anomalies: Counter[str]
) -> pl.DataFrame:
    """Ranges and marks in total order; a range nobody closed ends with the recording and says so."""
    is_mark = pl.col("event_type") == schema.NVTX_MARK
    never_ended = pl.col("end_ns").is_null() & ~is_mark
    # nsys itself closes an open range at the end of the recording, without naming a closing thread.
    at_end = pl.col("end_ns") == session_end if session_end else pl.lit(value=False)
    cut = at_end & pl.col("end_thread").is_null() & ~is_mark
    ranges = events.with_columns(
        trace_id=pl.lit(trace_id),
        style=pl.col("event_type").replace_strict(_STYLES, return_dtype=pl.String),
        is_open=(never_ended | cut).fill_null(value=False),
        end_ns=pl.when(is_mark).then("start_ns").otherwise(pl.col("end_ns").fill_null(trace_end)),
    )
    opened = int(ranges["is_open"].sum())
    if opened:
        anomalies["ranges-never-closed"] += opened
    order = ["process", "thread", "start_ns", "end_ns", "label_id", "style", "end_thread", "json", "blob", "handle"]
    descending = [False, False, False, True, *[False] * 6]
    return (
        ranges.sort(order, descending=descending, nulls_last=True)
        .with_row_index("range_id")
        .with_columns(pl.col("range_id").cast(pl.UInt32))
    )


def _payloads(
    export: Export, ranges: pl.DataFrame, labels: pl.DataFrame, anomalies: Counter[str]
) -> dy.DataFrame[Payloads]:
    carrying = ranges.filter(pl.col("json").is_not_null() | pl.col("blob").is_not_null())
    entries = export.read(schema.PAYLOAD_ENTRIES) if carrying.height else pl.DataFrame()
    posts = labels.filter(pl.col("name").is_in(list(nixl_domain.POSTS))).select("label_id")
    of_nccl = Decoder(read_schemas(entries) if carrying.height else {})
    of_nixl = nixl_payloads.Decoder(nixl_payloads.read_schemas(entries) if carrying.height else {})
    said = [
        decode(carrying.join(posts, on="label_id", how="anti"), of_nccl),
        nixl_payloads.decode(carrying.join(posts, on="label_id", how="semi"), of_nixl),
    ]
    for decoder in (of_nccl, of_nixl):
        if decoder.undecodable:
            anomalies["payloads-not-decodable"] += decoder.undecodable
        if decoder.impossible:
            anomalies["sizes-impossible"] += decoder.impossible
    handles = ranges.filter(pl.col("handle").is_not_null()).select("range_id", "handle")
    found = pl.concat(said, how="diagonal").join(handles, on="range_id", how="full", coalesce=True).sort("range_id")
    return Payloads.validate(found.select(Payloads.column_names()))


def _gpu_ops(
    export: Export, trace_id: str, anomalies: Counter[str], *, everything: bool, local_copies: bool
) -> dy.DataFrame[GpuOps]:
    parts = [_kernels(export, everything=everything), _copies(export, anomalies, local=local_copies)]
    if everything:
        parts += [_memsets(export), _graphs(export)]
    columns = ["kind", "name", "device_id", "stream_id", "process", "correlation_id", "start_ns", "end_ns", "bytes"]
    ops = pl.concat([part.select(*columns, "graph", "graph_node_id", *_OF_SOME_KIND) for part in parts])
    placed = ops.filter(pl.col("device_id").is_not_null())
    if placed.height < ops.height:
        anomalies["gpu-work-without-device"] += ops.height - placed.height
    ops = usable_times(placed, "gpu-work", anomalies, longest=MAX_GPU_WORK_NS, open_ended=False)
    order = ["start_ns", "end_ns", "device_id", "stream_id", "process", "correlation_id", "kind", "name", "bytes"]
    ops = (
        ops.sort(*order, "graph_node_id", *_OF_SOME_KIND, nulls_last=True)
        .with_row_index("op_id")
        .with_columns(pl.col("op_id").cast(pl.UInt32), trace_id=pl.lit(trace_id))
    )
    launched = with_launches(export, _with_gpu(export, ops), anomalies, everything=everything)
    return GpuOps.validate(launched.select(GpuOps.column_names()))


def _compute(export: Export, trace_id: str, ops: pl.DataFrame) -> dy.DataFrame[Compute]:
    """When compute ran on every device on which something of `ops` did; nothing is read when there is nothing to hide.

    Only times and devices are read, and merged at once: there can be millions of kernels.
    """
    schema_ = Compute.create_empty().schema
    if ops.is_empty() or not export.has(schema.KERNEL):
        return Compute.validate(pl.DataFrame(schema=schema_))
    names = [name for name in ("demangledName", "shortName") if name in export.columns(schema.KERNEL.table)]
    of_nccl = sa.or_(*(sa.column(name).in_(_string_ids_like("%nccl%")) for name in names)) if names else sa.false()
    work = [export.read(schema.KERNEL_TIMES, where=sa.not_(of_nccl)), export.read(schema.GRAPH_TIMES)]
    placed = pl.concat(work).drop_nulls(["start_ns", "end_ns", "device_id"])
    sane = pl.col("start_ns").is_between(-MAX_TIME_NS, MAX_TIME_NS) & (
        pl.col("end_ns") - pl.col("start_ns")
    ).is_between(1, MAX_GPU_WORK_NS)
    known = placed.filter(sane).with_columns(process=thread_process(pl.col("global_pid")))
    keyed = _with_gpu(export, known).with_columns(device=device_key())
    # A device without compute has an interval of no length: nothing is hidden there, which is not the same as unknown.
    parts = [
        ops.select(device=device_key()).unique().with_columns(start_ns=pl.lit(0, pl.Int64), end_ns=pl.lit(0, pl.Int64))
    ]
    for (device,), rows in keyed.group_by("device", maintain_order=True):
        starts, ends = merge(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
        parts.append(pl.DataFrame({"device": [device] * len(starts), "start_ns": starts, "end_ns": ends}))
    merged = pl.concat(parts).sort("device", "start_ns", "end_ns").with_columns(trace_id=pl.lit(trace_id))
    return Compute.validate(merged.select(list(schema_)))


def _gpu_work(frame: pl.DataFrame, kind: str, name: pl.Expr, nbytes: pl.Expr) -> pl.DataFrame:
    absent = [pl.lit(None, dtype=pl.Int64).alias(column) for column in _OF_SOME_KIND if column not in frame.columns]
    return frame.with_columns(
        *absent,
        kind=pl.lit(kind),
        name=name,
        bytes=nbytes,
        process=thread_process(pl.col("global_pid")),
        graph=pl.col("graph_node_id").is_not_null() if kind != "graph" else pl.lit(True),
    ).with_columns(pl.col("name").fill_null("").cast(pl.String))


def _kernels(export: Export, *, everything: bool) -> pl.DataFrame:
    where = None
    columns = export.columns(schema.KERNEL.table)
    names = [name for name in ("demangledName", "shortName") if name in columns]
    if not everything and names:
        wanted = ("%nccl%", *(f"%{part}%" for part in pack_kernels.NAMES))
        where = sa.or_(*(sa.column(name).in_(_string_ids_like(*wanted)) for name in names))
    frame = export.read(schema.KERNEL, where=where)
    frame = frame.with_columns(name_id=pl.coalesce("name_id", "short_name_id"))
    strings = export.read_strings(frame["name_id"])
    text = dict(zip(strings["id"].to_list(), strings["value"].to_list(), strict=True))
    name = pl.col("name_id").replace_strict(text, default=None, return_dtype=pl.String)
    return _gpu_work(frame, "kernel", name, pl.lit(None, dtype=pl.Int64))


def _copies(export: Export, anomalies: Counter[str], *, local: bool) -> pl.DataFrame:
    """Copies between devices, and with `local` all others; numbers that no copy can have are null."""
    where = None
    if not local:
        where = sa.column("copyKind") == schema.PEER_COPY
        if {"srcDeviceId", "dstDeviceId"} <= export.columns(schema.MEMCPY.table):
            where = where | (sa.column("srcDeviceId") != sa.column("dstDeviceId"))
    frame = export.read(schema.MEMCPY, where=where)
    possible = pl.col("bytes").is_between(0, MAX_BYTES, closed="left")
    impossible = frame.select((~possible).sum()).item()
    if impossible:
        anomalies["sizes-impossible"] += impossible
    frame = frame.with_columns(
        pl.when(possible).then("bytes"),
        pl.when(pl.col("copy_count").is_between(1, _MAX_BATCH)).then("copy_count"),
        *(pl.when(pl.col(name).is_between(0, _MAX_DEVICES)).then(name) for name in ("src_device_id", "dst_device_id")),
    )
    kind = pl.col("copy_kind").replace_strict(schema.COPY_KINDS, default="kind unknown", return_dtype=pl.String)
    return _gpu_work(frame, "memcpy", pl.concat_str(pl.lit("memcpy "), kind), pl.col("bytes"))


def _memsets(export: Export) -> pl.DataFrame:
    return _gpu_work(export.read(schema.MEMSET), "memset", pl.lit("memset"), pl.col("bytes"))


def _graphs(export: Export) -> pl.DataFrame:
    return _gpu_work(export.read(schema.GRAPH), "graph", pl.lit("CUDA graph"), pl.lit(None, dtype=pl.Int64))


def _graph_nodes(
    export: Export, labels: pl.DataFrame, ops: pl.DataFrame, anomalies: Counter[str]
) -> dy.DataFrame[GraphNodes]:
    """Nodes of CUDA graphs with their making; none where NCCL is in no graph: a large model's graphs have many."""
    in_graphs = pl.col("name").str.contains(nccl_domain.ANY_KERNEL) & pl.col("graph_node_id").is_not_null()
    if labels.filter(nccl_domain.is_nccl()).is_empty() and ops.filter(in_graphs).is_empty():
        return GraphNodes.create_empty()
    # One table name has had two meanings: the columns tell.
    parts = [
        export.read(spec)
        for spec in schema.GRAPH_NODES
        if export.columns(spec.table).issuperset(spec.columns[ours][0] for ours in spec.required)
    ]
    if not parts:
        return GraphNodes.create_empty()
    nodes = pl.concat(parts).drop_nulls("graph_node_id")
    unowned = nodes["thread"].null_count()
    if unowned:
        anomalies["graph-nodes-without-thread"] += unowned
    return with_making(usable_times(nodes.drop_nulls("thread"), "graph-nodes", anomalies, open_ended=False))


def _gpus(export: Export, ops: pl.DataFrame) -> tuple[Gpu, ...]:
    """Devices by GPU id, or CUDA ordinal where the file has no ids: those it names, and all that ran something."""
    hardware = export.read(schema.GPUS).sort("gpu_id")
    names = dict(hardware.select("gpu_id", "name").iter_rows())
    if not export.has(schema.CUDA_DEVICES):  # older files: one CUDA ordinal per GPU
        ordinals = hardware.select(pl.coalesce("cuda_device", "gpu_id"), "name")
        names = dict(ordinals.iter_rows())
    for device in ops.select(pl.coalesce("gpu_id", "device_id"))["gpu_id"].unique().to_list():
        names.setdefault(device, None)
    return tuple(Gpu(device, names[device]) for device in sorted(names))


def _with_gpu(export: Export, ops: pl.DataFrame) -> pl.DataFrame:
    """Add `gpu_id`, and that of a copy's two ends: ordinals of devices are a process's own, which the file may map."""
    mapped = export.read(schema.CUDA_DEVICES).drop_nulls(["gpu_id", "device_id", "pid"])
    one = mapped.group_by("device_id", "pid").agg(pl.col("gpu_id").unique()).filter(pl.col("gpu_id").list.len() == 1)
    one = one.with_columns(pl.col("gpu_id").list.first())
    ops = ops.with_columns(pid=pid(pl.col("process")))
    for end in ("", "src_", "dst_"):
        if f"{end}device_id" not in ops.columns:
            continue
        named = one.select("pid", pl.col("device_id", "gpu_id").name.prefix(end))
        ops = ops.join(named, on=[f"{end}device_id", "pid"], how="left", maintain_order="left")
    return ops.drop("pid")
