"""What every row of a trace carries: which input it comes from, and the ids of the export, taken apart."""

import polars as pl

from nsysparse.frames.schema import Column, Schema


class OfTrace(Schema):
    """A frame whose rows say which input they come from."""

    trace_id = Column(
        pl.String,
        nullable=False,
        about="the input: its file name without suffix, numbered where two are alike",
    )


THREAD_BITS = 24
"""The lowest bits of a global thread id are the operating system's; what stands above them is its process."""


def thread_process(thread: pl.Expr) -> pl.Expr:
    """The process a global thread id belongs to: everything above its 24 bits of thread id."""
    return thread.floordiv(1 << THREAD_BITS)


def pid(process: pl.Expr) -> pl.Expr:
    """The operating system's process id inside a global process id (24 bits)."""
    return process.mod(1 << 24)


def tid(thread: pl.Expr) -> pl.Expr:
    """The operating system's thread id inside a global thread id (24 bits)."""
    return thread.mod(1 << 24)


def device_key() -> pl.Expr:
    """A name for the physical device of a row, within its trace: ordinals are a process's own where nothing maps them.

    For rows with `gpu_id`, `device_id` and `process`.
    """
    ordinal = pl.concat_str(pl.col("process").fill_null(-1), pl.lit(":"), "device_id")
    return pl.coalesce(pl.concat_str(pl.lit("gpu"), "gpu_id"), ordinal)
