"""Files and tables that pages do not tell all of, and files that contradict themselves."""

import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest
from page_tables import read, tables, write

from nsysparse.pages import ROWID, Damaged, NotCovered, PageFile, Wanted

SIZE = 512
ROWID_ONLY = {"id": Wanted(ROWID, "int")}


@pytest.fixture
def path(tmp_path):
    rows = {"INSERT INTO t VALUES (?, ?)": [(i, "s" * 40) for i in range(2000)]}
    return write(
        tmp_path / "t.sqlite", "CREATE TABLE t (a INTEGER, s TEXT)", before=[f"PRAGMA page_size={SIZE}"], rows=rows
    )


def change(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def page(path: Path, number: int) -> bytes:
    return path.read_bytes()[(number - 1) * SIZE : number * SIZE]


def leaf_of(path: Path) -> int:
    return next(n for n in range(3, 100) if page(path, n)[0] == 13)


def attempt(path: Path, wanted=None) -> None:
    read(path, 2, wanted or {"a": Wanted(0, "int"), "s": Wanted(1, "text")})


def test_a_write_ahead_log_beside(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("INSERT INTO t VALUES (1, 'x')")
        connection.commit()
        with pytest.raises(NotCovered, match="-wal"):
            PageFile(path)
    attempt(path)  # closed, the log is part of the file


def test_a_log_beside_the_file_that_a_link_names(path, tmp_path):
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    Path(f"{path}-wal").write_bytes(b"x")

    with pytest.raises(NotCovered, match="-wal"):
        PageFile(link)


def test_an_unfinished_transaction_beside(path, tmp_path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA cache_size=5")
        connection.execute("UPDATE t SET a = a + 1")  # more than the cache: pages of it are in the file already
        copy = tmp_path / "copy.sqlite"
        shutil.copy(path, copy)
        shutil.copy(f"{path}-journal", f"{copy}-journal")
        connection.rollback()

    with pytest.raises(NotCovered, match="-journal"):
        PageFile(copy)


@pytest.mark.parametrize("mode", ["PERSIST", "TRUNCATE"])
def test_a_journal_that_is_over(path, mode):
    write(path, f"PRAGMA journal_mode={mode}", "INSERT INTO t VALUES (1, 'x')")
    assert Path(f"{path}-journal").exists()

    attempt(path)


def test_other_encodings(tmp_path):
    path = write(tmp_path / "t", "CREATE TABLE t (s TEXT)", before=["PRAGMA encoding='UTF-16le'"])

    with pytest.raises(NotCovered, match="UTF-8"):
        PageFile(path)


def test_tables_that_are_none(tmp_path):
    path = write(
        tmp_path / "t", "CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID", "CREATE VIEW v AS SELECT * FROM w"
    )

    with PageFile(path) as file, pytest.raises(NotCovered, match="WITHOUT ROWID"):
        file.table(2)
    with PageFile(path) as file, pytest.raises(NotCovered, match="no table"):
        file.table(0)


def test_what_is_no_file_of_sqlite(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("This is a text, and a long one at that. " * 10)
    (tmp_path / "short").write_bytes(b"SQLite format 3\x00 and no more")
    with pytest.raises(NotCovered, match="empty"):
        PageFile(tmp_path / "empty")
    with pytest.raises(NotCovered, match="regular"):
        PageFile(tmp_path)
    with pytest.raises(NotCovered, match="opened"):
        PageFile(tmp_path / "nowhere")
    with pytest.raises(Damaged, match="no SQLite file"):
        PageFile(tmp_path / "text")
    with pytest.raises(Damaged, match="truncated"):
        PageFile(tmp_path / "short")


def test_rows_longer_than_is_read_here(tmp_path):
    path = write(tmp_path / "t", "CREATE TABLE t (b BLOB, a)", "INSERT INTO t VALUES (zeroblob(16777217), 1)")

    with pytest.raises(NotCovered, match="16777"):
        read(path, 2, {"a": Wanted(1, "int")})


def test_a_file_written_to_while_it_is_read(path):
    with PageFile(path) as file:
        chunks = file.table(2).chunks(ROWID_ONLY, {})
        next(chunks)
        write(path, "INSERT INTO t VALUES (1, 'x')")
        with pytest.raises(NotCovered, match="written to"):
            list(chunks)


@pytest.mark.parametrize(
    ("at", "content", "what"),
    [
        (16, b"\x02\x01", "size"),
        (16, b"\x00\x02", "size"),
        (20, b"\xff", "too few"),
        (21, b"\x41", "shares"),
        (28, struct.pack(">I", 10**6), "truncated"),
    ],
)
def test_headers_that_no_file_has(path, at, content, what):
    change(path, at, content)

    with pytest.raises(Damaged, match=f"page .*{what}"):
        PageFile(path)


def test_newer_formats_are_for_sql(path):
    change(path, 19, b"\x03")
    with pytest.raises(NotCovered, match="newer"):
        PageFile(path)


def test_truncated_files(path):
    path.write_bytes(path.read_bytes()[:-SIZE])
    with pytest.raises(Damaged, match="truncated"):
        PageFile(path)
    change(path, 28, bytes(4))  # a header that does not count its pages
    with pytest.raises(Damaged, match="page"):
        attempt(path)


def test_pages_that_do_not_exist_or_come_twice(path):
    root = page(path, 2)
    first = struct.unpack(">H", root[12:14])[0]
    for child, what in [(0, "not among"), (10**9, "not among"), (2, "twice"), (1, "page")]:
        broken = path.with_suffix(f".{child}")
        shutil.copy(path, broken)
        change(broken, SIZE + first, struct.pack(">I", child))
        with pytest.raises(Damaged, match=what):
            attempt(broken)


def test_pages_of_another_kind_within_a_tree(path):
    leaf = leaf_of(path) + 1
    for kind in (0, 2, 5, 10, 255):
        change(path, (leaf - 1) * SIZE, bytes([kind]))
        with pytest.raises(Damaged, match=f"page {leaf}"):
            attempt(path)
    change(path, SIZE, b"\x63")
    with pytest.raises(Damaged, match="page 2"):
        attempt(path)


def test_leaves_that_another_leaf_stands_in_for(path):
    leaves = [n for n in range(3, 60) if page(path, n)[0] == 13]
    change(path, (leaves[4] - 1) * SIZE, page(path, leaves[3]))

    with pytest.raises(Damaged, match=f"page {leaves[4]}: its rows are not those"):
        attempt(path)


@pytest.mark.parametrize(
    ("at", "content", "what"),
    [
        (3, b"\xff\xff", "cannot hold"),
        (3, b"\x00\x00", "without rows"),
        (8, b"\x00\x00", "outside"),
        (8, b"\x02\x00", "outside"),
        (8, b"\x01\xff", "outside"),
        (8, b"\x01\xfc", "past the end"),
    ],
)
def test_cells_that_are_not_where_cells_are(path, at, content, what):
    leaf = leaf_of(path)
    change(path, (leaf - 1) * SIZE + at, content)

    with pytest.raises(Damaged, match=f"page {leaf}: .*{what}"):
        attempt(path)


def test_cells_on_top_of_each_other(path):
    leaf = leaf_of(path)
    content = page(path, leaf)
    cells = struct.unpack(">H", content[3:5])[0]
    # All cells but the first and last, whose rowids are held against the tree, are one and the longest.
    change(path, (leaf - 1) * SIZE + 10, content[10:12] * (cells - 2))
    long = struct.unpack(">H", content[10:12])[0]
    change(path, (leaf - 1) * SIZE + long, b"\x7f")

    with pytest.raises(Damaged, match=f"page {leaf}"):
        attempt(path)


@pytest.mark.parametrize(
    ("at", "content", "what"),
    [
        (0, b"\x00", "0 bytes"),
        (0, b"\xff\xff\xff\xff", "bytes|past the end"),
        (2, b"\x00", "header"),
        (2, b"\x7f", "header"),
        (2, b"\x01\x81", ""),
        (3, b"\xff", "header|longer"),
        (4, b"\xff\xff", "longer|header"),
        (4, b"\x0b", "no type"),
        (4, b"\x7f", "longer than the record"),
    ],
)
def test_records_that_contradict_themselves(path, at, content, what):
    leaf = leaf_of(path)
    cell = struct.unpack(">H", page(path, leaf)[8:10])[0]
    # The first leaf holds rowids of one byte: length, rowid, length of the header, type of a, type of s.
    assert page(path, leaf)[cell + 2] == 3
    change(path, (leaf - 1) * SIZE + cell + at, content)

    if what:
        with pytest.raises(Damaged, match=f"page {leaf}: .*({what})"):
            attempt(path)
    else:  # a record without columns
        assert read(path, 2, {"a": Wanted(0, "int")})["a"][0] is None


@pytest.fixture
def long(tmp_path):
    rows = {"INSERT INTO t VALUES (?, ?)": [(i, chr(97 + i) * 1500) for i in range(6)]}
    return write(
        tmp_path / "long.sqlite", "CREATE TABLE t (a INTEGER, s TEXT)", before=[f"PRAGMA page_size={SIZE}"], rows=rows
    )


def chains_of(path: Path) -> list[int]:
    """Where the numbers of first overflow pages stand."""
    leaves = [n for n in range(2, len(path.read_bytes()) // SIZE + 1) if page(path, n)[0] == 13 and n > 1]
    found = []
    for n in leaves:
        content = page(path, n)
        for index in range(struct.unpack(">H", content[3:5])[0]):
            cell = struct.unpack(">H", content[8 + 2 * index : 10 + 2 * index])[0]
            local = 39 + (1509 - 39) % 508  # of the format's description; the record has 1509 bytes at most
            for size in (1505, 1506, 1507):
                local = 39 + (size - 39) % 508
                local = local if local <= 477 else 39
                at = cell + 3 + local
                number = struct.unpack(">I", content[at : at + 4])[0] if at + 4 <= SIZE else 0
                if 2 < number <= len(path.read_bytes()) // SIZE:
                    found.append((n - 1) * SIZE + at)
                    break
    return found


@pytest.mark.parametrize(("number", "what"), [(0, "not among"), (10**9, "not among")])
def test_rows_that_go_on_nowhere(long, number, what):
    change(long, chains_of(long)[0], struct.pack(">I", number))

    assert read(long, tables(long)["t"], {"a": Wanted(0, "int")})["a"] == list(range(6))  # which is on the page
    with pytest.raises(Damaged, match=what):
        attempt(long)


def test_rows_that_go_on_where_others_do(long):
    first, second = chains_of(long)[:2]
    change(long, first, long.read_bytes()[second : second + 4])

    with pytest.raises(Damaged, match="two rows"):
        attempt(long)


def test_chains_that_lead_back(long):
    start = struct.unpack(">I", long.read_bytes()[chains_of(long)[0] :][:4])[0]
    change(long, (start - 1) * SIZE, struct.pack(">I", start))

    with pytest.raises(Damaged, match="two rows"):
        attempt(long)
