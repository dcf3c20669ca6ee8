"""Some rows of a table: columns as numbers, and a frame of them where one is wanted.

A pass has thousands of batches. Numbers are looked at as arrays, since each expression of polars wakes its threads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.pages import Column

Flags = NDArray[np.bool_]
Types = Mapping[str, type[pl.DataType]]


class Batch:
    """Rows of a table, in their order.

    Args:
        height: How many.
        columns: By our names; of a column that is missing here no row has a value.
        types: Of all columns, those too. Texts are codes: UInt32.
    """

    def __init__(self, height: int, columns: Mapping[str, Column], types: Types) -> None:
        """Hold the columns."""
        self.height, self.types = height, types
        self._columns = columns

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> "Batch":
        """The rows of a frame."""
        columns = {}
        for name, series in frame.to_dict().items():
            valid = series.is_not_null().to_numpy() if series.null_count() else None
            filled = series if valid is None or series.dtype == pl.Binary else series.fill_null(0)
            columns[name] = Column(filled.to_numpy(), valid)
        return cls(frame.height, columns, {name: dtype.base_type() for name, dtype in frame.schema.items()})

    def values(self, name: str) -> NDArray[Any]:
        """The values of a column; anything where there is none, which `known` tells."""
        column = self._columns.get(name)
        if column is None:
            return np.zeros(self.height, dtype=np.bool_ if self.types[name] is pl.Boolean else np.int64)
        return column.values

    def known(self, *names: str) -> Flags:
        """In which rows all of these columns have a value."""
        found = np.ones(self.height, dtype=np.bool_)
        for name in names:
            column = self._columns.get(name)
            if column is None:
                found &= self.types[name] is pl.Boolean  # whether there is a value is known everywhere: there is none
            elif column.valid is not None:
                found &= column.valid
        return found

    def only(self, rows: Flags) -> "Batch":
        """Those of the rows."""
        if rows.all():
            return self
        chosen = {name: column.only(rows) for name, column in self._columns.items()}
        return Batch(int(rows.sum()), chosen, self.types)

    def moved(self, names: Sequence[str], by: int) -> "Batch":
        """The same with a number taken off the values of some columns; what leaves 64 bits wraps around."""
        moved = {name: Column(self._columns[name].values - by, self._columns[name].valid)
                 for name in names if name in self._columns}  # fmt: skip
        return Batch(self.height, {**self._columns, **moved}, self.types)

    def frame(self) -> pl.DataFrame:
        """All columns."""
        return pl.DataFrame([self[name] for name in self.types])

    def __getitem__(self, name: str) -> pl.Series:
        """One column, null where it has no value."""
        column, dtype = self._columns.get(name), self.types[name]
        if column is None or (column.valid is not None and not column.valid.any()):
            nothing = False if dtype is pl.Boolean else None
            return pl.Series(name, [nothing], dtype=dtype).new_from_index(0, self.height)
        if dtype is pl.Binary:
            return pl.Series(name, column.values.tolist(), dtype=pl.Binary)
        values = pl.Series(name, column.values)
        return (values if column.valid is None else values.set(pl.Series(~column.valid), None)).cast(dtype)
