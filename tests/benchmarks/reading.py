"""How fast the three big tables are read: against SQLite's own scan of them, and against SQLAlchemy into polars.

Each side opens the file anew, in turns in one process; every column that the analysis reads is read, not only the two
of the scan. Answers are compared: the sums with those of the scan, all rows with those of SQLAlchemy.

    python tests/benchmarks/reading.py TRACE [--rounds 5] [--slow-rounds 5]
"""

import argparse
import json
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import sqlalchemy as sa

from nsysparse.source import schema
from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec

SPECS = (schema.NVTX, schema.RUNTIME, schema.KERNEL)
BATCH_ROWS = 65_536
Sums = list[tuple[int, int]]
"""Per table how many rows and the sum of their durations in ns."""


def batches(export: Export, spec: TableSpec) -> Iterator[pl.DataFrame]:
    """The rows of a table as the reader hands them out: by batches where it can, else at once."""
    by_batch = getattr(export, "batches", None)
    yield from by_batch(spec) if by_batch else [export.read(spec)]


def sums_of(frames: Iterator[pl.DataFrame]) -> tuple[int, int]:
    """Rows and summed duration; rows without an end add nothing, as in SQL."""
    rows = total = 0
    for frame in frames:
        rows += frame.height
        total += int((frame["end_ns"] - frame["start_ns"]).sum())
    return rows, total


def by_us(path: Path) -> Sums:
    """Read by this package."""
    with Export(path) as export:
        return [sums_of(batches(export, spec)) for spec in SPECS]


def by_scan(path: Path) -> Sums:
    """Summed by SQLite, in whose hands no row is ever handed over. It is not asked to count: that would cost it."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        sums = 'SELECT sum("end" - start) FROM '
        return [(0, connection.execute(sums + spec.table).fetchone()[0]) for spec in SPECS]


def counts(path: Path) -> list[int]:
    """Rows of each table."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return [connection.execute(f"SELECT count(*) FROM {spec.table}").fetchone()[0] for spec in SPECS]


def alchemised(path: Path, spec: TableSpec) -> Iterator[pl.DataFrame]:
    """The same columns as one reads them with SQLAlchemy and polars, types given."""
    engine = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        present = {row[1] for row in connection.execute(f"PRAGMA table_info({spec.table})")}
    stored = {ours: column for ours, column in spec.columns.items() if column[0] in present}
    wanted: list[sa.ColumnElement[object]] = [sa.column(theirs).label(ours) for ours, (theirs, _) in stored.items()]
    types = {ours: dtype for ours, (_, dtype) in stored.items()}
    try:
        with engine.connect() as connected:
            query = sa.select(*wanted).select_from(sa.table(spec.table))
            yield from pl.read_database(
                query, connected, iter_batches=True, batch_size=BATCH_ROWS, schema_overrides=types
            )
    finally:
        engine.dispose()


def by_sqlalchemy(path: Path) -> Sums:
    """Read through SQLAlchemy."""
    return [sums_of(alchemised(path, spec)) for spec in SPECS]


def verify(path: Path, *, whole: bool) -> None:
    """Hold our answers against SQLite's, and with `whole` every row against SQLAlchemy's.

    Raises:
        AssertionError: They differ.
    """
    ours, theirs = by_us(path), by_scan(path)
    if [total for _, total in ours] != [total for _, total in theirs] or [rows for rows, _ in ours] != counts(path):
        raise AssertionError(f"sums differ: {ours} read, {theirs} and {counts(path)} rows in SQLite")
    for spec in SPECS if whole else ():
        with Export(path) as export:
            read = pl.concat(batches(export, spec))
        other = pl.concat(alchemised(path, spec))
        if not read.select(other.columns).equals(other):
            raise AssertionError(f"rows of {spec.table} differ")


def in_turns(sides: dict[str, Callable[[Path], Sums]], path: Path, rounds: int) -> dict[str, float]:
    """The median seconds of each side."""
    took: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, read in sides.items():
            begun = time.perf_counter()
            read(path)
            took[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in took.items()}


def main() -> int:
    """Print one line of JSON: the median seconds of both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=5, help="of the comparison with SQLAlchemy")
    asked = parser.parse_args()
    verify(asked.trace, whole=asked.slow_rounds > 0)
    quick = in_turns({"ours": by_us, "scan": by_scan}, asked.trace, asked.rounds)
    slow = asked.slow_rounds and in_turns({"ours": by_us, "sqlalchemy": by_sqlalchemy}, asked.trace, asked.slow_rounds)
    print(json.dumps({"scan": quick, "sqlalchemy": slow}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
