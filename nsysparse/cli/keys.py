"""Which options can be set for a project, by their long names: those of `report`, and in a table those of `diff`."""

from collections.abc import Mapping
from importlib import import_module

import click

DIFF = "diff"
_SHARED_BY = "report"
_OF_ONE_RUN = "says what one run writes"
REFUSED: Mapping[str, str] = {
    "output": _OF_ONE_RUN,
    "format": _OF_ONE_RUN,
    "image": _OF_ONE_RUN,
    "image_base_url": _OF_ONE_RUN,
    "force": "replaces a file, which is decided each time",
    "base": "names a run",
    "jobs": "is of the machine that one run is on",
    "scheduler": "names machines that get to run code for one run",
    "quiet": "says how much one run tells",
    "verbose": "says how much one run tells",
    "config": "names a file like this one",
    "no_config": "leaves out a file like this one",
    "help": "sets nothing",
}
"""Options that no file and no variable sets, and why."""


def key_of(option: click.Parameter) -> str:
    """How an option is called in a file: its longest name, with underscores."""
    return max(option.opts, key=len).lstrip("-").replace("-", "_")


def shared() -> dict[str, click.Option]:
    """The options of all commands that can be set, by key."""
    return _settable(_SHARED_BY)


def tables() -> dict[str, dict[str, click.Option]]:
    """What stands in tables: by the name of a command the options that are only its own, by key."""
    everywhere = shared()
    return {DIFF: {key: option for key, option in _settable(DIFF).items() if key not in everywhere}}


def variable(key: str) -> str:
    """The environment variable that sets a key."""
    return f"NSYSPARSE_{key.upper()}"


def variables() -> set[str]:
    """All of them."""
    return {variable(key) for key in [*shared(), *(key for own in tables().values() for key in own)]}


def of_command(command: click.Command) -> dict[str, click.Option]:
    """Those of a command's options that a file or a variable can set, by key."""
    known = {*shared(), *tables().get(command.name or "", {})}
    return {key: option for key, option in _options(command).items() if key in known}


def _settable(name: str) -> dict[str, click.Option]:
    command: click.Command = import_module(f"nsysparse.cli.{name}").command
    return {key: option for key, option in _options(command).items() if key not in REFUSED}


def _options(command: click.Command) -> dict[str, click.Option]:
    return {key_of(each): each for each in command.params if isinstance(each, click.Option)}
