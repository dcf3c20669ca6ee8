"""What a trace holds and no report needs is in no output: canaries in every such place, searched for byte by byte."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from commands import call, run
from every_command import every_command

from nsysparse.redaction.columns import OWN_WAY, TEXTS, known
from nsysparse.testing import TraceBuilder

CANARY = b"qwzcanary"
KERNEL = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def planted(folder: Path) -> Path:
    """A trace with canaries as folder, host, users, environment, unknown columns and tables, payloads, free pages."""
    builder = TraceBuilder(schema="3.27", gpus={0: "NVIDIA H100", 1: "NVIDIA H100"}, host="QwzCanary-Host")
    for rank, pid in enumerate((11, 22)):
        process = builder.process(pid=pid, name="qwzcanary-process")
        thread = process.thread(tid=pid, name="qwzcanary-thread")
        thread.push_pop("kv_transfer op=send request=r1 layer=0", 900, 9_500)
        call_of = "ncclSend" if rank == 0 else "ncclRecv"
        form = "json" if rank == 0 else "blob"
        thread.nccl(
            call_of, 1_000, 9_000, communicator=7, nbytes=8192, peer=1 - rank, rank=rank, nranks=2, payload=form
        )
        process.kernel(KERNEL, 9_000, 12_000, device=rank, stream=20, launch=thread.launch(2_000, 3_000))
        thread.launch(20_000, 20_100)  # launches nothing
        thread.push_pop("own payload", 13_000, 14_000, jsonText='{"user": "qwzcanary"}', binaryData=b"qwzcanary blob")
    env = "\0".join(["PATH=/home/qwzcanary/bin", "TOKEN=qwzcanary-token"] * 20)
    builder.store.string(env)
    builder.store.string("qwzcanary registered and referred to by nothing")
    builder.sql("INSERT INTO META_DATA_CAPTURE VALUES (?, ?)", ("PROCESS_0:ENVIRONMENT_VARIABLE", "TOKEN=qwzcanary"))
    builder.sql("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", ("EXPORT_REPORT_FILE_PATH", "/home/qwzcanary/x.nsys-rep"))
    builder.sql("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", ("EXPORT_PARAM_TABLES_TO_EXPORT", "qwzcanary"))
    builder.sql("CREATE TABLE ProcessStreams (globalPid INTEGER, contentId INTEGER, content TEXT)")
    builder.sql("INSERT INTO ProcessStreams VALUES (?, ?, ?)", (1, 1, "stdout of qwzcanary"))
    builder.sql("INSERT INTO TARGET_INFO_SYSTEM_ENV (devStateName, name, nameEnum, value) VALUES (?, ?, ?, ?)",
                ("qwzcanary-user", "UserName", 1, "qwzcanary"))  # fmt: skip
    builder.sql("CREATE TABLE Unheard (qwzcanary_column TEXT)")
    builder.sql("INSERT INTO Unheard VALUES (?)", ("qwzcanary",))
    for table in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL", "TARGET_INFO_GPU", "ANALYSIS_DETAILS"):
        builder.sql(f"ALTER TABLE {table} ADD COLUMN unheard TEXT DEFAULT 'qwzcanary'")
    for column in ("uuid", "busLocation", "ctrlDevPath"):
        builder.sql(f"UPDATE TARGET_INFO_GPU SET {column} = 'qwzcanary'")
    builder.sql("UPDATE TARGET_INFO_SESSION_START_TIME SET localTime = 'qwzcanary', utcTime = 'qwzcanary'")
    builder.sql("UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET description = 'qwzcanary'")
    builder.sql("INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, type, name) VALUES (9, 99, 0, 7, ?)",
                ("qwzcanary field",))  # fmt: skip
    # The category of an event, which nobody reads, and payloads of NCCL's with more in them than is read.
    builder.sql(
        "INSERT INTO NVTX_EVENTS (start, eventType, globalTid, text) VALUES (1, 33, 1, ?)", ("qwzcanary category",)
    )
    builder.sql(
        "UPDATE NVTX_EVENTS SET jsonText = json_insert(jsonText, '$.host', 'qwzcanary') WHERE jsonText LIKE '{%'"
    )
    builder.sql("CREATE TABLE Dropped (text TEXT)")
    builder.sql("INSERT INTO Dropped VALUES (?)", ("qwzcanary dropped " * 500,))
    builder.sql("DROP TABLE Dropped")
    trace = builder.write(folder / "qwzcanary-user" / "trace.sqlite")
    with closing(sqlite3.connect(trace)) as connection, connection:
        blobs = connection.execute("SELECT rowid, binaryData FROM NVTX_EVENTS WHERE binaryData IS NOT NULL").fetchall()
        longer = [(blob + b" qwzcanary", row) for row, blob in blobs]
        connection.executemany("UPDATE NVTX_EVENTS SET binaryData = ? WHERE rowid = ?", longer)
    return trace


def found(path: Path) -> bool:
    """Whether a canary is in a file; of Parquet also in what is compressed."""
    data = path.read_bytes()
    if path.suffix == ".parquet":
        data += repr(pl.read_parquet(path).to_dict(as_series=False)).encode()
    return CANARY in data.lower()


def test_no_command_lets_a_canary_out(tmp_path: Path) -> None:
    trace, folder = planted(tmp_path), tmp_path / "out"
    folder.mkdir()
    assert trace.read_bytes().lower().count(CANARY) > 60
    for line in every_command(trace, folder):
        done = call(*line, cwd=folder)
        assert done.returncode == 0, (line, done.stderr)
        assert CANARY not in (done.stdout + done.stderr).lower().encode(), line
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert {".html", ".md", ".json", ".txt", ".csv", ".parquet", ".ndjson", ".prom", ".svg", ".sqlite"} <= {
        path.suffix for path in written
    }
    assert [path.name for path in written if found(path)] == []


def test_the_planted_trace_holds_a_transfer_that_its_copy_holds_too(tmp_path: Path) -> None:
    trace, copy = planted(tmp_path), tmp_path / "trace.sqlite"
    assert call("redact", trace, "-o", copy, "-q", cwd=tmp_path).returncode == 0
    before, after = (
        json.loads(call("report", each, "-f", "json", "-o", "-", cwd=tmp_path).stdout) for each in (trace, copy)
    )
    assert before["totals"]["paired_count"] == 1
    assert after["totals"] == before["totals"]


@pytest.mark.parametrize("command", ["report", "inspect", "redact"])
def test_failures_tell_no_path_even_with_tracebacks(command: str, tmp_path: Path) -> None:
    trace = planted(tmp_path)
    trace.write_bytes(trace.read_bytes()[:40_000])
    output = ["-o", "out.sqlite"] if command == "redact" else ["-o", "-"]
    done = run(command, trace, *output, "-vv", cwd=tmp_path)
    assert done.returncode == 1
    assert CANARY not in (done.stdout + done.stderr).lower().encode()
    assert "cannot be read" in done.stderr
    assert not (tmp_path / "out.sqlite").exists()


def test_nothing_is_copied_but_what_is_read(tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    call("redact", planted(tmp_path), "-o", copy, "-q", cwd=tmp_path)
    with closing(sqlite3.connect(copy)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        assert tables <= set(known())
        for table in tables - OWN_WAY:
            columns = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
            assert columns <= {theirs for theirs, _ in known()[table].columns.values()}
        calls = connection.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
        free = connection.execute("PRAGMA freelist_count").fetchone()
    assert calls == (2,)
    assert free == (0,)


def test_every_text_column_that_is_read_has_somebody_to_vouch_for_it() -> None:
    """A new text column in the schema must be placed: copied as it is, said anew, or left out."""
    texts = {
        (table, ours)
        for table, each in known().items()
        if table not in OWN_WAY
        for ours, (_, dtype) in each.columns.items()
        if dtype is pl.String
    }
    assert texts == {(table, ours) for table, columns in TEXTS.items() for ours in columns}


def test_a_copy_never_replaces_anything_unasked(tmp_path: Path) -> None:
    trace, other = planted(tmp_path), tmp_path / "other"
    before = trace.read_bytes()
    other.write_text("somebody's")
    assert call("redact", trace, "-o", other, cwd=tmp_path).returncode == 1
    assert other.read_text() == "somebody's"
    assert call("redact", trace, "-o", other, "--force", "-q", cwd=tmp_path).returncode == 0
    link = tmp_path / "link.sqlite"
    link.symlink_to(trace)
    for own in (trace, link):
        assert call("redact", trace, "-o", own, "--force", cwd=tmp_path).returncode == 1
    assert trace.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "-"], 2, "cannot be written to a stream"),
        (["-o", "x", "--names", "hash"], 2, "needs --salt"),
        (["-o", "x", "--salt", "nobody"], 1, "cannot be read"),
        (["-o", "x", "--salt", "short"], 1, "too few for a salt"),
        (["-o", "x", "--time-range", "9s..10s"], 1, "nothing was recorded in"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    trace = planted(tmp_path)
    (tmp_path / "short").write_bytes(b"abc")
    done = call("redact", trace, *arguments, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "x").exists()
