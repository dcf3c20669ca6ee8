"""Read NVTX ranges and marks, narrow from the batch in which they come: there can be tens of millions."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import dataframely as dy
import numpy as np
import polars as pl

from nsysparse.frames import Labels
from nsysparse.intervals import Ints
from nsysparse.source import schema
from nsysparse.source.event_names import EventNames
from nsysparse.source.export import Export
from nsysparse.source.numbering import Numbering, Numbers
from nsysparse.source.scan import Keep
from nsysparse.source.schema import ROW
from nsysparse.source.usable import usable_times

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

    labels: dy.DataFrame[Labels]
    rows: pl.DataFrame
    threads: Ints
    carriers: pl.DataFrame

    @property
    def owners(self) -> pl.Series:
        """Global ids of the threads that have ranges or marks; others only close ranges."""
        return pl.Series(self.threads).gather(self.rows["thread"].unique())

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
    wanted = Keep(("event_type",), lambda batch: batch["event_type"].is_in(_WANTED))
    found = export.scan(schema.NVTX, reading.narrowed, keep=wanted)
    for part in found.parts:
        anomalies.update(part.odd)
    created = np.concatenate([part.created for part in found.parts])
    labels, of_names = reading.names.labels(export, found.texts.get("text", []), created)
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
    """What the batches of a pass number together; numbers that a pass given up has used do no harm."""

    names: EventNames
    threads: Numbering

    def narrowed(self, batch: pl.DataFrame) -> _Part:
        odd: Counter[str] = Counter()
        unowned = batch["thread"].null_count()
        if unowned:
            odd["ranges-without-thread"] += unowned
        usable = usable_times(batch.drop_nulls("thread"), "ranges", odd)
        events = usable.with_columns(name=pl.Series(self.names.of(usable)))
        making = pl.col("event_type") == schema.NVTX_DOMAIN_CREATE
        created, events = events.filter(making)["name"].to_numpy(), events.filter(~making)
        rows = events.select(
            "start_ns",
            "end_ns",
            "name",
            "has_category",
            pl.col("event_type").cast(pl.UInt8),
            thread=pl.Series(self.threads.of(events["thread"].to_numpy())),
            end_thread=self._ends(events["end_thread"]),
        )
        carrying = events.with_row_index("event").filter(pl.any_horizontal(schema.NVTX_CARRIERS))
        return _Part(rows, carrying.select(pl.col("event").cast(pl.Int64), ROW), created, odd)

    def _ends(self, threads: pl.Series) -> pl.Series:
        """Numbers of the threads that closed ranges; null where none did."""
        if threads.null_count() == len(threads):
            return pl.Series(threads.name, [None], dtype=pl.UInt32).new_from_index(0, len(threads))
        known = threads.is_not_null()
        numbers = np.zeros(len(threads), dtype=np.uint32)
        numbers[known.to_numpy()] = self.threads.of(threads.drop_nulls().to_numpy())
        return pl.select(pl.when(known).then(pl.Series(numbers))).to_series()
