"""The file that sets options for a project: where it is looked for, and its tables as TOML has them."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nsysparse.errors import UsageError

FILE, PYPROJECT = "nsysparse.toml", "pyproject.toml"
MOST_BYTES = 1 << 20
"""Far more than anybody writes by hand, and little enough that reading it takes no time."""
_OTHERWISE = "Name another with --config FILE, or leave it out with --no-config."


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file and what it sets, unchecked.

    Attributes:
        path: As seen from the working folder.
        table: Its keys and values.
    """

    path: Path
    table: Mapping[str, object]


def find() -> ConfigFile | None:
    """The nearest file from the working folder upwards, up to the root of the repository or of the file system.

    A `pyproject.toml` counts where it has a table `[tool.nsysparse]`; beside a `nsysparse.toml` it does not.

    Raises:
        UsageError: The nearest one cannot be used.
    """
    for folder in _upwards():
        if _is_named(folder / FILE):
            return read(folder / FILE)
        if _exists(folder / PYPROJECT):
            content = _content(folder / PYPROJECT)
            # A file of other tools that never speaks of us may be as broken as they bear.
            found = _of_pyproject(folder / PYPROJECT, content) if b"nsysparse" in content else None
            if found is not None:
                return found
        if _exists(folder / ".git"):  # a file in worktrees and submodules
            break
    return None


def read(path: Path) -> ConfigFile:
    """The file at `path`.

    Raises:
        UsageError: It cannot be used.
    """
    content = _content(path)
    if path.name != PYPROJECT:
        return ConfigFile(path, _parsed(path, content))
    found = _of_pyproject(path, content)
    if found is None:
        raise UsageError(f"{path}: has no table [tool.nsysparse].", _OTHERWISE)
    return found


def _upwards() -> Iterator[Path]:
    """The working folder and those above it, as seen from it, so that no message has more of a path than it needs."""
    try:
        above = len(Path.cwd().parents)
    except OSError:  # the working folder is gone, and what was above it with it
        return
    for steps in range(above + 1):
        yield Path(*[".."] * steps)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder that may not be looked into
        return False


def _is_named(path: Path) -> bool:
    """Whether there is such a name, be it a link to nowhere: to pass over the file is to pass over its gates."""
    try:
        return os.path.lexists(path)
    except OSError:
        return False


def _content(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would wait for ever
            raise UsageError(f"{path}: is no regular file.", _OTHERWISE)
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such name can be"
        raise UsageError(f"{path}: cannot be read ({why}).", _OTHERWISE) from error
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path}: is larger than 1 MiB.", "Options of a project are a short list.")
    return content


def _parsed(path: Path, content: bytes) -> dict[str, object]:
    import tomllib  # most who ask for help have no file

    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 at byte {error.start:,}.", "Save it as UTF-8.") from error
    except RecursionError as error:
        raise UsageError(f"{path}: is no TOML that can be read: it is nested too deep.", _OTHERWISE) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is no TOML: {error}.", "https://toml.io shows how it is written.") from error
    except ValueError as error:
        raise UsageError(
            f"{path}: is no TOML that can be read: it has a number of thousands of digits.", "Write a shorter one."
        ) from error


def _of_pyproject(path: Path, content: bytes) -> ConfigFile | None:
    tool = _parsed(path, content).get("tool")
    if not isinstance(tool, dict) or "nsysparse" not in tool:
        return None
    table = tool["nsysparse"]
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.nsysparse is no table.", "Write [tool.nsysparse], and the keys below it.")
    return ConfigFile(path, table)
