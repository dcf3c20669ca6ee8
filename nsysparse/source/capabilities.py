"""What an export recorded and what not: per fact present, partial or absent, why, and the command that records it."""

import polars as pl

from nsysparse.analysis import Capability
from nsysparse.source import nccl_domain, schema
from nsysparse.source.commands import ANNOTATE_COPIES, EXPORT_AGAIN, PROFILE
from nsysparse.source.export import Export
from nsysparse.source.other_transports import host_copies, nixl_requests, ucx_messages
from nsysparse.source.sql import ALWAYS, any_of, compared, unknown
from nsysparse.source.window import Window
from nsysparse.units import counted, human_bytes


def capabilities(
    export: Export,
    metadata: dict[str, str],
    labels: pl.DataFrame,
    ranges: pl.DataFrame,
    payloads: pl.DataFrame,
    nccl_ops: pl.DataFrame,
    ops: pl.DataFrame,
    nodes: pl.DataFrame,
) -> dict[str, Capability]:
    """Facts by name, in the order in which a reader needs them.

    Args:
        export: The open file.
        metadata: Its allowed metadata.
        labels: Labels of `ranges`.
        ranges: NVTX ranges and marks.
        payloads: What NCCL's and NIXL's payloads said.
        nccl_ops: What advanced NCCL tracing said.
        ops: GPU operations that were read (perhaps only NCCL's).
        nodes: Nodes of CUDA graphs.
    """
    nccl = ranges.join(labels.filter(nccl_domain.is_nccl()), on="label_id")
    moving = [*nccl_domain.SENDS, *nccl_domain.RECEIVES, *nccl_domain.PUTS]
    nixl = nixl_requests(export, labels, ranges, payloads)
    traced = nccl_ops.filter(~pl.col("is_gpu"))
    is_call = pl.col("name").is_in(moving) | pl.col("range_id").is_in(traced["range_id"].implode())
    calls = nccl.filter(is_call)
    talking = nccl.filter(is_call | pl.col("name").is_in(nccl_domain.COLLECTIVES))
    payloads = pl.concat([payloads, traced.select("range_id", "communicator", "bytes")], how="diagonal")
    return {
        "nvtx_ranges": _rows(export, schema.NVTX.table, "no NVTX event was recorded"),
        "gpu_kernels": _rows(export, schema.KERNEL.table, "no kernel was recorded"),
        "cuda_calls": _launches(export, ops),
        "gpu_copies": _rows(export, schema.MEMCPY.table, "no copy was recorded, or none was made"),
        "ipc_copies": _ipc_copies(export),
        "host_copies": host_copies(export),
        "nccl_calls": _nccl_calls(export, nccl, calls, ops),
        "nccl_sizes": _nccl_payloads(export, metadata, calls, payloads, "bytes"),
        "nccl_communicators": _nccl_payloads(export, metadata, talking, payloads, "communicator"),
        "graph_nodes": _graphs(export, calls, ops, nodes),
        "nixl_requests": nixl,
        "ucx_messages": ucx_messages(export),
        "gpu_names": _gpu_names(export),
        "gpu_metrics": _counters(
            export, schema.GPU_METRICS.table, "--gpu-metrics-devices=all", "--gpu-metrics-device=all"
        ),
        "nic_metrics": _counters(export, schema.NIC_METRICS.table, "--nic-metrics=lf", "--nic-metrics=true"),
        "utc_anchor": _utc(export),
        "whole_export": _whole(metadata, export.window),
    }


def _rows(export: Export, table: str, reason: str) -> Capability:
    if export.has_rows(table):
        return Capability("present")
    return Capability("absent", f"{reason} (no rows in {table})", PROFILE)


def _ipc_copies(export: Export) -> Capability:
    """Copies of which nothing says whether they stay on their device or cross to another over CUDA IPC."""
    table = schema.MEMCPY.table
    if not export.has_rows(table):
        return _rows(export, table, "no copy was recorded, or none was made")
    devices = [name for name in ("srcDeviceId", "dstDeviceId") if name in export.columns(table)]
    unnamed = ALWAYS if len(devices) < 2 else any_of(map(unknown, devices))  # noqa: PLR2004 (both ends)
    copies, nbytes = export.tally(schema.MEMCPY, compared("copyKind", "=", schema.DEVICE_COPY) & unnamed)
    if not copies:
        return Capability("present")
    return Capability(
        "partial",
        f"{counted(copies, 'copy', 'copies')} ({human_bytes(nbytes)}) within a device, as it seems: the file does not"
        " name their devices, so copies from another process's device over CUDA IPC may be among them. Only those"
        " launched inside a kv_transfer range count as transfers",
        ANNOTATE_COPIES,
    )


def _counters(export: Export, table: str, option: str, old_option: str) -> Capability:
    if export.has_rows(table):
        return Capability("present")
    command = PROFILE.replace(" -o trace", f" {option} -o trace")
    reason = f"no counter was sampled (no rows in {table}), so nothing else tells how much crossed"
    return Capability("absent", reason, f"{command}   # once per node; old nsys: {old_option}")


def _launches(export: Export, ops: pl.DataFrame) -> Capability:
    if not export.has_rows(schema.RUNTIME.table):
        return Capability("absent", f"no CUDA call was recorded (no rows in {schema.RUNTIME.table})", PROFILE)
    unlaunched = ops["launch_start_ns"].null_count()
    if unlaunched:
        return Capability(
            "partial",
            f"{unlaunched:,} of {counted(ops.height, 'GPU operation')} that were read without a recorded launch: the"
            " capture began after it, or the file was cropped",
            EXPORT_AGAIN + "   # whole, from a capture that starts earlier",
        )
    return Capability("present")


def _nccl_calls(export: Export, nccl: pl.DataFrame, calls: pl.DataFrame, ops: pl.DataFrame) -> Capability:
    if calls.height:
        if nccl["domain"].null_count():
            reason = "the row that names the NCCL domain is missing; calls were found by name"
            return Capability("partial", reason, EXPORT_AGAIN)
        return Capability("present")
    if nccl.height:
        reason = "NCCL ranges were recorded, but no ncclSend or ncclRecv among them: no hand-over fell into the capture"
        return Capability("absent", reason, PROFILE)
    kernels, ranges = export.has_rows(schema.KERNEL.table), export.has_rows(schema.NVTX.table)
    if ops.filter(pl.col("name").str.contains(nccl_domain.ANY_KERNEL)).height:
        reason = "NCCL kernels ran, but no range of NCCL was recorded: NVTX was not traced, or NCCL_NVTX_DISABLE is set"
    elif kernels and ranges:
        reason = (
            "ranges and kernels were recorded, and NCCL is not among them: what moved KV here, if anything did, was"
            " another transport (copies, NIXL, UCX, or RDMA that leaves no row)"
        )
    else:
        missing = " and ".join(what for what, count in (("kernels", kernels), ("NVTX ranges", ranges)) if not count)
        reason = f"no range of NCCL was recorded: the file holds no {missing} at all"
    return Capability("absent", reason, PROFILE)


def _nccl_payloads(
    export: Export, metadata: dict[str, str], calls: pl.DataFrame, payloads: pl.DataFrame, field: str
) -> Capability:
    what = {"bytes": "sizes", "communicator": "communicators"}[field]
    if not calls.height:
        return Capability("absent", f"no NCCL call was recorded, so there are no {what}", PROFILE)
    known = calls.join(payloads.filter(pl.col(field).is_not_null()), on="range_id", how="semi").height
    if known == calls.height:
        return Capability("present")
    if known:
        return Capability(
            "partial", f"{what} are known of {known:,} of {counted(calls.height, 'NCCL call')}", EXPORT_AGAIN
        )
    if field == "communicator" and calls.join(payloads, on="range_id", how="semi").height:
        reason = "the payloads of this NCCL name no communicator (since NCCL 2.25 they do)"
        return Capability("absent", reason, f"{PROFILE}   # with NCCL 2.25 or newer")
    if export.has_rows(schema.PAYLOAD_ENTRIES.table):
        blobs = metadata.get("EXPORT_PARAM_INCLUDE_BLOBS", "").lower()
        reason = (
            f"the file declares payload schemas, but holds no payload (exported with include-blobs={blobs or 'no'})"
        )
        return Capability("absent", reason, EXPORT_AGAIN)
    return Capability(
        "absent",
        f"no payload came with the NCCL ranges, so {what} are unknown (nsys up to 2023.4 drops payloads on SQLite"
        " export; NCCL writes sizes since 2.16, communicators since 2.25)",
        EXPORT_AGAIN + "   # with nsys 2024.5 or newer",
    )


def _graphs(export: Export, calls: pl.DataFrame, ops: pl.DataFrame, nodes: pl.DataFrame) -> Capability:
    """Whether kernels inside CUDA graphs were recorded one by one, and for NCCL's the capture that made them."""
    launches = export.count(schema.GRAPH.table)
    moving = ops.filter(pl.col("name").str.contains(nccl_domain.SEND_RECV_KERNEL))
    if launches:
        whole = counted(launches, "CUDA graph launch was", "CUDA graph launches were")
        reason = f"{whole} recorded whole: kernels inside, NCCL's too, cannot be seen"
        if calls.height and moving.is_empty():
            reason += (
                f"; no kernel was recorded of {counted(calls.height, 'call')} of ncclSend and ncclRecv: what was"
                " captured into graphs moves its bytes again at each launch"
            )
        return Capability("absent", reason, PROFILE)
    if not export.has_rows(schema.KERNEL.table):
        return Capability("absent", "no kernel was recorded, inside a graph or outside", PROFILE)
    replayed = moving.filter(pl.col("graph_node_id").is_not_null())
    untold = replayed.join(nodes, on=["process", "graph_node_id"], how="anti").height
    if untold:
        return Capability(
            "partial",
            f"{counted(untold, 'SendRecv kernel')} ran in CUDA graphs whose making was not recorded: the calls behind,"
            " and so sizes and peers, are unknown",
            f"{PROFILE}   # starting before the graphs are captured",
        )
    return Capability("present", "no graph was recorded as one opaque row")


def _gpu_names(export: Export) -> Capability:
    if export.has_rows(schema.GPUS.table):
        return Capability("present")
    reason = f"no device is named (no rows in {schema.GPUS.table}), so the link can only be named by you"
    return Capability("absent", reason, "nsysparse links list")


def _utc(export: Export) -> Capability:
    if export.read(schema.START_TIME)["utc_epoch_ns"].drop_nulls().len():
        return Capability("present")
    reason = "no UTC time at the start of the capture: this file's clock stands alone"
    return Capability("absent", reason, EXPORT_AGAIN)


def _whole(metadata: dict[str, str], window: Window | None) -> Capability:
    if window is not None:
        reason = f"only what overlaps {window.shown} of the recording was read, as asked"
        return Capability("partial", reason, "the same command without --time-range")
    cuts = [key for key in ("TABLES", "TIMES") if metadata.get(f"EXPORT_PARAM_{key}_TO_EXPORT")]
    if not cuts:
        return Capability("present")
    options = " and ".join(f"--{cut.lower()}" for cut in cuts)
    return Capability("partial", f"exported with {options}: what is missing may exist in the report", EXPORT_AGAIN)
