"""What events are called does not depend on how often they were read, nor their stack on what is known of a domain."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nsysparse.pages import table
from nsysparse.source.access import SQL, Access
from nsysparse.source.extract import read_trace
from nsysparse.testing import TraceBuilder

_OF_ANOTHER_KIND = 33  # of event: nobody reads it, but SQL numbers its text


def read_twice(path: Path) -> Path:
    """A trace whose last row alone is for SQL, so that pages have numbered the names of all before it."""
    builder = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3"})
    process = builder.process(pid=7, domains={"app": 4})
    thread = process.thread(tid=7)
    builder.row("NVTX_EVENTS", start=1, eventType=_OF_ANOTHER_KIND, globalTid=thread.global_tid, text="other")
    for at in range(200):
        named, domain = (f"layer {at % 5}", "app") if at % 2 else ("forward", None)
        thread.push_pop(named, at * 10, at * 10 + 5, domain=domain)
    builder.write(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT * FROM NVTX_EVENTS")
        connection.execute("DELETE FROM NVTX_EVENTS")
        connection.execute("ALTER TABLE NVTX_EVENTS DROP COLUMN category")
        connection.execute(
            "INSERT INTO NVTX_EVENTS (rowid, start, eventType, globalTid, text)"
            " SELECT 1000000, 5000, eventType, globalTid, 'last' FROM kept WHERE text = 'forward' LIMIT 1"
        )
        connection.execute("ALTER TABLE NVTX_EVENTS ADD COLUMN category INTEGER DEFAULT 5")  # which that row lacks
        names = [str(row[1]) for row in connection.execute("PRAGMA table_info(kept)")]
        columns = ", ".join(f'"{name}"' for name in names)
        connection.execute(f"INSERT INTO NVTX_EVENTS (rowid, {columns}) SELECT rowid, {columns} FROM kept")
        connection.commit()
    return path


def test_names_that_a_pass_given_up_has_seen_are_no_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_AT_ONCE", 1 << 12)
    path = read_twice(tmp_path / "a.sqlite")
    again, once = (read_trace(path, "a", all_gpu_work=True, access=Access(reader)).labels for reader in ("auto", SQL))
    assert again.equals(once)
    assert sorted(again.filter(again["is_default_domain"])["name"]) == ["forward", "last"]


@pytest.mark.parametrize(("domain", "crossed"), [({"domainId": 5}, 0), ({}, 2)])
def test_ranges_of_a_domain_whose_name_is_lost_are_not_on_the_default_stack(
    domain: dict[str, int], crossed: int, tmp_path: Path
) -> None:
    builder = TraceBuilder()
    thread = builder.process(pid=7).thread()
    thread.push_pop("kv_step phase=prefill requests=a", 100, 200)
    thread.push_pop("another", 150, 250, **domain)
    path = builder.write(tmp_path / "a.sqlite")
    trace = read_trace(path, "a", all_gpu_work=False, speaking=lambda labels: labels["label_id"])
    assert trace.anomalies["ranges-crossing"] == crossed
