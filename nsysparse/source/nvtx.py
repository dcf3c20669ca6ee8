"""Read NVTX ranges and marks, narrow from the batch in which they come: there can be tens of millions."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from nsysparse.frames import Frame, Labels
from nsysparse.intervals import Ints
from nsysparse.source import schema
from nsysparse.source.batch import Batch, Flags
from nsysparse.source.event_names import EventNames
from nsysparse.source.export import Export
from nsysparse.source.numbering import Numbering, Numbers
from nsysparse.source.scan import Keep
from nsysparse.source.schema import ROW
from nsysparse.source.usable import are_usable

STYLE_OF = {schema.NVTX_PUSH_POP: "push_pop", schema.NVTX_START_END: "start_end", schema.NVTX_MARK: "mark"}
_WANTED = (*STYLE_OF, schema.NVTX_DOMAIN_CREATE)


@dataclass(frozen=True, slots=True)
class Events:
    """NVTX ranges and marks of a file, in no particular order.

    Attributes:
        labels: What they are called.
        rows: `start_ns`, `end_ns`, `event_type` (UInt8), `thread` and `end_thread` (UInt32, numbers of threads),
            `label_id`, `has_category`.
        threads: Global thread ids by number.
        carriers: Which events have a payload or a number of their own: `event`, their position in `rows`, and `row`.
    """

    labels: Frame[Labels]
    rows: pl.DataFrame
    threads: Ints
    carriers: pl.DataFrame

    @property
    def owners(self) -> tuple[int, ...]:
        """Global ids of the threads that have ranges or marks, in order; others only close ranges."""
        return tuple(np.sort(self.threads[self.rows["thread"].unique().to_numpy()]).tolist())

    def happened_since(self, start_ns: int | None) -> bool:
        """Whether anything but marks from before that time is there: those are read of all of a recording."""
        before = pl.lit(value=False) if start_ns is None else pl.col("start_ns") < start_ns
        return not self.rows.select((before & (pl.col("event_type") == schema.NVTX_MARK)).all()).item()

    @property
    def last_ns(self) -> int:
        """The latest instant of any event; 0 without events."""
        latest = [self.rows[name].max() for name in ("start_ns", "end_ns")]
        return max((each for each in latest if isinstance(each, int)), default=0)


def read_events(export: Export, anomalies: Counter[str]) -> Events:
    """Ranges and marks of NVTX_EVENTS.

    Args:
        export: The open file.
        anomalies: Counts events without thread or with impossible times.
    """
    reading = _Reading(EventNames(), Numbering())
    wanted = Keep(("event_type",), lambda batch: np.isin(batch.values("event_type"), _WANTED))
    found = export.scan(schema.NVTX, reading.narrowed, keep=wanted)
    for part in found.parts:
        anomalies.update(part.odd)
    created = np.concatenate([part.created for part in found.parts])
    told = (part.rows["name"].to_numpy() for part in found.parts)
    labels, of_names = reading.names.labels(export, found.texts.get("text", []), told, created)
    rows, carriers, before = [], [], 0
    for part in found.parts:
        label = pl.Series(of_names[part.rows["name"].to_numpy()], dtype=pl.UInt32)
        rows.append(part.rows.drop("name").with_columns(label_id=label))
        carriers.append(part.carriers.with_columns(pl.col("event") + before))
        before += part.rows.height
    return Events(labels, pl.concat(rows, rechunk=True), reading.threads.values, pl.concat(carriers))


class _Part(NamedTuple):
    """A batch: its usable ranges and marks, the names of domains that it made, and what is not usable, by code."""

    rows: pl.DataFrame
    carriers: pl.DataFrame
    created: Numbers
    odd: Counter[str]


class _Reading(NamedTuple):
    """What the batches of a pass number together; a pass that was given up leaves numbers that no row has."""

    names: EventNames
    threads: Numbering

    def narrowed(self, batch: Batch) -> _Part:
        odd: Counter[str] = Counter()
        events = batch.only(_usable(batch, odd))
        names = self.names.of(events)
        making = events.values("event_type") == schema.NVTX_DOMAIN_CREATE
        created = names[making]
        events, names = events.only(~making), names[~making]
        columns = [
            events["start_ns"],
            events["end_ns"],
            pl.Series("name", names),
            events["has_category"],
            pl.Series("event_type", events.values("event_type").astype(np.uint8)),
            pl.Series("thread", self.threads.of(events.values("thread"))),
            self._ends(events),
        ]
        carrying = np.logical_or.reduce([events.values(name) for name in schema.NVTX_CARRIERS])
        places = np.flatnonzero(carrying)
        carriers = pl.DataFrame({"event": places, ROW: events.values(ROW)[places]})
        return _Part(pl.DataFrame(columns), carriers, created, odd)

    def _ends(self, events: Batch) -> pl.Series:
        """Numbers of the threads that closed ranges; null where none did."""
        known = events.known("end_thread")
        if not known.any():
            return pl.Series("end_thread", [None], dtype=pl.UInt32).new_from_index(0, events.height)
        numbers = np.zeros(events.height, dtype=np.uint32)
        numbers[known] = self.threads.of(events.values("end_thread")[known])
        return pl.Series("end_thread", numbers).set(pl.Series(~known), None)


def _usable(batch: Batch, anomalies: Counter[str]) -> Flags:
    """Events of a thread with possible times, the end perhaps not known; what others lack is counted."""
    owned = batch.known("thread")
    starts = batch.values("start_ns")
    ends = np.where(batch.known("end_ns"), batch.values("end_ns"), starts)
    possible = batch.known("start_ns") & are_usable(starts, ends)
    if unowned := int((~owned).sum()):
        anomalies["ranges-without-thread"] += unowned
    if impossible := int((owned & ~possible).sum()):
        anomalies["ranges-with-impossible-times"] += impossible
    usable: Flags = owned & possible
    return usable
