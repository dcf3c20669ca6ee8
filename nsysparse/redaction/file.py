"""The file of a copy: written once, front to back, so that no byte of it is left over from anything else."""

import errno
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from nsysparse.source.sql import quoted

Value = int | float | str | None
_SETTINGS = ("page_size=4096", "auto_vacuum=NONE", "journal_mode=OFF", "synchronous=OFF", "encoding='UTF-8'")
# Of the header: which SQLite wrote the file, which says nothing of the trace and something of the machine.
_WRITER_AT, _WRITER = 96, (3_040_001).to_bytes(4, "big")


class Copy:
    """Tables and rows of a new export.

    Args:
        connection: Open to an empty file, in a transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """No table is there yet."""
        self._connection = connection
        self.rows: dict[str, int] = {}

    def create(self, table: str, columns: Mapping[str, str]) -> None:
        """A table without rows; its columns by name, with their SQL types."""
        declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
        self._connection.execute(f"CREATE TABLE {quoted(table)} ({declared})")
        self.rows[table] = 0

    def add(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> None:
        """Rows, as they come."""
        names = ", ".join(map(quoted, columns))
        marks = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks})"
        self.rows[table] += max(0, self._connection.executemany(statement, rows).rowcount)


@contextmanager
def new_copy(path: Path) -> Iterator[Copy]:
    """A copy to fill, in an empty file.

    Raises:
        OSError: It cannot be written, the disk being full for example.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN")
        yield Copy(connection)
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        raise OSError(errno.ENOSPC, str(error)) from error
    finally:
        connection.close()
    with path.open("r+b") as file:
        file.seek(_WRITER_AT)
        file.write(_WRITER)
