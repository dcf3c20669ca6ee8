"""Options that several commands share: what is known of a run beside its traces."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from nsysparse.errors import UsageError

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


preset_option = click.option(
    "--preset",
    "presets",
    multiple=True,
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
    for option in (overlap, normalize, request_pattern, preset_option, role, nccl_buffsize, layers):
        function = option(function)
    return function


def options_of(purpose: str, **arguments: Unpack[StudyArguments]) -> "Options":
    """What a command was told, for `nsysparse.api`."""
    from nsysparse.api import Options

    roles: dict[str, str] = {}
    for each in arguments["role"]:
        name, equals, role = each.rpartition("=")
        if not (name and equals and role):
            raise UsageError(f"--role {each}: is not FILE=ROLE.", "Say for instance --role prefill.sqlite=prefill.")
        if roles.setdefault(name, role) != role:
            raise UsageError(f"--role {each}: {name} is given two roles.", "Leave one out, or say mixed.")
    return Options(
        purpose=purpose,
        layers=arguments["layers"],
        nccl_buffsize=arguments["nccl_buffsize"],
        roles=roles,
        normalize_request=arguments["normalize_request"],
        overlap=arguments["overlap_attribution"],
        presets=arguments["presets"],
        request_pattern=arguments["request_pattern"],
    )
