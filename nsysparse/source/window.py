"""A part of the recording's time, to which reading is confined."""

from dataclasses import dataclass

import polars as pl

from nsysparse.source.batch import Batch, Flags
from nsysparse.source.sql import Piece, compared, unknown
from nsysparse.units import NS_PER_MS

_LATEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when, in nanoseconds of the trace's own clock; None where it is open.

    Attributes:
        start_ns: First instant.
        end_ns: First instant after it.
    """

    start_ns: int | None
    end_ns: int | None

    @property
    def shown(self) -> str:
        """As it is asked for, in milliseconds: `1500ms..2250.5ms`; nothing stands where it is open."""
        ends = ("" if edge is None else f"{edge / NS_PER_MS:.6f}".rstrip("0").rstrip(".") + "ms"
                for edge in (self.start_ns, self.end_ns))  # fmt: skip
        return "..".join(ends)

    # What overlaps, of a frame, a batch and in SQL: it begins before the window's end, and ends after its beginning or
    # begins with it: of two parts that adjoin, one has what takes no time. Without an end it goes on.

    def overlaps(self) -> pl.Expr:
        """Whether an interval of the trace's own clock lies at least partly within, for `start_ns` and `end_ns`."""
        low, high = self._stored(0)
        return (pl.col("start_ns") < high) & ((pl.col("end_ns") > low) | (pl.col("start_ns") >= low))

    def overlapping(self, batch: Batch, shift_ns: int) -> Flags:
        """Which rows of a batch, with `start_ns` and `end_ns` as the file has them, lie at least partly within."""
        low, high = self._stored(shift_ns)
        starts, ends = batch.values("start_ns"), batch.values("end_ns")
        over = batch.known("end_ns") & (ends <= low) & (starts < low)
        return batch.known("start_ns") & (starts < high) & ~over

    def condition(self, start: str, end: str, shift_ns: int) -> Piece:
        """The same for rows of a table, by the file's names of both columns."""
        low, high = self._stored(shift_ns)
        return compared(start, "<", high) & (unknown(end) | compared(end, ">", low) | compared(start, ">=", low))

    def _stored(self, shift_ns: int) -> tuple[int, int]:
        """The window in the times that a file holds, which an export shifted; as far as 64 bits reach."""
        edges = (-_LATEST if self.start_ns is None else self.start_ns + shift_ns,
                 _LATEST if self.end_ns is None else self.end_ns + shift_ns)  # fmt: skip
        low, high = (min(max(edge, -_LATEST), _LATEST) for edge in edges)
        return low, high
