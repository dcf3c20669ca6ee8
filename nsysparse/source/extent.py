"""From when to when anything happened in a trace."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from nsysparse.source import schema
from nsysparse.source.anchor import read_anchor
from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec


def extent(path: Path) -> tuple[int, int] | None:
    """The first start and the last end of NVTX events and GPU work, on the trace's own clock; None without any."""
    edges: Mapping[str, tuple[sa.ColumnElement[Any], type[pl.DataType]]] = {
        "low": (sa.func.min(sa.column("start")), pl.Int64),
        "high": (sa.func.max(sa.func.coalesce(sa.column("end"), sa.column("start"))), pl.Int64),
    }
    with Export(path) as export:
        shift = read_anchor(export, export.read_metadata()).shift_ns
        known = [spec.table for spec in (schema.NVTX, schema.KERNEL, schema.MEMCPY, schema.MEMSET, schema.GRAPH)
                 if {"start", "end"} <= export.columns(spec.table)]  # fmt: skip
        found = [export.read(TableSpec(table, {}), extra=edges).drop_nulls() for table in known]
    rows = pl.concat(found) if found else pl.DataFrame()
    if rows.is_empty():
        return None
    return int(rows["low"].min()) - shift, int(rows["high"].max()) - shift  # type: ignore[arg-type] (integers)
