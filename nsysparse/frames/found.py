"""What was found in what an export recorded: transfers, and how they divide among layers and requests."""

import polars as pl

from nsysparse.frames.ids import OfTrace
from nsysparse.frames.schema import Column, Frame, Schema

GROUP = ["trace_id", "group_key"]
OF_DEVICE = ["trace_id", "device"]
"""What transfers that share kernels have in common."""


class Found(OfTrace):
    """Point-to-point data movements as a transport finds them, each seen from one side of it."""

    transport = Column(pl.String, nullable=False, about="the module that found it")
    side = Column(pl.String, nullable=True, about="send, recv or copy; null where its source does not say")
    purpose = Column(pl.String, nullable=True, about="kv, other or unknown")
    purpose_rule = Column(pl.String, nullable=True, about="what decided the purpose")
    interval_kind = Column(
        pl.String,
        nullable=True,
        about="gpu, host (from post to completion) or call (a call that need not last as long as the transfer)",
    )
    start_ns = Column(pl.Int64, nullable=True, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=True, about="first instant after it")
    time_ns = Column(pl.Int64, nullable=True, about="its share of the time of its kernels")
    channels = Column(pl.Int64, nullable=True, about="NCCL channels; they bound what can be buffered")
    staging_bytes = Column(pl.Int64, nullable=False, about="what may be buffered between its two ends")
    kernel_ops = Column(pl.UInt32, nullable=True, about="transfers that the same kernels serve")
    is_last = Column(
        pl.Boolean,
        nullable=True,
        about="its kernels may not be all of its group: they are the last of their stream, or too few",
    )
    kernel_count = Column(pl.UInt32, nullable=False, about="kernels that serve it (and its group)")
    device_count = Column(pl.UInt32, nullable=True, about="devices on which these kernels ran")
    group_key = Column(
        pl.Int64,
        nullable=True,
        about="equal for transfers of a trace that are launched together and so share kernels",
    )
    bytes = Column(pl.Int64, nullable=True, about="size; null when not known")
    bytes_source = Column(
        pl.String,
        nullable=True,
        about="payload, text (an engine's own range), ucx, memcpy, annotation or computed",
    )
    communicator = Column(pl.String, nullable=True, about="decimal digits: ids exceed 2^63")
    rank = Column(
        pl.Int64,
        nullable=True,
        about="own rank in the communicator; null when neither recorded nor implied",
    )
    peer = Column(pl.Int64, nullable=True, about="the other rank in the communicator; null when not recorded")
    rank_count = Column(
        pl.Int64,
        nullable=True,
        about="ranks in the communicator, where its creation was recorded",
    )
    created = Column(pl.Boolean, nullable=True, about="the communicator's creation was recorded on this side")
    is_self = Column(pl.Boolean, nullable=True, about="peer is the own rank; null when either is unknown")
    is_first_use = Column(pl.Boolean, nullable=True, about="pays connection set-up; null without communicator")
    device_id = Column(pl.Int64, nullable=True, about="CUDA ordinal of the device")
    gpu_id = Column(
        pl.Int64,
        nullable=True,
        about="the physical GPU, where the file says; ordinals are a process's own",
    )
    gpu = Column(pl.String, nullable=True, about="name of the device it ran on, within its trace")
    stream_id = Column(pl.Int64, nullable=True, about="CUDA stream")
    process = Column(pl.Int64, nullable=True, about="global process id of the export")
    thread = Column(pl.Int64, nullable=True, about="global thread id of the export")
    call_start_ns = Column(pl.Int64, nullable=True, about="the host call, or the launch where no call is known")
    call_end_ns = Column(pl.Int64, nullable=True, about="end of that call")
    src_end = Column(
        pl.String,
        nullable=True,
        about="where it comes from (`trace:gpuN`, `host`, an agent), where its source says",
    )
    dst_end = Column(pl.String, nullable=True, about="where it goes to, likewise")
    copy_count = Column(pl.Int64, nullable=True, about="memory copies that serve it; null when it is none")
    pack_ns = Column(
        pl.Int64,
        nullable=True,
        about="kernels that gather, scatter or convert KV in its range; not in time_ns",
    )
    match_key = Column(
        pl.String,
        nullable=True,
        about="equal on both sides of a movement that names itself (`xfer=`, a UCP tag)",
    )
    is_one_sided = Column(pl.Boolean, nullable=True, about="only the side that acts leaves a row (put and get)")
    scope_id = Column(
        pl.UInt32,
        nullable=True,
        about="the range that announces this very transfer, where there is one",
    )
    captured_start_ns = Column(
        pl.Int64,
        nullable=True,
        about="the call at capture time, for replays of a CUDA graph; else null",
    )
    captured_end_ns = Column(pl.Int64, nullable=True, about="end of that call")
    captured_thread = Column(pl.Int64, nullable=True, about="global id of the thread that made that call")
    evidence = Column(
        pl.String,
        nullable=True,
        about="what else recorded the same movement and is therefore not counted",
    )


def found_frame(rows: pl.DataFrame) -> Frame[Found]:
    """Rows of a transport as `Found`: columns that the transport does not know are null.

    Args:
        rows: Some columns of `Found`; others are dropped. `staging_bytes` and `kernel_count` default to 0.
    """
    schema = Found.create_empty().schema
    counts = {"staging_bytes": 0, "kernel_count": 0}
    absent = [
        pl.lit(counts.get(name), dtype=dtype).alias(name) for name, dtype in schema.items() if name not in rows.columns
    ]
    return Found.validate(rows.with_columns(absent).select(pl.col(name).cast(schema[name]) for name in schema))


class Transfers(Found):
    """Transfers with their purpose, their pair and what they are attributed to."""

    transfer_id = Column(
        pl.UInt32,
        nullable=False,
        primary_key=True,
        about="number of the transfer, the same in every frame of one run over the same inputs",
    )
    purpose = Column(pl.String, nullable=False, about="kv, other or unknown")
    purpose_rule = Column(pl.String, nullable=False, about="what decided the purpose")
    gpu = Column(
        pl.String,
        nullable=True,
        about="the device it ran on, or that its thread or process uses otherwise",
    )
    pair_id = Column(
        pl.UInt32,
        nullable=True,
        about="equal for the two sides of one movement; null when unpaired",
    )
    pairing = Column(
        pl.String,
        nullable=True,
        about="`fifo` (communicator and ranks known), `positional` (communicator not recorded, or kernels only)"
        " or `named` (both sides carry the same name)",
    )
    pairing_proof = Column(
        pl.String,
        nullable=True,
        about="why it is sure that these two met: `start`, `sizes`, `clock` or `name`; null: it is not",
    )
    is_movement = Column(pl.Boolean, nullable=False, about="stands for its movement in totals")
    wire_ns = Column(pl.Int64, nullable=True, about="its share of the time in which both sides were there")
    wire_basis = Column(
        pl.String,
        nullable=True,
        about="`window` (both kernels), `min-duration` (the shorter kernel) or `own-interval`",
    )
    wire_reason = Column(pl.String, nullable=True, about="why `wire_ns` is null")
    wire_uncertainty_ns = Column(
        pl.Int64,
        nullable=True,
        about="how far the clocks under a window may be apart; null without a window",
    )
    peer_wait_ns = Column(pl.Int64, nullable=True, about="`time_ns` less `wire_ns`; null where waiting is unseen")
    overlapped_ns = Column(pl.Int64, nullable=True, about="its part behind compute on its own device")
    exposed_wire_ns = Column(pl.Int64, nullable=True, about="`wire_ns` outside compute")
    exposed_wait_ns = Column(pl.Int64, nullable=True, about="`peer_wait_ns` outside compute")
    layer = Column(pl.Int64, nullable=True, about="layer index from 0; null when none or several are named")
    layer_provenance = Column(
        pl.String,
        nullable=True,
        about="`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without layer",
    )
    request_id = Column(pl.String, nullable=True, about="null when none or several are named")
    request_provenance = Column(
        pl.String,
        nullable=True,
        about="`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without request",
    )
    phase = Column(pl.String, nullable=True, about="as the innermost range around the call says")
    phase_provenance = Column(pl.String, nullable=True, about="`exact` or `nested`; null without phase")
    role = Column(pl.String, nullable=True, about="prefill or decode: what this transfer was part of")
    role_provenance = Column(
        pl.String,
        nullable=True,
        about="`exact` or `nested`; `process` (what is known of its process) or `direction` (KV goes from"
        " prefill to decode); null without role",
    )


class Shares(Schema):
    """How one movement's bytes and time go to layers and requests; Σ over its shares = the movement, exactly."""

    transfer_id = Column(
        pl.UInt32,
        nullable=False,
        about="number of the transfer, the same in every frame of one run over the same inputs",
    )
    layer = Column(pl.Int64, nullable=True, about="layer index from 0; null when none is named")
    layer_provenance = Column(
        pl.String,
        nullable=True,
        about="`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without layer",
    )
    request_id = Column(pl.String, nullable=True, about="null when none is named")
    request_provenance = Column(
        pl.String,
        nullable=True,
        about="`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without request",
    )
    bytes = Column(
        pl.Int64,
        nullable=True,
        about="this share's part of the movement's bytes; null when they are not known",
    )
    time_ns = Column(pl.Int64, nullable=True, about="this share's part of the movement's time")
    wire_ns = Column(pl.Int64, nullable=True, about="this share's part of its wire time")
    peer_wait_ns = Column(pl.Int64, nullable=True, about="this share's part of its waiting")
    overlapped_ns = Column(pl.Int64, nullable=True, about="this share's part of what compute hides")
    exposed_wire_ns = Column(pl.Int64, nullable=True, about="this share's part of its exposed wire time")
    exposed_wait_ns = Column(pl.Int64, nullable=True, about="this share's part of its exposed waiting")


class Exchanges(OfTrace):
    """Kernels of two sides that met on one clock: `a` began first."""

    pairing = Column(pl.String, nullable=False, about="`fifo` (their calls were paired), `positional` or `named`")
    pairing_proof = Column(pl.String, nullable=True, about="as of their calls; null: nothing proves it")
    a_group_key = Column(pl.Int64, nullable=False, about="the `group_key` of the transfers it serves")
    a_gpu = Column(pl.String, nullable=True, about="the device it ran on")
    a_start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    a_end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    b_group_key = Column(pl.Int64, nullable=False, about="the `group_key` of the transfers it serves")
    b_gpu = Column(pl.String, nullable=True, about="the device it ran on")
    b_start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    b_end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    longer_ns = Column(pl.Int64, nullable=False, about="length of the longer of the two")
    shorter_ns = Column(pl.Int64, nullable=False, about="length of the shorter")
    both_present_ns = Column(pl.Int64, nullable=False, about="from the later start to the earlier end, or 0")
