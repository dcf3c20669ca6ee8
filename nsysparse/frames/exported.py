"""What other tools get: GPU work, transfers, ranges, scopes, under the operating system's process and thread ids."""

import polars as pl

from nsysparse.frames.ids import OfTrace, pid, tid
from nsysparse.frames.schema import Column, Frame


class NvtxRanges(OfTrace):
    """NVTX ranges projected onto the GPU, as other tools can check them."""

    domain = Column(pl.String, nullable=True, about="NVTX domain")
    name = Column(pl.String, nullable=False, about="as recorded, not shortened")
    style = Column(pl.String, nullable=False, about="`push_pop` or `start_end`")
    pid = Column(pl.Int64, nullable=False, about="process id of the operating system")
    tid = Column(pl.Int64, nullable=False, about="thread id of the operating system")
    start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    is_open = Column(pl.Boolean, nullable=False, about="nobody closed it: it ends with the recording")
    depth = Column(pl.UInt32, nullable=False, about="push/pop ranges of the thread open around it")
    projected_start_ns = Column(
        pl.Int64,
        nullable=True,
        about="earliest start of the GPU work launched inside it; null without such work",
    )
    projected_end_ns = Column(pl.Int64, nullable=True, about="latest end of that work")
    gpu_op_count = Column(
        pl.UInt32, nullable=False, about="GPU operations launched inside it; of a --time-range such as overlap that"
    )


class Scopes(OfTrace):
    """NVTX ranges of which a preset says something, with what it says, projected onto the GPU."""

    rule = Column(pl.String, nullable=False, about="the strongest rule that knows it, as preset/id")
    kind = Column(pl.String, nullable=False, about="kind of range (docs/reference/presets.md)")
    style = Column(
        pl.String,
        nullable=False,
        about="`push_pop` or `start_end`; of ranges that attribute nothing `open` (nobody closed it) or"
        " `crossed` (it cannot be true beside another of its thread and domain)",
    )
    request = Column(pl.String, nullable=True, about="the request that it names, as written")
    layer = Column(pl.String, nullable=True, about="the layer or layers that it names, as written")
    step = Column(pl.String, nullable=True, about="the number of the engine's step")
    phase = Column(pl.String, nullable=True, about="prefill, decode or mixed")
    role = Column(pl.String, nullable=True, about="prefill or decode")
    requests = Column(pl.String, nullable=True, about="the requests of a step, as written")
    ctx_reqs = Column(pl.String, nullable=True, about="how many requests a step prefills")
    gen_reqs = Column(pl.String, nullable=True, about="how many requests a step decodes")
    tokens = Column(pl.String, nullable=True, about="how many tokens it is about, as written")
    op = Column(pl.String, nullable=True, about="what a transfer does, as written: send, recv, put, get, copy, …")
    bytes = Column(pl.String, nullable=True, about="size that it gives a transfer, as written")
    peer = Column(pl.String, nullable=True, about="the other end, as written")
    xfer = Column(pl.String, nullable=True, about="id of the transfer, the same on both sides")
    chunk = Column(pl.String, nullable=True, about="which of how many chunks, as written")
    rank = Column(pl.String, nullable=True, about="rank of the process")
    tp = Column(pl.String, nullable=True, about="tensor parallelism, as written")
    pp = Column(pl.String, nullable=True, about="pipeline parallelism, as written")
    domain = Column(pl.String, nullable=True, about="NVTX domain")
    name = Column(pl.String, nullable=False, about="as recorded, not shortened")
    pid = Column(pl.Int64, nullable=False, about="process id of the operating system")
    tid = Column(pl.Int64, nullable=False, about="thread id of the operating system")
    start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    is_open = Column(pl.Boolean, nullable=False, about="nobody closed it: it ends with the recording")
    projected_start_ns = Column(
        pl.Int64,
        nullable=True,
        about="earliest start of the GPU work launched inside it; null without such work",
    )
    projected_end_ns = Column(pl.Int64, nullable=True, about="latest end of that work")
    gpu_op_count = Column(
        pl.UInt32, nullable=False, about="GPU operations launched inside it; of a --time-range such as overlap that"
    )


def exported_scopes(placed: pl.DataFrame) -> Frame[Scopes]:
    """Scopes as other tools know them: process and thread ids instead of global ids.

    Args:
        placed: Columns of `Scopes`, with `process` and `thread` in the place of `pid` and `tid`.
    """
    known = placed.with_columns(pid=pid(pl.col("process")), tid=tid(pl.col("thread")))
    return Scopes.validate(known.select(Scopes.column_names()))


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
