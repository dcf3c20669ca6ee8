"""What other tools get: GPU work, transfers and ranges under the operating system's ids of process and thread."""

import dataframely as dy
import polars as pl

from nsysparse.frames.ids import OfTrace, pid, tid


class NvtxRanges(OfTrace):
    """NVTX ranges projected onto the GPU, as other tools can check them."""

    domain = dy.String(nullable=True, metadata={"about": "NVTX domain"})
    name = dy.String(nullable=False, metadata={"about": "as recorded, not shortened"})
    style = dy.String(nullable=False, metadata={"about": "`push_pop` or `start_end`"})
    pid = dy.Int64(nullable=False, metadata={"about": "process id of the operating system"})
    tid = dy.Int64(nullable=False, metadata={"about": "thread id of the operating system"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    is_open = dy.Bool(nullable=False, metadata={"about": "nobody closed it: it ends with the recording"})
    depth = dy.UInt32(nullable=False, metadata={"about": "push/pop ranges of the thread open around it"})
    projected_start_ns = dy.Int64(
        nullable=True, metadata={"about": "earliest start of the GPU work launched inside it; null without such work"}
    )
    projected_end_ns = dy.Int64(nullable=True, metadata={"about": "latest end of that work"})
    gpu_op_count = dy.UInt32(nullable=False, metadata={"about": "GPU operations launched inside it"})


def exported_gpu_ops(ops: pl.DataFrame) -> pl.DataFrame:
    """GPU operations as other tools know them: process ids instead of global ids."""
    return ops.with_columns(pid=pid(pl.col("process"))).select(
        "trace_id", "kind", "name", "device_id", "stream_id", "pid", "correlation_id", "launch_start_ns",
        "launch_end_ns", "start_ns", "end_ns", "bytes", "graph",
    )  # fmt: skip


def exported_transfers(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers as other tools know them: process and thread ids instead of global ids."""
    return transfers.with_columns(pid=pid(pl.col("process")), tid=tid(pl.col("thread"))).select(
        "transfer_id", "trace_id", "transport", "side", "purpose", "purpose_rule", "interval_kind", "start_ns",
        "end_ns", "time_ns", "wire_ns", "wire_basis", "peer_wait_ns", "kernel_ops", "bytes", "bytes_source",
        "communicator", "rank", "peer", "pair_id", "pairing", "is_self", "is_first_use", "layer", "layer_provenance",
        "request_id", "request_provenance", "phase", "role", "phase_provenance", "role_provenance", "is_movement",
        "pairing_proof", "wire_reason",
        "wire_uncertainty_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns", "evidence", "src_end", "dst_end",
        "copy_count", "channels", "staging_bytes", "gpu", "kernel_count", "group_key", "pid", "tid",
        "device_id", "stream_id", "call_start_ns", "call_end_ns",
    )  # fmt: skip
