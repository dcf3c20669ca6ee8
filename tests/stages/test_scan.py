"""A pass over a whole table gives what SQL gives, in the order of its rows."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from nsysparse.errors import InputError
from nsysparse.pages import cells, table
from nsysparse.source.access import AUTO, PAGES, SQL, Access
from nsysparse.source.batch import Batch
from nsysparse.source.export import Export
from nsysparse.source.nvtx import Events, read_events
from nsysparse.source.scan import Keep
from nsysparse.source.schema import ROW, ROWID, TableSpec
from nsysparse.testing import TraceBuilder

SPEC = TableSpec("THINGS", {ROW: ROWID, "a": ("a", pl.Int64), "text": ("text", pl.String), "gone": ("gone", pl.Int64)})
ROWS = [(3, "x"), (1, None), (2, "y"), (None, "x")]


def things(path: Path, declared: str, *after: str) -> Path:
    builder = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3"})
    thread = builder.process(pid=7).thread(tid=7)
    thread.push_pop("model.layers.0", 100, 900)
    builder.write(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE THINGS {declared}")
        connection.executemany("INSERT INTO THINGS (a, text) VALUES (?, ?)", ROWS)
        for statement in after:
            connection.execute(statement)
        connection.commit()
    return path


def scanned(path: Path, keep: Keep | None = None, reader: str = "auto") -> pl.DataFrame:
    with Export(path, Access(reader)) as export:
        found = export.scan(SPEC, Batch.frame, keep=keep)
    rows = pl.concat(found.parts)
    texts = dict(enumerate(found.texts["text"]))
    return rows.with_columns(pl.col("text").replace_strict(texts, return_dtype=pl.String))


@pytest.mark.parametrize("reader", [PAGES, SQL])
def test_all_rows_come_in_their_order_whatever_an_index_has(tmp_path: Path, reader: str) -> None:
    path = things(tmp_path / "a.sqlite", "(a INTEGER, text TEXT)", "CREATE INDEX i ON THINGS (a, text)")
    rows = scanned(path, reader=reader).drop("gone").rows()
    assert rows == [(1, 3, "x"), (2, 1, None), (3, 2, "y"), (4, None, "x")]


@pytest.mark.parametrize("reader", [PAGES, SQL])
def test_rows_stay_that_pass_the_test(tmp_path: Path, reader: str) -> None:
    path = things(tmp_path / "a.sqlite", "(a INTEGER, text TEXT)", "DELETE FROM THINGS WHERE a = 3")
    kept = scanned(path, Keep(("a",), lambda batch: batch.known("a") & (batch.values("a") == 2)), reader)
    assert kept.rows() == [(3, 2, "y", None)]
    some = scanned(path, Keep.rows(pl.Series([4, 2, 9])), reader)
    assert some.select(ROW, "text").rows() == [(2, None), (4, "x")]


def test_what_pages_do_not_tell_is_read_by_sql_unless_only_pages_may_be(tmp_path: Path) -> None:
    other = things(tmp_path / "a.sqlite", "(a REAL, text TEXT)", "UPDATE THINGS SET a = NULL")
    assert scanned(other)["text"].to_list() == ["x", None, "y", "x"]
    with pytest.raises(InputError, match=r"THINGS cannot be read from its pages \(a is declared REAL\)"):
        scanned(other, reader=PAGES)


@pytest.mark.parametrize(
    ("declared", "rows"),
    [
        ("(a INTEGER, text TEXT, rowid TEXT DEFAULT 'mine')", [1, 2, 3, 4]),
        ("(a INTEGER, text TEXT, n INTEGER, PRIMARY KEY (text, a)) WITHOUT ROWID", None),
    ],
    ids=["a column called rowid", "no rowid at all"],
)
def test_rows_are_told_apart(tmp_path: Path, declared: str, rows: list[int] | None) -> None:
    if rows is None:
        path = things(tmp_path / "b.sqlite", "(a INTEGER, text TEXT)")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DROP TABLE THINGS")
            connection.execute(f"CREATE TABLE THINGS {declared}")
            connection.executemany("INSERT INTO THINGS (a, text) VALUES (?, ?)", [(3, "x"), (2, "y"), (1, "w")])
            connection.commit()
        assert scanned(path).select(ROW, "a").rows() == [(0, 1), (1, 3), (2, 2)]
    else:
        assert scanned(things(tmp_path / "a.sqlite", declared))[ROW].to_list() == rows


def test_a_table_that_is_missing_gives_one_empty_batch(tmp_path: Path) -> None:
    path = things(tmp_path / "a.sqlite", "(a INTEGER, text TEXT)", "DROP TABLE THINGS")
    with Export(path) as export:
        found = export.scan(SPEC, lambda batch: batch.height)
    assert found.parts == [0]


def test_a_text_among_integers_is_refused(tmp_path: Path) -> None:
    path = things(tmp_path / "a.sqlite", "(a INTEGER, text TEXT)", "UPDATE THINGS SET a = 'z' WHERE a = 2")
    with pytest.raises(InputError, match=r"THINGS\.a holds a value that is no Int64"):
        scanned(path)


# --- a pass that was given up for another -----------------------------------------------------------------------------


def test_what_is_told_beside_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest rows come last, and only SQL knows what they have in a column that is younger."""
    path = things(
        tmp_path / "a.sqlite", "(a INTEGER, text TEXT)", "ALTER TABLE THINGS ADD COLUMN gone INTEGER DEFAULT 7"
    )
    with closing(sqlite3.connect(path)) as connection:
        younger = [(row - 2000, row, "younger") for row in range(2000)]
        connection.executemany("INSERT INTO THINGS (rowid, a, text) VALUES (?, ?, ?)", younger)
        connection.commit()
    monkeypatch.setattr(table, "_AT_ONCE", 1)  # many chunks, of which the last is the one that pages do not tell
    begun: list[int] = []

    def beside(batch: Batch) -> int:
        begun.append(batch.height)
        return batch.height

    keep = Keep(("a",), lambda batch: batch.known("a") & (batch.values("a") > 1), beside=beside)
    with Export(path) as export:
        found = export.scan(SPEC, Batch.frame, keep=keep)
    assert sum(found.beside) == 2004
    assert sum(begun) > 2004  # the first pass did say something
    assert pl.concat(found.parts)["gone"].tail(2).to_list() == [7, 7]


def test_labels_are_of_the_pass_that_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes of texts mean others in the second pass, which also numbers the texts of rows that do not stay."""
    builder = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3"})
    thread = builder.process(pid=7).thread(tid=7)
    for layer in range(200):
        thread.push_pop(f"layer {layer}", 100 + 10 * layer, 105 + 10 * layer)
    builder.sql("UPDATE NVTX_EVENTS SET rowid = rowid + 1000")
    added = "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, globalTid, text) SELECT ?, 1, 2, ?, globalTid, ?"
    nobody, too_long = (1, 27, "no range is called this"), (9000, 59, "x" * 9000)
    for row in (nobody, too_long):
        builder.sql(f"{added} FROM NVTX_EVENTS LIMIT 1", row)
    path = builder.write(tmp_path / "t.sqlite")
    monkeypatch.setattr(table, "_AT_ONCE", 1)
    monkeypatch.setattr(cells, "LONGEST", 5000)
    with pytest.raises(InputError, match=r"a row on page [0-9]+ has 9"):
        events_of(path, PAGES)
    by_sql, again = events_of(path, SQL), events_of(path, AUTO)
    assert again.labels.rows() == by_sql.labels.rows()
    assert "no range is called this" not in again.labels["name"]
    assert again.rows["label_id"].to_list() == by_sql.rows["label_id"].to_list()


def events_of(path: Path, reader: str) -> Events:
    with Export(path, Access(reader)) as export:
        return read_events(export, Counter())
