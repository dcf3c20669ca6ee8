"""What the command line says on stderr: errors, progress, where things went. Data goes to stdout, never here."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from nsysparse.errors import NsysparseError

_verbosity = 0
_TRACEBACKS = 2
_BAR = 24
DUMB = ("dumb", "unknown")
"""Terminals that cannot go back within a line."""


def set_verbosity(level: int) -> None:
    """How much to say: below 0 only errors, from 2 on tracebacks too."""
    global _verbosity  # noqa: PLW0603 (one process is one command)
    _verbosity = level


def verbosity_options(function: Callable[..., None]) -> Callable[..., None]:
    """`-q` and `-v`, the same on every command."""

    def quiet(_context: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001 (click's)
        if given:
            set_verbosity(-1)

    def verbose(_context: click.Context, _parameter: click.Parameter, count: int) -> None:
        if count:
            set_verbosity(count)

    quietly = click.option(
        "-q", "--quiet", is_flag=True, expose_value=False, callback=quiet, help="Say nothing on stderr but errors."
    )
    loudly = click.option(
        "-v", "--verbose", count=True, expose_value=False, callback=verbose, help="Say more; -vv shows tracebacks."
    )
    return quietly(loudly(function))


def explain(error: Exception) -> int:
    """Print a failure and return the exit code."""
    if _verbosity >= _TRACEBACKS:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, NsysparseError):
        for line in _lines(error):
            click.echo(line, err=True)
        return error.exit_code
    click.echo(f"nsysparse: internal error: {type(error).__name__}: {_plain(str(error))[:300]}", err=True)
    click.echo("  This is a bug. Run again with -vv for the traceback, and please report it.", err=True)
    return 1


def _lines(error: NsysparseError) -> list[str]:
    """What is wrong, and what to do."""
    return [f"nsysparse: {_plain(error.message)}", *([f"  {_plain(error.hint)}"] if error.hint else [])]


def say(text: str) -> None:
    """A line on stderr, unless quiet."""
    if _verbosity >= 0:
        click.echo(_plain(text), err=True)


def murmur(text: str) -> None:
    """A line on stderr, with `-v`."""
    if _verbosity > 0:
        say(text)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yields a function that shows what is being done: a bar on a terminal, lines with `-v`, else nothing.

    The bar fills where it is told a `Stage` (`nsysparse.api`), and is gone when the work is over, however it ends. That
    a file is left out (`Unreadable`) is no progress but an error, and said at once in any case.
    """
    if _verbosity > 0:
        yield _either(say, _say_line)
        return
    if _verbosity < 0 or not sys.stderr.isatty() or os.environ.get("TERM") in DUMB:
        yield _either(lambda _text: None, _say_line)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    shown = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
    # stdout is data, so it is not to be caught and drawn above the bar, as rich would.
    with Progress(
        BarColumn(bar_width=_BAR), MofNCompleteColumn(), TimeElapsedColumn(), shown,
        console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False,
    ) as bar:  # fmt: skip
        task = bar.add_task("starting", total=None)

        def told(text: str) -> None:
            done, of = getattr(text, "done", None), getattr(text, "of", None)
            bar.update(task, description=_plain(text), completed=done, total=of)
            bar.refresh()

        def above(line: str) -> None:
            bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield _either(told, above)


def _either(told: Callable[[str], None], complain: Callable[[str], None]) -> Callable[[str], None]:
    """Passes on what is done; of a file that is left out, the lines of its error."""

    def passed(text: str) -> None:
        error = getattr(text, "error", None)
        if not isinstance(error, NsysparseError):
            told(text)
            return
        for line in _lines(error):
            complain(line)

    return passed


def _say_line(line: str) -> None:
    click.echo(line, err=True)


def _plain(text: str) -> str:
    """One line without characters that a terminal would obey: messages quote names out of files."""
    from nsysparse.render.names import visible

    return visible(text)
