"""Whatever tables hold and however they came about: their pages say what SQL says, bit for bit."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_tables import assert_same, read, reserve, stored, tables, write

from nsysparse.pages import Wanted

INTEGERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-300, 300),
    st.builds(lambda bits, step: max(-(2**63), min(2**63 - 1, 2**bits + step)), st.integers(0, 63), st.integers(-1, 1)),
    st.builds(lambda bits, step: max(-(2**63), -(2**bits) + step), st.integers(0, 63), st.integers(-1, 1)),
)
REALS = st.floats(allow_nan=False)
TEXTS = st.text(max_size=12) | st.sampled_from(["", "x" * 57, "x" * 58, "x" * 200, "long " * 400, "\0", "a\0b"])
BLOBS = st.binary(max_size=12) | st.sampled_from([bytes(70), b"\xff" * 3000])
OF_TYPE = {"INTEGER": INTEGERS, "REAL": REALS | INTEGERS, "TEXT": TEXTS, "BLOB": BLOBS}
ANYTHING = INTEGERS | REALS | TEXTS | BLOBS


@st.composite
def columns(draw):
    """Types of columns, and for each what may stand in it."""
    types = draw(st.lists(st.sampled_from(sorted(OF_TYPE)), min_size=1, max_size=9))
    values = [
        draw(st.sampled_from([OF_TYPE[kind], OF_TYPE[kind] | st.none(), st.none(), ANYTHING | st.none()]))
        for kind in types
    ]
    return types, values


@settings(max_examples=25)
@given(st.data())
def test_random_tables(data):
    types, values = data.draw(columns())
    size = data.draw(st.sampled_from([512, 1024, 4096, 65536]))
    rows = data.draw(st.lists(st.tuples(*values), max_size=25))
    rows = rows * data.draw(st.integers(1, 12))
    names = [f"c{index}" for index in range(len(types))]
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    insert = f"INSERT INTO t ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        if data.draw(st.booleans()):
            reserve(path, size, data.draw(st.integers(0, 32)))
        vacuum = data.draw(st.sampled_from(["NONE", "FULL", "INCREMENTAL"]))
        before = [f"PRAGMA page_size={size}", f"PRAGMA auto_vacuum={vacuum}"]
        key = data.draw(st.sampled_from(["", "id INTEGER PRIMARY KEY, "]))
        write(path, f"CREATE TABLE t ({key}{declared})", before=before, rows={insert: rows})
        if data.draw(st.booleans()):
            write(path, f"DELETE FROM t WHERE abs(_rowid_) % {data.draw(st.integers(2, 5))} = 1")
        if data.draw(st.booleans()):
            default = data.draw(st.sampled_from(["", "DEFAULT 7", "DEFAULT 'x'"]))
            write(path, f"ALTER TABLE t ADD COLUMN later {default}", rows={insert: rows[:7]})

        assert_same(path, "t", threads=data.draw(st.sampled_from([1, 2])))


@pytest.mark.parametrize("seed", range(6))
def test_columns_read_together_are_those_read_alone(seed, tmp_path):
    chance = random.Random(seed)  # noqa: S311 (the same files in every run)
    widths = [chance.choice([0, 1, 7, 15, 23, 31, 47, 62]) for _ in range(40)]
    rows = [
        [
            None if chance.random() < 0.02 else chance.getrandbits(bits) - (1 << bits >> 1) if bits else bits
            for bits in widths
        ]
        for _ in range(3000)
    ]
    insert = f"INSERT INTO t VALUES ({', '.join('?' * 40)})"
    path = write(tmp_path / "t", f"CREATE TABLE t ({', '.join(f'c{i}' for i in range(40))})", rows={insert: rows})
    kept = chance.sample(range(40), 12)
    wanted = {f"c{place}": Wanted(place, "int") for place in kept}
    expected, _ = stored(path, "t")

    found = read(path, tables(path)["t"], wanted, threads=2)
    some = read(
        path, tables(path)["t"], wanted, first=[f"c{kept[3]}"], keep=lambda of: of[f"c{kept[3]}"].values % 3 == 0
    )

    assert found == {f"c{place}": expected[place].values for place in kept}
    stays = [(value or 0) % 3 == 0 for value in expected[kept[3]].values]
    assert some == {
        f"c{place}": [value for value, stay in zip(expected[place].values, stays, strict=True) if stay]
        for place in kept
    }
