"""Read of an export its NVTX ranges and what launched GPU work, and nothing else: for files larger than memory."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nsysparse.source import schema
from nsysparse.source.access import Access
from nsysparse.source.anchor import read_anchor
from nsysparse.source.export import Export
from nsysparse.source.extent import nothing_in
from nsysparse.source.launched import Launched, read_launched
from nsysparse.source.nvtx import read_events
from nsysparse.source.ranges import lanes_in_order, until


@dataclass(frozen=True, slots=True)
class Spans:
    """NVTX ranges of a trace and the calls that launched GPU work.

    Attributes:
        lanes: Ranges and marks of some whole threads at a time, to be read once, as `lanes_in_order` gives them.
        labels: Columns of `Labels`.
        launched: The calls.
    """

    lanes: Iterator[pl.DataFrame]
    labels: pl.DataFrame
    launched: Launched


def read_spans(path: Path, access: Access | None = None) -> Spans:
    """The ranges of an export as `extract.read_trace` reads them, with the calls that launched something.

    Args:
        path: The .sqlite file.
        access: How the file is read, and from when to when.

    Raises:
        NotAnExport: The file is no export.
        InputError: It cannot be read, or lacks a column that this needs.
    """
    with Export(path, access) as export:
        export.shift_ns = read_anchor(export, export.read_metadata()).shift_ns
        duration = export.read(schema.ANALYSIS)["duration_ns"].max()
        recorded = duration if isinstance(duration, int) else 0
        launched = read_launched(export)
        events = read_events(export, Counter())
        window = export.window
        if window is not None and launched.last_ns is None and not events.happened_since(window.start_ns):
            raise nothing_in(window, path)
    # Payloads only tell apart what is equal in all that is in a row here.
    lanes = lanes_in_order(events, _NOTHING_SAID, (max(recorded, events.last_ns), recorded or None))
    last_ns = launched.last_ns or 0
    return Spans((until(lane, last_ns) for lane in lanes), events.labels, launched)


_NOTHING_SAID = pl.DataFrame(schema={"event": pl.Int64})
