"""`nsysparse report`: the main job."""

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Unpack

import click

from nsysparse.analysis import DEFAULT_PURPOSE, PURPOSES
from nsysparse.cli.numbers import band_ns
from nsysparse.cli.options import StudyArguments, options_of, study_options
from nsysparse.cli.place import format_for, write
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.render import FORMATS
from nsysparse.units import NS_PER_MS

if TYPE_CHECKING:
    from nsysparse.analysis import Analysis

SUMMARY_ROWS = 5
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
@click.option("--link", metavar="ID", help="The link that KV crosses, e.g. ib-ndr (`nsysparse links list`).")
@click.option(
    "--box",
    metavar="ID",
    help="The machine, e.g. dgx-h100 (`nsysparse links list --boxes`): its links inside, its adapters between traces.",
)
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What a bandwidth benchmark printed for the link (docs/reference/measured.md): its practical ceiling.",
)
@click.option("--peak", "peak_gb_s", type=float, metavar="GB/S", help="Its peak in one direction, instead of --link's.")
@click.option(
    "--model",
    metavar="ID|FILE",
    help="The model served, e.g. llama-3-70b (`nsysparse models list`), or its Hugging Face config.json.",
)
@study_options
@click.option("--tp", type=click.IntRange(1, 1024), metavar="N", help="Tensor-parallel ranks that send; default 1.")
@click.option("--kv-dtype", metavar="TYPE", help="Type of the model's cached values, e.g. fp8; default 16-bit.")
@click.option("--wire-dtype", metavar="TYPE", help="Their type while they cross, where the server compresses them.")
@click.option("--step-ms", metavar="A..B", help="How long a decode step takes, for critical lengths; default 20..50.")
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
    link: str | None,
    box: str | None,
    measured: Path | None,
    peak_gb_s: float | None,
    model: str | None,
    tp: int | None,
    kv_dtype: str | None,
    wire_dtype: str | None,
    step_ms: str | None,
    purpose: str,
    **known: Unpack[StudyArguments],
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
    from nsysparse.catalog.loader import CONFIG
    from nsysparse.source.inputs import find_inputs

    options = replace(
        options_of(purpose, **known),
        link=link,
        box=box,
        measured=measured,
        peak_gb_s=peak_gb_s,
        model=model,
        tp=tp,
        kv_dtype=kv_dtype,
        wire_dtype=wire_dtype,
        step_ns=None if step_ms is None else band_ns("--step-ms", step_ms, NS_PER_MS, example="20..50"),
    )
    with ExitStack() as stack, progress() as tell:
        paths = find_inputs(traces, stack)
        read = [*paths, *map(Path, traces)]  # also a report that was exported first
        read += [Path(model), Path(model, CONFIG)] if model else []
        read += [measured] if measured else []
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
    return render(build_summary(analysis), colour=shown, most_rows=SUMMARY_ROWS, width=room)


def _rendered(analysis: "Analysis", chosen: str) -> str:
    from nsysparse.sections import build

    renderer = FORMATS[chosen]
    return renderer.render(analysis if renderer.subject == "analysis" else build(analysis))


def _name(paths: list[Path], suffix: str) -> str:
    more = f"-and-{len(paths) - 1}-more" if len(paths) > 1 else ""
    return f"{paths[0].stem}{more}{suffix}"
