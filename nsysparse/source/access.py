"""How a file is read: by whom, and from when to when."""

from dataclasses import dataclass

from nsysparse.analysis import READERS
from nsysparse.source.window import Window

AUTO, PAGES, SQL = READERS


@dataclass(frozen=True, slots=True)
class Access:
    """How a file is read.

    Attributes:
        reader: How whole tables are read, one of `READERS`.
        window: Only events that overlap it are read, whole; those without an end if they began before its own.
    """

    reader: str = AUTO
    window: Window | None = None
