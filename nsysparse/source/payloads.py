"""NCCL's NVTX payloads: communicator, bytes and peer out of JSON text or out of a binary blob.

The blob layout is not documented by NVIDIA: a 32-byte little-endian header (domain id, schema id, payload size,
payload offset, each u64), then the payload. Fields are found by the *entry name* in the file's own schema tables,
because schema ids and field types move between NCCL versions.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

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
# 256 TiB: no message is larger, and sums of a million such still fit 64 bits.
MAX_BYTES = 2**48
# NVTX payload entry types that NCCL uses for these fields, or could: (bytes, signed).
_INTEGERS: Mapping[int, tuple[int, bool]] = {
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
        if len(blob) < _HEADER.size:
            self.undecodable += 1
            return {}
        domain, schema_id, size, offset = _HEADER.unpack_from(blob)
        entries = self.schemas.get((domain, schema_id))
        if entries is None or offset < _HEADER.size or offset + size > len(blob):
            self.undecodable += 1
            return {}
        body = blob[offset : offset + size]
        values: Values = {}
        for column, entry_type, at in entries:
            width, signed = _INTEGERS[entry_type]
            if at < 0 or at + width > len(body):
                self.undecodable += 1
                return {}
            values[column] = int.from_bytes(body[at : at + width], "little", signed=signed)
        return values


def read_schemas(entries: pl.DataFrame) -> dict[tuple[int, int], tuple[Entry, ...] | None]:
    """Payload schemas by (domain id, schema id) from NVTX_PAYLOAD_SCHEMA_ENTRIES.

    Rows repeat once per process without saying which: identical repetitions are one, contradicting ones make the id
    unusable (None), since nothing says which of them a range means.
    """
    variants: dict[tuple[int, int], dict[int, set[tuple[object, ...]]]] = {}
    for row in entries.iter_rows(named=True):
        key = (row["domain_id"] or 0, row["schema_id"])
        detail = (row["name"], row["entry_type"], row["array_detail"], row["offset"])
        variants.setdefault(key, {}).setdefault(row["idx"], set()).add(detail)
    return {key: _entries(by_index) for key, by_index in variants.items()}


def _entries(by_index: Mapping[int, set[tuple[object, ...]]]) -> tuple[Entry, ...] | None:
    if any(len(seen) > 1 for seen in by_index.values()):
        return None
    found: list[Entry] = []
    for ((name, entry_type, array_detail, offset),) in by_index.values():
        column = FIELDS.get(str(name).strip().lower())
        if column is not None and array_detail is None and entry_type in _INTEGERS:
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
