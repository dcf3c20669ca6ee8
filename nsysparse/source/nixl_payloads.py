"""NIXL's NVTX payloads: size and remote agent of a post, out of JSON text or out of a binary blob.

NIXL hands NVTX one record per attribute: a key and a value. How an exporter words several such records as one text is
not documented, so JSON is read as name and value pairs wherever they stand: `"bytes": 4096`, or a `key` of `bytes` with
a `value` beside it. A blob starts with the header of `payloads`; its layout stands in the file's own schema tables.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from nsysparse.source.payloads import INTEGERS, blob_body, layouts
from nsysparse.source.usable import MAX_BYTES

COLUMNS: Mapping[str, type[pl.DataType]] = {"bytes": pl.Int64, "remote_agent": pl.String}
KEY, VALUE = "key", "value"
# NVTX payload entry types: char* in the system's encoding, and in UTF-8.
_STRINGS = frozenset({75, 76})
# NVTX payload entry flags: the value lies elsewhere (pointer, offsets); how its length is told.
_ELSEWHERE, _LENGTH, _ZERO_TERMINATED = 0b1110, 0b111 << 4, 2 << 4
_MAX_NAME, _MAX_PAIRS, _MAX_DEPTH = 1024, 256, 8

_HALF = re.compile("[\ud800-\udfff]")

Value = int | str
Pairs = list[tuple[str, object]]


class Entry(NamedTuple):
    """A field of a layout: its name in lower case, NVTX type, length of an inline string (None: not told), place."""

    name: str
    type: int
    length: int | None
    flags: int
    offset: int


@dataclass(slots=True)
class Decoder:
    """Decodes NIXL's payloads of one file and counts what it could not decode.

    Attributes:
        schemas: (domain id, schema id) → entries; None for an id with contradicting definitions.
        undecodable: Payloads that were there but said nothing that could be read.
        impossible: Sizes that no message can have.
    """

    schemas: Mapping[tuple[int, int], tuple[Entry, ...] | None]
    undecodable: int = 0
    impossible: int = 0

    def read(self, text: str | None, blob: bytes | None) -> dict[str, Value]:
        """Fields of one payload; JSON wins where both exist. Empty, and counted, where nothing can be read."""
        named = self.attributes(text, blob)
        found: dict[str, Value] = {}
        size, agent = named.get("bytes"), named.get("remote_agent")
        if isinstance(size, int) and not isinstance(size, bool):
            if 0 <= size <= MAX_BYTES:
                found["bytes"] = size
            else:
                self.impossible += 1
        if isinstance(agent, str) and self.is_agent(agent):
            found["remote_agent"] = agent
        self.undecodable += not ("bytes" in named or "remote_agent" in named)
        return found

    def attributes(self, text: str | None, blob: bytes | None) -> dict[str, object]:
        """All attributes of one payload by name, whatever they are."""
        pairs = _from_json(text) if text is not None else self._from_blob(blob or b"")
        return dict(_attributes(pairs))

    @staticmethod
    def is_agent(name: str) -> bool:
        """Whether an agent can have this name. JSON can spell half a character, which cannot be written again."""
        return 0 < len(name) <= _MAX_NAME and not _HALF.search(name)

    def _from_blob(self, blob: bytes) -> Pairs:
        found = blob_body(blob)
        if found is None:
            return []
        key, body = found
        pairs: Pairs = []
        for entry in self.schemas.get(key) or ():
            if entry.type in INTEGERS and entry.length is None and not entry.flags & _ELSEWHERE:
                width, signed = INTEGERS[entry.type]
                if not 0 <= entry.offset <= len(body) - width:
                    return []
                part = body[entry.offset : entry.offset + width]
                pairs.append((entry.name, int.from_bytes(part, "little", signed=signed)))
            elif entry.type in _STRINGS:
                pairs.append((entry.name, _string(body, entry)))
        return pairs


def _string(body: bytes, entry: Entry) -> str | None:
    """A string that lies in the payload itself; None for one behind a pointer, of which only the address is there."""
    if entry.flags & _ELSEWHERE or not 0 <= entry.offset < len(body):
        return None
    ends = entry.flags & _LENGTH == _ZERO_TERMINATED
    if entry.length is None and not ends:
        return None
    room = body[entry.offset : entry.offset + (_MAX_NAME + 1 if entry.length is None else entry.length)]
    if entry.length is not None and len(room) < entry.length:
        return None
    text, terminator, _ = room.partition(b"\0")
    if ends and not terminator:
        return None
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _from_json(text: str) -> Pairs:
    """Name and value pairs of a JSON text in order, whatever objects and lists they lie in; empty when it is none."""
    try:
        loaded = _JSON.decode(text)
    except (ValueError, RecursionError):
        return []
    pairs: Pairs = []
    for pair in _walk(loaded, _MAX_DEPTH):
        pairs.append(pair)
        if len(pairs) > _MAX_PAIRS:  # no attributes of a call: they are a handful
            return []
    return pairs


class _Object(list[tuple[str, object]]):
    """A JSON object as its pairs: names may repeat where several records were written into one object."""


_JSON = json.JSONDecoder(object_pairs_hook=_Object)  # once: `json.loads` would make one per text


def _walk(value: object, depth: int) -> Iterator[tuple[str, object]]:
    if depth == 0 or not isinstance(value, list):
        return
    for item in value:
        name, inner = item if isinstance(value, _Object) else ("", item)
        if isinstance(inner, list):
            yield from _walk(inner, depth - 1)
        elif isinstance(value, _Object):
            yield name.strip().lower(), inner


def _attributes(pairs: Sequence[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """The attributes: pairs as they are, except that a `key` names the `value` that follows it."""
    key: object = None
    for name, value in pairs:
        if name == KEY:
            key = value
        elif name == VALUE:
            if isinstance(key, str):
                yield key.strip().lower(), value
            key = None
        else:
            yield name, value


def read_schemas(entries: pl.DataFrame) -> dict[tuple[int, int], tuple[Entry, ...] | None]:
    """Layouts by (domain id, schema id) from NVTX_PAYLOAD_SCHEMA_ENTRIES, in the order of their entries."""
    found: dict[tuple[int, int], tuple[Entry, ...] | None] = {}
    for key, rows in layouts(entries, ("name", "entry_type", "array_detail", "offset", "flags")).items():
        found[key] = None if rows is None else tuple(_entry(*row) for row in rows)
    return found


def _entry(name: object, kind: object, detail: object, offset: object, flags: object) -> Entry:
    """An entry out of a row; the exporter leaves zeros out."""
    return Entry(str(name).strip().lower(), _int(kind), _int(detail) or None, _int(flags), _int(offset))


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def decode(rows: pl.DataFrame, decoder: Decoder) -> pl.DataFrame:
    """Payload fields per range.

    Args:
        rows: Columns `range_id`, `json` (JSON text or null) and `blob` (bytes or null), one of which is there.
        decoder: Holds the schemas, counts failures.

    Returns:
        `range_id`, `bytes`, `remote_agent`; only ranges of which at least one is known.
    """
    found = [
        {"range_id": range_id, **said}
        for range_id, text, blob in rows.select("range_id", "json", "blob").iter_rows()
        if (said := decoder.read(text, blob))
    ]
    return pl.DataFrame(found, schema={"range_id": pl.UInt32, **COLUMNS})
