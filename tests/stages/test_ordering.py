"""The total order of events: what began together is told apart by all else, and the order of rows by nothing."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from nsysparse.source.ordering import in_total_order

ORDER = ["start_ns", "end_ns", "stream_id", "name"]
ROWS = st.lists(
    st.tuples(
        st.integers(-3, 3), st.one_of(st.none(), st.integers(-2, 2)), st.one_of(st.none(), st.integers(0, 1)),
        st.one_of(st.none(), st.sampled_from(["a", "b"])),
    ),
    max_size=30,
)  # fmt: skip
TYPES = {"start_ns": pl.Int64, "end_ns": pl.Int64, "stream_id": pl.Int64, "name": pl.String}


@given(ROWS)
def test_it_is_the_order_by_all_columns(rows: list[tuple[object, ...]]) -> None:
    events = pl.DataFrame(rows, schema=TYPES, orient="row").with_row_index("row")
    assert_frame_equal(in_total_order(events, ORDER), events.sort(*ORDER, "row", nulls_last=True))


@pytest.mark.parametrize("first", [-(2**63), 2**63 - 1])
def test_any_time_is_in_order(first: int) -> None:
    events = pl.DataFrame({"start_ns": [0, first, 0], "name": ["b", "c", "a"]})
    found = in_total_order(events, ["start_ns", "name"])["name"].to_list()
    assert found == (["c", "a", "b"] if first < 0 else ["a", "b", "c"])
