"""What transports are like, where later stages must know: by the names that stand in the column `transport`."""

import polars as pl

NCCL = "nccl"
"""Its ends are ranks of a communicator, its messages keep their order, and its kernels wait for each other."""
ANNOTATED = "annotated"
"""Ranges that tell of a transfer: they may stand for the other side of one that only one side recorded."""
COPIES = ("memcpy", "host-staged")
"""Their intervals hold no waiting at all: a copy waits for nobody."""
TWO_SIDED = (NCCL, "ucx", ANNOTATED)
"""Both sides leave rows; of others only the side that acts does, so two rows are two movements.

UCX's put and get are of the others (`is_one_sided`)."""


def names_device(end: str) -> pl.Expr:
    """Whether an end (`src_end`, `dst_end`) can be a device: copies know theirs, others have it from their kernels.

    Agents and workers are called what their program likes, also like a device.
    """
    return pl.col(end).is_null() | pl.col("transport").is_in(COPIES)


def acts_as() -> pl.Expr:
    """Whether a transfer sends or receives for its process; null where nothing says it.

    A copy has both its ends: one of which an end is the device that made it has its other end elsewhere.
    """
    own = pl.concat_str("trace_id", pl.lit(":"), "gpu")
    at_source, at_target = ((pl.col(end) == own).fill_null(value=False) for end in ("src_end", "dst_end"))
    copied = pl.when(at_source & ~at_target).then(pl.lit("send")).when(at_target & ~at_source).then(pl.lit("recv"))
    return pl.when(pl.col("side") == "copy").then(copied).otherwise("side")
