"""Put NVTX ranges and marks into their total order, some threads at a time: whole, they would take twice the memory."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.frames import STYLES, Ranges, thread_process
from nsysparse.intervals import Ints, crossings
from nsysparse.source import schema
from nsysparse.source.nvtx import STYLE_OF, Events

_AT_ONCE = 1 << 19  # rows that are put in order together, or those of one thread


def in_order(
    events: Events,
    said: pl.DataFrame,
    speaking: pl.Series,
    kept: pl.Series | None,
    ends: tuple[int, int | None],
    anomalies: Counter[str],
) -> pl.DataFrame:
    """Ranges and marks in total order; a range nobody closed ends with the recording and says so.

    Args:
        events: From `read_events`.
        said: What some of them carry: `event` and columns that tell apart what else is equal; may be empty.
        speaking: Ids of labels of which a preset says something: stacks without any of them are not looked at.
        kept: Ids of labels whose ranges are wanted; all without it.
        ends: Where the recording ends, in nanoseconds, as far as that is known; and likewise if the file says it.
        anomalies: Counts ranges that were never closed, and such as cross another of their stack.

    Returns:
        The columns of `Ranges`, `has_category`, `is_endless` (for `until`), and those of `said`, if it has rows.
    """
    stacks = _Stacks.of(events.labels, speaking)
    wanted = None if kept is None else np.isin(np.arange(events.labels.height), kept.to_numpy())
    parts: list[pl.DataFrame] = []
    for lane in lanes_in_order(events, said, ends):
        opened, crossed = int(lane["is_open"].sum()), stacks.crossed(lane)
        if opened:
            anomalies["ranges-never-closed"] += opened
        if crossed.any():
            anomalies["ranges-crossing"] += int(crossed.sum())
        told = lane.with_columns(is_crossed=pl.Series(crossed))
        parts.append(told if wanted is None else told.filter(pl.Series(wanted[told["label_id"].to_numpy()])))
    ranges = pl.concat(parts, rechunk=False).with_row_index("range_id")
    placed = ranges.with_columns(process=thread_process(pl.col("thread")))
    known = Ranges.column_names()
    return placed.select(*known, *(name for name in placed.columns if name not in known))


def lanes_in_order(events: Events, said: pl.DataFrame, ends: tuple[int, int | None]) -> Iterator[pl.DataFrame]:
    """Ranges and marks of some whole threads at a time, at least once; all of them are in total order.

    Args:
        events: As for `in_order`.
        said: Likewise.
        ends: Likewise.

    Yields:
        The columns of `Ranges` but `range_id`, `process` and `is_crossed`; what else `in_order` gives.
    """
    rank = np.argsort(np.argsort(events.threads))  # numbers of threads are in no order
    lanes = rank[events.rows["thread"].to_numpy()].astype(_narrowest(len(rank)))
    order = np.argsort(lanes, kind="stable")
    for positions in _together(lanes[order], order):
        yield _sorted(events, positions, said, ends)


def until(ranges: pl.DataFrame, last_ns: int) -> pl.DataFrame:
    """The ranges of `in_order`, or lanes of them; those without an end last until then, if that is later."""
    later = pl.col("is_endless") & (pl.col("end_ns") < last_ns)
    if not ranges.select(later.any()).item():
        return ranges
    return ranges.with_columns(end_ns=pl.when(later).then(pl.lit(last_ns, pl.Int64)).otherwise("end_ns"))


def _narrowest(count: int) -> type[np.unsignedinteger[Any]]:
    """The type for this many numbers; of 16 bits they are sorted much faster."""
    return np.uint16 if count <= np.iinfo(np.uint16).max else np.uint32


def _together(lanes: NDArray[np.unsignedinteger[Any]], order: Ints) -> Iterator[Ints]:
    """Positions of rows that are put in order together: those of one thread, or of several with few. At least once."""
    begins = np.flatnonzero(np.concatenate([[True], lanes[1:] != lanes[:-1]])) if len(lanes) else np.zeros(1, np.int64)
    first = 0
    for begin, stop in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
        if begin > first and stop - first > _AT_ONCE:
            yield order[first:begin]
            first = begin
    yield order[first:]


def _sorted(events: Events, positions: Ints, said: pl.DataFrame, ends: tuple[int, int | None]) -> pl.DataFrame:
    """The events at these positions, by thread, start, end (the latest first), and all else that tells them apart.

    Args:
        events: All events.
        positions: Of those of some threads, these in order.
        said: What some of them carry.
        ends: As for `in_order`.
    """
    starts, threads = (events.rows[name].gather(positions).to_numpy() for name in ("start_ns", "thread"))
    in_time = np.argsort(starts, kind="stable") if (threads == threads[:1]).all() else _by_start(threads, starts)
    positions, starts, threads = positions[in_time], starts[in_time], threads[in_time]
    again = (starts[1:] == starts[:-1]) & (threads[1:] == threads[:-1])
    if again.any():  # few begin together: only those are put in order by all that there is
        tied = np.flatnonzero(np.concatenate([[False], again]) | np.concatenate([again, [False]]))
        bunch = np.cumsum(~np.concatenate([[False], again]))[tied]
        alike = _told(events, positions[tied], said, ends).with_columns(bunch=pl.Series(bunch)).with_row_index("place")
        order = ["bunch", "end_ns", "label_id", "style", "end_thread", "has_category", "is_open"]
        order += [name for name in said.columns if name in alike.columns]
        placed = alike.sort(order, descending=[name == "end_ns" for name in order], nulls_last=True)["place"]
        positions[tied] = positions[tied[placed.to_numpy()]]
    return _told(events, positions, said, ends)


def _by_start(threads: NDArray[np.uint32], starts: Ints) -> Ints:
    """The order by start within each thread; the threads stand in theirs."""
    changes = np.cumsum(np.concatenate([[0], threads[1:] != threads[:-1]]))
    return np.lexsort((starts, changes))


def _told(events: Events, positions: Ints, said: pl.DataFrame, ends: tuple[int, int | None]) -> pl.DataFrame:
    """The events at these positions, as ranges."""
    trace_end, session_end = ends
    rows = events.rows[positions]
    if said.height:
        placed = rows.with_columns(event=pl.Series(positions))
        rows = placed.join(said, on="event", how="left", maintain_order="left").drop("event")
    threads = pl.Series(events.threads)
    is_mark = pl.col("event_type") == schema.NVTX_MARK
    never_ended = pl.col("end_ns").is_null() & ~is_mark
    # nsys itself closes an open range at the end of the recording, without naming a closing thread.
    at_end = pl.col("end_ns") == session_end if session_end else pl.lit(value=False)
    cut = at_end & pl.col("end_thread").is_null() & ~is_mark
    return rows.with_columns(
        style=pl.col("event_type").replace_strict(STYLE_OF, return_dtype=STYLES),
        is_open=(never_ended | cut).fill_null(value=False),
        is_endless=never_ended,
        end_ns=pl.when(is_mark).then("start_ns").otherwise(pl.col("end_ns").fill_null(trace_end)),
        thread=threads.gather(rows["thread"]),
        end_thread=threads.gather(rows["end_thread"]),
    ).drop("event_type")


@dataclass(frozen=True, slots=True)
class _Stacks:
    """Which labels share a stack of each thread: those of one domain.

    Attributes:
        domain: The number of each label's domain.
        speaks: Whether a preset says something of it: only stacks with such a label are looked at.
    """

    domain: Ints
    speaks: NDArray[np.bool_]

    @classmethod
    def of(cls, labels: pl.DataFrame, speaking: pl.Series) -> Self:
        domain = labels.select(pl.struct("domain", "is_default_domain").rank("dense")).to_series()
        return cls(domain.cast(pl.Int64).to_numpy(), np.isin(np.arange(labels.height), speaking.to_numpy()))

    def crossed(self, ranges: pl.DataFrame) -> NDArray[np.bool_]:
        """Which push/pop ranges overlap another of their thread and domain without holding it.

        Each thread and domain has a stack of its own, so these cannot be true: a push or pop was lost, or a range was
        closed too early.

        Args:
            ranges: Of whole threads, in order.
        """
        found = np.zeros(ranges.height, dtype=np.bool_)
        stacked = np.flatnonzero((ranges["style"] == "push_pop").to_numpy())
        if len(stacked) == 0 or not self.speaks.any():
            return found
        label, thread, starts, ends = (
            ranges[name].to_numpy()[stacked] for name in ("label_id", "thread", "start_ns", "end_ns")
        )
        domain, speaks = self.domain[label], self.speaks[label]
        borders = np.flatnonzero(thread[1:] != thread[:-1]) + 1
        for lane in np.split(np.arange(len(thread)), borders):
            for each in np.unique(domain[lane][speaks[lane]]):
                stack = lane[domain[lane] == each]
                found[stacked[stack]] = crossings(starts[stack], ends[stack])
        return found
