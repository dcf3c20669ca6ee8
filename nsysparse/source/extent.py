"""From when to when anything happened in a trace."""

from pathlib import Path

import polars as pl

from nsysparse.errors import InputError
from nsysparse.source import schema
from nsysparse.source.anchor import read_anchor
from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec
from nsysparse.source.window import Window


def extent(path: Path) -> tuple[int, int] | None:
    """The first start and the last end of NVTX events and GPU work, on the trace's own clock; None without any."""
    edges: dict[str, tuple[str, type[pl.DataType]]] = {
        "low": ("min(`start`)", pl.Int64),
        "high": ("max(coalesce(`end`, `start`))", pl.Int64),
    }
    with Export(path) as export:
        shift = read_anchor(export, export.read_metadata()).shift_ns
        known = [spec.table for spec in (schema.NVTX, schema.KERNEL, schema.MEMCPY, schema.MEMSET, schema.GRAPH)
                 if {"start", "end"} <= export.columns(spec.table)]  # fmt: skip
        found = [export.read(TableSpec(table, {}), extra=edges).drop_nulls() for table in known]
    extents = [(int(low) - shift, int(high) - shift) for rows in found for low, high in rows.iter_rows()]
    if not extents:
        return None
    return min(low for low, _ in extents), max(high for _, high in extents)


def nothing_in(window: Window, path: Path) -> InputError:
    """That nothing happened in the time that was asked for, and when something did."""
    known = extent(path)
    when = "it has no events at all" if known is None else f"its events lie within {Window(*known).shown}"
    return InputError(f"{path.name}: nothing was recorded in {window.shown}; {when}.", "Ask for a part of that.")
