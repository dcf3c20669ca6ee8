"""One pass over a big table, batch by batch: each batch is reduced at once to what is needed of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import polars as pl

from nsysparse.source.batch import Batch, Flags
from nsysparse.source.schema import ROW

Reduced = TypeVar("Reduced")


@dataclass(frozen=True, slots=True)
class Keep:
    """Which rows of a table stay.

    Attributes:
        needs: Our columns that the test looks at; the others are read for rows that stay.
        test: A batch of these columns → whether each row stays. It may be asked in several threads at once;
            instants are as the file has them, perhaps shifted.
        beside: Told every batch of these columns before rows are dropped, in no order, instants as they were recorded:
            for what is asked of all rows.
        only: No other rows than these can stay, by `ROW`; None where that is not known.
    """

    needs: tuple[str, ...]
    test: Callable[[Batch], Flags]
    beside: Callable[[Batch], object] | None = None
    only: pl.Series | None = None

    @classmethod
    def rows(cls, wanted: pl.Series) -> "Keep":
        """Keep these rows of a table, as `ROW` tells them apart."""
        known = wanted.sort().to_numpy()

        def among(batch: Batch) -> Flags:
            rows = batch.values(ROW)
            at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
            found: Flags = known[at] == rows
            return found

        return cls((ROW,), among, only=wanted.sort())


@dataclass(frozen=True, slots=True)
class Scanned(Generic[Reduced]):
    """What a pass over a table gave.

    Attributes:
        parts: What was kept of each batch, in the order of rows; at least one.
        beside: What `Keep.beside` said, in no order.
        texts: Distinct texts by code, of each text column.
    """

    parts: list[Reduced]
    texts: Mapping[str, list[str]]
    beside: Sequence[Any] = ()


class HasTexts(Protocol):
    """Distinct texts of a column, once it is read."""

    @property
    def texts(self) -> list[str]:
        """All texts by code."""


class Codes:
    """Numbers for the distinct texts of a column, in the order in which they come."""

    def __init__(self) -> None:
        """No text has a number yet."""
        self._known: dict[str, int] = {}

    def of(self, texts: pl.Series) -> pl.Series:
        """The number of each text as UInt32; null stays null."""
        known = self._known
        distinct = texts.drop_nulls().unique(maintain_order=True).to_list()
        fresh = {text: known.setdefault(text, len(known)) for text in distinct}
        if not fresh:
            return pl.Series(texts.name, [None], dtype=pl.UInt32).new_from_index(0, len(texts))
        return texts.replace_strict(fresh, return_dtype=pl.UInt32)

    @property
    def texts(self) -> list[str]:
        """All texts by number."""
        return list(self._known)
