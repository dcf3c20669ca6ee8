"""Rows of somebody else's file whose numbers cannot be meant: left out or taken for unknown, and counted."""

from collections import Counter

import numpy as np
import polars as pl
from numpy.typing import NDArray

MAX_TIME_NS = 2**61  # 73 years, which the ns since 1970 fit; the time between any two of them fits 64 bits
LONGEST_NS = 2**50  # 13 days: nothing of a capture lasts longer, and sums of thousands such still fit 64 bits
MAX_BYTES = 2**48  # 256 TiB: no message is larger, and sums of a million such still fit 64 bits


def usable_times(
    frame: pl.DataFrame,
    what: str,
    anomalies: Counter[str],
    longest: int = LONGEST_NS,
    *,
    open_ended: bool = True,
) -> pl.DataFrame:
    """Without rows whose times are beyond any clock, run backwards or last too long; `open_ended` keeps null ends."""
    sane = pl.col("start_ns").is_between(-MAX_TIME_NS, MAX_TIME_NS) & pl.col("end_ns").is_between(
        -MAX_TIME_NS, MAX_TIME_NS
    ).fill_null(value=open_ended)
    length = pl.col("end_ns") - pl.col("start_ns")
    kept = frame.filter(sane).filter(length.is_between(0, longest).fill_null(value=open_ended))
    if frame.height > kept.height:
        anomalies[f"{what}-with-impossible-times"] += frame.height - kept.height
    return kept


def are_usable(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which intervals `usable_times` leaves in, whose ends are all known."""
    sane = (np.minimum(starts, ends) >= -MAX_TIME_NS) & (np.maximum(starts, ends) <= MAX_TIME_NS)
    return sane & (ends >= starts) & (ends - starts <= LONGEST_NS)


def usable_bytes(frame: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """With `bytes` null where no message can have that size."""
    sane = pl.col("bytes").is_between(0, MAX_BYTES, closed="left")
    impossible = frame.filter(~sane).height
    if impossible:
        anomalies["sizes-impossible"] += impossible
    return frame.with_columns(bytes=pl.when(sane).then("bytes"))


def unsigned(column: str) -> pl.Expr:
    """A 64-bit number that SQLite stores signed, as what it was."""
    return pl.col(column).reinterpret(signed=False)
