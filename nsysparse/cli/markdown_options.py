"""What is asked of Markdown alone, the same of a report and of a comparison: how long it may be."""

from collections.abc import Callable, Mapping

import click

from nsysparse.cli.settings import is_typed
from nsysparse.errors import UsageError
from nsysparse.render import COMMENT_BYTES


def max_bytes_option(function: Callable[..., None]) -> Callable[..., None]:
    """`--max-bytes`."""
    return click.option(
        "--max-bytes",
        type=click.IntRange(min=0),
        metavar="N",
        help="Markdown: leave out sections, then rows, until it fits, and say which; 0: no limit. Default:"
        f" {COMMENT_BYTES}, for a comment on GitHub.",
    )(function)


def check_markdown(chosen: str, given: Mapping[str, object]) -> None:
    """Options of one format must not be lost on another, where they are meant for this very run.

    Args:
        chosen: The format.
        given: Values by option, as it is typed; None where it is not given.
    """
    for option, value in given.items():
        if value is not None and chosen != "markdown" and is_typed(option[2:].replace("-", "_")):
            raise UsageError(f"{option} is for Markdown, not for {chosen}.", "Add -f markdown, or -o NAME.md.")


def room(max_bytes: int | None) -> int:
    """How many bytes there are; 0 is no limit."""
    return COMMENT_BYTES if max_bytes is None else max_bytes
