"""`nsysparse export`: the typed frames, for people who check us against other tools."""

from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

import click

from nsysparse.analysis import PURPOSES
from nsysparse.cli.options import StudyArguments, options_of, study_options
from nsysparse.cli.place import format_for, write
from nsysparse.cli.talk import progress, say, verbosity_options

FORMATS = {"csv": ".csv", "parquet": ".parquet", "ndjson": ".ndjson"}
FRAMES = ("nvtx_ranges", "scopes", "gpu_ops", "transfers", "attributions", "exchanges")


@click.command("export")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--frame", type=click.Choice(FRAMES), required=True, help="Which frame (docs/reference/frames.md).")
@click.option("-f", "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: by -o, else csv.")
@click.option("-o", "--output", metavar="PATH", help="Where to write; default and - are stdout.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option(
    "--purpose",
    type=click.Choice(list(PURPOSES)),
    default="all",
    show_default=True,
    help="Which transfers, attributions and exchanges; other frames have no purpose.",
)
@study_options
@verbosity_options
def command(
    traces: tuple[str, ...],
    frame: str,
    output_format: str | None,
    output: str | None,
    force: bool,  # noqa: FBT001 (click passes flags by name)
    purpose: str,
    **known: Unpack[StudyArguments],
) -> None:
    """Export a frame of events or results, one row per record.

    \b
        nsysparse export trace.sqlite --frame nvtx_ranges -f csv
        nsysparse export trace.sqlite --frame transfers -o transfers.parquet
    """
    chosen = format_for(output_format, output, FORMATS, "csv")
    from nsysparse.api import export_frame
    from nsysparse.source.inputs import find_inputs
    from nsysparse.tables import encode
    from nsysparse.units import counted

    with ExitStack() as stack, progress() as tell:
        paths = find_inputs(traces, stack)
        rows = export_frame(paths, frame, options_of(purpose, **known), tell)
    target = None if output in (None, "-") else Path(str(output))
    write(encode(rows, chosen), target, force=force, inputs=[*paths, *map(Path, traces)])
    if target is not None:
        say(f"Wrote {counted(rows.height, 'row')} to {target}")
