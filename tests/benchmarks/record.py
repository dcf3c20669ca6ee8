"""The recorded figures: what a change is held against, and what the table in the documentation shows."""

import importlib.metadata
import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from demands import Figure
from nsys_peer import Peer, as_records

RECORD = Path(__file__).with_name("recorded.json")
LIBRARIES = ("polars", "numpy", "sqlalchemy", "plotly")
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Record:
    """Figures by name, and nsys's times by size of trace."""

    figures: Mapping[str, Figure] = field(default_factory=dict)
    peers: Mapping[str, Peer] = field(default_factory=dict)


def versions() -> str:
    """What the figures hang on, without a word about which machine it is."""
    known = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    sqlite = f"SQLite {sqlite3.sqlite_version}"
    return ", ".join([f"Python {platform.python_version()}", *known, sqlite, f"{os.cpu_count()} cores"])


def read(path: Path = RECORD) -> Record:
    """What is recorded; nothing where there is no file yet."""
    if not path.is_file():
        return Record()
    kept = json.loads(path.read_text(encoding="utf-8"))
    figures = {name: Figure.from_record(name, record) for name, record in kept["figures"].items()}
    return Record(figures, {size: Peer(**peer) for size, peer in kept["peers"].items()})


def write(record: Record, path: Path = RECORD) -> None:
    """Write it, sorted, so that a change of one figure is a change of one entry."""
    figures = {name: figure.as_record() for name, figure in sorted(record.figures.items())}
    text = json.dumps({"figures": figures, "peers": as_records(record.peers)}, indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def updated(record: Record, figures: Iterable[Figure], peers: Mapping[str, Peer]) -> Record:
    """The record with what was measured now; what was not measured, or could not be, stays as it was."""
    known = versions()
    new = {
        each.name: replace(each, value=_rounded(each.value), cpu=_rounded(each.cpu), versions=known)
        for each in figures
        if each.value is not None or each.name not in record.figures
    }
    return Record({**record.figures, **new}, {**record.peers, **peers})


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")
