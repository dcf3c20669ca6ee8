"""Which columns of which tables may be in a copy: those that `source.schema` names, and no others."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import polars as pl

from nsysparse.source import schema
from nsysparse.source.schema import ROW, TableSpec

Columns = Mapping[str, tuple[str, type[pl.DataType]]]


@dataclass(frozen=True, slots=True)
class Known:
    """All that is ever read of one table.

    Attributes:
        table: Its name.
        columns: Our names → (theirs, type).
    """

    table: str
    columns: Columns

    def spec(self) -> TableSpec:
        """To read it by; no column is required, since a copy lacks what the file lacks."""
        return TableSpec(self.table, self.columns)


@cache
def known() -> Mapping[str, Known]:
    """All tables that are ever read, by name: new ones in the schema are here by themselves."""
    found: dict[str, dict[str, tuple[str, type[pl.DataType]]]] = {}
    for spec in _specs():
        columns = found.setdefault(spec.table, {})
        columns |= {
            ours: column for ours, column in spec.columns.items() if ours != ROW and column[1] is not pl.Boolean
        }
    return {table: Known(table, columns) for table, columns in found.items()}


def _specs() -> Iterator[TableSpec]:
    for value in vars(schema).values():
        parts = value if isinstance(value, tuple) else (value,)
        yield from (each for each in parts if isinstance(each, TableSpec))


STRING_IDS = frozenset({"name_id", "short_name_id", "text_id", "json_text_id"})
"""Our columns that refer to StringIds."""
OWN_WAY = frozenset(
    spec.table for spec in (schema.STRINGS, schema.NVTX, schema.PAYLOAD_ENTRIES, schema.HOST, *schema.META_TABLES)
)
"""Tables whose rows are not copied as they are, but said anew."""
TEXTS: Mapping[str, frozenset[str]] = {
    schema.GPUS.table: frozenset({"name"}),
    schema.NICS.table: frozenset({"name"}),
    schema.GPU_METRIC_NAMES.table: frozenset({"metric"}),
    schema.NIC_METRIC_NAMES.table: frozenset({"metric", "unit_said"}),
}
"""Columns of other tables that may be copied as text: names of products, adapters and counters."""
