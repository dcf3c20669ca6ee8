"""Makes an SQLite export of nsys fit to be published: takes out what tells of the machine and of other processes.

Kept as nsys wrote them: the rows of events, with their ids and times, and the layout of the tables. Replaced or
deleted: the environment (which is in three places), host, processor and kernel, folders, other processes and their
threads, what programs printed, and every string that no event refers to.
"""

import os
import platform
import re
import socket
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

HOST = "lab-node"
# Columns that refer to StringIds, of tables of events and of threads.
_REFERENCES = ("textId", "nameId", "jsonTextId")
_SHORTEST = 6  # shorter values of the environment ("1", "C", "root") are words that anything may hold
_SYSTEM = {
    "DeviceEnvironment": "", "Hostname": HOST, "CpuDescription": "x86_64 CPU", "CpuInfo": "{}", "GpuMetricsConfig": "",
    "TargetInstallDir": "/opt/nsight-systems/target-linux-x64", "KernelVersion": "#1 SMP",
    "SoftwareReleaseVersion": "6.1.0", "InjectionFilesStoragePath": "/data",
}  # fmt: skip


def scrub(path: Path) -> None:
    """Change the file in place."""
    with closing(sqlite3.connect(path)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for name, value in _SYSTEM.items():
            db.execute("UPDATE TARGET_INFO_SYSTEM_ENV SET value = ? WHERE name = ?", (value, name))
        for table in tables & {"META_DATA_EXPORT", "EXPORT_META_DATA"}:
            db.execute(f"UPDATE {table} SET value = ? WHERE name LIKE '%HOST%'", (HOST,))
            db.execute(f"UPDATE {table} SET value = '/data' WHERE name LIKE '%PATH%'")
        if "META_DATA_CAPTURE" in tables:
            db.execute("DELETE FROM META_DATA_CAPTURE WHERE name LIKE '%ENVIRONMENT_VARIABLE%'")
            db.execute("UPDATE META_DATA_CAPTURE SET value = ? WHERE name LIKE '%DISPLAY_NAME'", (HOST,))
            db.execute("UPDATE META_DATA_CAPTURE SET value = '/data' WHERE name LIKE '%_DIR' OR value LIKE '/%'")
            db.execute("UPDATE META_DATA_CAPTURE SET value = '' WHERE name LIKE '%UUID' OR name LIKE '%USER%'")
        ours = "SELECT DISTINCT globalTid >> 24 FROM NVTX_EVENTS"
        for table, column in (
            ("PROCESSES", "globalPid"),
            ("ThreadNames", "globalTid"),
            ("PROFILER_OVERHEAD", "globalTid"),
        ):
            if table in tables:
                db.execute(f"DELETE FROM {table} WHERE {column} >> 24 NOT IN ({ours})")
        if "ProcessStreams" in tables:
            db.execute("DELETE FROM ProcessStreams")
        used: set[int] = set()
        for table in tables:
            for _, column, *_ in db.execute(f"PRAGMA table_info('{table}')").fetchall():
                if column in _REFERENCES and not table.startswith("ENUM"):
                    used |= {number for (number,) in db.execute(f"SELECT DISTINCT {column} FROM {table}")}
        strings = [number for (number,) in db.execute("SELECT id FROM StringIds") if number not in used]
        db.executemany("UPDATE StringIds SET value = '(scrubbed)' WHERE id = ?", [(number,) for number in strings])
        db.commit()
        db.execute("VACUUM")


def private_left(path: Path, more: Iterable[str]) -> list[str]:
    """What of this machine the bytes of the file still hold: host, user's folder, kernel, and the texts given."""
    content = path.read_bytes()
    names = {socket.gethostname(), platform.release(), str(Path.home()), *more}
    names |= {part for name in names for part in name.split(os.pathsep)}
    # Folders that every machine has tell of none.
    parts = {name for name in names if len(name) >= _SHORTEST and not re.fullmatch(r"/usr(/[\w.-]+)*", name)}
    return sorted(name for name in parts if name.encode() in content)
