"""Files of several that could not be read: counted as they are told of, for the exit code."""

from collections.abc import Callable

from nsysparse.errors import InputError


class Unread:
    """Listens to what is being done, and counts the files that cannot be read.

    Args:
        tell: Is told all else.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Nothing has failed so far."""
        self._tell = tell
        self.count = 0

    def __call__(self, text: str) -> None:
        """Take what is told."""
        from nsysparse.api import Unreadable

        if isinstance(text, Unreadable):
            self.count += 1
        self._tell(text)

    def check(self, file_count: int, what: str) -> None:
        """Fail where a file is missing, now that all is written.

        Args:
            file_count: How many files there are.
            what: What was made of the others.

        Raises:
            InputError: Some could not be read.
        """
        if self.count:
            missing = f"{self.count:,} of {file_count:,} files could not be read"
            raise InputError(f"{missing}: {what} is of the others alone.", "It is no answer about the whole run.")
