"""What goes wrong, in one tree.

    NsysparseError           exit 1: could not be done
    ├── InputError           the file, table, column or value cannot be used
    │   └── NotAnExport      the file is no Nsight Systems SQLite export
    ├── OutputError          the result cannot be written there
    ├── UsageError           exit 2: the command line asks for something that does not exist
    ├── GateFailed           exit 3: all was done, and what was measured is not as was asked for
    └── GateUnanswered       exit 4: all was done, and what was asked for could not be measured

Each message says what is wrong and where; `hint` says what to do next.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class NsysparseError(Exception):
    """A failure that the user can understand and act on.

    Args:
        message: What is wrong and where (file, table, column, value), one sentence.
        hint: What to do next, one sentence or command; empty when there is nothing to advise.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep message and hint apart, so that each surface can lay them out."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(NsysparseError):
    """An input exists but cannot be used as it is."""


class NotAnExport(InputError):  # noqa: N818 (reads as what it says at the raise site)
    """A file is not a SQLite export of Nsight Systems."""


class OutputError(NsysparseError):
    """A result cannot be written where it was asked for."""


class UsageError(NsysparseError):
    """The command line names something that does not exist or contradicts itself."""

    exit_code = 2


class GateFailed(NsysparseError):  # noqa: N818 (an answer, and none that is wrong)
    """A gate has its answer, which is no. Raised when all output is written."""

    exit_code = 3


class GateUnanswered(NsysparseError):  # noqa: N818 (likewise)
    """A gate has no answer: never the same as a yes. Raised when all output is written."""

    exit_code = 4


def unknown_name(kind: str, given: str, known: Iterable[str], listing: str) -> UsageError:
    """The error for an id that is not in a catalogue, naming the nearest ones and the command that lists all."""
    nearest = get_close_matches(given, list(known), n=3, cutoff=0.4)
    guess = f" Did you mean {', '.join(nearest)}?" if nearest else ""
    return UsageError(f"There is no {kind} called {given!r}.{guess}", f"`{listing}` shows all of them.")
