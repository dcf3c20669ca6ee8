"""Give each GPU operation the CUDA call that launched it: the join on (process, correlation id).

Correlation ids are unique only within a process, and not always there: a repeated id is resolved by time and counted.
GPU clocks can run ahead, so a kernel may start before its launch: time never filters, it only ranks repetitions.
"""

from collections import Counter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.frames import THREAD_BITS
from nsysparse.intervals import Ints
from nsysparse.source import schema
from nsysparse.source.batch import Batch, Flags
from nsysparse.source.export import Export
from nsysparse.source.pair_index import NO_PAIR, PairIndex, index_pairs
from nsysparse.source.scan import Keep

_CALL = ("launch_thread", "launch_start_ns", "launch_end_ns")


def with_launches(export: Export, ops: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Add `launch_thread`, `launch_start_ns` and `launch_end_ns` to GPU operations; null where no call was recorded.

    Args:
        export: Where the calls are.
        ops: GPU operations with `process`, `correlation_id`, `start_ns`.
        anomalies: Counts operations without a launch row and with several.
    """
    keyed = ops.select("process", "correlation_id", "start_ns").with_row_index("row").drop_nulls()
    index = index_pairs(*(keyed[name].to_numpy() for name in ("process", "correlation_id")))
    calls = _calls(export, index, anomalies)
    pairs = index.find(*(keyed[name].to_numpy() for name in ("process", "correlation_id")))
    pair = pl.Series("pair", pairs.astype(np.int64))
    call = call_of(keyed["start_ns"], pair, calls, index.size, anomalies)
    found = np.full(ops.height, -1, dtype=np.int64)
    found[keyed["row"].to_numpy()] = call
    lost = int((found < 0).sum())
    if lost:
        anomalies["gpu-work-without-launch"] += lost
    known = pl.Series(found)
    at = pl.select(pl.when(known >= 0).then(known)).to_series()
    return ops.with_columns(calls[name].gather(at).alias(name) for name in _CALL)


def _calls(export: Export, index: PairIndex, anomalies: Counter[str]) -> pl.DataFrame:
    """CUDA calls that launched something, with `pair`, thread and interval, by start.

    Counted are calls without a thread, which says of which process they are, and of the others those without a time.
    """

    def launching(batch: Batch) -> Flags:
        found: Flags = (_pairs(batch, index) != NO_PAIR) | ~batch.known("thread")
        return found

    def whole(batch: Batch) -> tuple[pl.DataFrame, int]:
        sane = batch.known(*batch.types) & (batch.values("end_ns") >= batch.values("start_ns"))
        kept = batch.only(sane)
        columns = {"launch_thread": "thread", "launch_start_ns": "start_ns", "launch_end_ns": "end_ns"}
        named = {ours: kept.values(name) for ours, name in columns.items()}
        return pl.DataFrame({**named, "pair": _pairs(kept, index)}), batch.height - kept.height

    wanted = Keep(("thread", "correlation_id"), launching)
    found = export.scan(schema.RUNTIME, whole, keep=wanted).parts
    odd = sum(count for _, count in found)
    if odd:
        anomalies["calls-without-time-or-thread"] += odd
    return pl.concat([rows for rows, _ in found]).sort("launch_start_ns", "launch_end_ns", "launch_thread")


def _pairs(batch: Batch, index: PairIndex) -> Ints:
    """The number of each call's pair; `NO_PAIR` of those that launched nothing, and where thread or id is not known."""
    pairs = index.find(batch.values("thread") >> THREAD_BITS, batch.values("correlation_id")).astype(np.int64)
    pairs[~batch.known("thread", "correlation_id")] = NO_PAIR
    return pairs


def call_of(starts: pl.Series, pairs: pl.Series, calls: pl.DataFrame, size: int, anomalies: Counter[str]) -> Ints:
    """The row of `calls` that launched each operation; -1 for none.

    Of several calls of the same ids it is the latest that started before the work; failing that (skewed clock) the
    first.
    """
    called = calls["pair"].to_numpy()
    latest = np.full(size, -1, dtype=np.int64)
    latest[called] = np.arange(len(called))  # of repeated pairs the last one written stands
    repeated = np.flatnonzero(latest[called] != np.arange(len(called)))
    at: Ints = latest[pairs.to_numpy()]
    if len(repeated):
        anomalies["launches-repeated"] += len(repeated)
        several = np.zeros(size, dtype=np.bool_)
        several[called[repeated]] = True
        unclear = np.flatnonzero(several[pairs.to_numpy()])
        at[unclear] = _by_time(starts.gather(unclear), pairs.gather(unclear), calls, several)
    return at


def _by_time(starts: pl.Series, pairs: pl.Series, calls: pl.DataFrame, several: NDArray[np.bool_]) -> Ints:
    is_one = pl.Series(several[calls["pair"].to_numpy()])
    candidates = calls.select("pair", at="launch_start_ns").with_row_index("call").filter(is_one)
    sought = pl.DataFrame({"at": starts, "pair": pairs}).with_row_index("sought").sort("at", "sought")
    before = sought.join_asof(candidates, on="at", by="pair", strategy="backward", check_sortedness=False)
    after = sought.join_asof(candidates, on="at", by="pair", strategy="forward", check_sortedness=False)
    chosen = before.with_columns(call=pl.coalesce("call", after["call"])).sort("sought")
    return chosen["call"].cast(pl.Int64).to_numpy()
