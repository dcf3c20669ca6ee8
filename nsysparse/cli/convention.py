"""`nsysparse convention`: how a server annotates its KV transfers, and the file that does it."""

from importlib import resources
from pathlib import Path

import click

from nsysparse.cli.place import write
from nsysparse.cli.talk import say, verbosity_options

# Of the package: the page is a link to docs/reference/convention.md, and its content in a wheel.
PAGE, FILE = "convention.md", "annotate.py"


@click.command("convention")
@click.option("--python", "wants_file", is_flag=True, help="The Python file that writes such ranges, to drop in.")
@click.option("-o", "--output", metavar="PATH", help="Where to write; default and - are stdout.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@verbosity_options
def command(
    output: str | None,
    *,
    wants_file: bool,
    force: bool,
) -> None:
    """Print the annotation convention: the NVTX ranges that make KV transfers attributable.

    With --python instead the file that writes such ranges, for a server that shall not depend on nsysparse. It needs
    the standard library of Python 3.8 or newer, and does nothing while no profiler is attached.

    \b
        nsysparse convention | less
        nsysparse convention --python -o kvx_annotate.py
    """
    content = resources.files("nsysparse").joinpath(FILE if wants_file else PAGE).read_bytes()
    target = None if output in (None, "-") else Path(str(output))
    write(content, target, force=force)
    if target is not None:
        say(f"Wrote {target}")
