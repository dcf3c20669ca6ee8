"""What was found in what an export recorded: transfers, and how they divide among layers and requests."""

import dataframely as dy
import polars as pl

from nsysparse.frames.ids import OfTrace

GROUP = ["trace_id", "group_key"]
"""What transfers that share kernels have in common."""


class Found(OfTrace):
    """Point-to-point data movements as a transport finds them, each seen from one side of it."""

    transport = dy.String(nullable=False, metadata={"about": "the module that found it"})
    side = dy.String(nullable=True, metadata={"about": "send, recv or copy; null where its source does not say"})
    purpose = dy.String(nullable=True, metadata={"about": "kv, other or unknown"})
    purpose_rule = dy.String(nullable=True, metadata={"about": "what decided the purpose"})
    interval_kind = dy.String(
        nullable=True,
        metadata={
            "about": "gpu, host (from post to completion) or call (a call that need not last as long as the transfer)"
        },
    )
    start_ns = dy.Int64(nullable=True, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=True, metadata={"about": "first instant after it"})
    time_ns = dy.Int64(nullable=True, metadata={"about": "its share of the time of its kernels"})
    channels = dy.Int64(nullable=True, metadata={"about": "NCCL channels; they bound what can be buffered"})
    staging_bytes = dy.Int64(nullable=False, metadata={"about": "what may be buffered between its two ends"})
    kernel_ops = dy.UInt32(nullable=True, metadata={"about": "transfers that the same kernels serve"})
    is_last = dy.Bool(
        nullable=True,
        metadata={"about": "its kernels may not be all of its group: they are the last of their stream, or too few"},
    )
    kernel_count = dy.UInt32(nullable=False, metadata={"about": "kernels that serve it (and its group)"})
    device_count = dy.UInt32(nullable=True, metadata={"about": "devices on which these kernels ran"})
    group_key = dy.Int64(
        nullable=True,
        metadata={"about": "equal for transfers of a trace that are launched together and so share kernels"},
    )
    bytes = dy.Int64(nullable=True, metadata={"about": "size; null when not known"})
    bytes_source = dy.String(
        nullable=True, metadata={"about": "payload, text (an engine's own range), ucx, memcpy, annotation or computed"}
    )
    communicator = dy.String(nullable=True, metadata={"about": "decimal digits: ids exceed 2^63"})
    rank = dy.Int64(
        nullable=True, metadata={"about": "own rank in the communicator; null when neither recorded nor implied"}
    )
    peer = dy.Int64(nullable=True, metadata={"about": "the other rank in the communicator; null when not recorded"})
    rank_count = dy.Int64(
        nullable=True, metadata={"about": "ranks in the communicator, where its creation was recorded"}
    )
    created = dy.Bool(nullable=True, metadata={"about": "the communicator's creation was recorded on this side"})
    is_self = dy.Bool(nullable=True, metadata={"about": "peer is the own rank; null when either is unknown"})
    is_first_use = dy.Bool(nullable=True, metadata={"about": "pays connection set-up; null without communicator"})
    device_id = dy.Int64(nullable=True, metadata={"about": "CUDA ordinal of the device"})
    gpu_id = dy.Int64(
        nullable=True, metadata={"about": "the physical GPU, where the file says; ordinals are a process's own"}
    )
    gpu = dy.String(nullable=True, metadata={"about": "name of the device it ran on, within its trace"})
    stream_id = dy.Int64(nullable=True, metadata={"about": "CUDA stream"})
    process = dy.Int64(nullable=True, metadata={"about": "global process id of the export"})
    thread = dy.Int64(nullable=True, metadata={"about": "global thread id of the export"})
    call_start_ns = dy.Int64(nullable=True, metadata={"about": "the host call, or the launch where no call is known"})
    call_end_ns = dy.Int64(nullable=True, metadata={"about": "end of that call"})
    src_end = dy.String(
        nullable=True, metadata={"about": "where it comes from (`trace:gpuN`, `host`, an agent), where its source says"}
    )
    dst_end = dy.String(nullable=True, metadata={"about": "where it goes to, likewise"})
    copy_count = dy.Int64(nullable=True, metadata={"about": "memory copies that serve it; null when it is none"})
    pack_ns = dy.Int64(
        nullable=True,
        metadata={"about": "kernels that gather, scatter or convert KV in its range; not in time_ns"},
    )
    match_key = dy.String(
        nullable=True, metadata={"about": "equal on both sides of a movement that names itself (`xfer=`, a UCP tag)"}
    )
    is_one_sided = dy.Bool(nullable=True, metadata={"about": "only the side that acts leaves a row (put and get)"})
    scope_id = dy.UInt32(
        nullable=True, metadata={"about": "the range that announces this very transfer, where there is one"}
    )
    captured_start_ns = dy.Int64(
        nullable=True, metadata={"about": "the call at capture time, for replays of a CUDA graph; else null"}
    )
    captured_end_ns = dy.Int64(nullable=True, metadata={"about": "end of that call"})
    captured_thread = dy.Int64(nullable=True, metadata={"about": "global id of the thread that made that call"})
    evidence = dy.String(
        nullable=True, metadata={"about": "what else recorded the same movement and is therefore not counted"}
    )


def found_frame(rows: pl.DataFrame) -> dy.DataFrame[Found]:
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

    transfer_id = dy.UInt32(
        nullable=False,
        primary_key=True,
        metadata={"about": "number of the transfer, the same in every frame of one run over the same inputs"},
    )
    purpose = dy.String(nullable=False, metadata={"about": "kv, other or unknown"})
    purpose_rule = dy.String(nullable=False, metadata={"about": "what decided the purpose"})
    gpu = dy.String(
        nullable=True, metadata={"about": "the device it ran on, or that its thread or process uses otherwise"}
    )
    pair_id = dy.UInt32(
        nullable=True, metadata={"about": "equal for the two sides of one movement; null when unpaired"}
    )
    pairing = dy.String(
        nullable=True,
        metadata={
            "about": "`fifo` (communicator and ranks known), `positional` (communicator not recorded, or kernels only)"
            " or `named` (both sides carry the same name)"
        },
    )
    pairing_proof = dy.String(
        nullable=True,
        metadata={"about": "why it is sure that these two met: `start`, `sizes`, `clock` or `name`; null: it is not"},
    )
    is_movement = dy.Bool(nullable=False, metadata={"about": "stands for its movement in totals"})
    wire_ns = dy.Int64(nullable=True, metadata={"about": "its share of the time in which both sides were there"})
    wire_basis = dy.String(
        nullable=True,
        metadata={"about": "`window` (both kernels), `min-duration` (the shorter kernel) or `own-interval`"},
    )
    wire_reason = dy.String(nullable=True, metadata={"about": "why `wire_ns` is null"})
    wire_uncertainty_ns = dy.Int64(
        nullable=True, metadata={"about": "how far the clocks under a window may be apart; null without a window"}
    )
    peer_wait_ns = dy.Int64(nullable=True, metadata={"about": "`time_ns` less `wire_ns`; null where waiting is unseen"})
    overlapped_ns = dy.Int64(nullable=True, metadata={"about": "its part behind compute on its own device"})
    exposed_wire_ns = dy.Int64(nullable=True, metadata={"about": "`wire_ns` outside compute"})
    exposed_wait_ns = dy.Int64(nullable=True, metadata={"about": "`peer_wait_ns` outside compute"})
    layer = dy.Int64(nullable=True, metadata={"about": "layer index from 0; null when none or several are named"})
    layer_provenance = dy.String(
        nullable=True,
        metadata={"about": "`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without layer"},
    )
    request_id = dy.String(nullable=True, metadata={"about": "null when none or several are named"})
    request_provenance = dy.String(
        nullable=True,
        metadata={"about": "`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without request"},
    )
    phase = dy.String(nullable=True, metadata={"about": "as the innermost range around the call says"})
    phase_provenance = dy.String(nullable=True, metadata={"about": "`exact` or `nested`; null without phase"})
    role = dy.String(nullable=True, metadata={"about": "prefill or decode: what this transfer was part of"})
    role_provenance = dy.String(
        nullable=True,
        metadata={
            "about": "`exact` or `nested`; `process` (what is known of its process) or `direction` (KV goes from"
            " prefill to decode); null without role"
        },
    )


class Shares(dy.Schema):
    """How one movement's bytes and time go to layers and requests; Σ over its shares = the movement, exactly."""

    transfer_id = dy.UInt32(
        nullable=False,
        metadata={"about": "number of the transfer, the same in every frame of one run over the same inputs"},
    )
    layer = dy.Int64(nullable=True, metadata={"about": "layer index from 0; null when none is named"})
    layer_provenance = dy.String(
        nullable=True,
        metadata={"about": "`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without layer"},
    )
    request_id = dy.String(nullable=True, metadata={"about": "null when none is named"})
    request_provenance = dy.String(
        nullable=True,
        metadata={"about": "`exact`, `nested`, `spanning`, `ordinal`, `overlap` or `estimated`; null without request"},
    )
    bytes = dy.Int64(
        nullable=True, metadata={"about": "this share's part of the movement's bytes; null when they are not known"}
    )
    time_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of the movement's time"})
    wire_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its wire time"})
    peer_wait_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its waiting"})
    overlapped_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of what compute hides"})
    exposed_wire_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its exposed wire time"})
    exposed_wait_ns = dy.Int64(nullable=True, metadata={"about": "this share's part of its exposed waiting"})


class Exchanges(OfTrace):
    """Kernels of two sides that met on one clock: `a` began first."""

    pairing = dy.String(nullable=False, metadata={"about": "`fifo` (their calls were paired), `positional` or `named`"})
    pairing_proof = dy.String(nullable=True, metadata={"about": "as of their calls; null: nothing proves it"})
    a_group_key = dy.Int64(nullable=False, metadata={"about": "the `group_key` of the transfers it serves"})
    a_gpu = dy.String(nullable=True, metadata={"about": "the device it ran on"})
    a_start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    a_end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    b_group_key = dy.Int64(nullable=False, metadata={"about": "the `group_key` of the transfers it serves"})
    b_gpu = dy.String(nullable=True, metadata={"about": "the device it ran on"})
    b_start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    b_end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    longer_ns = dy.Int64(nullable=False, metadata={"about": "length of the longer of the two"})
    shorter_ns = dy.Int64(nullable=False, metadata={"about": "length of the shorter"})
    both_present_ns = dy.Int64(nullable=False, metadata={"about": "from the later start to the earlier end, or 0"})
