"""What a frame between stages promises: its columns, their types, and where null may stand.

dataframely says the same and loads, with SQLAlchemy's dialects and numpy's random numbers, for longer than a small
trace takes to analyse; of all that it checks, these few rules are what a frame here needs.
"""

from typing import Any, ClassVar, Generic, Self, TypeVar

import polars as pl

S_co = TypeVar("S_co", bound="Schema", covariant=True)


class Column:
    """A column of a schema.

    Args:
        dtype: Its type, which values must have and are never cast to.
        about: What it means, for `docs/reference/frames.md`.
        nullable: Whether a value may be unknown.
        primary_key: Whether no two rows may be equal in this and the schema's other such columns.
    """

    __slots__ = ("about", "dtype", "nullable", "primary_key")

    def __init__(
        self, dtype: type[pl.DataType] | pl.DataType, about: str, *, nullable: bool, primary_key: bool = False
    ) -> None:
        """Keep what the schema says."""
        self.dtype, self.about, self.nullable, self.primary_key = dtype, about, nullable, primary_key


class Frame(pl.DataFrame, Generic[S_co]):
    """A data frame that satisfies a schema: a name for type checkers, no class that anything is made of."""


class Schema:
    """The base of all schemas; columns are class attributes, those of its bases first."""

    _columns: ClassVar[dict[str, Column]] = {}

    def __init_subclass__(cls, **arguments: Any) -> None:  # noqa: ANN401 (the base's)
        """Note the columns that the class adds, or says otherwise than its base."""
        super().__init_subclass__(**arguments)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Column)}
        cls._columns = cls._columns | own

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """Its columns by name, in order."""
        return dict(cls._columns)

    @classmethod
    def column_names(cls) -> list[str]:
        """The names of its columns, in order."""
        return list(cls._columns)

    @classmethod
    def create_empty(cls) -> Frame[Self]:
        """A frame of no rows."""
        return pl.DataFrame(schema={name: column.dtype for name, column in cls._columns.items()})  # type: ignore[return-value]

    @classmethod
    def cast(cls, frame: pl.DataFrame) -> Frame[Self]:
        """The schema's columns of a frame, as their types; nothing else is checked."""
        return frame.select(pl.col(name).cast(column.dtype) for name, column in cls._columns.items())  # type: ignore[return-value]

    @classmethod
    def validate(cls, frame: pl.DataFrame) -> Frame[Self]:
        """The schema's columns of a frame that has them all, as promised.

        Raises:
            ValueError: It breaks a promise: a stage is wrong, or was given what is no frame for it.
        """
        if frame.columns != list(cls._columns):
            absent = [name for name in cls._columns if name not in frame.columns]
            if absent:
                raise ValueError(f"{cls.__name__}: lacks {', '.join(absent)}.")
            frame = frame.select(list(cls._columns))
        for series, (name, column) in zip(frame.iter_columns(), cls._columns.items(), strict=True):
            if series.dtype != column.dtype:
                raise ValueError(f"{cls.__name__}.{name}: is {series.dtype}, and {column.dtype} is promised.")
            if not column.nullable and series.null_count():
                raise ValueError(f"{cls.__name__}.{name}: has {series.null_count():,} nulls, and none is promised.")
            if column.dtype.is_float() and not series.is_finite().all():
                raise ValueError(f"{cls.__name__}.{name}: has values that are no finite numbers.")
        key = [name for name, column in cls._columns.items() if column.primary_key]
        if key and frame.select(key).is_duplicated().any():
            raise ValueError(f"{cls.__name__}: has rows that are equal in {', '.join(key)}.")
        return frame  # type: ignore[return-value]
