"""Read where a trace's clock stands: UTC at its zero, on which host, and by how much the export moved all times.

`nsys export --ts-normalize` adds UTC to the times of events, `--ts-shift` any number; neither changes the length of the
recording nor the UTC that the file gives. https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

import hashlib
from collections.abc import Mapping

import polars as pl

from nsysparse.anchor import Anchor
from nsysparse.source import schema
from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec
from nsysparse.source.sql import Piece, compared
from nsysparse.source.usable import MAX_TIME_NS

_DIGITS = 16
# Names that every other host has too.
_NO_NAMES = frozenset({"", "localhost", "localhost.localdomain", "localhost6", "(none)"})
_UTC_FROM_NS = 10**18  # September 2001 as UTC; 31 years as the time since a boot
_START: Mapping[str, tuple[str, type[pl.DataType]]] = {"first_ns": ("start", pl.Int64)}
_EVENTS = (schema.NVTX, schema.RUNTIME, schema.KERNEL_TIMES, schema.MEMCPY)


def read_anchor(export: Export, metadata: Mapping[str, str]) -> Anchor:
    """The anchor of a trace; nothing of it is an error, a file may lack it all.

    Args:
        export: The open file; its times must not have been shifted back yet.
        metadata: Its allowed metadata.
    """
    start = export.read(schema.START_TIME).sort("utc_epoch_ns", "monotonic_ns", nulls_last=True)
    epoch, monotonic = (_sane(start[name].drop_nulls()) for name in ("utc_epoch_ns", "monotonic_ns"))
    shift = _shift(export, metadata, epoch)
    # Events in UTC of a file that does not say when it began: it begins at its first event.
    return Anchor(shift if epoch is None and shift > _UTC_FROM_NS else epoch, _host(export), shift, monotonic)


def _shift(export: Export, metadata: Mapping[str, str], epoch: int | None) -> int:
    exact = _number(metadata.get("EXPORT_CONFIG_TIME_SHIFT"))
    if exact is not None:
        return exact
    normalised = metadata.get("EXPORT_PARAM_TIME_NORMALIZE", "").strip().lower()
    asked = _number(metadata.get("EXPORT_PARAM_TIME_SHIFT")) or 0
    if normalised in ("true", "1") and epoch is not None:
        return epoch + asked
    if normalised in ("false", "0"):
        return asked
    first = _first_ns(export)
    if first is None or first <= _UTC_FROM_NS:
        return asked
    return first if epoch is None else epoch


def _first_ns(export: Export) -> int | None:
    """The earliest start of an event, or an instant that is none in UTC where any event is not; None without events."""
    known = [spec.table for spec in _EVENTS if "start" in export.columns(spec.table)]
    anyone = [export.read(TableSpec(table, _START), limit=1)["first_ns"].drop_nulls().to_list() for table in known]
    if any(first <= _UTC_FROM_NS for some in anyone for first in some):
        return _UTC_FROM_NS  # an event that is not in UTC tells all: none need be looked for that came before it
    earliest: dict[str, tuple[str, type[pl.DataType]]] = {"first_ns": ("min(`start`)", pl.Int64)}
    firsts = [export.read(TableSpec(table, {}), extra=earliest)["first_ns"].item() for table in known]
    return min((int(first) for first in firsts if first is not None), default=None)


def _host(export: Export) -> str | None:
    """A digest of the one host name in the file; None where it gives none, several, or one that says nothing."""
    if not {"name", "value"} <= export.columns(schema.HOST.table):
        return None
    is_name = compared("name", "=", "Hostname") & Piece("typeof(`value`) = 'text'")
    names = {name.strip().lower() for name in export.read(schema.HOST, where=is_name)["value"].to_list()} - _NO_NAMES
    return hashlib.sha256(names.pop().encode()).hexdigest()[:_DIGITS] if len(names) == 1 else None


def _number(text: str | None) -> int | None:
    try:
        value = int(text or "")
    except ValueError:
        return None
    return value if abs(value) <= MAX_TIME_NS else None


def _sane(values: pl.Series) -> int | None:
    return int(values[0]) if values.len() and 0 < int(values[0]) <= MAX_TIME_NS else None
