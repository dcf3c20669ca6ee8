"""Rows of a table as columns of numbers: what is known of them does not hang on the order in which it is asked."""

import numpy as np
import polars as pl

from nsysparse.pages import Column
from nsysparse.source.batch import Batch

TYPES = {"a": pl.Int64, "gone": pl.Int64, "has_gone": pl.Boolean}


def test_what_is_known_of_several_columns_is_known_of_each() -> None:
    batch = Batch(3, {"a": Column(np.array([1, 0, 3]), np.array([True, False, True]))}, TYPES)
    assert batch.known("a").tolist() == [True, False, True]
    assert batch.known("a", "has_gone").tolist() == batch.known("has_gone", "a").tolist() == [True, False, True]
    assert batch.known("a", "gone").tolist() == batch.known("gone", "has_gone").tolist() == [False] * 3
    assert batch.known().tolist() == [True] * 3


def test_a_frame_says_null_where_nothing_is_known() -> None:
    batch = Batch(2, {"a": Column(np.array([1, 0]), np.array([True, False]))}, TYPES)
    assert batch.frame().rows() == [(1, None, False), (None, None, False)]
    assert Batch.of_frame(batch.frame()).frame().equals(batch.frame())
