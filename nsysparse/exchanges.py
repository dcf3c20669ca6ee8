"""Kernels that met: one group of NCCL kernels on each side, in the same time on one clock.

Kernels pair before transfers do: a kernel may serve many Sends and Receives, and only kernels have times. Where calls
were paired, their kernels met. Where no peer was recorded but exactly two devices ran equally many such kernels, each
overlaps its counterpart and one can have sent what the other received, the k-th met the k-th (`positional`): that pairs
kernels, not calls.
"""

import polars as pl

from nsysparse.frames import GROUP, Exchanges, Frame
from nsysparse.kinds import NCCL

POSITIONAL = "positional"
# Below all keys of kernels, which are numbers of GPU operations (32 bits).
_TIMED_KEYS = -(1 << 40)

_COLUMNS = Exchanges.create_empty().schema
_MET = [name for name in _COLUMNS if name not in ("longer_ns", "shorter_ns", "both_present_ns")]


def as_timed(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers whose own part of a fused kernel was recorded (advanced NCCL tracing), each as a group of its own.

    Their kernels have a negative `group_key`: what is known of them is the operation, not the kernel.
    """
    timed = (pl.col("group_key") < 0) & (pl.col("kernel_ops") > 1)
    alone = _TIMED_KEYS - pl.col("transfer_id").cast(pl.Int64)
    return transfers.with_columns(
        group_key=pl.when(timed).then(alone).otherwise("group_key"),
        kernel_ops=pl.when(timed).then(pl.lit(1, pl.UInt32)).otherwise("kernel_ops"),
    )


def exchanges(transfers: pl.DataFrame) -> Frame[Exchanges]:
    """One row per two groups of kernels of one file that met, sorted by time.

    Args:
        transfers: `trace_id`, `transport`, `side`, `group_key`, `gpu`, `start_ns`, `end_ns`, `peer`, `is_self`,
            `pair_id`, `pairing`, `pairing_proof`.

    Returns:
        Of both sides (`a` began first) group, device and interval; `longer_ns` and `shorter_ns` of the two, and
        `both_present_ns`: from the later start to the earlier end, 0 where one was over before the other began.
    """
    timed = transfers.filter(pl.col("group_key").is_not_null() & pl.col("start_ns").is_not_null())
    met = pl.concat([_by_calls(timed), _by_position(timed)])
    both = pl.min_horizontal("a_end_ns", "b_end_ns") - pl.max_horizontal("a_start_ns", "b_start_ns")
    lengths = [pl.col(f"{end}_end_ns") - pl.col(f"{end}_start_ns") for end in ("a", "b")]
    return Exchanges.validate(
        met.with_columns(
            longer_ns=pl.max_horizontal(lengths),
            shorter_ns=pl.min_horizontal(lengths),
            both_present_ns=both.clip(lower_bound=0),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in _COLUMNS.items())
        .sort("trace_id", "a_start_ns", "b_start_ns", "a_group_key", "b_group_key")
    )


def sure_to_meet(met: pl.DataFrame) -> pl.DataFrame:
    """Of `exchanges` those that are proven, and those by position: no others are shown to have met at all."""
    return met.filter(pl.col("pairing_proof").is_not_null() | (pl.col("pairing") == POSITIONAL))


def of_transfers(met: pl.DataFrame, transfers: pl.DataFrame) -> pl.DataFrame:
    """Of `exchanges` those of some transfers: which kernels met is decided among all of them, also of other purposes.

    Args:
        met: From `exchanges`, over all transfers.
        transfers: Some of these.
    """
    some = as_timed(transfers).select("trace_id", a_group_key="group_key").unique()
    return met.join(some, on=["trace_id", "a_group_key"], how="semi", maintain_order="left")


_FACTS = ("group_key", "gpu", "start_ns", "end_ns")


def _by_calls(timed: pl.DataFrame) -> pl.DataFrame:
    """Groups of which calls were paired, each two once."""
    members = timed.filter(pl.col("pair_id").is_not_null())
    both = members.select("trace_id", "pair_id", "pairing", "pairing_proof", "side", *_FACTS)
    sends = both.filter(side="send").drop("side")
    receives = both.filter(side="recv").select("trace_id", "pair_id", *_FACTS)
    met = sends.join(receives, on=["trace_id", "pair_id"]).filter(pl.col("group_key") != pl.col("group_key_right"))
    earlier = pl.col("start_ns") < pl.col("start_ns_right")
    tied = pl.col("start_ns") == pl.col("start_ns_right")
    send_first = earlier | (tied & (pl.col("group_key") < pl.col("group_key_right")))
    first = [pl.when(send_first).then(name).otherwise(f"{name}_right").alias(f"a_{name}") for name in _FACTS]
    second = [pl.when(send_first).then(f"{name}_right").otherwise(name).alias(f"b_{name}") for name in _FACTS]
    ordered = met.select("trace_id", "pair_id", "pairing", "pairing_proof", *first, *second).sort("pair_id")
    # A group may be met by calls of which some are proven and others are not: then the exchange is not.
    proof = pl.when(pl.col("pairing_proof").is_not_null().all()).then(pl.col("pairing_proof").first())
    once = ordered.group_by("trace_id", "a_group_key", "b_group_key").agg(
        pl.col("pairing").first(),
        proof,
        pl.col("a_gpu", "a_start_ns", "a_end_ns", "b_gpu", "b_start_ns", "b_end_ns").first(),
    )
    return once.select(_MET)


def _by_position(timed: pl.DataFrame) -> pl.DataFrame:
    """The k-th kernels of two devices, where no call says whom it talks to and all of them overlap."""
    groups = (
        timed.filter((pl.col("transport") == NCCL) & pl.col("gpu").is_not_null())
        .group_by(*GROUP)
        .agg(
            nameless=pl.col("pair_id").is_null().all() & pl.col("peer").is_null().all(),
            can_send=(pl.col("side").is_null() | (pl.col("side") == "send")).any(),
            can_receive=(pl.col("side").is_null() | (pl.col("side") == "recv")).any(),
            gpu=pl.col("gpu").first(),
            start_ns=pl.col("start_ns").min(),
            end_ns=pl.col("end_ns").max(),
        )
        .filter("nameless")
        .sort("start_ns", "end_ns", "group_key")
        .with_columns(k=pl.int_range(pl.len()).over("trace_id", "gpu"))
    )
    devices = (
        groups.group_by("trace_id", "gpu")
        .len()
        .group_by("trace_id")
        .agg(devices=pl.len(), counts=pl.col("len").n_unique(), first=pl.col("gpu").min())
        .filter((pl.col("devices") == 2) & (pl.col("counts") == 1))  # noqa: PLR2004 (two ends)
    )
    two = groups.join(devices.select("trace_id", "first"), on="trace_id")
    one, other = two.filter(pl.col("gpu") == pl.col("first")), two.filter(pl.col("gpu") != pl.col("first"))
    met = one.join(other, on=["trace_id", "k"])
    overlap = pl.min_horizontal("end_ns", "end_ns_right") > pl.max_horizontal("start_ns", "start_ns_right")
    # Two devices that both only send talk to others, however well their kernels overlap.
    fit = (pl.col("can_send") & pl.col("can_receive_right")) | (pl.col("can_receive") & pl.col("can_send_right"))
    sure = met.filter((overlap & fit).all().over("trace_id"))
    return sure.select(
        "trace_id",
        pairing=pl.lit(POSITIONAL),
        pairing_proof=pl.lit(None, dtype=pl.String),
        **{f"a_{name}": pl.col(name) for name in _FACTS},
        **{f"b_{name}": pl.col(f"{name}_right") for name in _FACTS},
    ).select(_MET)
