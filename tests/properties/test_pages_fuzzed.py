"""Files with anything in them: pages say what SQL says, or refuse in a sentence; never another error, nor a hang."""

import random
import sqlite3
import tracemalloc
from pathlib import Path

import pytest
from page_tables import KINDS, STORED, read, same, stored, tables, write

from nsysparse.pages import Damaged, NotCovered, Wanted

MUTATIONS = 60  # a seed
FITTING = {"t": [["int"], ["real"], ["text"], ["int"]], "u": [["text"], ["int"], ["int"], []]}
MOST_BYTES = 64 << 20  # far more than small files may cost, far less than a wrong length could


def original(path: Path, chance: random.Random) -> Path:
    size = chance.choice([512, 512, 1024, 4096])
    rows = [
        (
            chance.getrandbits(chance.choice([1, 9, 30, 62])),
            chance.random(),
            f"n{i % 9}" * chance.choice([1, 9, 40, 400]),
            i,
        )
        for i in range(chance.choice([4, 60, 300]))
    ]
    more = [(f"t{i}" * 30, i, None) for i in range(chance.choice([2, 40, 200]))]
    return write(
        path,
        "CREATE TABLE t (a INTEGER, r REAL, s TEXT, z INTEGER)",
        "CREATE TABLE u (s TEXT, id INTEGER PRIMARY KEY, n INTEGER)",
        before=[f"PRAGMA page_size={size}", f"PRAGMA auto_vacuum={chance.choice(['NONE', 'FULL'])}"],
        rows={"INSERT INTO t VALUES (?, ?, ?, ?)": rows, "INSERT INTO u VALUES (?, ?, ?)": more},
    )


def mutated(content: bytes, chance: random.Random) -> bytes:
    new, size = bytearray(content), int.from_bytes(content[16:18], "big")
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        how, pages = chance.randrange(7), max(1, len(new) // size)
        page = chance.randrange(pages) * size
        if how == 0:
            new[chance.randrange(len(new))] = chance.randrange(256)
        elif how == 1:  # the header of a page and its cell pointers are little of it, and matter most
            new[min(len(new) - 1, page + chance.randrange(24))] = chance.choice([0, 1, 2, 5, 13, 127, 128, 255])
        elif how == 2:
            new[chance.randrange(len(new))] ^= 1 << chance.randrange(8)
        elif how == 3:
            other = chance.randrange(pages) * size
            new[page : page + size] = new[other : other + size]
        elif how == 4:
            at = chance.randrange(len(new))
            new[at : at + 8] = bytes([255] * 8)[: len(new) - at]
        elif how == 5:
            at = page + chance.randrange(size)
            new[at : at + 4] = chance.randrange(pages + 2).to_bytes(4, "big")[: len(new) - at]
        else:
            del new[chance.randrange(size, len(new)) if chance.random() < 0.1 else len(new) :]
    return bytes(new)


def outcome(path: Path, root: int, wanted: Wanted) -> list | str:
    try:
        return read(path, root, {"it": wanted}, threads=1)["it"]
    except (NotCovered, Damaged) as refusal:
        return f"{type(refusal).__name__}: {refusal}"


def hold_against_sql(path: Path, table: str, root: int, kinds: list[list[str]], label: str) -> set[str]:
    """Read all columns, each as some kinds; the outcomes there were."""
    try:
        columns, _ = stored(path, table)
    except (sqlite3.Error, UnicodeDecodeError, MemoryError):  # of SQLite, for lengths that nobody has
        columns = []
    outcomes = set()
    for place in range(4):
        for kind in kinds[place]:
            wanted = Wanted(place, kind, is_rowid=(table, place) == ("u", 1))
            ours = outcome(path, root, wanted)
            outcomes.add("read" if isinstance(ours, list) else ours.split(":")[0])
            if isinstance(ours, str) or place >= len(columns) or columns[place].wanted.is_rowid != wanted.is_rowid:
                continue
            column = columns[place]
            if kind == "int" and column.real:
                continue
            assert column.kinds <= STORED[kind], f"{label}: {table}.{column.name} as {kind}: SQL has {column.kinds}"
            assert same(ours, column.values, kind), f"{label}: {table}.{column.name} as {kind} differs from SQL"
    return outcomes


def mutate_many(folder: Path, seed: int, mutations: int) -> set[str]:
    chance = random.Random(seed)  # noqa: S311 (the same files in every run)
    outcomes: set[str] = set()
    for number in range(mutations):
        if number % 20 == 0:
            path = folder / f"{number}.sqlite"
            content = original(path, chance).read_bytes()
            roots = tables(path)
        path.write_bytes(mutated(content, chance))
        for table, root in roots.items():
            kinds = [[*FITTING[table][place], chance.choice(KINDS)] for place in range(4)]
            outcomes |= hold_against_sql(path, table, root, kinds, f"seed {seed}, mutation {number}")
    return outcomes


@pytest.mark.parametrize("seed", range(3))
def test_mutated_files(seed, tmp_path):
    assert mutate_many(tmp_path, seed, MUTATIONS) == {"read", "NotCovered", "Damaged"}


def test_mutated_files_cost_little_memory(tmp_path):
    tracemalloc.start()
    try:
        mutate_many(tmp_path, 100, 20)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
