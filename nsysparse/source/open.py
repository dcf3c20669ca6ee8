"""Open somebody else's SQLite file without trusting it, and without touching it.

The file is opened read-only and immutable, so that SQLite creates nothing beside it; an authorizer denies everything
but reading; only ordinary tables count (a view or virtual table can run forever, a generated column can be huge).
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

from nsysparse.errors import InputError, NotAnExport

SQLITE_MAGIC = b"SQLite format 3\x00"
LFS_MAGIC = b"version https://git-lfs"
MAX_CELL_BYTES = 16 * 2**20
MAX_COLUMNS = 200
NSYS_EXPORT = "nsys export --type sqlite --include-blobs=true --include-json=true --force-overwrite=true"

_ALLOWED_ACTIONS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})
_ALLOWED_PRAGMAS = frozenset({"table_xinfo"})  # which columns a table has


def check_file(path: Path) -> None:
    """Refuse what is no SQLite database before SQLite sees it, each with its own sentence.

    Raises:
        InputError: The path is missing, no regular file, unreadable, or has a journal beside it.
        NotAnExport: The first bytes are not SQLite's.
    """
    try:
        if not path.exists():
            raise InputError(f"{path.name}: no such file.", "Check the path.")
        if not path.is_file():
            raise InputError(f"{path.name}: not a regular file.", "Give the .sqlite file that `nsys export` wrote.")
        with path.open("rb") as file:
            head = file.read(len(LFS_MAGIC))
    except (OSError, RuntimeError, ValueError) as error:  # also link loops, and names that no file can have
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path.name}: cannot be read ({reason}).", "Check path and permissions.") from error
    if not head:
        raise NotAnExport(f"{path.name}: the file is empty.", "Export again; the disk may have been full.")
    if head.startswith(LFS_MAGIC):
        raise NotAnExport(f"{path.name}: a Git LFS pointer, not the trace itself.", "Run `git lfs pull` first.")
    if not head.startswith(SQLITE_MAGIC):
        hint = f"An Nsight Systems report becomes one by `{NSYS_EXPORT} -o trace.sqlite report.nsys-rep`."
        raise NotAnExport(f"{path.name}: not a SQLite database (or encrypted).", hint)
    # SQLite looks beside the file itself, not beside a link to it.
    for sidecar in (path.resolve().with_name(path.resolve().name + suffix) for suffix in ("-wal", "-journal")):
        if sidecar.exists() and sidecar.stat().st_size > 0:
            raise InputError(
                f"{path.name}: {sidecar.name} beside it holds unfinished writes, so its rows cannot be trusted.",
                f"Close the program that writes it, or fold it in on a copy: sqlite3 COPY 'PRAGMA journal_mode=DELETE'"
                f" (copy {sidecar.name} along).",
            )


def connect(path: Path) -> sqlite3.Connection:
    """A read-only connection that can only SELECT; text comes as str with invalid UTF-8 shown as escapes."""
    # An absolute URI: a relative one loses its directory when it starts with a slash-less "..".
    uri = f"file:{quote(os.fsencode(path.resolve()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    try:
        # Real exports hold invalid UTF-8. A partial of `str` stays in C, which matters at millions of texts.
        connection.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_authorizer(_authorize)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Turn SQLite's complaints about a damaged file into one sentence that names what was being read.

    Args:
        path: The file, for the message.
        what: What was being read, e.g. a table name.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:
        raise InputError(
            f"{path.name}: {what} cannot be read ({error}).", "The file is damaged or cut off: export it again."
        ) from error


def plain_tables(connection: sqlite3.Connection, path: Path) -> frozenset[str]:
    """Names of ordinary tables: those with a root page. Views and virtual tables have none and are never read."""
    with readable(path, "its table list"):
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
    return frozenset(str(name) for (name,) in rows)


def _authorize(action: int, first: str | None, _second: str | None, _database: str | None, _trigger: str | None) -> int:
    if action in _ALLOWED_ACTIONS or (action == sqlite3.SQLITE_PRAGMA and first in _ALLOWED_PRAGMAS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
