"""Read the CUDA calls that launched GPU work, with where that work ran, and nothing else: files can exceed memory.

First all GPU work, of which an operation takes 20 bytes; then one pass over the calls keeps those that launched some.
The pairs are those of `launches`, whose result this equals: the later call of two with the same ids is told by time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.frames import THREAD_BITS
from nsysparse.intervals import Ints
from nsysparse.source import schema
from nsysparse.source.batch import Batch
from nsysparse.source.export import Export
from nsysparse.source.launches import call_of
from nsysparse.source.narrow import AnyInts, after, length, narrowed, narrowed_signed
from nsysparse.source.numbering import Numbering
from nsysparse.source.pair_index import NO_PAIR, PairIndex, index_places
from nsysparse.source.usable import are_usable

_CALL = ("start_ns", "end_ns", "thread", "correlation_id")
_STRIDE = 1 << 18  # rows that are looked up at once
_LATEST, _EARLIEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Lane:
    """Calls of one thread that launched GPU work, by (start, end).

    Attributes:
        start: When each call began.
        end: When it ended.
        first: When the first of its operations began on the GPU.
        last: When the last of them ended.
        ops: How many they are.
    """

    start: Ints
    end: Ints
    first: Ints
    last: Ints
    ops: AnyInts

    def where(self, chosen: NDArray[np.bool_]) -> "Lane":
        """Some of the calls."""
        return Lane(*(column[chosen] for column in (self.start, self.end, self.first, self.last, self.ops)))


@dataclass(frozen=True, slots=True)
class Launched:
    """All calls of a trace that launched GPU work, thread by thread.

    Attributes:
        threads: Global ids of threads with such calls, in order.
        bounds: Where the calls of each begin in the columns; last, where all end.
        start: When each call began, by thread, start and end.
        lasted: How long it took.
        first: When the first of its operations began on the GPU.
        ran: From then to the end of the last of them.
        ops: How many they are.
        last_ns: When the last GPU work of the trace ended, launched by a recorded call or not; None without any.
    """

    threads: Ints
    bounds: Ints
    start: Ints
    lasted: AnyInts
    first: Ints
    ran: AnyInts
    ops: AnyInts
    last_ns: int | None

    def lane(self, place: int) -> Lane:
        """The calls of the thread at a place of `threads`."""
        own = slice(int(self.bounds[place]), int(self.bounds[place + 1]))
        start, first = self.start[own], self.first[own]
        return Lane(start, after(start, self.lasted[own]), first, after(first, self.ran[own]), self.ops[own])


@dataclass(slots=True)
class _Work:
    """GPU work with a process and a correlation id: start, length, and the number of that pair."""

    start: Ints
    ran: AnyInts
    pair: AnyInts
    last_ns: int | None


@dataclass(slots=True)
class _Calls:
    """Calls whose process and correlation id is that of GPU work: number of the thread, interval, pair of the work."""

    thread: AnyInts
    start: Ints
    lasted: AnyInts
    pair: AnyInts


def read_launched(export: Export) -> Launched:
    """The calls of an export that launched GPU work.

    Raises:
        InputError: A required column is missing, or holds what nsys never writes there.
    """
    work, index = _read_work(export)
    threads = Numbering()
    calls = _read_calls(export, index, threads)
    pairs = index.size
    del index
    first, ran, ops = _extents(work, pairs)
    of_calls = [column[calls.pair] for column in (first, ran, ops)]
    del first, ran, ops
    repeated = np.bincount(calls.pair, minlength=pairs) > 1
    if bool(repeated.any()):
        _tell_apart(work, calls, repeated, threads, of_calls)
    last_ns = work.last_ns
    del work, repeated
    calls.pair = calls.pair[:0]
    return _by_thread(calls, threads, of_calls, last_ns)


def launching_pairs(export: Export) -> PairIndex:
    """The pairs of process and correlation id that GPU work has: calls with one of these launched some."""
    return _read_work(export)[1]


def of_frame(calls: pl.DataFrame) -> Launched:
    """Calls that are in memory.

    Args:
        calls: `thread`, `call_start`, `call_end`, `first`, `last` and `ops`, all integers without nulls.
    """
    columns = {name: calls[name].cast(pl.Int64).to_numpy() for name in calls.columns}
    threads = Numbering()
    start, first = columns["call_start"], columns["first"]
    held = _Calls(narrowed(threads.of(columns["thread"])), start, length(start, columns["call_end"]), start[:0])
    return _by_thread(held, threads, [first, length(first, columns["last"]), columns["ops"]], None)


def _read_work(export: Export) -> tuple[_Work, PairIndex]:
    processes = Numbering()

    def narrow(batch: Batch) -> tuple[AnyInts, AnyInts, AnyInts, AnyInts, int | None]:
        start, end, process, ids = map(batch.values, ("start_ns", "end_ns", "global_pid", "correlation_id"))
        used = batch.known("start_ns", "end_ns", "device_id") & are_usable(start, end)
        last_ns = int(end[used].max()) if used.any() else None
        rows = np.flatnonzero(used & batch.known("global_pid", "correlation_id"))
        start = start[rows]
        return (
            start,
            length(start, end[rows]),
            narrowed(processes.of(process[rows] >> THREAD_BITS)),
            narrowed_signed(ids[rows]),
            last_ns,
        )

    parts = [part for spec in schema.LAUNCHED for part in export.scan(spec, narrow).parts]
    last_ns = max((part[-1] for part in parts if part[-1] is not None), default=None)
    start, ran, number, ids = _columns([part[:-1] for part in parts])
    del parts
    known, places = _ranks(processes)
    place = places[number]
    index = index_places(known, place, ids)
    pair = np.empty(len(ids), dtype=np.int32)
    for first in range(0, len(ids), _STRIDE):
        some = slice(first, first + _STRIDE)
        pair[some] = index.find(known[place[some]], ids[some].astype(np.int64))
    return _Work(start, ran, pair, last_ns), index


def _read_calls(export: Export, index: PairIndex, threads: Numbering) -> _Calls:
    """The calls that launched something: all of the others are left out as they are read."""

    def narrow(batch: Batch) -> tuple[AnyInts, AnyInts, AnyInts, AnyInts]:
        start, end, thread, ids = map(batch.values, _CALL)
        known = batch.known(*_CALL)
        pair = index.find(thread >> THREAD_BITS, ids)
        rows = np.flatnonzero(known & (pair != NO_PAIR) & (end >= start))
        start = start[rows]
        return narrowed(threads.of(thread[rows])), start, length(start, end[rows]), pair[rows]

    return _Calls(*_columns(export.scan(schema.RUNTIME, narrow).parts))


def _columns(parts: Sequence[tuple[AnyInts, ...]]) -> list[AnyInts]:
    """Columns of all parts joined, one after the other: parts of a column go as soon as it stands."""
    columns = [list(column) for column in zip(*parts, strict=True)]
    joined = []
    for column in columns:
        joined.append(np.concatenate(column))
        column.clear()
    return joined


def _extents(work: _Work, pairs: int) -> tuple[Ints, AnyInts, AnyInts]:
    """Per pair: when its first operation began, how long until its last ended, and how many they are."""
    ops = narrowed(np.bincount(work.pair, minlength=pairs))
    if len(work.pair) == pairs:  # each stands alone, as nearly always
        first, ran = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=work.ran.dtype)
        first[work.pair], ran[work.pair] = work.start, work.ran
        return first, ran, ops
    first, last = np.full(pairs, _LATEST), np.full(pairs, _EARLIEST)
    np.minimum.at(first, work.pair, work.start)
    np.maximum.at(last, work.pair, after(work.start, work.ran))
    return first, length(first, last), ops


def _tell_apart(work: _Work, calls: _Calls, repeated: AnyInts, threads: Numbering, of_calls: list[AnyInts]) -> None:
    """Of several calls with the same ids, give each its own work, as `launches` tells it; calls left with none go."""
    rows = np.flatnonzero(repeated[calls.pair])
    known, places = _ranks(threads)
    several = pl.DataFrame(
        {
            "row": rows,
            "pair": calls.pair[rows],
            "launch_start_ns": calls.start[rows],
            "launch_end_ns": after(calls.start[rows], calls.lasted[rows]),
            "launch_thread": known[places[calls.thread[rows]]],
        }
    ).sort("launch_start_ns", "launch_end_ns", "launch_thread")
    mine = np.flatnonzero(repeated[work.pair])
    begun = work.start[mine]
    call = call_of(pl.Series(begun), pl.Series("pair", work.pair[mine]), several, len(repeated), Counter())
    until = after(begun, work.ran[mine])
    each = (
        pl.DataFrame({"row": several["row"].gather(call), "at": begun, "until": until})
        .group_by("row")
        .agg(first=pl.col("at").min(), last=pl.col("until").max(), ops=pl.len())
    )
    first, ran, ops = of_calls
    of_calls[:] = [first, ran.astype(np.uint64), ops.astype(np.uint32)]
    of_calls[2][rows] = 0
    place, earliest = each["row"].to_numpy(), each["first"].to_numpy()
    of_calls[0][place], of_calls[2][place] = earliest, each["ops"].to_numpy()
    of_calls[1][place] = length(earliest, each["last"].to_numpy())
    kept = of_calls[2] > 0
    of_calls[:] = [of_calls[0][kept], narrowed(of_calls[1][kept]), narrowed(of_calls[2][kept])]
    calls.thread, calls.start, calls.lasted = calls.thread[kept], calls.start[kept], calls.lasted[kept]


def _by_thread(calls: _Calls, threads: Numbering, of_calls: list[AnyInts], last_ns: int | None) -> Launched:
    """Calls by thread, start and end: within a thread they nearly always are in order as they come."""
    known, places = _ranks(threads)
    place = places[calls.thread]
    order = np.argsort(place, kind="stable")
    place, start, lasted = place[order], calls.start[order], calls.lasted[order]
    earlier, later = slice(None, -1), slice(1, None)
    in_order = (start[later] > start[earlier]) | ((start[later] == start[earlier]) & (lasted[later] >= lasted[earlier]))
    if not bool(((place[later] > place[earlier]) | in_order).all()):
        again = np.lexsort((lasted, start, place))
        order, place, start, lasted = order[again], place[again], start[again], lasted[again]
    sizes = np.bincount(place, minlength=len(known))
    has_calls = sizes > 0
    bounds = np.concatenate([[0], np.cumsum(sizes[has_calls])])
    for number, column in enumerate(of_calls):
        of_calls[number] = column[order]
    first, ran, ops = of_calls
    return Launched(known[has_calls], bounds, start, lasted, first, ran, ops, last_ns)


def _ranks(numbering: Numbering) -> tuple[Ints, AnyInts]:
    """All values in order, and by number the place of its value among them."""
    order = np.argsort(numbering.values)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return numbering.values[order], narrowed(places)
