"""Tables of every form that SQLite writes, read from their pages as SQL reads them."""

import random
import sqlite3
from contextlib import closing

import pytest
from page_tables import assert_same, read, reserve, stored, tables, write

from nsysparse.pages import ROWID, NotCovered, PageFile, Wanted

SIZES = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
EDGES = [0, 1, -1, 127, -128, 128, 32767, -32768, 2**23 - 1, -(2**23), 2**31, -(2**31), 2**47 - 1, -(2**47), 2**63 - 1]
EDGES += [-(2**63), None, 2]
ROWS = [
    (EDGES[i % len(EDGES)], i / 7, f"name {i % 13} " + "x" * (i % 90), bytes([i % 256]) * (i % 31), i)
    for i in range(900)
]
CREATE = "CREATE TABLE t (a INTEGER, r REAL, s TEXT, b BLOB, z INTEGER)"
INSERT = "INSERT INTO t VALUES (?, ?, ?, ?, ?)"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_page_size(size, threads, tmp_path):
    path = write(tmp_path / "t", CREATE, before=[f"PRAGMA page_size={size}"], rows={INSERT: ROWS})

    assert assert_same(path, "t", threads=threads) == 3 + 2 + 3 + 2 + 3  # a number is also a real, and anything filled


@pytest.mark.parametrize(("size", "reserved"), [(512, 32), (1024, 255), (4096, 32), (65536, 8)])
def test_bytes_of_pages_kept_for_others(size, reserved, tmp_path):
    path = write(reserve(tmp_path / "t", size, reserved), CREATE, rows={INSERT: ROWS})
    with PageFile(path) as file:
        assert file.usable == size - reserved
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    assert_same(path, "t")


@pytest.mark.parametrize("mode", ["FULL", "INCREMENTAL"])
def test_files_with_pointer_maps_and_free_pages(mode, tmp_path):
    path = write(
        tmp_path / "t", CREATE, before=["PRAGMA page_size=512", f"PRAGMA auto_vacuum={mode}"], rows={INSERT: ROWS}
    )
    assert_same(path, "t")
    write(path, "DELETE FROM t WHERE z % 3", "CREATE TABLE u (x)", "INSERT INTO u SELECT z FROM t")

    assert_same(path, "t")
    assert_same(path, "u")


def test_deleted_and_rewritten_rows(tmp_path):
    path = write(tmp_path / "t", CREATE, before=["PRAGMA page_size=1024"], rows={INSERT: ROWS})
    chance = random.Random(7)  # noqa: S311 (the same files in every run)
    for _ in range(5):
        gone = ", ".join(str(chance.randrange(900)) for _ in range(100))
        write(path, f"DELETE FROM t WHERE z IN ({gone})", f"UPDATE t SET s = s || s WHERE z IN ({gone}) OR z % 7 = 3")
        write(path, rows={INSERT: chance.sample(ROWS, 60)})
        assert_same(path, "t")
    write(path, "VACUUM")

    assert_same(path, "t")


def test_columns_added_later_are_null_where_rows_are_older(tmp_path):
    path = write(tmp_path / "t", "CREATE TABLE t (a)", rows={"INSERT INTO t VALUES (?)": [(i,) for i in range(50)]})
    write(path, "ALTER TABLE t ADD COLUMN b INTEGER", "ALTER TABLE t ADD COLUMN c TEXT")
    assert_same(path, "t")
    write(path, rows={"INSERT INTO t VALUES (?, ?, ?)": [(1, None, "x"), (2, 3, None)]})

    assert_same(path, "t")
    assert read(path, tables(path)["t"], {"b": Wanted(1, "int")})["b"] == [None] * 51 + [3]


def test_a_default_of_rows_that_are_older_is_for_sql(tmp_path):
    path = write(tmp_path / "t", "CREATE TABLE t (a)", rows={"INSERT INTO t VALUES (?)": [(1,)]})
    write(path, "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 5")
    (_, b), _ = stored(path, "t")
    assert b.values == [5]

    with pytest.raises(NotCovered, match="older"):
        read(path, tables(path)["t"], {"b": b.wanted})
    write(path, "DELETE FROM t", rows={"INSERT INTO t VALUES (?, ?)": [(1, 2)]})
    assert read(path, tables(path)["t"], {"b": b.wanted})["b"] == [2]


@pytest.mark.parametrize(
    "rowids", [[1], [-(2**63), -1, 0, 1, 2**63 - 1], [2**7 - 1, 2**14, 2**21, 2**35, 2**56], range(-600, 600)]
)
def test_a_primary_key_is_the_rowid(rowids, tmp_path):
    create = "CREATE TABLE t (s TEXT, id INTEGER PRIMARY KEY, n INTEGER)"
    rows = [(f"r{i}", i, i) for i in rowids]
    path = write(tmp_path / "t", create, before=["PRAGMA page_size=512"], rows={"INSERT INTO t VALUES (?, ?, ?)": rows})
    wanted = {"id": Wanted(1, "int", is_rowid=True), "n": Wanted(2, "int"), "there": Wanted(1, "filled", is_rowid=True)}

    found = read(path, tables(path)["t"], wanted)

    assert found == {"id": list(rowids), "n": list(rowids), "there": [True] * len(rows)}
    assert_same(path, "t")


def test_no_rows_and_one_row(tmp_path):
    path = write(tmp_path / "t", CREATE, "CREATE TABLE one (x)", "INSERT INTO one VALUES (1)")

    assert_same(path, "t")
    assert_same(path, "one")
    with PageFile(path) as file:
        assert file.table(tables(path)["t"]).row_count == 0
        default = Wanted(0, "int", default_is_null=False)
        assert list(file.table(tables(path)["t"]).chunks({"a": default}, {}, first=["a"], keep=None)) == []


def test_the_schema_itself_is_a_table_on_page_one(tmp_path):
    path = write(tmp_path / "t", *(f"CREATE TABLE t{i} (a, b, c)" for i in range(40)), before=["PRAGMA page_size=512"])
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0].encode() for row in connection.execute("SELECT name FROM sqlite_master")]

    assert read(path, 1, {"name": Wanted(1, "text")})["name"] == names
    small = write(tmp_path / "small", "CREATE TABLE only (a)")
    assert read(small, 1, {"name": Wanted(1, "text"), "root": Wanted(3, "int")}) == {"name": [b"only"], "root": [2]}


def test_trees_of_many_levels(tmp_path):
    rows = [(i * 3**20, "y" * 300) for i in range(6000)]
    create = "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)"
    path = write(tmp_path / "t", create, before=["PRAGMA page_size=512"], rows={"INSERT INTO t VALUES (?, ?)": rows})

    assert assert_same(path, "t") == 5


def test_rows_that_go_on_on_other_pages(tmp_path):
    chance = random.Random(1)  # noqa: S311 (the same files in every run)
    rows = [
        (i, "o" * chance.choice([0, 5, 400, 470, 480, 500, 5000]) + str(i), i * 7, bytes(i * 40), None)
        for i in range(120)
    ]
    create = "CREATE TABLE t (a INTEGER, s TEXT, n INTEGER, b BLOB, never INTEGER)"
    for size in (512, 1024, 4096):
        path = write(
            tmp_path / f"{size}",
            create,
            before=[f"PRAGMA page_size={size}"],
            rows={"INSERT INTO t VALUES (?, ?, ?, ?, ?)": rows},
        )
        assert_same(path, "t")
        every = {"a": Wanted(0, "int"), "s": Wanted(1, "text"), "n": Wanted(2, "int"), "b": Wanted(3, "bytes")}
        found = read(
            path, tables(path)["t"], every, first=["n", "s"], keep=lambda columns: columns["n"].values % 14 == 0
        )
        assert found["a"] == [row[0] for row in rows if row[2] % 14 == 0]
        assert found["b"] == [row[3] for row in rows if row[2] % 14 == 0]


@pytest.mark.parametrize("size", [512, 4096])
def test_headers_longer_than_one_byte_can_say(size, tmp_path):
    names = [f"c{i}" for i in range(300)]
    rows = [[(i * j) % 251 - 5 if j % 7 else "z" * (i % 80) for j in range(300)] for i in range(20)]
    insert = f"INSERT INTO t VALUES ({', '.join('?' * 300)})"
    path = write(
        tmp_path / "t", f"CREATE TABLE t ({', '.join(names)})", before=[f"PRAGMA page_size={size}"], rows={insert: rows}
    )

    for places in ([0, 299], [120, 130], list(range(300))):
        wanted = {f"c{place}": Wanted(place, "int" if place % 7 else "text") for place in places}
        found = read(path, tables(path)["t"], wanted)
        for place in places:
            expected = [row[place] if place % 7 else row[place].encode() for row in rows]
            assert found[f"c{place}"] == expected


def test_texts_of_any_length_are_followed_by_the_right_columns(tmp_path):
    texts = ["", "a" * 57, "b" * 58, "c" * 100, "d" * 3000, None, "nul\0inside", "é" * 40]
    rows = [(texts[i % 8], i, texts[(i // 8) % 8], -i) for i in range(300)]
    path = write(
        tmp_path / "t",
        "CREATE TABLE t (s TEXT, a INTEGER, u TEXT, b INTEGER)",
        rows={"INSERT INTO t VALUES (?, ?, ?, ?)": rows},
    )

    assert_same(path, "t")
    same_length = write(
        tmp_path / "u",
        "CREATE TABLE t (s TEXT, a INTEGER)",
        rows={"INSERT INTO t VALUES (?, ?)": [(f"{i:070}", i) for i in range(99)]},
    )
    assert_same(same_length, "t")


def test_bytes_that_are_no_utf8_are_kept_as_they_are(tmp_path):
    create, insert = "CREATE TABLE t (s TEXT)", "INSERT INTO t VALUES (CAST(? AS TEXT))"
    path = write(tmp_path / "t", create, rows={insert: [(b"\xff\xfe\x00\xc3",), (b"ok",)]})

    assert read(path, tables(path)["t"], {"s": Wanted(0, "text")})["s"] == [b"\xff\xfe\x00\xc3", b"ok"]


def test_whole_numbers_in_columns_of_reals(tmp_path):
    numbers = [1, 2.5, -0.0, 2**62, None, 1e300, float("inf"), -7.0, 0, 1.0, 9007199254740993]
    path = write(
        tmp_path / "t", "CREATE TABLE t (r REAL, n)", rows={"INSERT INTO t VALUES (?, ?)": [(n, n) for n in numbers]}
    )

    assert_same(path, "t")
    only_whole = write(tmp_path / "u", "CREATE TABLE t (r REAL)", rows={"INSERT INTO t VALUES (?)": [(5.0,)] * 3})
    assert read(only_whole, tables(only_whole)["t"], {"r": Wanted(0, "real")})["r"] == [5.0] * 3


def test_reals_that_are_no_number_are_null_as_sql_has_it(tmp_path):
    path = write(tmp_path / "t", "CREATE TABLE t (r REAL)", rows={"INSERT INTO t VALUES (?)": [(1.5,), (2.5,)]})
    nan = bytes.fromhex("7ff8000000000001")
    path.write_bytes(path.read_bytes().replace(bytes.fromhex("3ff8000000000000"), nan))  # SQLite itself writes NULL
    (column,), _ = stored(path, "t")
    assert column.values == [None, 2.5]

    assert_same(path, "t")


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("int", "5", "texts or blobs"),
        ("int", 2.5, "reals"),
        ("int", b"5", "texts or blobs"),
        ("real", "x", "texts or blobs"),
        ("text", 5, "numbers"),
        ("text", b"x", "blobs"),
        ("bytes", 1.5, "numbers"),
    ],
)
@pytest.mark.parametrize("before", [[], [None, None]])
def test_values_of_another_kind_are_for_sql(kind, value, reason, before, tmp_path):
    rows = {"INSERT INTO t VALUES (?)": [(each,) for each in [*before, value]]}
    path = write(tmp_path / "t", "CREATE TABLE t (x)", rows=rows)

    with pytest.raises(NotCovered, match=reason):
        read(path, tables(path)["t"], {"x": Wanted(0, kind)})


def test_rowids_are_no_texts(tmp_path):
    path = write(tmp_path / "t", "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")

    with pytest.raises(NotCovered, match="rowids"):
        read(path, tables(path)["t"], {"x": Wanted(ROWID, "text")})
