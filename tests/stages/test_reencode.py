"""Real payload bytes put back into real captures."""

import csv
import json
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nsysparse.testing import SYNTHETIC, reencode

CASES = {
    "real/hybrid-nsys22-nccl2.23.4-simple.sqlite": "real/nsys22-nccl2.23.4-simple.payloads.csv",
    "real/nsys22-nccl2.23.4-groups.sqlite": "real/nsys22-nccl2.23.4-groups.payloads.csv",
    "real/nsys23-nccl2.27.5-domainclash.sqlite": "real/nsys23-nccl2.27.5-domainclash.payloads.csv",
}
CONTENT = """
    SELECT coalesce(event.text, name.value), event.domainId, event.binaryData, event.jsonText, json.value
    FROM NVTX_EVENTS AS event LEFT JOIN StringIds AS name ON name.id = event.textId
    LEFT JOIN StringIds AS json ON json.id = event.jsonTextId
    WHERE event.start = ? AND event.globalTid = ? AND coalesce(event.text, name.value) = ?
"""


def written(connection: sqlite3.Connection, payloads: Path) -> Iterator[tuple[dict[str, str], tuple]]:
    """Each recorded payload and what the file holds at its range."""
    with payloads.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            place = (int(line["start"]), int(line["globalTid"]), line["name"])
            (row,) = connection.execute(CONTENT, place).fetchall()
            yield line, row


@pytest.mark.parametrize("form", ["json", "json-id", "blob"])
@pytest.mark.parametrize("trace", CASES)
def test_every_payload_lands_on_its_range(trace, form, sample, tmp_path):
    source, payloads = sample(trace), sample(CASES[trace])
    before = source.read_bytes()
    path = reencode(source, payloads, tmp_path / "out.sqlite", form)
    assert source.read_bytes() == before
    with closing(sqlite3.connect(path)) as connection:
        declared = set(connection.execute("SELECT domainId, schemaId, payloadSize FROM NVTX_PAYLOAD_SCHEMAS"))
        for line, (call, domain, blob, text, text_by_id) in written(connection, payloads):
            raw = bytes.fromhex(line["payload_hex"])
            assert (domain, int(line["schemaId"]), len(raw)) in declared
            if form == "blob":
                assert blob[:32] == struct.pack("<4Q", domain, int(line["schemaId"]), len(raw), 32)
                assert blob[32:] == raw
                assert text is text_by_id is None
                continue
            assert blob is None
            values = json.loads(text if form == "json" else text_by_id)
            if call == "ncclAllReduce":
                assert values["Reduction operation"] == "Sum"
                continue
            assert values["Peer rank"] == int(line["peer"])
            assert values.get("Message size [bytes]", values.get("Bytes")) == int(line["bytes"])
            assert values.get("NCCL communicator ID") == (int(line["comm"], 16) if line["comm"] else None)


def test_the_copy_says_what_it_is_and_keeps_everything_else(sample, tmp_path):
    source = sample("real/nsys23-nccl2.27.5-threads.sqlite")
    path = reencode(source, sample("real/nsys23-nccl2.27.5-threads.payloads.csv"), tmp_path / "out.sqlite")
    with closing(sqlite3.connect(path)) as new, closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as old:
        ((notice,),) = new.execute("SELECT value FROM META_DATA_EXPORT WHERE name = ?", (SYNTHETIC,))
        assert notice.startswith("hybrid: real NVTX and payload bytes, re-encoded;")
        ranges = "SELECT start, end, eventType, text, textId, globalTid, domainId FROM NVTX_EVENTS ORDER BY rowid"
        assert new.execute(ranges).fetchall() == old.execute(ranges).fetchall()
        columns = [row[1] for row in old.execute("PRAGMA table_info(NVTX_EVENTS)")]
        assert [row[1] for row in new.execute("PRAGMA table_info(NVTX_EVENTS)")] == [*columns, "binaryData"]


def test_payloads_of_another_capture_are_refused(sample, tmp_path):
    source, payloads = (
        sample("real/nsys23-nccl2.27.5-threads.sqlite"),
        sample("real/nsys22-nccl2.23.4-groups.payloads.csv"),
    )
    with pytest.raises(ValueError, match=r"0 ranges for ncclSend at \d+ ns, not one"):
        reencode(source, payloads, tmp_path / "out.sqlite")


def test_a_payload_of_unknown_layout_is_refused(sample, tmp_path):
    source, payloads = sample("real/nsys22-nccl2.23.4-groups.sqlite"), tmp_path / "payloads.csv"
    lines = sample("real/nsys22-nccl2.23.4-groups.payloads.csv").read_text(encoding="utf-8").splitlines()
    start, global_tid, call, schema, *_ = lines[1].split(",")
    payloads.write_text(f"{lines[0]}\n{start},{global_tid},{call},{schema},00ff,,,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="ncclSend with a payload of 2 bytes: no known layout"):
        reencode(source, payloads, tmp_path / "out.sqlite")
