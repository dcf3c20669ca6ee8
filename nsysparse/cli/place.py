"""Where output goes: stdout or a file that is written whole or not at all, and never over somebody else's."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from nsysparse.errors import OutputError, UsageError

Said = TypeVar("Said")

# What our own files begin with, by format; only such a file is replaced unasked.
_SIGNATURES = (
    '<meta name="generator" content="nsysparse',
    "<!-- nsysparse:",  # Markdown, and pictures as SVG
    "Software\0nsysparse figure",  # pictures as PNG
    '"nsysparse": "',
    "# nsysparse capture ",
    "# HELP nsysparse_build_info ",
)
_HEAD = 4096


def format_for(given: str | None, output: str | None, extensions: dict[str, str], default: str) -> str:
    """The format: as given, else by the suffix of the output, else the default.

    Args:
        given: `-f`, if any.
        output: `-o`, if any.
        extensions: Format → suffix.
        default: When neither says.

    Raises:
        UsageError: The suffix belongs to no format.
    """
    if given is not None:
        return given
    if output is None or output == "-":
        return default
    if not output:
        raise UsageError("-o names no file.", "Name one, or - for stdout.")
    if Path(output).is_dir():
        raise UsageError(f"{output}: is a folder.", "Name a file in it.")
    by_suffix = {suffix: name for name, suffix in extensions.items()}
    suffix = Path(output).suffix.lower()
    if suffix not in by_suffix:
        raise UsageError(
            f"{Path(output).name}: no format has the suffix {suffix!r}.",
            f"Name one with -f ({', '.join(extensions)}) or use {', '.join(by_suffix)}.",
        )
    return by_suffix[suffix]


def write(content: str | bytes, target: Path | None, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Write to a file, or to stdout when `target` is None.

    Args:
        content: Everything.
        target: The file; its folder is made. An existing file is replaced only when it is ours, or with `force`.
        force: Replace whatever is there, but for the inputs.
        inputs: What was read: never replaced, under whatever name.

    Raises:
        OutputError: The file is somebody else's, or cannot be written.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    stream(lambda file: file.write(data), target, force=force, inputs=inputs)


def is_terminal() -> bool:
    """Whether somebody sees stdout as it comes."""
    return sys.stdout is not None and sys.stdout.isatty()


def stream(fill: Callable[[BinaryIO], Said], target: Path | None, *, force: bool, inputs: Sequence[Path] = ()) -> Said:
    """Write what need not fit into memory; else as `write`.

    Args:
        fill: Writes everything to the file that it is given, of which it may only `write`, unless it is `seekable`.
        target: As for `write`.
        force: Likewise.
        inputs: Likewise.

    Returns:
        What `fill` says.

    Raises:
        OutputError: The file is somebody else's, or cannot be written.
    """
    if target is None:
        if sys.stdout is None:
            raise OutputError("Standard output is closed.", "Name a file with -o.")
        sys.stdout.flush()
        said = fill(cast("BinaryIO", _Terminal()) if is_terminal() else sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return said

    def filled(beside: Path) -> Said:
        with beside.open("wb") as file:
            return fill(file)

    return build(filled, target, force=force, inputs=inputs)


def build(make: Callable[[Path], Said], target: Path, *, force: bool, inputs: Sequence[Path] = ()) -> Said:
    """Have a file written by what wants its path; else as `write`.

    Args:
        make: Writes everything to the file of this path, which is there and empty.
        target: As for `write`.
        force: Likewise.
        inputs: Likewise.

    Returns:
        What `make` says.

    Raises:
        OutputError: The file is somebody else's, or cannot be written.
    """
    check(target, force=force, inputs=inputs)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return _replace(target, make)
    except OSError as error:
        raise _unwritable(target, error) from error


def check(target: Path, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse what `write` would refuse: of several files, before the first is written.

    Args:
        target: As for `write`.
        force: Likewise.
        inputs: Likewise.

    Raises:
        OutputError: The file is somebody else's.
    """
    try:
        if target.is_dir():
            raise OutputError(f"{target}: is a folder.", "Name a file.")
        if target.exists() and not target.is_file():
            # Reading a pipe would wait for ever, and renaming onto a device would replace it.
            raise OutputError(f"{target}: is no plain file.", "Name a file, or - for stdout.")
        if target.exists() and any(target.samefile(each) for each in inputs if each.exists()):
            raise OutputError(f"{target}: is the trace that was read, or its model.", "Name another file with -o.")
        if not force and target.exists() and not _is_ours(target):
            raise OutputError(
                f"{target}: exists, and is no report of nsysparse.", "Use another -o, or --force to replace it."
            )
    except OSError as error:
        raise _unwritable(target, error) from error


def _unwritable(target: Path, error: OSError) -> OutputError:
    return OutputError(f"{target}: cannot be written ({error.strerror}).", "Check folder and free space.")


class _Terminal:
    """Standard output where it is a terminal: text arrives there that it does not obey, for names come from the trace.

    Elsewhere bytes stay as they are.
    """

    def write(self, data: bytes | memoryview) -> int:
        """Write whole characters."""
        return sys.stdout.buffer.write(_for_terminal(bytes(data)))

    def seekable(self) -> bool:
        """What is written is seen."""
        return False


def _for_terminal(data: bytes) -> bytes:
    from nsysparse.render.names import visible

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OutputError("This format is no text for a terminal.", "Name a file with -o.") from error
    return "\n".join(visible(line) for line in text.split("\n")).encode("utf-8")


def _is_ours(target: Path) -> bool:
    with target.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", "replace")
    return any(signature in head for signature in _SIGNATURES)


def _replace(target: Path, make: Callable[[Path], Said]) -> Said:
    """Old file or new file, never half: written beside it, then renamed."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        os.close(handle)
        said = make(Path(name))
        # mkstemp's files are private; give it the mode a plain open would.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return said
