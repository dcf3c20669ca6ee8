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
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from nsysparse.source import schema
from nsysparse.source.batch import Batch
from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec

SPECS = (schema.NVTX, schema.RUNTIME, schema.KERNEL)
BATCH_ROWS = 65_536
Sums = list[tuple[int, int]]
"""Per table how many rows and the sum of their durations in ns."""


def sums_of(batch: Batch) -> tuple[int, int]:
    """Rows and summed duration; rows without an end add nothing, as in SQL."""
    lasted = batch.values("end_ns") - batch.values("start_ns")
    return batch.height, int(lasted[batch.known("start_ns", "end_ns")].sum())


def sums_of_frame(frame: pl.DataFrame) -> tuple[int, int]:
    """The same of a frame."""
    return frame.height, int((frame["end_ns"] - frame["start_ns"]).sum())


def added(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The sums of a table from those of its batches."""
    rows, totals = zip((0, 0), *parts, strict=True)
    return sum(rows), sum(totals)


def by_us(path: Path) -> Sums:
    """Read by this package, batch by batch; texts come as codes with a list of distinct ones."""
    with Export(path) as export:
        return [added(export.scan(spec, sums_of).parts) for spec in SPECS]


def whole(path: Path, spec: TableSpec) -> pl.DataFrame:
    """All rows by this package, texts in place of their codes."""
    with Export(path) as export:
        found = export.scan(spec, Batch.frame)
    rows = pl.concat(found.parts)
    return rows.with_columns(
        pl.Series(texts, dtype=pl.String).gather(rows[column]).alias(column) for column, texts in found.texts.items()
    )


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
    wanted: list[sa.ColumnElement[Any]] = []
    types: dict[str, type[pl.DataType]] = {}
    for ours, (theirs, dtype) in spec.columns.items():
        if (theirs or "rowid") in present | {"rowid"}:
            column: sa.ColumnElement[Any] = sa.column(theirs or "rowid")
            said: sa.ColumnElement[Any] = column.is_not(None) if dtype is pl.Boolean else column
            wanted.append(said.label(ours))
            types[ours] = dtype
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
    return [added(map(sums_of_frame, alchemised(path, spec))) for spec in SPECS]


def verify(path: Path, *, rows: bool) -> None:
    """Hold our answers against SQLite's, and with `rows` every row against SQLAlchemy's.

    Raises:
        AssertionError: They differ.
    """
    ours, theirs = by_us(path), by_scan(path)
    if [total for _, total in ours] != [total for _, total in theirs] or [rows for rows, _ in ours] != counts(path):
        raise AssertionError(f"sums differ: {ours} read, {theirs} and {counts(path)} rows in SQLite")
    for spec in SPECS if rows else ():
        other = pl.concat(alchemised(path, spec))
        if not whole(path, spec).select(other.columns).equals(other):
            raise AssertionError(f"rows of {spec.table} differ")


def in_turns(sides: dict[str, Callable[[Path], Sums]], path: Path, rounds: int) -> dict[str, tuple[float, float]]:
    """The median seconds of each side, by the clock and of CPU."""
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, read in sides.items():
            begun, used = time.perf_counter(), time.process_time()
            read(path)
            took[name].append((time.perf_counter() - begun, time.process_time() - used))
    return {
        name: (statistics.median(wall for wall, _ in each), statistics.median(cpu for _, cpu in each))
        for name, each in took.items()
    }


def main() -> int:
    """Print one line of JSON: the median seconds of both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=5, help="of the comparison with SQLAlchemy")
    asked = parser.parse_args()
    verify(asked.trace, rows=asked.slow_rounds > 0)
    quick = in_turns({"ours": by_us, "scan": by_scan}, asked.trace, asked.rounds)
    slow = asked.slow_rounds and in_turns({"ours": by_us, "sqlalchemy": by_sqlalchemy}, asked.trace, asked.slow_rounds)
    print(json.dumps({"scan": quick, "sqlalchemy": slow}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
