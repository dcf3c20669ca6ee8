"""Files are opened without trusting them and without touching them; what cannot be used is refused in one sentence."""

import hashlib
import os
import sqlite3
from pathlib import Path

import pytest

from nsysparse.errors import InputError, NotAnExport
from nsysparse.source.export import Export
from nsysparse.source.schema import KERNEL, NVTX
from nsysparse.testing import TraceBuilder


def a_trace(path: Path, schema: str = "3.25") -> Path:
    builder = TraceBuilder(schema=schema, gpus={0: "NVIDIA H100 80GB HBM3"})
    process = builder.process(pid=7)
    thread = process.thread(tid=7)
    thread.push_pop("model.layers.0", 100, 900)
    process.kernel("gemm", 300, 400, launch=thread.launch(200, 210))
    return builder.write(path)


def statement(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for each in statements:
        connection.execute(each)
    connection.commit()
    connection.close()
    return path


def read_all(path: Path) -> None:
    with Export(path) as export:
        export.read(NVTX)
        export.read(KERNEL)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_all(path)
    assert path.name in caught.value.message
    assert caught.value.hint
    return caught.value.message


def test_reading_leaves_file_and_folder_as_they_were(tmp_path: Path) -> None:
    path = a_trace(tmp_path / "a.sqlite")
    before = hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns
    with Export(path) as export:
        assert export.read(NVTX).height
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) == before
    assert os.listdir(tmp_path) == ["a.sqlite"]  # noqa: PTH208 (names only)


def test_the_connection_can_only_select(tmp_path: Path) -> None:
    with Export(a_trace(tmp_path / "a.sqlite")) as export:
        for forbidden in (
            "DELETE FROM StringIds",
            "ATTACH 'x' AS y",
            "CREATE TEMP TABLE t(a)",
            "PRAGMA query_only=OFF",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                export._connection.execute(forbidden)  # noqa: SLF001 (the guard itself is under test)


def test_what_is_no_export_is_named(tmp_path: Path) -> None:
    cases = {
        "missing.sqlite": (None, "no such file"),
        "empty.sqlite": (b"", "the file is empty"),
        "pointer.sqlite": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer"),
        "other.sqlite": (b"PK\x03\x04 something else", "not a SQLite database"),
    }
    for name, (content, expected) in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        assert expected in refused(path)


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    assert "not a regular file" in refused(tmp_path)


def test_another_database_is_refused_by_the_missing_table(tmp_path: Path) -> None:
    other = statement(tmp_path / "b.sqlite", "CREATE TABLE t(a)")
    with pytest.raises(NotAnExport, match="no table StringIds"):
        Export(other)


def test_an_unfinished_export_is_refused_by_the_missing_tables(tmp_path: Path) -> None:
    partial = statement(tmp_path / "c.sqlite", "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
    with pytest.raises(NotAnExport, match="no table of events"):
        Export(partial)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = a_trace(tmp_path / "d.sqlite")
    whole = path.read_bytes()
    for share in (0.9, 0.5, 0.1):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert "cannot be read" in refused(path)


def test_unfinished_writes_beside_it_are_refused(tmp_path: Path) -> None:
    path = a_trace(tmp_path / "e.sqlite")
    for suffix in ("-wal", "-journal"):
        sidecar = path.with_name(path.name + suffix)
        sidecar.write_bytes(b"x")
        assert "unfinished writes" in refused(path)
        sidecar.write_bytes(b"")
        with Export(path) as export:
            assert export.read(NVTX).height
        sidecar.unlink()


def test_a_missing_required_column_is_named(tmp_path: Path) -> None:
    path = statement(
        a_trace(tmp_path / "f.sqlite"), "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN deviceId TO device"
    )
    assert "CUPTI_ACTIVITY_KIND_KERNEL has no column deviceId" in refused(path)


def test_a_missing_optional_column_reads_as_null(tmp_path: Path) -> None:
    path = statement(
        a_trace(tmp_path / "g.sqlite"), "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN graphNodeId TO gone"
    )
    with Export(path) as export:
        assert export.read(KERNEL)["graph_node_id"].to_list() == [None]


def test_a_text_among_integers_is_named(tmp_path: Path) -> None:
    path = statement(a_trace(tmp_path / "h.sqlite"), "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon'")
    assert "CUPTI_ACTIVITY_KIND_KERNEL.start holds a value that is no Int64" in refused(path)


def test_views_and_generated_columns_are_never_read(tmp_path: Path) -> None:
    path = statement(
        a_trace(tmp_path / "i.sqlite"),
        "ALTER TABLE NVTX_EVENTS RENAME TO gone",
        "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r)"
        " SELECT x AS start, x AS end, 59 AS eventType, 1 AS globalTid FROM r",
    )
    with Export(path) as export:
        assert "NVTX_EVENTS" not in export.tables
        assert export.read(NVTX).height == 0
    generated = statement(
        a_trace(tmp_path / "j.sqlite"),
        "ALTER TABLE NVTX_EVENTS ADD COLUMN bomb AS (hex(zeroblob(400000000)))",
    )
    assert "computed" in refused(generated)


def test_the_environment_is_never_read(tmp_path: Path) -> None:
    path = statement(
        a_trace(tmp_path / "k.sqlite"),
        "INSERT INTO StringIds VALUES (999999, 'TOKEN=canary')",
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_HOST', 'canary-host')",
    )
    with Export(path) as export:
        assert "canary" not in str(export.read_metadata())
        assert export.read_strings(export.read(NVTX)["text_id"])["value"].str.contains("canary").sum() == 0


def test_invalid_utf8_and_nul_are_shown_not_fatal(tmp_path: Path) -> None:
    path = statement(
        a_trace(tmp_path / "l.sqlite"), "UPDATE NVTX_EVENTS SET text = CAST(x'61ff0062' AS TEXT), textId = NULL"
    )
    with Export(path) as export:
        assert "a\\xff\x00b" in export.read(NVTX)["text"].to_list()
