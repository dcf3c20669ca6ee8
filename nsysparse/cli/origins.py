"""Where a value came from that nobody typed, and errors that say so instead of naming an option."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nsysparse.errors import InputError, NsysparseError, UsageError

_EXAMPLE = r"(?: (?P<value>\d[^\s,;]*[^\s,;.]|\d))?"
_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Origin:
    """What set an option.

    Attributes:
        option: As it is typed: `--step-ms`.
        key: As a file calls it: `step_ms`, `diff.fail_on`.
        name: The file's name or the variable, as a report's `settings` say it.
        file: The file as seen from the working folder; None for a variable.
        value: As click has it.
    """

    option: str
    key: str
    name: str
    file: Path | None
    value: object

    @property
    def where(self) -> str:
        """What an error begins with."""
        return self.name if self.file is None else f"{self.file}, {self.key}"

    @property
    def mention(self) -> str:
        """What an error calls it in the middle of a sentence."""
        return self.name if self.file is None else f"{self.key} ({self.file})"

    def example(self, value: str | None) -> str:
        """How it is set, for advice."""
        if value is None:
            return self.mention
        if self.file is None:
            return f"{self.name}={value}"
        return f"{self.key} = {value}" if _NUMBER.fullmatch(value) else f'{self.key} = "{value}"'


def rephrase(error: NsysparseError, origins: Iterable[Origin]) -> None:
    """Let an error name the file and key, or the variable, where it names an option or only a value of it."""
    known = list(origins)
    named = [each for each in known if _named(error, each)]
    for origin in named:
        if error.message.startswith(origin.option):
            error.message = origin.where + error.message[len(origin.option) :]
        error.message = re.sub(_option(origin), lambda _, each=origin: each.mention, error.message)  # type: ignore[misc]
    for origin in known:
        pattern = _option(origin, _EXAMPLE)
        error.hint = re.sub(pattern, lambda found, each=origin: each.example(found["value"]), error.hint)  # type: ignore[misc]
    if not named and isinstance(error, (UsageError, InputError)):
        about = next((each for each in known if _is_about(error.message, each)), None)
        if about is not None:
            error.message = f"{about.where}: {error.message}"


def _named(error: NsysparseError, origin: Origin) -> bool:
    return re.search(_option(origin), error.message) is not None


def _option(origin: Origin, more: str = "") -> str:
    return rf"(?<![\w-]){re.escape(origin.option)}(?![\w-]){more}"


def _is_about(message: str, origin: Origin) -> bool:
    """Whether a message that names no option quotes a value, a file, or the option in words."""
    values = origin.value if isinstance(origin.value, (list, tuple)) else [origin.value]
    for value in values:
        if isinstance(value, Path):
            if value.name and value.name in message:
                return True
        elif isinstance(value, str):
            parts = [value, *value.rpartition("=")[::2]]  # a role is quoted without its file
            if any(part and repr(part) in message for part in parts) or _is_file_in(message, value):
                return True
    return "_" in origin.key and origin.key.replace("_", " ") in message


def _is_file_in(message: str, value: str) -> bool:
    path = Path(value)
    return path.name not in {value, ""} and path.name in message
