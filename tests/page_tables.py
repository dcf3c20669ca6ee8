"""What tests of reading pages share: files to order, a table read from its pages, and the same read by SQLite."""

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nsysparse.pages import ROWID, Column, NotCovered, PageFile, Texts, Wanted

Values: TypeAlias = list[Any]
KINDS = ("int", "real", "text", "bytes", "filled")
STORED = {  # what SQLite may call the values of a column for it to be read as a kind
    "int": {"integer", "null"},
    "real": {"integer", "real", "null"},
    "text": {"text", "null"},
    "bytes": {"text", "blob", "null"},
    "filled": {"integer", "real", "text", "blob", "null"},
}
MOST_STEPS = 20_000  # of a thousand instructions each: SQL on a damaged file may go round in circles


@dataclass(frozen=True)
class Stored:
    """A column as SQLite reads it."""

    name: str
    wanted: Wanted
    real: bool  # SQLite makes reals of what it stores there
    kinds: set[str]
    values: Values


def write(
    path: Path, *statements: str, before: Sequence[str] = (), rows: dict[str, Iterable[Sequence[Any]]] | None = None
):
    """A file of these statements and rows by the INSERT that takes them; `before` are pragmas of an empty file."""
    with closing(sqlite3.connect(path)) as connection:
        for pragma in before:
            connection.execute(pragma)
        for statement in statements:
            connection.execute(statement)
        for insert, values in (rows or {}).items():
            connection.executemany(insert, values)
        connection.commit()
    return path


def reserve(path: Path, page_size: int, reserved: int) -> Path:
    """An empty file that keeps bytes of each page for others, as encryption does; the module has no call for it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size={page_size}")
        connection.execute("VACUUM")
    content = bytearray(path.read_bytes())
    content[20] = reserved
    content[105:107] = struct.pack(">H", page_size - reserved)  # where the cells of page 1 begin
    path.write_bytes(content)
    return path


def tables(path: Path) -> dict[str, int]:
    """Root pages of the tables that have rowids."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        found = connection.execute(
            "SELECT name, rootpage FROM sqlite_master WHERE type='table' AND rootpage>0"
        ).fetchall()
        without = {row[1] for row in connection.execute("PRAGMA table_list") if row[4]}
    return {name: root for name, root in found if name not in without}


def stored(path: Path, table: str) -> tuple[list[Stored], Values]:
    """All columns of a table as SQL reads them, and the rowids."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        steps = count()
        connection.set_progress_handler(lambda: next(steps) > MOST_STEPS, 1000)
        connection.text_factory = bytes
        info = [
            (cid, name.decode(), kind.decode().upper(), default, key)
            for cid, name, kind, _, default, key in connection.execute(f'PRAGMA table_info("{table}")')
        ]
        keys = sum(1 for each in info if each[4])
        asked = ", ".join(f'typeof("{name}"), "{name}"' for _, name, *_ in info)
        rows = connection.execute(f'SELECT _rowid_, {asked} FROM "{table}" NOT INDEXED').fetchall()
    found = []
    for index, (cid, name, kind, default, key) in enumerate(info):
        is_rowid = bool(key) and keys == 1 and kind == "INTEGER"
        wanted = Wanted(cid, "int", is_rowid=is_rowid, default_is_null=default is None)
        kinds = {row[1 + 2 * index].decode() for row in rows}
        real = any(word in kind for word in ("REAL", "FLOA", "DOUB")) and "INT" not in kind
        found.append(Stored(name, wanted, real, kinds, [row[2 + 2 * index] for row in rows]))
    return found, [row[0] for row in rows]


def plain(column: Column, texts: Texts | None) -> Values:
    """Values of a column as Python has them, None where there are none."""
    valid = np.ones(len(column.values), bool) if column.valid is None else column.valid
    values = column.values.tolist()
    if texts is not None:
        values = [texts.values[code] if code >= 0 else None for code in values]
    return [value if there else None for value, there in zip(values, valid.tolist(), strict=True)]


def read(path: Path, root: int, wanted: dict[str, Wanted], **how: Any) -> dict[str, Values]:
    """Columns of a table from its pages."""
    texts = {name: Texts() for name, each in wanted.items() if each.kind == "text"}
    found: dict[str, Values] = {name: [] for name in wanted}
    with PageFile(path) as file:
        table = file.table(root)
        for chunk in table.chunks(wanted, texts, **how):
            for name, column in chunk.items():
                found[name] += plain(column, texts.get(name))
        if "keep" not in how:
            assert all(len(values) == table.row_count for values in found.values())
    return found


def same(ours: Values, theirs: Values, kind: str) -> bool:
    """Whether values are the same, bit for bit."""
    if kind == "filled":
        return ours == [value is not None for value in theirs]
    if kind == "real":
        as_bits = [None if value is None else struct.pack("<d", value) for value in ours]
        return as_bits == [None if value is None else struct.pack("<d", float(value)) for value in theirs]
    return ours == theirs and all(type(a) is type(b) for a, b in zip(ours, theirs, strict=True))


def refused(column: Stored, kind: str, reason: str) -> bool:
    """Whether there was a reason not to read a column as a kind."""
    wanted = column.wanted
    older = not wanted.default_is_null and "older" in reason
    return older or wanted.is_rowid or not column.kinds <= STORED[kind]


def assert_same(path: Path, table: str, root: int | None = None, **how: Any) -> int:
    """Each column of a table, as each kind: pages say what SQL says, or that it is not of that kind.

    Returns:
        How many columns were read as some kind.
    """
    columns, rowids = stored(path, table)
    root = tables(path)[table] if root is None else root
    assert read(path, root, {"rowid": Wanted(ROWID, "int")}, **how)["rowid"] == rowids
    done = 0
    for column, kind in product(columns, KINDS):
        try:
            ours = read(path, root, {"it": replace(column.wanted, kind=kind)}, **how)["it"]
        except NotCovered as reason:
            ours = str(reason)
        if isinstance(ours, str):
            assert refused(column, kind, ours), (column, kind, ours)
        elif kind != "int" or not column.real:  # of reals that are whole, the integers stored for them can be read
            assert same(ours, column.values, kind), (table, column.name, kind, ours[:5], column.values[:5])
            done += 1
    return done


def assert_same_together(path: Path, table: str, root: int, **how: Any) -> int:
    """Like `assert_same`, with all columns that are of a kind read at once, and none that are not.

    Returns:
        Likewise.
    """
    columns, rowids = stored(path, table)
    done = 0
    for kind in KINDS:
        fitting = [each for each in columns if each.kinds <= STORED[kind] and not (kind == "int" and each.real)]
        wanted = {
            each.name: replace(each.wanted, kind=kind)
            for each in fitting
            if kind in {"int", "filled"} or not each.wanted.is_rowid
        }
        found = read(path, root, {**wanted, "its rowid": Wanted(ROWID, "int")}, **how)
        assert found["its rowid"] == rowids
        for each in fitting:
            assert each.name not in wanted or same(found[each.name], each.values, kind), (table, each.name, kind)
        done += len(wanted)
    return done
