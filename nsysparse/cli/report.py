"""`nsysparse report`: the main job."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from nsysparse.analysis import DEFAULT_PURPOSE, PURPOSES
from nsysparse.cli.gates import fail_over_threshold
from nsysparse.cli.markdown_options import check_markdown, max_bytes_option, room
from nsysparse.cli.options import AnalysisArguments, analysis_options, files_of, options_of, refuse_options
from nsysparse.cli.pictures import KINDS, Picture, check_base_url, links, pictures
from nsysparse.cli.place import check, format_for, write
from nsysparse.cli.settings import Configured
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.cli.terminal import as_text
from nsysparse.cli.unread import Unread
from nsysparse.errors import UsageError
from nsysparse.render import FORMATS

if TYPE_CHECKING:
    from nsysparse.analysis import Analysis

EXTENSIONS = {name: known.extension for name, known in FORMATS.items()}


@click.command("report", cls=Configured)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("-f", "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: by -o, else html.")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="Where to write; - is stdout. Default: reports/<stem> with the format's suffix; text goes to stdout.",
)
@max_bytes_option
@click.option(
    "--image",
    type=click.Choice(KINDS),
    help="Markdown: write the figures as files beside it, too, and link them; png needs a Chromium on PATH.",
)
@click.option(
    "--image-base-url",
    metavar="URL",
    help="Where these files will be: what their links begin with. Default: beside the report.",
)
@click.option(
    "--fail-over-threshold",
    "gate",
    is_flag=True,
    help="Exit with 3 if the KV gap is over --threshold, with 4 if that is not known. The report is written first.",
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
@click.pass_context
def command(
    context: click.Context,
    traces: tuple[str, ...],
    output_format: str | None,
    output: str | None,
    max_bytes: int | None,
    image: str | None,
    image_base_url: str | None,
    gate: bool,  # noqa: FBT001 (click passes flags by name)
    force: bool,  # noqa: FBT001
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
        nsysparse report trace.sqlite -o comment.md --image svg
        nsysparse report trace.sqlite --threshold 10% --fail-over-threshold

    TRACE is a file that `nsys export --type sqlite` wrote, a folder of them, a pattern, or a .nsys-rep
    file where nsys is installed; or a report that `-f json` saved, to have it in another format.
    """
    chosen = format_for(output_format, output, EXTENSIONS, "html")
    check_markdown(chosen, {"--max-bytes": max_bytes, "--image": image, "--image-base-url": image_base_url})
    if image_base_url is not None and image is None:
        raise UsageError("--image-base-url: there are no pictures to link.", "Add --image svg.")
    if image is not None and output == "-":
        raise UsageError("--image: pictures lie beside the report, and that goes to stdout.", "Name a file with -o.")
    base = "" if image_base_url is None else check_base_url(image_base_url)
    from nsysparse.api import AFTER_READING, Stage, analyse_run
    from nsysparse.sections import build_summary
    from nsysparse.source.inputs import find_run

    options = options_of(purpose, is_lenient=True, **known)
    with ExitStack() as stack, progress() as bar:
        tell = Unread(bar)
        run = find_run(traces, stack)
        if run.is_saved:
            refuse_options(context, f"{run.paths[0].name} is a saved report, whose numbers stand")
        paths = list(run.paths)
        read = [*paths, *map(Path, traces), *files_of(options)]  # also a report that was exported first
        analysis = analyse_run(run, options, tell)
        target = Path(output) if output else Path("reports") / _name(paths, EXTENSIONS[chosen])
        tell(Stage("writing the report", len(paths) + AFTER_READING - 1, len(paths) + AFTER_READING))
        if chosen == "markdown":
            content, drawn = _for_review(analysis, room(max_bytes), image, base, target)
        else:
            content, drawn = _rendered(analysis, chosen), []
        summary = None if output == "-" or chosen == "text" else as_text(build_summary(analysis))
    to_stdout = output == "-" or (output is None and chosen == "text")
    files: list[tuple[str | bytes, Path | None]] = [(each.content, each.path) for each in drawn]
    files.append((content, None if to_stdout else target))
    _write_all(files, summary, read, force=force)
    tell.check(len(paths), "the report")
    if gate:
        fail_over_threshold(analysis)


def _write_all(
    files: list[tuple[str | bytes, Path | None]], summary: str | None, read: list[Path], *, force: bool
) -> None:
    """Write the files, or None for stdout, then say what is in them and where they are."""
    for _, path in files:
        if path is not None:
            check(path, force=force, inputs=read)  # all of them before the first is written
    for data, path in files:
        write(data, path, force=force, inputs=read)
    if summary is not None:
        click.echo(summary, nl=False)
    for _, path in files:
        if path is not None:
            say(f"Wrote {path}")


def _for_review(
    analysis: "Analysis", max_bytes: int, image: str | None, base: str, target: Path
) -> tuple[str, list[Picture]]:
    """The report as Markdown that links its pictures, and these."""
    from nsysparse.render.to_markdown import render
    from nsysparse.sections import build_review

    document = build_review(analysis)
    drawn = pictures(document, image, target) if image else []
    return render(document, max_bytes, links(drawn, base)), drawn


def _rendered(analysis: "Analysis", chosen: str) -> str:
    from nsysparse.sections import build

    renderer = FORMATS[chosen]
    return renderer.render(analysis if renderer.subject == "result" else build(analysis))


def _name(paths: list[Path], suffix: str) -> str:
    more = f"-and-{len(paths) - 1}-more" if len(paths) > 1 else ""
    return f"{paths[0].stem}{more}{suffix}"
