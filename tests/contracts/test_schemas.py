"""The schemas of frames promise what dataframely's, declared alike, promise: nothing less, nothing more."""

from typing import Any

import dataframely as dy
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse import frames
from nsysparse.frames.schema import Column, Schema

EVERY = [each for each in vars(frames).values() if isinstance(each, type) and issubclass(each, Schema)]
THEIRS: dict[Any, Any] = {
    pl.Boolean: dy.Bool, pl.Float64: dy.Float64, pl.Int64: dy.Int64, pl.String: dy.String,
    pl.UInt32: dy.UInt32, pl.UInt64: dy.UInt64, pl.Categorical: dy.Categorical,
}  # fmt: skip
VALUES: dict[Any, list[Any]] = {
    pl.Boolean: [True, False], pl.Float64: [0.5, 1.0, float("nan"), float("inf")], pl.Int64: [-1, 0, 7],
    pl.String: ["", "a", "b"], pl.UInt32: [0, 7], pl.UInt64: [0, 2**63],
}  # fmt: skip


class Sample(Schema):
    """One column of each type and of each promise."""

    first = Column(pl.UInt32, "half of the key", nullable=False, primary_key=True)
    second = Column(pl.String, "the other half", nullable=False, primary_key=True)
    level = Column(pl.Float64, "a number", nullable=False)
    big = Column(pl.UInt64, "a number", nullable=True)
    is_sure = Column(pl.Boolean, "a bit", nullable=True)


class More(Sample):
    """What a base says is kept, in its place, or said otherwise."""

    big = Column(pl.UInt64, "a number", nullable=False)
    last = Column(pl.Int64, "a number", nullable=True)


def theirs_of(dtype: Any, **said: bool) -> Any:
    return dy.Enum(dtype.categories, **said) if isinstance(dtype, pl.Enum) else THEIRS[dtype](**said)


def by_dataframely(schema: type[Schema]) -> type[dy.Schema]:
    columns = {
        name: theirs_of(column.dtype, nullable=column.nullable, primary_key=column.primary_key)
        for name, column in schema.columns().items()
    }
    return type(schema.__name__, (dy.Schema,), columns)


def accepted(schema: Any, frame: pl.DataFrame) -> pl.DataFrame | None:
    try:
        return pl.DataFrame(schema.validate(frame))
    except (ValueError, dy.exc.SchemaError, dy.exc.ValidationError):
        return None


@st.composite
def nearly(draw: st.DrawFn, schema: type[Schema]) -> pl.DataFrame:
    """A frame of at most three rows that may lack a column, have another, or hold what is not promised."""
    height = draw(st.integers(0, 3))
    columns = {}
    for name, column in schema.columns().items():
        dtype = draw(st.sampled_from([column.dtype] * 30 + [pl.Int64, pl.String]))
        values = VALUES[dtype] + [None] * draw(st.sampled_from([column.nullable] * 9 + [True]))
        columns[name] = pl.Series(
            name, draw(st.lists(st.sampled_from(values), min_size=height, max_size=height)), dtype
        )
    names = draw(st.one_of(st.just(list(columns)), st.permutations(list(columns))))
    absent = draw(st.sampled_from([None] * 9 + list(columns)))
    extra = [pl.Series("unasked", [1] * height)] if draw(st.booleans()) else []
    return pl.DataFrame([columns[name] for name in names if name != absent] + extra)


@given(st.data())
@pytest.mark.parametrize("schema", [Sample, More])
def test_frames_are_accepted_that_dataframely_accepts(schema: type[Schema], data: st.DataObject) -> None:
    frame = data.draw(nearly(schema))
    ours, theirs = accepted(schema, frame), accepted(by_dataframely(schema), frame)

    assert (ours is None) == (theirs is None)
    if ours is not None and theirs is not None:
        assert ours.equals(theirs)
        assert ours.schema == theirs.schema


@pytest.mark.parametrize("schema", EVERY)
def test_empty_frames_are_as_promised(schema: type[Schema]) -> None:
    empty = schema.create_empty()

    assert empty.schema == by_dataframely(schema).create_empty().schema
    assert schema.validate(empty).equals(empty)


def test_a_broken_promise_is_named() -> None:
    with pytest.raises(ValueError, match=r"^Sample: lacks level, big\.$"):
        Sample.validate(pl.DataFrame({"first": [1], "second": ["a"], "is_sure": [True]}))
    rows = Sample.cast(pl.DataFrame({"first": [1, 1], "second": ["a", "a"], "level": 0.5, "big": 1, "is_sure": True}))
    with pytest.raises(ValueError, match=r"^Sample: has rows that are equal in first, second\.$"):
        Sample.validate(rows)
    with pytest.raises(ValueError, match=r"^Sample\.level: has 2 nulls, and none is promised\.$"):
        Sample.validate(rows.with_columns(level=pl.lit(None, pl.Float64)))
    with pytest.raises(ValueError, match=r"^Sample\.big: is String, and UInt64 is promised\.$"):
        Sample.validate(rows.with_columns(big=pl.lit("1")))
