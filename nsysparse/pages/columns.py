"""Values of a column from where they lie, for all rows of a chunk at once."""

import numpy as np

from nsysparse.pages.arrays import WORD, Flags, Ints, varints, words
from nsysparse.pages.cells import Cells
from nsysparse.pages.layout import ABSENT, FIRST_TEXT, Field, widths
from nsysparse.pages.refusals import NotCovered
from nsysparse.pages.texts import Texts
from nsysparse.pages.wanted import Column, Wanted

_NULL, _BYTE, _REAL, _ZERO, _ONE = 0, 1, 7, 8, 9
_RESERVED = (10, 11)
# How far to shift a big-endian word so that a value of each type remains, with its sign.
_SHIFTS = np.array([0, 56, 48, 40, 32, 16, 0, 0, 0, 0, 0, 0], np.int64)


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


def take_column(cells: Cells, field: Field, wanted: Wanted, texts: Texts | None) -> Column:
    """One column of rows.

    Args:
        cells: The rows.
        field: Where it lies in them.
        wanted: As what to read it.
        texts: The distinct texts of the column, for the kind "text".

    Raises:
        NotCovered: A value is not of the wanted kind, or a row is older than a column with a default.
        Damaged: A type stands there that no file has.
    """
    types = np.asarray(field.types)  # of no dimension, when all rows have the same
    cells.refuse(np.broadcast_to((types == _RESERVED[0]) | (types == _RESERVED[1]), len(cells)), "a value has no type")
    if not wanted.default_is_null and (types == ABSENT).any():
        raise NotCovered("rows are older than a column, which has a default")
    there = types > _NULL
    if wanted.kind == "filled":
        return Column(_filled(cells, field, there), None)
    if wanted.kind in {"int", "real"}:
        if (types >= FIRST_TEXT).any():
            raise NotCovered("a column of numbers holds texts or blobs")
        if wanted.kind == "real":
            return _reals(cells, field, there)
        if (types == _REAL).any():
            raise NotCovered("a column of integers holds reals")
        return Column(_integers(cells, field), _valid(cells, there))
    if (there & (types < FIRST_TEXT)).any():
        raise NotCovered(f"a column of {'texts' if wanted.kind == 'text' else 'bytes'} holds numbers")
    if wanted.kind == "text" and (there & (types % 2 == 0)).any():
        raise NotCovered("a column of texts holds blobs")
    return _stretches(cells, field, _valid(cells, there), texts if wanted.kind == "text" else None)


def _valid(cells: Cells, there: Flags) -> Flags | None:
    return None if there.all() else np.broadcast_to(there, len(cells)).copy()


def _inside(cells: Cells, at: Ints) -> Ints:
    """Positions of a word: NULLs of rows that overflow may lie beyond the buffer."""
    return np.minimum(at, len(cells.buffer) - WORD) if cells.overflows else at


def _integers(cells: Cells, field: Field) -> Ints:
    """Values of the types of numbers; reals as the integers that their bits are, 0 for NULL."""
    types = field.types
    if isinstance(types, int):
        if types <= _NULL or types >= _ZERO:
            return np.full(len(cells), max(0, types - _ZERO), np.int64)
        if types == _BYTE:
            return cells.buffer.take(field.at).view(np.int8).astype(np.int64)
        values = words(cells.buffer, field.at).view(np.int64)
        np.right_shift(values, _SHIFTS[types], out=values)
        return values
    values = words(cells.buffer, _inside(cells, field.at)).view(np.int64)
    np.right_shift(values, _SHIFTS.take(types, mode="clip"), out=values)
    # Types without bytes of their own.
    implied = (types <= _NULL) | (types >= _ZERO)
    if implied.any():
        np.copyto(values, types == _ONE, where=implied)
    return values


def _reals(cells: Cells, field: Field, there: Flags) -> Column:
    """Values as float64; SQLite stores whole ones as integers, and takes what is no number for NULL."""
    stored = _integers(cells, field)
    values = stored.astype(np.float64)
    np.copyto(values, stored.view(np.float64), where=np.asarray(field.types) == _REAL)
    nothing = np.isnan(values)
    values[nothing] = 0
    return Column(values, _valid(cells, there & ~nothing))


def _filled(cells: Cells, field: Field, there: Flags) -> Flags:
    if not (np.asarray(field.types) == _REAL).any():
        return np.broadcast_to(there, len(cells)).copy()
    there = np.broadcast_to(there, len(cells)).copy()
    reals = np.broadcast_to(np.asarray(field.types) == _REAL, len(cells))
    there[reals] = ~np.isnan(words(cells.buffer, field.at[reals]).view(np.float64))
    return there


def _stretches(cells: Cells, field: Field, valid: Flags | None, texts: Texts | None) -> Column:
    """Bytes as they are, or codes of texts."""
    rows = np.arange(len(cells)) if valid is None else np.flatnonzero(valid)
    at, sizes = field.at[rows], np.broadcast_to(widths(field.types), len(cells))[rows]
    if texts is not None:
        codes = texts.code(cells.buffer, at, sizes)
        if valid is None:
            return Column(codes, None)
        spread = np.full(len(cells), -1, np.int64)
        spread[rows] = codes
        return Column(spread, valid)
    values, view = np.full(len(cells), None, np.object_), cells.buffer.data
    for row, start, size in zip(rows.tolist(), at.tolist(), sizes.tolist(), strict=True):
        values[row] = bytes(view[start : start + size])
    return Column(values, valid)
