"""Commands whose options a file of the project or the environment may set."""

import os
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from nsysparse.cli import keys
from nsysparse.cli.config_file import ConfigFile, find, read
from nsysparse.cli.config_values import checked
from nsysparse.cli.origins import Origin, rephrase
from nsysparse.cli.talk import murmur, say
from nsysparse.errors import NsysparseError, UsageError
from nsysparse.filenames import shown_name

_CHOICES, _FILE = "nsysparse.config.choices", "nsysparse.config.file"
_CHOICE = {"config", "no_config"}
_PREFIX = "NSYSPARSE_"
_OPTION = "option"
_STRENGTH = (ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT, ParameterSource.COMMANDLINE)
_YIELDS: Mapping[str, Collection[str]] = {
    "box": ("link", "peak"),
    "link": ("box",),
    "peak": ("link", "box"),
    "measured": ("link", "box", "peak"),
    "layers": ("model",),
}
"""What is of another, or excludes it, and so is left out where a stronger source names that other one: who types
--link does not mean the peak that a file has for its own link."""


class Lines(click.types.StringParamType):
    """Text of an option that may be repeated: in a variable, one a line, because file names have spaces."""

    def split_envvar_value(self, rv: str) -> list[str]:
        """The lines that have something in them."""
        return [line.strip() for line in (rv or "").splitlines() if line.strip()]


LINES = Lines()


class Configured(click.Command):
    """A command that takes what is set for a project; precedence is click's: typed, variable, file, default.

    Args:
        arguments: As for `click.Command`.
        reads: Keys that mean here what they mean for `report`; None: all that are options of the command.
        attributes: As for `click.Command`.
    """

    def __init__(self, *arguments: Any, reads: Collection[str] | None = None, **attributes: Any) -> None:  # noqa: ANN401 (click's)
        """Add the options that choose the file."""
        super().__init__(*arguments, **attributes)
        self.reads = reads
        self.params += choice_options()

    def settable(self) -> dict[str, click.Option]:
        """The options that may be set, by key."""
        found = keys.of_command(self)
        return {key: option for key, option in found.items() if self.reads is None or key in self.reads}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; errors name the file or the variable that a value is from."""
        for key, option in self.settable().items():
            option.envvar = keys.variable(key)
        try:
            rest = super().parse_args(ctx, args)
        except click.BadParameter as error:
            origin = None if error.param is None else _origin(ctx, error.param)
            if origin is None:
                raise
            raise UsageError(f"{origin.where}: {error.message}") from error
        self._leave_out(ctx)
        return rest

    def _leave_out(self, ctx: click.Context) -> None:
        mine = self.settable()
        strengths = {key: _strength(ctx, option) for key, option in mine.items()}
        for key in _YIELDS:
            if 0 < strengths.get(key, 0) < max(strengths.get(other, 0) for other in _YIELDS[key]):
                name = str(mine[key].name)
                ctx.params[name] = None
                ctx.set_parameter_source(name, ParameterSource.DEFAULT)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's)
        """Run, and let errors name where a value is from."""
        file = ctx.meta.get(_FILE)
        if file is not None:
            murmur(f"Options are set by {file.path}")
        for warning in _unknown_variables():
            say(warning)
        try:
            return super().invoke(ctx)
        except NsysparseError as error:
            rephrase(error, filter(None, (_origin(ctx, option) for option in self.settable().values())))
            raise


def choice_options() -> list[click.Option]:
    """`--config` and `--no-config`, before or behind the name of a command; the later one has the last word."""
    return [
        click.Option(
            ["--config"],
            type=click.Path(path_type=Path),
            metavar="FILE",
            is_eager=True,
            expose_value=False,
            callback=_choose,
            help="Options are set by this file. Default: the nearest nsysparse.toml, or pyproject.toml with"
            " [tool.nsysparse], from here upwards.",
        ),
        click.Option(
            ["--no-config"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_choose,
            help="Options are set by no file.",
        ),
    ]


def _choose(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    """Note what one of the two says. When both have spoken, all other options are still to come: read the file."""
    choices = ctx.meta.setdefault(_CHOICES, {}).setdefault(ctx.command_path, {})
    choices[parameter.name] = value
    if choices.keys() < _CHOICE:
        return
    if choices["config"] is not None and choices["no_config"]:
        raise UsageError("--config and --no-config: which of them?", "Leave one out.")
    if isinstance(ctx.command, Configured) and not ctx.resilient_parsing:
        _load(ctx, ctx.command)


def _load(ctx: click.Context, command: Configured) -> None:
    """Take the values of the file that was chosen nearest to the command, else of the one that is found."""
    said = [each for each in ctx.meta[_CHOICES].values() if each["config"] is not None or each["no_config"]]
    named: Path | None = said[-1]["config"] if said else None
    file = read(named) if named is not None else None if said else find()
    if file is None:
        return
    ctx.meta[_FILE] = file
    values = checked(file)
    ctx.default_map = {str(option.name): values[key] for key, option in command.settable().items() if key in values}


def _strength(ctx: click.Context, option: click.Option) -> int:
    """How strong the source of an option's value is; 0 where it has no value, or only its default."""
    source = ctx.get_parameter_source(str(option.name))
    has_value = ctx.params.get(str(option.name)) is not None
    return _STRENGTH.index(source) + 1 if has_value and source in _STRENGTH else 0


def _origin(ctx: click.Context, option: click.Parameter) -> Origin | None:
    """What set an option, if it was not typed."""
    name, key = str(option.name), keys.key_of(option)
    source, file = ctx.get_parameter_source(name), ctx.meta.get(_FILE)
    typed, value = f"--{key.replace('_', '-')}", ctx.params.get(name)
    if source is ParameterSource.ENVIRONMENT:
        return Origin(typed, key, keys.variable(key), None, value)
    if source is ParameterSource.DEFAULT_MAP and isinstance(file, ConfigFile):
        place = key if key in keys.shared() else f"{ctx.command.name}.{key}"
        return Origin(typed, place, shown_name(file.path.name), file.path, value)
    return None


def is_typed(name: str) -> bool:
    """Whether the current command's parameter of that name is from its command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def sources() -> dict[str, str]:
    """For each option of the current command that was set, by the name of its parameter: by what."""
    ctx = click.get_current_context()
    found: dict[str, str] = {}
    for option in ctx.command.settable().values() if isinstance(ctx.command, Configured) else ():
        origin = _origin(ctx, option)
        if origin is not None:
            found[str(option.name)] = origin.name
        elif is_typed(str(option.name)):
            found[str(option.name)] = _OPTION
    return found


def config_files() -> list[Path]:
    """The file that set options of the current command, if one did: it was read, so no output replaces it."""
    file = click.get_current_context().meta.get(_FILE)
    return [] if file is None else [file.path]


def _unknown_variables() -> list[str]:
    """Variables that look like ours and are none: misspelt, or another program's."""
    known, warnings = keys.variables(), []
    endings = sorted(name.removeprefix(_PREFIX) for name in known)
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name not in known and os.environ[name]:
            nearest = get_close_matches(name.removeprefix(_PREFIX), endings, n=1)
            warnings.append(f"{name}: sets nothing." + (f" Did you mean {_PREFIX}{nearest[0]}?" if nearest else ""))
    return warnings
