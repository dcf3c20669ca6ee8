"""Paired transfers of two traces, as times on two clocks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.intervals import Ints
from nsysparse.kinds import NCCL

_SIDES = ["start_ns", "end_ns"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Transfers of one direction whose pairing is proven: sends on one clock, receives on another.

    Attributes:
        bytes: Size; -1 where not known.
        staging: What can be buffered between the two at most.
        sent_alone: The send's NCCL kernel served nothing else, so it ended when this message had left.
        kernels: Both sides are NCCL kernels, which wait for each other.
        alone: Both served nothing else.
    """

    send_start: Ints
    send_end: Ints
    recv_start: Ints
    recv_end: Ints
    bytes: Ints
    staging: Ints
    sent_alone: NDArray[np.bool_]
    kernels: NDArray[np.bool_]
    alone: NDArray[np.bool_]

    def __len__(self) -> int:
        """How many."""
        return len(self.send_start)

    @classmethod
    def of(cls, rows: pl.DataFrame) -> "Pairs":
        """From rows of `paired`."""
        kernel = pl.col("transport") == NCCL
        alone = {side: (pl.col(f"{side}_kernel_ops") == 1).fill_null(value=False) for side in ("send", "recv")}
        facts = rows.select(
            "send_start_ns", "send_end_ns", "recv_start_ns", "recv_end_ns",
            pl.coalesce("send_bytes", "recv_bytes", pl.lit(-1, pl.Int64)).alias("bytes"),
            pl.max_horizontal("send_staging_bytes", "recv_staging_bytes").alias("staging"),
            (kernel & alone["send"]).alias("sent_alone"),
            kernel.alias("kernels"),
            (kernel & alone["send"] & alone["recv"]).alias("alone"),
        )  # fmt: skip
        return cls(*(facts[name].to_numpy() for name in facts.columns))


def paired(transfers: pl.DataFrame) -> pl.DataFrame:
    """Proven pairs whose sides are in two traces and have an interval, one row each: `send_…` beside `recv_…`.

    Args:
        transfers: Of all traces: `pair_id`, `pairing_proof`, `trace_id`, `side`, `transport`, `interval_kind`,
            `start_ns`, `end_ns`, `bytes`, `staging_bytes`, `kernel_ops`.

    A call that need not last as long as its transfer says nothing of when that ended.
    """
    lasting = (pl.col("interval_kind") != "call").fill_null(value=False)
    proven = transfers.filter(
        pl.col("pair_id").is_not_null() & pl.col("pairing_proof").is_not_null() & lasting
    ).drop_nulls(_SIDES)
    facts = ["trace_id", *_SIDES, "bytes", "staging_bytes", "kernel_ops"]
    sends, receives = (
        proven.filter(pl.col("side") == side).select("pair_id", "transport", pl.col(facts).name.prefix(f"{side}_"))
        for side in ("send", "recv")
    )
    both = sends.join(receives, on=["pair_id", "transport"])
    return both.filter(pl.col("send_trace_id") != pl.col("recv_trace_id")).sort("pair_id")


def between_traces(transfers: pl.DataFrame) -> Iterator[tuple[tuple[str, str], tuple[Pairs, Pairs]]]:
    """For each two traces with proven pairs, the lesser name first: what went there, and what came back."""
    rows = paired(transfers)
    first, second = (each("send_trace_id", "recv_trace_id") for each in (pl.min_horizontal, pl.max_horizontal))
    keyed = rows.with_columns(first=first, second=second)
    for (base, other), part in keyed.group_by("first", "second", maintain_order=True):
        there = pl.col("send_trace_id") == base
        yield (str(base), str(other)), (Pairs.of(part.filter(there)), Pairs.of(part.filter(~there)))
