"""The commands that others are held against: the same heavy imports, the bare scans, the least program with a help."""

import sys
from pathlib import Path

HEAVY = [sys.executable, "-c", "import plotly.graph_objects, polars, sqlalchemy"]
"""Starts Python and loads the three heaviest packages of such tools."""

IMPORTS = [sys.executable, "-c", "import numpy, polars"]
"""Starts Python and loads what every command on a trace needs: what is taken off as `minus imports`, and no more."""

TABLES = ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL")
"""The three big ones."""

_SCANS = """
import sqlite3, statistics, sys, time
from contextlib import closing
path, rounds, *tables = sys.argv[1:]
took, cpu = [], []
for _ in range(int(rounds)):
    begun, used = time.perf_counter(), time.process_time()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        for table in tables:
            connection.execute(f'SELECT sum("end" - start) FROM {table}').fetchone()
    took.append(time.perf_counter() - begun)
    cpu.append(time.process_time() - used)
print(statistics.median(took), statistics.median(cpu))
"""

_BARE = """
import click
@click.command()
@click.option("--name", help="Whom to greet.")
def main(name):
    "Greet somebody."
main()
"""


def scans(trace: Path, rounds: int = 1) -> list[str]:
    """A process that prints the seconds of the three scans in SQLite, by the clock and of CPU: medians."""
    return [sys.executable, "-c", _SCANS, str(trace), str(rounds), *TABLES]


def bare_click() -> list[str]:
    """The help of a program that has nothing but click."""
    return [sys.executable, "-c", _BARE, "--help"]


def tool(*arguments: str) -> list[str]:
    """Our command line, set by no file."""
    return [sys.executable, "-m", "nsysparse", *arguments]
