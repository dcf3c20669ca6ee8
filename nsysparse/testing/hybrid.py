"""Puts real NCCL payload bytes into real captures whose exporter dropped them.

Exporters up to 2023.4 leave NVTX payloads out of SQLite, though the report has them. Where the bytes were saved beside
a capture, this writes the file that a newer exporter would have made of it.
"""

import csv
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from nsysparse.testing.derived import SYNTHETIC, layout_rows
from nsysparse.testing.payloads import Payload, blob, recorded_payload
from nsysparse.testing.schemas import VERSIONS, tables
from nsysparse.testing.store import Row
from nsysparse.testing.threads import PUSH_POP

Form = Literal["json", "json-id", "blob"]

NOTICE = (
    "hybrid: real NVTX and payload bytes, re-encoded; NCCL ran without a GPU, so the lengths of its calls mean nothing "
    "and where the file has API calls and GPU work, these are invented"
)

_FIRST_WITH_PAYLOADS = "3.25"  # the oldest of our schemas with the payload tables and `binaryData`
_PAYLOAD_TABLES = ("NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES")
_FIND = """
    SELECT event.rowid, event.domainId FROM NVTX_EVENTS AS event LEFT JOIN StringIds ON StringIds.id = event.textId
    WHERE event.start = ? AND event.globalTid = ? AND event.eventType = ? AND coalesce(event.text, StringIds.value) = ?
"""
_TID_BITS = 24


class _Recorded(NamedTuple):
    """One range and the payload it was recorded with."""

    row_id: int
    process: int
    domain_id: int
    payload: Payload
    raw: bytes


def reencode(
    lab_sqlite: str | PathLike[str], payload_csv: str | PathLike[str], out: str | PathLike[str], form: Form = "json"
) -> Path:
    """Copy a capture and write its payloads into NVTX_EVENTS, with the columns and tables that newer exporters have.

    Args:
        lab_sqlite: The capture; it is not changed.
        payload_csv: Its payloads: columns start, globalTid, name, schemaId, payload_hex.
        out: The file to write; replaced if it exists.
        form: `json` in jsonText, `json-id` in jsonTextId, `blob` in binaryData.

    Returns:
        The written file.

    Raises:
        ValueError: A payload has no range, or more than one, to go with it.
    """
    target = Path(out)
    shutil.copyfile(lab_sqlite, target)
    with closing(sqlite3.connect(target)) as connection, connection:
        recorded = list(_recorded(connection, Path(payload_csv)))
        _add_what_newer_exports_have(connection)
        _declare_layouts(connection, recorded)
        for one in recorded:
            column, value = _encoded(connection, one, form)
            connection.execute(f"UPDATE NVTX_EVENTS SET {column} = ? WHERE rowid = ?", (value, one.row_id))
        named = [version.metadata_table for version in VERSIONS.values() if version.metadata_table]
        (metadata,) = {table for table in named if _exists(connection, table)}
        _insert(connection, metadata, {"name": SYNTHETIC, "value": NOTICE})
    return target


def _recorded(connection: sqlite3.Connection, payload_csv: Path) -> Iterator[_Recorded]:
    with payload_csv.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            call, start, global_tid = line["name"], int(line["start"]), int(line["globalTid"])
            found = connection.execute(_FIND, (start, global_tid, PUSH_POP, call)).fetchall()
            if len(found) != 1:
                raise ValueError(f"{payload_csv}: {len(found)} ranges for {call} at {start} ns, not one")
            ((row_id, domain_id),) = found
            raw = bytes.fromhex(line["payload_hex"])
            payload = recorded_payload(call, int(line["schemaId"]), raw)
            yield _Recorded(row_id, global_tid >> _TID_BITS, domain_id, payload, raw)


def _add_what_newer_exports_have(connection: sqlite3.Connection) -> None:
    newer = tables(_FIRST_WITH_PAYLOADS)
    for table in _PAYLOAD_TABLES:
        connection.execute(f"CREATE TABLE {table} ({', '.join(column.ddl for column in newer[table])})")
    (blobs,) = (column for column in newer["NVTX_EVENTS"] if column.name == "binaryData")
    connection.execute(f"ALTER TABLE NVTX_EVENTS ADD COLUMN {blobs.ddl}")


def _declare_layouts(connection: sqlite3.Connection, recorded: list[_Recorded]) -> None:
    """Each layout once a process, as NCCL registers it."""
    layouts = {(one.process, one.domain_id, one.payload.schema_id): one.payload for one in recorded}
    for (_, domain_id, _), payload in layouts.items():
        schema, entries = layout_rows(domain_id, payload)
        _insert(connection, _PAYLOAD_TABLES[0], schema)
        for entry in entries:
            _insert(connection, _PAYLOAD_TABLES[1], entry)


def _encoded(connection: sqlite3.Connection, one: _Recorded, form: Form) -> tuple[str, str | int | bytes]:
    """The column that carries the payload in this form, and what it holds."""
    match form:
        case "json":
            return "jsonText", one.payload.as_json()
        case "json-id":
            return "jsonTextId", _string_id(connection, one.payload.as_json())
        case "blob":
            return "binaryData", blob(one.domain_id, one.payload.schema_id, one.raw)


def _string_id(connection: sqlite3.Connection, text: str) -> int:
    found = connection.execute("SELECT id FROM StringIds WHERE value = ?", (text,)).fetchone()
    if found is not None:
        return int(found[0])
    return int(connection.execute("INSERT INTO StringIds (value) VALUES (?) RETURNING id", (text,)).fetchone()[0])


def _insert(connection: sqlite3.Connection, table: str, row: Row) -> None:
    columns, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))


def _exists(connection: sqlite3.Connection, table: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    return found.fetchone() is not None
