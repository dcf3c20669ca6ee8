"""Options that several commands share: what is known of a run beside its traces."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
from click.core import ParameterSource

from nsysparse.analysis import CLOCK_MODES, CONVENTIONS, DEFAULT_THRESHOLD, UTC_ERROR_NS
from nsysparse.cli.numbers import band_ns, nanoseconds, part_of_one
from nsysparse.cli.settings import LINES, config_files, sources
from nsysparse.errors import UsageError
from nsysparse.units import NS_PER_MS

if TYPE_CHECKING:
    from nsysparse.api import Options


class StudyArguments(TypedDict):
    """What `study_options` passes to a command, as click names it."""

    layers: int | None
    nccl_buffsize: int | None
    role: tuple[str, ...]
    normalize_request: str | None
    overlap_attribution: bool
    presets: tuple[str, ...]
    request_pattern: str | None
    clock: str
    utc_error: str | None
    jobs: int | None
    scheduler: str | None


class AnalysisArguments(StudyArguments):
    """What `analysis_options` passes to a command, as click names it."""

    link: str | None
    box: str | None
    measured: Path | None
    peak_gb_s: float | None
    model: str | None
    tp: int | None
    kv_dtype: str | None
    wire_dtype: str | None
    step_ms: str | None
    ttft: str | None
    threshold: str


_SETTINGS = {"role": "roles", "utc_error": "utc_error_ms"}
"""What a report calls settings, where that is not how the command line calls them."""

preset_option = click.option(
    "--preset",
    "presets",
    multiple=True,
    type=LINES,
    metavar="NAME|FILE",
    help="A preset file, stronger than what is built in; or names of built-in presets, only which then speak. May be"
    " repeated. Default: all that know a trace (`nsysparse presets list`).",
)


def study_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options of all commands that find, pair and attribute transfers."""
    layers = click.option(
        "--layers",
        type=click.IntRange(1, 4096),
        metavar="N",
        help="Layers of the model: for `layer=all`, and to tell layers by the order of sends.",
    )
    role = click.option(
        "--role",
        multiple=True,
        type=LINES,
        metavar="FILE=ROLE",
        help="That a trace is of prefill, decode or mixed, where its ranges do not tell. Repeatable.",
    )
    normalize = click.option(
        "--normalize-request",
        metavar="REGEX",
        help="The first group is what counts of a request id, e.g. '^(.*)-[0-9a-f]{8}$' where engines add suffixes.",
    )
    overlap = click.option(
        "--overlap-attribution",
        is_flag=True,
        help="Where nothing names them, take request and layer from the only range that overlaps in time: no proof.",
    )
    nccl_buffsize = click.option(
        "--nccl-buffsize",
        type=click.IntRange(1, 2**30),
        metavar="BYTES",
        help="NCCL_BUFFSIZE of the run, if it was set: what may be buffered proves no rate. Default: NCCL's, 4194304.",
    )
    request_pattern = click.option(
        "--request-pattern",
        metavar="REGEX",
        help="Finds the id of a request in the text of a range: its group (?P<request>...), else its first.",
    )
    clock = click.option(
        "--clock",
        type=click.Choice(CLOCK_MODES),
        default=CLOCK_MODES[0],
        show_default=True,
        help="How clocks of several traces are aligned: auto takes UTC where they are of one host, else estimates from"
        " transfers, else takes UTC unverified; none: not at all (docs/explanation/clocks.md).",
    )
    utc_error = click.option(
        "--utc-error",
        metavar="MS",
        help="How far the UTC of two hosts may be apart; default 50, as NTP may be. With PTP say for instance 0.1.",
    )
    jobs = click.option(
        "--jobs",
        type=click.IntRange(1, 4096),
        metavar="N",
        help="So many processes read traces, each one at a time. Default: one where little is to be read, else as"
        " files, cores and memory allow.",
    )
    scheduler = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Read the traces on the workers of this Dask cluster, e.g. tcp://host:8786; they must see them under the"
        " same paths (docs/how-to/many-ranks.md).",
    )
    known = (layers, nccl_buffsize, role, preset_option, request_pattern, normalize, overlap, clock, utc_error)
    for option in reversed((*known, jobs, scheduler)):
        function = option(function)
    return function


def analysis_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options of all commands that analyse: those above, and what the transfers are held against."""
    link = click.option("--link", metavar="ID", help="The link that KV crosses, e.g. ib-ndr (`nsysparse links list`).")
    box = click.option(
        "--box",
        metavar="ID",
        help="The machine, e.g. dgx-h100 (`nsysparse links list --boxes`): its links inside, its adapters between"
        " traces.",
    )
    measured = click.option(
        "--measured",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="What a bandwidth benchmark printed for the link (docs/reference/measured.md): its practical ceiling.",
    )
    peak = click.option(
        "--peak", "peak_gb_s", type=float, metavar="GB/S", help="Its peak in one direction, instead of --link's."
    )
    model = click.option(
        "--model",
        metavar="ID|FILE",
        help="The model served, e.g. llama-3-70b (`nsysparse models list`), or its Hugging Face config.json.",
    )
    tp = click.option(
        "--tp", type=click.IntRange(1, 1024), metavar="N", help="Tensor-parallel ranks that send; default 1."
    )
    kv_dtype = click.option(
        "--kv-dtype", metavar="TYPE", help="Type of the model's cached values, e.g. fp8; default 16-bit."
    )
    wire_dtype = click.option(
        "--wire-dtype", metavar="TYPE", help="Their type while they cross, where the server compresses them."
    )
    step_ms = click.option(
        "--step-ms", metavar="A..B", help="How long a decode step takes, for critical lengths; default 20..50."
    )
    ttft = click.option(
        "--ttft",
        type=click.Choice(CONVENTIONS),
        help="Which side emits the first token: then the KV gap delays the first token, or the second. Default: what"
        " marks or presets say; no trace records it.",
    )
    threshold = click.option(
        "--threshold",
        default=f"{DEFAULT_THRESHOLD:g}",
        show_default=True,
        metavar="SHARE",
        help="Share of the way to the first token over which the KV gap is too much: 0.2, or 20%.",
    )
    for option in (threshold, ttft, step_ms, wire_dtype, kv_dtype, tp, study_options, model, peak, measured, box, link):
        function = option(function)
    return function


def options_of(purpose: str, *, is_lenient: bool = False, **arguments: Unpack[AnalysisArguments]) -> "Options":
    """What a command was told, for `nsysparse.api`; `is_lenient`: it goes on where a file of several is unreadable."""
    from nsysparse.api import AS_MANY_AS_HELP, Options

    roles: dict[str, str] = {}
    for each in arguments["role"]:
        name, equals, role = each.rpartition("=")
        if not (name and equals and role):
            raise UsageError(f"--role {each}: is not FILE=ROLE.", "Say for instance --role prefill.sqlite=prefill.")
        if roles.setdefault(name, role) != role:
            raise UsageError(f"--role {each}: {name} is given two roles.", "Leave one out, or say mixed.")
    step_ms, error = arguments["step_ms"], arguments["utc_error"]
    scheduler, jobs = arguments["scheduler"], arguments["jobs"]
    if scheduler is not None and jobs is not None:
        raise UsageError("--jobs and --scheduler: a cluster has its own number of workers.", "Leave one out.")
    return Options(
        link=arguments["link"],
        peak_gb_s=arguments["peak_gb_s"],
        box=arguments["box"],
        measured=arguments["measured"],
        model=arguments["model"],
        tp=arguments["tp"],
        kv_dtype=arguments["kv_dtype"],
        wire_dtype=arguments["wire_dtype"],
        step_ns=None if step_ms is None else band_ns("--step-ms", step_ms, NS_PER_MS, example="20..50"),
        purpose=purpose,
        layers=arguments["layers"],
        nccl_buffsize=arguments["nccl_buffsize"],
        roles=roles,
        normalize_request=arguments["normalize_request"],
        overlap=arguments["overlap_attribution"],
        presets=arguments["presets"],
        request_pattern=arguments["request_pattern"],
        ttft=arguments["ttft"],
        threshold=part_of_one("--threshold", arguments["threshold"], example="0.2"),
        clock=arguments["clock"],
        utc_error_ns=UTC_ERROR_NS if error is None else nanoseconds("--utc-error", error, NS_PER_MS, example="0.1"),
        sources={_SETTINGS.get(name, name): source for name, source in sources().items()},
        jobs=jobs or AS_MANY_AS_HELP,
        scheduler=scheduler,
        is_lenient=is_lenient,
    )


def files_of(options: "Options") -> list[Path]:
    """What is read because of options, beside traces: no output may replace it."""
    read = [*([options.measured] if options.measured else []), *config_files()]
    if options.model:
        from nsysparse.catalog.loader import CONFIG

        read += [Path(options.model), Path(options.model, CONFIG)]
    return read


def refuse_options(context: click.Context, why: str) -> None:
    """Refuse what was said of an analysis where none is made: it would change nothing, and seem to.

    Args:
        context: The command's.
        why: Why none is made, as a clause.

    Raises:
        UsageError: An option of an analysis stands on the command line. One from elsewhere is meant for all commands.
    """
    for name in (*AnalysisArguments.__annotations__, "purpose"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(each.opts[0] for each in context.command.params if each.name == name)
            raise UsageError(f"{option}: {why}.", "Give it to `nsysparse report TRACE -f json`, or name the traces.")
