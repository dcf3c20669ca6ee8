"""What NIXL attaches to a post: size and remote agent, as JSON text or as the raw bytes of a payload.

NIXL registers a record of a key and a value and hands NVTX one per attribute, with pointers for the strings. Here one
record holds both attributes and the text itself, so that a blob says as much as the JSON does.
"""

import json
import struct

from nsysparse.testing.payloads import blob
from nsysparse.testing.store import Row

INT64, CSTRING = 17, 75  # NVTX payload entry types
SCHEMA = (1 << 32) + 1  # NVTX: ids that the tool hands out start at 2^32
AGENT_BYTES = 64
_POST = struct.Struct(f"<q{AGENT_BYTES}s")


def post_json(nbytes: int, remote_agent: str) -> str:
    """The attributes of a post as JSON text."""
    return json.dumps({"remote_agent": remote_agent, "bytes": nbytes}, separators=(",", ":"))


def post_blob(domain_id: int, nbytes: int, remote_agent: str) -> bytes:
    """The attributes of a post as the bytes of `NVTX_EVENTS.binaryData`."""
    return blob(domain_id, SCHEMA, _POST.pack(nbytes, remote_agent.encode()))


def post_layout(domain_id: int) -> tuple[Row, list[Row]]:
    """How an agent's domain declares that record: the row of the schema and those of its entries."""
    place: Row = {"domainId": domain_id, "schemaId": SCHEMA}
    entries: list[Row] = [
        {**place, "idx": 0, "type": INT64, "name": "bytes"},
        {**place, "idx": 1, "type": CSTRING, "name": "remote_agent", "arrayOrUnionDetail": AGENT_BYTES, "offset": 8},
    ]
    return {**place, "type": 1, "numEntries": len(entries), "payloadSize": _POST.size}, entries
