"""What NCCL attaches to its NVTX ranges, in the three encodings an export can carry it.

NCCL registers one struct layout (a payload schema) per call. Newer exporters write it as JSON text or as the raw bytes
behind a 32-byte header; older ones drop it.
"""

import json
import struct
from typing import NamedTuple, NotRequired, TypedDict

STATIC_SCHEMA = 1 << 24  # NVTX: ids of statically registered schemas start here
U64, SIZE, INT = 18, 22, 5  # NVTX payload entry types uint64, size_t and int
REDUCTION = STATIC_SCHEMA + 20  # an enum; NCCL has moved its id between versions

_HEADER = struct.Struct("<QQQQ")  # domain id, schema id, payload size, payload offset
_PACKED = {U64: "Q", SIZE: "Q", INT: "i", REDUCTION: "i"}
_REDUCTIONS = ("Sum", "Product", "Max", "Min", "Avg")  # in the order of NCCL's enum


class NcclFacts(TypedDict):
    """What a call's payload says; which of these a call carries depends on its name."""

    communicator: NotRequired[int]
    nbytes: NotRequired[int]
    peer: NotRequired[int]
    nranks: NotRequired[int]
    rank: NotRequired[int]
    device: NotRequired[int]


class Entry(NamedTuple):
    """One field of the struct: its label, NVTX type and byte offset."""

    label: str
    type: int
    offset: int


class Payload(NamedTuple):
    """One call's payload: the registered layout and its values, in entry order."""

    schema_id: int
    entries: tuple[Entry, ...]
    values: tuple[int | str, ...]

    @property
    def size(self) -> int:
        """Bytes of the struct."""
        return _size(self.entries)

    def as_json(self) -> str:
        """The text that nsys 2026.3 writes: no spaces, 64-bit ids unsigned."""
        labels = (entry.label for entry in self.entries)
        return json.dumps(dict(zip(labels, self.values, strict=True)), separators=(",", ":"))

    def as_struct(self) -> bytes:
        """The bytes that the process handed to NVTX."""
        raw = bytearray(self.size)
        for entry, value in zip(self.entries, self.values, strict=True):
            number = _REDUCTIONS.index(value) if isinstance(value, str) else value
            struct.pack_into("<" + _PACKED[entry.type], raw, entry.offset, number)
        return bytes(raw)

    def as_blob(self, domain_id: int) -> bytes:
        """The bytes of `NVTX_EVENTS.binaryData`."""
        return blob(domain_id, self.schema_id, self.as_struct())


def _size(entries: tuple[Entry, ...]) -> int:
    """Bytes of a struct with these fields, padded to 8 as the compiler does."""
    last = entries[-1]
    return (last.offset + struct.calcsize(_PACKED[last.type]) + 7) // 8 * 8


def blob(domain_id: int, schema_id: int, raw: bytes) -> bytes:
    """A payload struct behind the header that the exporter puts before it."""
    return _HEADER.pack(domain_id, schema_id, len(raw), _HEADER.size) + raw


COMMUNICATOR = "NCCL communicator ID"
MESSAGE = "Message size [bytes]"
PEER = "Peer rank"
P2P = (Entry(COMMUNICATOR, U64, 0), Entry(MESSAGE, SIZE, 8), Entry(PEER, INT, 16))
P2P_BEFORE_2_25 = (Entry("Bytes", SIZE, 0), Entry(PEER, INT, 8))
_INIT = (
    Entry(COMMUNICATOR, U64, 0),
    Entry("No. of ranks", INT, 8),
    Entry("Rank", INT, 12),
    Entry("CUDA device", INT, 16),
)
_MOVE = (Entry(COMMUNICATOR, U64, 0), Entry(MESSAGE, SIZE, 8))
_REDUCE = (*_MOVE, Entry("Reduction operation", REDUCTION, 16))
_REDUCE_BEFORE_2_25 = (Entry(MESSAGE, SIZE, 0), Entry("Reduction operation", REDUCTION, 8))

_LAYOUTS = {
    "ncclCommInitRank": (2, _INIT),
    "ncclAllGather": (4, _MOVE),
    "ncclAllReduce": (5, _REDUCE),
    "ncclSend": (9, P2P),
    "ncclRecv": (10, P2P),
    "ncclAlltoAll": (16, _MOVE),
    "ncclGather": (17, _MOVE),
    "ncclScatter": (18, _MOVE),
    "ncclPutSignal": (21, P2P),
}
_BEFORE_2_25 = {"ncclSend": P2P_BEFORE_2_25, "ncclRecv": P2P_BEFORE_2_25, "ncclAllReduce": _REDUCE_BEFORE_2_25}


def nccl_payload(call: str, facts: NcclFacts) -> Payload:
    """The payload of a call; without communicator it takes the form of NCCL 2.24 and older."""
    if call not in _LAYOUTS:
        raise ValueError(f"{call} carries no payload in NCCL, or none that the builder knows")
    number, entries = _LAYOUTS[call]
    if "communicator" not in facts:
        entries = _BEFORE_2_25.get(call, entries)
    by_label: dict[str, int | str | None] = {
        COMMUNICATOR: facts.get("communicator"),
        MESSAGE: facts.get("nbytes"),
        "Bytes": facts.get("nbytes"),
        PEER: facts.get("peer"),
        "No. of ranks": facts.get("nranks"),
        "Rank": facts.get("rank"),
        "CUDA device": facts.get("device"),
        "Reduction operation": "Sum",
    }
    values = [value for entry in entries if (value := by_label[entry.label]) is not None]
    if len(values) < len(entries):
        wanted = ", ".join(entry.label for entry in entries)
        raise ValueError(f"the payload of {call} needs all of: {wanted}")
    return Payload(STATIC_SCHEMA + number, entries, tuple(values))


def recorded_payload(call: str, schema_id: int, raw: bytes) -> Payload:
    """The payload that a call handed to NVTX, from its bytes; their number tells old layouts from new ones."""
    known = (_LAYOUTS[call][1], _BEFORE_2_25.get(call)) if call in _LAYOUTS else ()
    for entries in known:
        if entries is not None and _size(entries) == len(raw):
            numbers = [struct.unpack_from("<" + _PACKED[entry.type], raw, entry.offset)[0] for entry in entries]
            pairs = zip(entries, numbers, strict=True)
            values = tuple(_REDUCTIONS[number] if entry.type == REDUCTION else number for entry, number in pairs)
            return Payload(schema_id, entries, values)
    raise ValueError(f"{call} with a payload of {len(raw)} bytes: no known layout of that size")
