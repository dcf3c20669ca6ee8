"""Read of an export its NVTX ranges and what launched GPU work, and nothing else: for files larger than memory."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nsysparse.source import nvtx, schema
from nsysparse.source.anchor import read_anchor
from nsysparse.source.export import Export
from nsysparse.source.launched import Launched, read_launched


@dataclass(frozen=True, slots=True)
class Spans:
    """NVTX ranges of a trace and the calls that launched GPU work.

    Attributes:
        ranges: Columns of `Ranges`.
        labels: Columns of `Labels`.
        launched: The calls.
    """

    ranges: pl.DataFrame
    labels: pl.DataFrame
    launched: Launched


def read_spans(path: Path) -> Spans:
    """The ranges of an export as `extract.read_trace` reads them, with the calls that launched something.

    Args:
        path: The .sqlite file.

    Raises:
        NotAnExport: The file is no export.
        InputError: It cannot be read, or lacks a column that this needs.
    """
    anomalies: Counter[str] = Counter()
    with Export(path) as export:
        export.shift_ns = read_anchor(export, export.read_metadata()).shift_ns
        duration = export.read(schema.ANALYSIS)["duration_ns"].max()
        recorded = duration if isinstance(duration, int) else 0
        launched = read_launched(export)
        labels, events = nvtx.read_events(export, anomalies)
        # Payloads tell apart what else is equal, and nothing of it is needed here.
        events = events.drop("row", "has_category", "carries")
        ends = (events["end_ns"].max(), events["start_ns"].max(), launched.last_ns)
        trace_end = max([recorded, *(end for end in ends if isinstance(end, int))])
        ranges = nvtx.ordered(events, trace_end, session_end=recorded or None, anomalies=anomalies)
        return Spans(ranges, labels, launched)
