"""`nsysparse redact`: a small copy of a trace that says of its run what the trace does, and of all else nothing."""

from contextlib import ExitStack
from pathlib import Path

import click

from nsysparse.cli.options import preset_option
from nsysparse.cli.place import build
from nsysparse.cli.settings import Configured, config_files
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.cli.time_range import time_range_ns
from nsysparse.errors import InputError, UsageError

KEEP, HASH = "keep", "hash"
_LEAST, _MOST = 16, 4096
_SALT = "Make one with: head -c 32 /dev/urandom > salt"


@click.command("redact", cls=Configured)
@click.argument("trace", metavar="TRACE")
@click.option("-o", "--output", required=True, metavar="PATH", help="The copy, a SQLite file.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option(
    "--names",
    type=click.Choice([KEEP, HASH]),
    default=KEEP,
    show_default=True,
    help="Names of ranges and kernels, ids of requests: as they are, or digests. With hash, names that a rule knows"
    " keep the words and numbers it knows them by.",
)
@click.option(
    "--salt",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file of at least 16 secret bytes that keys digests: files of one run need the same. --names hash needs it;"
    " without it hosts are dropped, so that a report of several copies no longer knows which share a clock.",
)
@click.option(
    "--rebase-times",
    is_flag=True,
    help="Let times count from the first event, and drop UTC: a report of several copies must then align their clocks"
    " by transfers.",
)
@click.option(
    "--time-range",
    metavar="A..B",
    help="Copy only what overlaps this time of the trace's own clock: 1.5s..2.25s, 800ms.. (ns, us, ms, s, m).",
)
@preset_option
@click.option(
    "--request-pattern", metavar="REGEX", help="Finds the id of a request in the text of a range, as in `report`."
)
@verbosity_options
def command(
    trace: str,
    output: str,
    force: bool,  # noqa: FBT001 (click passes flags by name)
    names: str,
    salt: Path | None,
    rebase_times: bool,  # noqa: FBT001
    time_range: str | None,
    presets: tuple[str, ...],
    request_pattern: str | None,
) -> None:
    """Write a small copy of a trace with only what a report needs: a trace that can be handed on.

    Environment, command lines, process output, users, hosts, paths, and every table, column and string that no report
    reads stay behind. A report of the copy has the same numbers. Look at the copy before you send it: names of ranges
    are what your server wrote, and --names keep leaves them as they are.

    \b
        nsysparse redact trace.sqlite -o small.sqlite
        head -c 32 /dev/urandom > salt
        nsysparse redact prefill.sqlite -o p.sqlite --names hash --salt salt
        nsysparse redact decode.sqlite -o d.sqlite --names hash --salt salt

    Keep the salt to yourself: who has it can test guesses of names (docs/how-to/share-a-trace.md).
    """
    if output in ("", "-"):
        raise UsageError(
            "-o names no file: SQLite cannot be written to a stream.", "Name a file, such as small.sqlite."
        )
    if names == HASH and salt is None:
        raise UsageError("--names hash needs --salt FILE: digests without a key can be guessed.", _SALT)
    from nsysparse.api.redacting import Redaction, redact
    from nsysparse.source.inputs import find_inputs
    from nsysparse.units import counted

    target = Path(output)
    window = None if time_range is None else time_range_ns(time_range)
    key = None if salt is None else _key(salt)
    asked = Redaction(key, names == HASH, rebase_times, presets, request_pattern, window)
    with ExitStack() as stack, progress() as tell:
        paths = find_inputs((trace,), stack)
        if len(paths) != 1:
            raise UsageError(f"{Path(trace).name}: {counted(len(paths), 'trace')}; one copy is of one.", "Name a file.")

        def fill(beside: Path) -> "tuple[int, tuple[str, ...]]":
            made = redact(paths[0], beside, asked, tell)
            return sum(made.rows.values()), made.said

        inputs = [*paths, Path(trace), *([salt] if salt else []), *map(Path, presets), *config_files()]
        rows, said = build(fill, target, force=force, inputs=inputs)
    for sentence in said:
        say(sentence)
    say(f"Wrote {counted(rows, 'row')} to {target}")


def _key(salt: Path) -> bytes:
    try:
        if salt.exists() and not salt.is_file():
            raise InputError(f"{salt.name}: is no regular file.", _SALT)
        with salt.open("rb") as file:
            key = file.read(_MOST)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{salt.name}: cannot be read ({reason}).", _SALT) from error
    if len(key) < _LEAST:
        raise InputError(f"{salt.name}: has {len(key)} bytes, too few for a salt.", _SALT)
    return key
