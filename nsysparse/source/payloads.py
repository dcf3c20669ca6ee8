"""NCCL's NVTX payloads: communicator, bytes and peer out of JSON text or out of a binary blob.

The blob layout is not documented by NVIDIA: a 32-byte little-endian header (domain id, schema id, payload size,
payload offset, each u64), then the payload. Fields are found by the *entry name* in the file's own schema tables,
because schema ids and field types move between NCCL versions.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from nsysparse.source.usable import MAX_BYTES

# Entry name, lower case → our column. `Bytes` is NCCL 2.16-2.24's name for the size of a Send or Recv.
FIELDS: Mapping[str, str] = {
    "nccl communicator id": "communicator",
    "message size [bytes]": "bytes",
    "bytes": "bytes",
    "peer rank": "peer",
    "rank": "rank",
    "no. of ranks": "rank_count",
    "cuda device": "device",
}
COLUMNS: Mapping[str, type[pl.DataType]] = {
    "communicator": pl.UInt64,
    "bytes": pl.Int64,
    "peer": pl.Int64,
    "rank": pl.Int64,
    "rank_count": pl.Int64,
    "device": pl.Int64,
}
_HEADER = struct.Struct("<QQQQ")
# NVTX payload entry types that NCCL uses for these fields, or could: (bytes, signed).
INTEGERS: Mapping[int, tuple[int, bool]] = {
    3: (2, True), 4: (2, False), 5: (4, True), 6: (4, False), 7: (8, True), 8: (8, False), 9: (8, True), 10: (8, False),
    11: (1, True), 12: (1, False), 13: (2, True), 14: (2, False), 15: (4, True), 16: (4, False), 17: (8, True),
    18: (8, False), 22: (8, False),
}  # fmt: skip

Entry = tuple[str, int, int]  # column, entry type, offset
Values = dict[str, int]


@dataclass(slots=True)
class Decoder:
    """Decodes payloads of one file and counts what it could not decode.

    Attributes:
        schemas: (domain id, schema id) → entries; None for an id with contradicting definitions.
        undecodable: Payloads that were there but could not be read.
        impossible: Sizes that no message can have.
    """

    schemas: Mapping[tuple[int, int], tuple[Entry, ...] | None]
    undecodable: int = 0
    impossible: int = 0
    _json: dict[str, Values] = field(default_factory=dict)

    def from_json(self, text: str) -> Values:
        """Fields of a payload written as JSON; empty (and counted) when it is no JSON object."""
        if text not in self._json:
            try:
                loaded = json.loads(text)
            except (ValueError, RecursionError):
                loaded = None
            if not isinstance(loaded, dict):
                self.undecodable += 1
                return {}
            named = {FIELDS.get(str(key).strip().lower()): value for key, value in loaded.items()}
            self.undecodable += any(isinstance(value, float) for name, value in named.items() if name)
            self._json[text] = {
                column: value
                for column, value in named.items()
                if column is not None and isinstance(value, int) and not isinstance(value, bool)
            }
        return self._json[text]

    def from_blob(self, blob: bytes) -> Values:
        """Fields of a binary payload; empty (and counted) when header, schema or length do not fit."""
        found = blob_body(blob)
        entries = self.schemas.get(found[0]) if found else None
        if found is None or entries is None:
            self.undecodable += 1
            return {}
        body = found[1]
        values: Values = {}
        for column, entry_type, at in entries:
            width, signed = INTEGERS[entry_type]
            if at < 0 or at + width > len(body):
                self.undecodable += 1
                return {}
            values[column] = int.from_bytes(body[at : at + width], "little", signed=signed)
        return values


def blob_body(blob: bytes) -> tuple[tuple[int, int], bytes] | None:
    """(Domain id, schema id) and the struct of a binary payload; None when its header does not fit."""
    if len(blob) < _HEADER.size:
        return None
    domain, schema_id, size, offset = _HEADER.unpack_from(blob)
    if offset < _HEADER.size or offset + size > len(blob):
        return None
    return (domain, schema_id), blob[offset : offset + size]


Row = tuple[object, ...]


def layouts(entries: pl.DataFrame, columns: Sequence[str]) -> dict[tuple[int, int], tuple[Row, ...] | None]:
    """Payload schemas by (domain id, schema id) from NVTX_PAYLOAD_SCHEMA_ENTRIES: `columns` of their entries, in order.

    Rows repeat once per process without saying which: identical repetitions are one, contradicting ones make the id
    unusable (None), since nothing says which of them a range means.
    """
    variants: dict[tuple[int, int], dict[int, set[Row]]] = {}
    for domain, schema_id, idx, *detail in entries.select("domain_id", "schema_id", "idx", *columns).iter_rows():
        variants.setdefault((domain or 0, schema_id), {}).setdefault(idx, set()).add(tuple(detail))
    return {
        key: None if any(len(seen) > 1 for seen in found.values()) else tuple(found[idx].pop() for idx in sorted(found))
        for key, found in variants.items()
    }


def read_schemas(entries: pl.DataFrame) -> dict[tuple[int, int], tuple[Entry, ...] | None]:
    """NCCL's fields in each payload schema of the file; None for a schema with contradicting definitions."""
    found = layouts(entries, ("name", "entry_type", "array_detail", "offset"))
    return {key: None if rows is None else _entries(rows) for key, rows in found.items()}


def _entries(rows: Sequence[Row]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for name, entry_type, array_detail, offset in rows:
        column = FIELDS.get(str(name).strip().lower())
        if column is not None and array_detail is None and entry_type in INTEGERS:
            found.append((column, int(str(entry_type)), int(str(offset or 0))))
    return tuple(found)


def decode(rows: pl.DataFrame, decoder: Decoder) -> pl.DataFrame:
    """Payload fields per range.

    Args:
        rows: Columns `range_id`, `json` (JSON text or null) and `blob` (bytes or null). JSON wins where both exist.
        decoder: Holds the schemas, counts failures.

    Returns:
        `range_id` and the columns of `COLUMNS`; only ranges with at least one known field.
    """
    found: list[dict[str, int]] = []
    for range_id, text, blob in rows.select("range_id", "json", "blob").iter_rows():
        values = decoder.from_json(text) if text is not None else decoder.from_blob(blob)
        if values:
            sane = _sane(values)
            decoder.impossible += "bytes" in values and "bytes" not in sane
            found.append({"range_id": range_id, **sane})
    return pl.DataFrame(found, schema={"range_id": pl.UInt32, **COLUMNS})


def _sane(values: Values) -> Values:
    """Without numbers no NCCL call can have: they come from damage or from another layout."""
    limits = {"communicator": (0, 2**64), "bytes": (0, MAX_BYTES)}
    small = (-(2**31), 2**31)
    return {
        column: value
        for column, value in values.items()
        if limits.get(column, small)[0] <= value < limits.get(column, small)[1]
    }
