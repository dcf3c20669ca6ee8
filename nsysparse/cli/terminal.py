"""A document as text for stdout: coloured and as wide as a terminal, or the same bytes wherever a pipe leads."""

import os
import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from nsysparse.cli.talk import DUMB

if TYPE_CHECKING:
    from nsysparse.document import Document


def as_text(document: "Document") -> str:
    """The text of a document for whoever reads stdout."""
    from nsysparse.render.to_text import WIDTH, render

    shown = sys.stdout is not None and sys.stdout.isatty()  # None where it was closed; then nothing is printed
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in DUMB
    return render(document, colour=shown and not plain, width=get_terminal_size().columns if shown else WIDTH)
