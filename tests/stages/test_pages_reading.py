"""How a table is read from its pages: in order, only what is wanted, a bounded way ahead, texts once each."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from page_tables import plain, read, write

from nsysparse.pages import ROWID, Damaged, NotCovered, PageFile, Texts, Wanted
from nsysparse.pages import table as table_module
from nsysparse.pages import texts as texts_module
from nsysparse.pages.arrays import PAD

WANTED = {"a": Wanted(0, "int"), "s": Wanted(1, "text"), "b": Wanted(2, "bytes")}
ROWS = [(i, f"name {i % 50}", bytes([i % 256])) for i in range(20_000)]


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(table_module, "_AT_ONCE", 4096)  # some pages a chunk, so that a small file has many
    insert = {"INSERT INTO t VALUES (?, ?, ?)": ROWS}
    return write(
        tmp_path / "t", "CREATE TABLE t (a INTEGER, s TEXT, b BLOB)", before=["PRAGMA page_size=1024"], rows=insert
    )


@pytest.mark.parametrize("threads", [0, 1, 2, 8])
def test_rows_come_in_order_whatever_the_threads(path, threads):
    found = read(path, 2, WANTED, threads=threads)

    assert list(zip(found["a"], found["s"], found["b"], strict=True)) == [(a, s.encode(), b) for a, s, b in ROWS]


def test_only_rows_to_keep_are_decoded(path):
    texts = {"s": Texts()}
    with PageFile(path) as file:
        chunks = list(
            file.table(2).chunks(
                WANTED, texts, first=["a"], keep=lambda columns: columns["a"].values % 50 == 7, threads=2
            )
        )

    assert [a for chunk in chunks for a in plain(chunk["a"], None)] == list(range(7, 20_000, 50))
    assert [b for chunk in chunks for b in plain(chunk["b"], None)] == [bytes([a % 256]) for a in range(7, 20_000, 50)]
    assert texts["s"].values == [b"name 7"]
    assert all(len(chunk["a"].values) for chunk in chunks)
    assert [list(chunk) for chunk in chunks] == [list(WANTED)] * len(chunks)


def test_keeping_all_or_nothing(path):
    every, none = (lambda columns: columns["a"].values >= 0), (lambda columns: columns["a"].values < 0)

    assert read(path, 2, WANTED, first=["a"], keep=every) == read(path, 2, WANTED)
    assert read(path, 2, WANTED, first=["a"], keep=none) == {"a": [], "s": [], "b": []}


def test_what_keep_says_must_fit_the_rows(path):
    with pytest.raises(ValueError, match="every row"):
        read(path, 2, WANTED, first=["a"], keep=lambda _: np.array([True]))


def test_an_error_in_keep_arrives(path):
    def broken(_: object) -> None:
        raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        read(path, 2, WANTED, first=["a"], keep=broken, threads=2)


def test_few_chunks_are_decoded_ahead_and_threads_end(path):
    decoded = []

    def keep(columns):
        decoded.append(len(columns["a"].values))
        return columns["a"].values >= 0

    with PageFile(path) as file:
        chunks = file.table(2).chunks(WANTED, {"s": Texts()}, first=["a"], keep=keep, threads=2)
        assert isinstance(chunks, Iterator)
        next(chunks)
        for thread in [each for each in threading.enumerate() if each.name.startswith("pages")]:
            thread.join(0.05)  # time to run ahead as far as they may
        assert len(decoded) <= 4
        chunks.close()
    assert not [each for each in threading.enumerate() if each.name.startswith("pages")]


def test_one_reading_after_another_of_the_same_table(path):
    with PageFile(path) as file:
        table = file.table(2)
        assert table.row_count == len(ROWS)
        for _ in range(2):
            assert sum(len(chunk["id"].values) for chunk in table.chunks({"id": Wanted(ROWID, "int")}, {})) == len(ROWS)


def test_damage_further_on_comes_after_what_stands_before_it(path):
    content = bytearray(path.read_bytes())
    content[max(at for at in range(0, len(content), 1024) if content[at] == 13)] = 0  # the kind of the last leaf
    path.write_bytes(content)

    with PageFile(path) as file:
        chunks = file.table(2).chunks(WANTED, {"s": Texts()}, threads=4)
        assert plain(next(chunks)["a"], None)[0] == 0
        with pytest.raises(Damaged):
            list(chunks)


def test_a_closed_file_is_not_read(path):
    with PageFile(path) as file:
        table = file.table(2)
    with pytest.raises((Damaged, NotCovered)):
        list(table.chunks(WANTED, {"s": Texts()}))


def coded(texts: Texts, values: list[bytes]) -> list[bytes]:
    buffer = np.frombuffer(b"".join(values) + bytes(PAD), np.uint8)
    sizes = np.array([len(value) for value in values], np.int64)
    return [texts.values[code] for code in texts.code(buffer, np.cumsum(sizes) - sizes, sizes)]


LENGTHS = [
    b"",
    b"a",
    b"\0",
    b"a\0",
    b"\0a",
    b"abcdefgh",
    b"abcdefgh\0",
    b"abcdefghi",
    b"x" * 127,
    b"x" * 128,
    b"x" * 129,
    b"x" * 9000,
]


@pytest.mark.parametrize("rounds", [1, 5])
def test_each_text_is_kept_once_however_often_it_comes(rounds):
    texts = Texts()
    for _ in range(rounds):
        many = [*LENGTHS * 3, *(f"{i:05}".encode() for i in range(3000)), *LENGTHS]
        assert coded(texts, many) == many

    assert sorted(texts.values) == sorted({*LENGTHS, *(f"{i:05}".encode() for i in range(3000))})


def test_texts_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(texts_module, "_KEYS", np.zeros(2, np.uint64))  # every hash is 0
    texts, many = Texts(), [f"{i % 700:03}-{'y' * (i % 40)}".encode() for i in range(2000)]

    for _ in range(3):
        assert coded(texts, many) == many
    assert len(texts.values) == len(set(many))


def test_threads_agree_on_codes():
    texts, found = Texts(), {}
    values = [[f"{(i * k) % 997}".encode() for i in range(3000)] for k in range(1, 9)]

    def work(index: int) -> None:
        found[index] = [coded(texts, values[index]) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(found[index] == [values[index]] * 3 for index in range(8))
    assert len(texts.values) == len(set(texts.values)) == 997
