"""`nsysparse export`: typed frames, for people who check us against other tools, and metrics, for those who watch."""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Unpack

import click

from nsysparse.analysis import DEFAULT_PURPOSE, PURPOSES
from nsysparse.cli.options import AnalysisArguments, analysis_options, files_of, options_of
from nsysparse.cli.place import format_for, is_terminal, stream
from nsysparse.cli.settings import Configured, is_typed
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.cli.unread import Unread
from nsysparse.errors import UsageError

if TYPE_CHECKING:
    from nsysparse.api import Options, Progress

Fill = Callable[[BinaryIO], str]
"""Writes an export to a file, and says what that was."""

FORMATS = {"csv": ".csv", "parquet": ".parquet", "ndjson": ".ndjson"}
FRAMES = ("nvtx_ranges", "scopes", "gpu_ops", "transfers", "attributions", "exchanges")
_FOR_METRICS = {
    "link": "--link",
    "box": "--box",
    "measured": "--measured",
    "peak_gb_s": "--peak",
    "tp": "--tp",
    "kv_dtype": "--kv-dtype",
    "wire_dtype": "--wire-dtype",
    "step_ms": "--step-ms",
    "ttft": "--ttft",
}
"""What no frame depends on. A model's layers tell whose transfers are, so --model is for both."""


@click.command("export", cls=Configured)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--frame", type=click.Choice(FRAMES), help="Which frame (docs/reference/frames.md).")
@click.option("--metrics", is_flag=True, help="Instead of a frame: OpenMetrics text (docs/how-to/export-metrics.md).")
@click.option(
    "--per-request",
    is_flag=True,
    help="With --metrics, also a sample per request. Each id makes a series of its own, without bound: for looking at"
    " one run, not for a database of metrics.",
)
@click.option("-f", "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: by -o, else csv.")
@click.option("-o", "--output", metavar="PATH", help="Where to write; default and - are stdout.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option(
    "--purpose",
    type=click.Choice(list(PURPOSES)),
    help="Which transfers, attributions and exchanges; other frames have no purpose. Default: all, and kv+unknown"
    " with --metrics.",
)
@analysis_options
@verbosity_options
def command(
    traces: tuple[str, ...],
    frame: str | None,
    metrics: bool,  # noqa: FBT001 (click passes flags by name)
    per_request: bool,  # noqa: FBT001
    output_format: str | None,
    output: str | None,
    force: bool,  # noqa: FBT001
    purpose: str | None,
    **known: Unpack[AnalysisArguments],
) -> None:
    """Export a frame of events or results, one row per record; or metrics of the whole run.

    \b
        nsysparse export trace.sqlite --frame nvtx_ranges -f csv
        nsysparse export trace.sqlite --frame transfers -o transfers.parquet
        nsysparse export prefill.sqlite decode.sqlite --metrics -o run.prom
    """
    _check(frame, output_format, metrics=metrics, per_request=per_request)
    chosen = "" if metrics else format_for(output_format, output, FORMATS, "csv")
    from nsysparse.source.inputs import find_inputs

    if frame and not is_typed("purpose"):
        purpose = None  # a frame is all there is, for holding against other tools, unless somebody asks for less
    options = options_of(purpose or (DEFAULT_PURPOSE if metrics else "all"), is_lenient=True, **known)
    target = None if output in (None, "-") else Path(str(output))
    shown = target is None and is_terminal()
    with ExitStack() as stack, progress() as bar:
        tell = Unread(bar)
        paths = find_inputs(traces, stack)
        inputs = [*paths, *map(Path, traces), *files_of(options)]
        if frame is None:
            fill = _metrics(paths, options, tell, per_request=per_request)
        else:
            fill = _rows(paths, frame, options, tell, chosen, at_once=shown)
        what = "" if shown else stream(fill, target, force=force, inputs=inputs)
    if shown:  # what shows how far it is would be drawn into it
        stream(fill, target, force=force)
    if target is not None:
        say(f"Wrote {what} to {target}")
    if options.window_ns is not None:
        say("Only a part of the time was read: work of GPUs outside it is in no sum, count or projection.")
    tell.check(len(paths), "the export")


def _check(frame: str | None, output_format: str | None, *, metrics: bool, per_request: bool) -> None:
    """That it is clear what to export, and that nothing else was asked for."""
    if metrics and frame is not None:
        raise UsageError("--metrics and --frame: one export holds one of them.", "Leave one out, and export twice.")
    if not (metrics or frame):
        raise UsageError("What is to be exported?", f"Say --metrics, or --frame with one of {', '.join(FRAMES)}.")
    if metrics and output_format is not None:
        raise UsageError(f"-f {output_format}: --metrics has one format, OpenMetrics text.", "Leave -f out.")
    given = ["--per-request"] * per_request + [name for key, name in _FOR_METRICS.items() if is_typed(key)]
    if frame and given:
        raise UsageError(f"{given[0]}: no frame depends on it.", "Leave it out, or say --metrics instead of --frame.")


def _metrics(paths: list[Path], options: "Options", tell: "Progress", *, per_request: bool) -> Fill:
    from nsysparse.api import analyse
    from nsysparse.render.to_openmetrics import render

    data = render(analyse(paths, options, tell), per_request=per_request).encode("utf-8")

    def fill(file: BinaryIO) -> str:
        file.write(data)
        return "metrics"

    return fill


def _rows(paths: list[Path], frame: str, options: "Options", tell: "Progress", chosen: str, *, at_once: bool) -> Fill:
    """Writes a frame piece by piece as it is read; `at_once`: all of it is read now."""
    from nsysparse.api import export_pieces
    from nsysparse.tables import write_pieces
    from nsysparse.units import counted

    pieces = export_pieces(paths, frame, options, tell)
    read = list(pieces) if at_once else [next(pieces)]  # what cannot be read is to say so before any file is touched

    def fill(file: BinaryIO) -> str:
        return counted(write_pieces(chain(read, pieces), chosen, file), "row")

    return fill
