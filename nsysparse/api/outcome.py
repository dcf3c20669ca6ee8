"""What became of a task in another process: its result, or the error, in a form that crosses between processes."""

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nsysparse.errors import InputError


@dataclass(frozen=True, slots=True)
class Outcome:
    """A result, or an error."""

    result: Any = None
    error: Exception | None = None


def outcome(read: Callable[[Any], Any], task: Any) -> Outcome:  # noqa: ANN401 (whatever the function takes)
    """What `read` makes of a task, whatever that is."""
    try:
        return Outcome(result=read(task))
    except BaseException as error:  # noqa: BLE001 (also a panic of compiled code, which must not end the process)
        return Outcome(error=_portable(error))


def opened(told: Outcome) -> Any:  # noqa: ANN401 (whatever the function returned)
    """The result, or the `InputError`; raises any other error."""
    if told.error is None or isinstance(told.error, InputError):
        return told.result if told.error is None else told.error
    raise told.error


def _portable(error: BaseException) -> Exception:
    """The error, with its traceback as a note, or what it says where it does not cross."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own, of a line before)
    except Exception:  # noqa: BLE001 (whatever keeps it from crossing)
        copy = None
    if type(copy) is type(error) and isinstance(copy, Exception):
        return copy
    said = RuntimeError(f"{type(error).__name__}: {error}")
    said.__notes__ = error.__notes__
    return said
