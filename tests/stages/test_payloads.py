"""NCCL payloads out of JSON and out of blobs; what does not fit is unknown, never a number."""

import struct

import polars as pl
import pytest

from nsysparse.source.payloads import Decoder, decode, read_schemas

SEND = 2**24 + 9
ENTRIES = {
    "domain_id": [1, 1, 1],
    "schema_id": [SEND] * 3,
    "idx": [0, 1, 2],
    "entry_type": [18, 22, 5],
    "name": ["NCCL communicator ID", "Message size [bytes]", "Peer rank"],
    "array_detail": [None] * 3,
    "offset": [None, 8, 16],
}
TYPES = {"domain_id": pl.Int64, "array_detail": pl.Int64, "offset": pl.Int64}


def schemas(**changes: list[object]) -> pl.DataFrame:
    return pl.DataFrame({**ENTRIES, **changes}, schema_overrides=TYPES)


def blob(body: bytes, *, domain: int = 1, schema: int = SEND, size: int | None = None, offset: int = 32) -> bytes:
    return struct.pack("<QQQQ", domain, schema, len(body) if size is None else size, offset) + body


GOOD = struct.pack("<QQi4x", 2**64 - 5, 8192, 3)


def one(decoder: Decoder, *, json: str | None = None, data: bytes | None = None) -> dict[str, object]:
    rows = pl.DataFrame(
        {"range_id": [0], "json": [json], "blob": [data]},
        schema={"range_id": pl.UInt32, "json": pl.String, "blob": pl.Binary},
    )
    found = decode(rows, decoder)
    return found.row(0, named=True) if found.height else {}


def test_a_blob_is_read_by_entry_name_and_offset() -> None:
    got = one(Decoder(read_schemas(schemas())), data=blob(GOOD))
    assert (got["communicator"], got["bytes"], got["peer"]) == (2**64 - 5, 8192, 3)
    moved = schemas(name=["Peer rank", "Bytes", "unknown field"], entry_type=[5, 22, 18], offset=[16, 8, None])
    got = one(Decoder(read_schemas(moved)), data=blob(GOOD))
    assert (got["communicator"], got["bytes"], got["peer"]) == (None, 8192, 3)


def test_identical_repetitions_are_one_schema_and_contradictions_none() -> None:
    twice = pl.concat([schemas(), schemas()])
    assert one(Decoder(read_schemas(twice)), data=blob(GOOD))["bytes"] == 8192
    torn = pl.concat([schemas(), schemas(offset=[None, 0, 16])])
    decoder = Decoder(read_schemas(torn))
    assert one(decoder, data=blob(GOOD)) == {}
    assert decoder.undecodable == 1


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\x00" * 31,
        blob(GOOD, schema=SEND + 1),
        blob(GOOD, domain=2),
        blob(GOOD, size=4096),
        blob(GOOD, offset=2**63),
        blob(GOOD, offset=8),
        blob(GOOD[:10]),
    ],
)
def test_a_blob_that_does_not_fit_is_counted_not_guessed(bad: bytes) -> None:
    decoder = Decoder(read_schemas(schemas()))
    assert one(decoder, data=bad) == {}
    assert decoder.undecodable == 1


def test_json_in_both_vocabularies() -> None:
    decoder = Decoder({})
    newer = one(decoder, json='{"NCCL communicator ID":13429301450432826988,"Message size [bytes]":24,"Peer rank":1}')
    assert (newer["communicator"], newer["bytes"], newer["peer"]) == (13429301450432826988, 24, 1)
    older = one(decoder, json='{"Bytes":8192,"Peer rank":-1}')
    assert (older["communicator"], older["bytes"], older["peer"]) == (None, 8192, -1)


@pytest.mark.parametrize("bad", ["", "[1]", "{", '{"a":1}{', "[" * 100_000])
def test_json_that_is_none_is_counted(bad: str) -> None:
    decoder = Decoder({})
    assert one(decoder, json=bad) == {}
    assert decoder.undecodable == 1


def test_numbers_no_call_can_have_are_unknown() -> None:
    decoder = Decoder({})
    text = '{"Bytes":-4,"Peer rank":99999999999,"NCCL communicator ID":-1,"Rank":true,"CUDA device":1.5}'
    assert one(decoder, json=text).get("bytes") is None
    assert one(decoder, json='{"Bytes":9223372036854775807,"Peer rank":0}')["bytes"] is None
