"""Options that several commands share: what is known of a run beside its traces."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

if TYPE_CHECKING:
    from nsysparse.api import Options


class StudyArguments(TypedDict):
    """What `study_options` passes to a command, as click names it."""

    layers: int | None
    nccl_buffsize: int | None
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
        "--layers", type=click.IntRange(1, 4096), metavar="N", help="Layers of the model, for `layer=all`."
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
    return layers(nccl_buffsize(preset_option(request_pattern(function))))


def options_of(purpose: str, **arguments: Unpack[StudyArguments]) -> "Options":
    """What a command was told, for `nsysparse.api`."""
    from nsysparse.api import Options

    return Options(purpose=purpose, **arguments)
