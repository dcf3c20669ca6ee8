"""Files and places as they can be: each ends in one clear sentence, never in a traceback or a wrong total."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from nsysparse.api import analyse, study_traces
from nsysparse.errors import InputError
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"


def run(*arguments: str | bytes | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nsysparse", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def a_trace(path: Path, sends: int = 3) -> Path:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    for index in range(sends):
        at = 1000 * (index + 1)
        thread.nccl("ncclSend", at, at + 10, communicator=7, nbytes=100, peer=1)
        process.kernel(SEND_RECV, at + 100, at + 200, launch=thread.launch(at + 2, at + 4), stream=20)
    return builder.write(path)


def changed(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def refused(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    return done.stderr


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "loop" in refused(run("report", "loop", cwd=tmp_path))
    refused(run("report", "n" * 300, cwd=tmp_path))
    assert "empty name" in refused(run("report", "", cwd=tmp_path), code=2)
    refused(run("report", tmp_path, cwd=tmp_path))


def test_a_name_that_is_no_utf8_is_shown_escaped(tmp_path: Path) -> None:
    path = a_trace(tmp_path / "t.sqlite")
    strange = os.fsencode(tmp_path) + b"/a\xff.sqlite"
    path.rename(os.fsdecode(strange))
    done = subprocess.run(
        [sys.executable, "-m", "nsysparse", "report", strange, "-f", "json", "-o", "-"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"a\\\\udcff.sqlite" in done.stdout


def test_a_link_is_guarded_by_what_lies_beside_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = a_trace(tmp_path / "real" / "t.sqlite")
    (tmp_path / "link.sqlite").symlink_to(target)
    target.with_name("t.sqlite-wal").write_bytes(b"x")
    assert "unfinished writes" in refused(run("report", "link.sqlite", cwd=tmp_path))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not here")
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    a_trace(tmp_path / "t.sqlite")
    for tail in ("report t.sqlite -f json -o -", "report t.sqlite -q", "export t.sqlite --frame gpu_ops", "links list"):
        command = f"'{sys.executable}' -m nsysparse {tail} > /dev/full"
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1, (tail, done.stderr)
        assert "Output cannot be written" in done.stderr, (tail, done.stderr)


def test_a_closed_standard_output_is_one_sentence(tmp_path: Path) -> None:
    a_trace(tmp_path / "t.sqlite")
    command = f"'{sys.executable}' -m nsysparse report t.sqlite -f json -o - >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Standard output is closed" in done.stderr


def test_table_names_that_are_no_text_are_refused_or_ignored(tmp_path: Path) -> None:
    path = a_trace(tmp_path / "t.sqlite")
    data = path.read_bytes()
    spoiled = data.replace(b"CUPTI_ACTIVITY_KIND_MEMSET", b"CUPTI_ACTIVITY_KIND_MEM\xff\xfe\xfd", 1)
    path.write_bytes(spoiled)
    with contextlib.suppress(InputError):  # either is right; a traceback is not
        analyse([path])


@pytest.mark.parametrize(
    ("statement", "warning"),
    [
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = NULL WHERE start < 2000", "gpu-work-with-impossible-times"),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = NULL WHERE start < 2000", "gpu-work-without-device"),
        ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = NULL WHERE start < 2000", "calls-without-time-or-thread"),
        ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = NULL WHERE start < 2000", "calls-without-time-or-thread"),
        ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = NULL WHERE start < 2000", "calls-without-time-or-thread"),
        ("UPDATE NVTX_EVENTS SET globalTid = NULL WHERE start BETWEEN 1000 AND 1999", "ranges-without-thread"),
    ],
)
def test_nulls_where_nsys_writes_none_are_left_out_and_counted(statement: str, warning: str, tmp_path: Path) -> None:
    path = a_trace(tmp_path / "t.sqlite")
    connection = sqlite3.connect(path)
    # NOT NULL is no promise in somebody else's file.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '        ')")
    connection.commit()
    connection.close()
    study = study_traces([changed(path, statement)], None)
    assert study.anomalies[warning] >= 1
    # The other two calls keep their own kernels.
    whole = study.transfers.filter((study.transfers["time_ns"] == 100) & (study.transfers["bytes"] == 100))
    assert whole.height >= 2


def test_names_come_from_the_short_name_where_the_long_one_is_missing(tmp_path: Path) -> None:
    path = a_trace(tmp_path / "t.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '        ')")
    connection.commit()
    connection.close()
    changed(
        path,
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET shortName = demangledName",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = NULL",
    )
    assert analyse([path]).totals.kernel_count == 3


def test_an_optional_column_may_be_missing_from_a_table_of_its_own(tmp_path: Path) -> None:
    path = changed(
        a_trace(tmp_path / "t.sqlite"),
        "ALTER TABLE TARGET_INFO_SESSION_START_TIME RENAME COLUMN utcEpochNs TO renamed",
    )
    assert analyse([path]).traces[0].capabilities["utc_anchor"].status == "absent"


def test_one_correlation_id_for_everything_costs_no_square(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    for index in range(20_000):
        thread.launch(10 * index, 10 * index + 5, correlation=1)
        process.kernel(SEND_RECV, 10 * index + 6, 10 * index + 9, correlation=1)
    study = study_traces([builder.write(tmp_path / "t.sqlite")], None)
    assert study.transfers["call_start_ns"].to_list() == [10 * index for index in range(20_000)]
    assert study.anomalies["launches-repeated"] == 19_999


def test_could_not_look_is_not_zero(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    process.graph(10, 90, launch=process.thread(tid=1).launch(1, 2))
    hidden = analyse([builder.write(tmp_path / "t.sqlite")]).totals
    assert (hidden.bytes, hidden.time_ns, hidden.busy_ns, hidden.first_use_count) == (None, None, None, None)
    process.kernel("gemm", 100, 110)
    builder.omit("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
    seen = analyse([builder.write(tmp_path / "u.sqlite")]).totals
    assert (seen.bytes, seen.time_ns, seen.busy_ns, seen.first_use_count) == (0, 0, 0, 0)
