"""A copy of a trace with only what the analysis needs."""

from dataclasses import dataclass
from pathlib import Path

from nsysparse.api.options import Progress, silent
from nsysparse.presets.loader import load
from nsysparse.redaction.copy import Made, Wish, copy_export
from nsysparse.source.access import Access
from nsysparse.source.window import Window


@dataclass(frozen=True, slots=True)
class Redaction:
    """How a copy is to be.

    Attributes:
        key: Keys digests of hosts and names; without it hosts are dropped.
        hashed: Whether names become digests; that needs a key.
        rebased: Whether times count from the first event, and UTC is dropped.
        presets: As in `Options`.
        request_pattern: Likewise.
        window_ns: Likewise.
    """

    key: bytes | None = None
    hashed: bool = False
    rebased: bool = False
    presets: tuple[str, ...] = ()
    request_pattern: str | None = None
    window_ns: tuple[int | None, int | None] | None = None


def redact(source: Path, target: Path, asked: Redaction, progress: Progress = silent) -> Made:
    """Write a copy of an export.

    Args:
        source: The export.
        target: An empty file, which becomes the copy.
        asked: How the copy is to be.
        progress: Is told what is being done.

    Raises:
        NsysparseError: The export or a preset cannot be used.
        OSError: The copy cannot be written.
    """
    wish = Wish(asked.key, asked.hashed, asked.rebased, load(asked.presets, asked.request_pattern))
    window = None if asked.window_ns is None else Window(*asked.window_ns)
    return copy_export(source, target, wish, Access(window=window), progress)
