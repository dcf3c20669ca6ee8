"""Values of a column from where they lie, for all rows of a chunk at once."""

import numpy as np

from nsysparse.pages.arrays import Flags, Ints, varints
from nsysparse.pages.cells import Cells
from nsysparse.pages.layout import ABSENT, FIRST_TEXT, Field
from nsysparse.pages.refusals import NotCovered
from nsysparse.pages.texts import Texts
from nsysparse.pages.wanted import Column, Wanted
from nsysparse.pages.windows import Windows

_NULL, _BYTE, _REAL, _ZERO, _ONE = 0, 1, 7, 8, 9
_RESERVED = (10, 11)
_BITS = 64  # of a word; a value's come first in it, so a shift leaves the value and its sign


def take_rowids(cells: Cells, wanted: Wanted) -> Column:
    """The rowids of rows, as a column.

    Raises:
        NotCovered: They are wanted as something else than numbers.
    """
    if wanted.kind == "filled":
        return Column(np.ones(len(cells), np.bool_), None)
    if wanted.kind != "int":
        raise NotCovered("rowids are integers")
    return Column(varints(cells.buffer, cells.rowids)[0], None)


def take_column(windows: Windows, field: Field, wanted: Wanted, texts: Texts | None) -> Column:
    """One column of rows.

    Args:
        windows: The rows.
        field: Where it lies in them.
        wanted: As what to read it.
        texts: The distinct texts of the column, for the kind "text".

    Raises:
        NotCovered: A value is not of the wanted kind, or a row is older than a column with a default.
        Damaged: A type stands there that no file has.
    """
    cells = windows.cells
    types = np.asarray(field.types)  # of no dimension, when all rows have the same
    cells.refuse(np.broadcast_to((types == _RESERVED[0]) | (types == _RESERVED[1]), len(cells)), "a value has no type")
    if not wanted.default_is_null and (types == ABSENT).any():
        raise NotCovered("rows are older than a column, which has a default")
    there = types > _NULL
    if wanted.kind == "filled":
        return Column(_filled(windows, field, there), None)
    if wanted.kind in {"int", "real"}:
        if (types >= FIRST_TEXT).any():
            raise NotCovered("a column of numbers holds texts or blobs")
        if wanted.kind == "real":
            return _reals(windows, field, there)
        if (types == _REAL).any():
            raise NotCovered("a column of integers holds reals")
        return Column(_integers(windows, field), _valid(cells, there))
    if (there & (types < FIRST_TEXT)).any():
        raise NotCovered(f"a column of {'texts' if wanted.kind == 'text' else 'bytes'} holds numbers")
    if wanted.kind == "text" and (there & (types % 2 == 0)).any():
        raise NotCovered("a column of texts holds blobs")
    return _stretches(cells, field, _valid(cells, there), texts if wanted.kind == "text" else None)


def _valid(cells: Cells, there: Flags) -> Flags | None:
    return None if there.all() else np.broadcast_to(there, len(cells)).copy()


def _integers(windows: Windows, field: Field) -> Ints:
    """Values of the types of numbers; reals as the integers that their bits are, 0 for NULL."""
    types = field.types
    if isinstance(types, int):
        if types <= _NULL or types >= _ZERO:
            return np.full(len(field.base), max(0, types - _ZERO), np.int64)
        if types == _BYTE:
            return windows.cells.buffer.take(field.at).view(np.int8).astype(np.int64)
        values = windows.words(field).view(np.int64)
        np.right_shift(values, _BITS - 8 * field.sizes, out=values)
        return values
    values = windows.words(field).view(np.int64)
    np.right_shift(values, (_BITS - 8 * np.asarray(field.sizes)) & (_BITS - 1), out=values)
    # Types without bytes of their own.
    implied = (types <= _NULL) | (types >= _ZERO)
    if implied.any():
        np.copyto(values, types == _ONE, where=implied)
    return values


def _reals(windows: Windows, field: Field, there: Flags) -> Column:
    """Values as float64; SQLite stores whole ones as integers, and takes what is no number for NULL."""
    stored = _integers(windows, field)
    values = stored.astype(np.float64)
    np.copyto(values, stored.view(np.float64), where=np.asarray(field.types) == _REAL)
    nothing = np.isnan(values)
    values[nothing] = 0
    return Column(values, _valid(windows.cells, there & ~nothing))


def _filled(windows: Windows, field: Field, there: Flags) -> Flags:
    cells = windows.cells
    if not (np.asarray(field.types) == _REAL).any():
        return np.broadcast_to(there, len(cells)).copy()
    there = np.broadcast_to(there, len(cells)).copy()
    reals = np.broadcast_to(np.asarray(field.types) == _REAL, len(cells))
    there[reals] = ~np.isnan(windows.words(field)[reals].view(np.float64))
    return there


def _stretches(cells: Cells, field: Field, valid: Flags | None, texts: Texts | None) -> Column:
    """Bytes as they are, or codes of texts."""
    at, sizes = field.at, np.broadcast_to(field.sizes, len(cells))
    if valid is not None:
        at, sizes = at[valid], sizes[valid]
    if texts is not None:
        codes = texts.code(cells.buffer, at, sizes)
        if valid is None:
            return Column(codes, None)
        spread = np.full(len(cells), -1, np.int64)
        spread[valid] = codes
        return Column(spread, valid)
    values, view = np.full(len(cells), None, np.object_), cells.buffer.data
    rows = np.arange(len(cells)) if valid is None else np.flatnonzero(valid)
    for row, start, size in zip(rows.tolist(), at.tolist(), sizes.tolist(), strict=True):
        values[row] = bytes(view[start : start + size])
    return Column(values, valid)
