"""`nsysparse report`: the main job."""

import sys
from contextlib import ExitStack
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Unpack

import click

from nsysparse.analysis import DEFAULT_PURPOSE, PURPOSES
from nsysparse.cli.options import AnalysisArguments, analysis_options, files_of, options_of
from nsysparse.cli.place import format_for, write
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.render import FORMATS

if TYPE_CHECKING:
    from nsysparse.analysis import Analysis

EXTENSIONS = {name: known.extension for name, known in FORMATS.items()}


@click.command("report")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("-f", "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: by -o, else html.")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="Where to write; - is stdout. Default: reports/<stem> with the format's suffix; text goes to stdout.",
)
@click.option("--force", is_flag=True, help="Replace a file that nsysparse did not write.")
@analysis_options
@click.option(
    "--purpose",
    type=click.Choice(list(PURPOSES)),
    default=DEFAULT_PURPOSE,
    show_default=True,
    help="Which traffic totals, links, layers and requests cover; the rest is listed as left out.",
)
@verbosity_options
def command(
    traces: tuple[str, ...],
    output_format: str | None,
    output: str | None,
    force: bool,  # noqa: FBT001 (click passes flags by name)
    purpose: str,
    **known: Unpack[AnalysisArguments],
) -> None:
    """Report on the KV-cache transfer in one or more traces.

    Writes an HTML page that works offline, and prints a summary whose first line is the verdict.

    \b
        nsysparse report trace.sqlite
        nsysparse report trace.sqlite --link ib-ndr --model llama-3-70b
        nsysparse report prefill.sqlite decode.sqlite -o hand-over.html
        nsysparse report trace.sqlite --purpose kv
        nsysparse report trace.sqlite -f json -o - | jq .totals

    TRACE is a file that `nsys export --type sqlite` wrote, a folder of them, a pattern, or a .nsys-rep
    file where nsys is installed.
    """
    chosen = format_for(output_format, output, EXTENSIONS, "html")
    from nsysparse.api import analyse
    from nsysparse.source.inputs import find_inputs

    options = options_of(purpose, **known)
    with ExitStack() as stack, progress() as tell:
        paths = find_inputs(traces, stack)
        read = [*paths, *map(Path, traces), *files_of(options)]  # also a report that was exported first
        analysis = analyse(paths, options, tell)
        tell("writing the report")
        content = _rendered(analysis, chosen)
        summary = None if output == "-" or chosen == "text" else _summary(analysis)
    to_stdout = output == "-" or (output is None and chosen == "text")
    target = None if to_stdout else Path(output) if output else Path("reports") / _name(paths, EXTENSIONS[chosen])
    write(content, target, force=force, inputs=read)
    if summary is not None:
        click.echo(summary, nl=False)
    if target is not None:
        say(f"Wrote {target}")


def _summary(analysis: "Analysis") -> str:
    from nsysparse.render.to_text import WIDTH, render
    from nsysparse.sections import build_summary

    shown = sys.stdout.isatty()
    room = get_terminal_size().columns if shown else WIDTH  # a pipe gets the same bytes wherever it is
    return render(build_summary(analysis), colour=shown, width=room)


def _rendered(analysis: "Analysis", chosen: str) -> str:
    from nsysparse.sections import build

    renderer = FORMATS[chosen]
    return renderer.render(analysis if renderer.subject == "analysis" else build(analysis))


def _name(paths: list[Path], suffix: str) -> str:
    more = f"-and-{len(paths) - 1}-more" if len(paths) > 1 else ""
    return f"{paths[0].stem}{more}{suffix}"
