"""A fused kernel's time is divided by sizes, whoever tells them, and nothing of it is lost."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.apportion import apportion, apportioned
from nsysparse.sharing import share_time


def fused(sizes: list[int | None], total: int, group_key: int = 1) -> pl.DataFrame:
    parts = [total - (len(sizes) - 1) * (total // len(sizes))] + [total // len(sizes)] * (len(sizes) - 1)
    return pl.DataFrame(
        {
            "transfer_id": range(len(sizes)), "trace_id": "t", "group_key": group_key, "kernel_ops": len(sizes),
            "time_ns": parts, "bytes": sizes, "peer": range(len(sizes)), "side": "send", "call_start_ns": 0,
        },
        schema_overrides={"transfer_id": pl.UInt32, "bytes": pl.Int64},
    )  # fmt: skip


def test_time_goes_by_bytes_where_all_are_known() -> None:
    assert share_time(fused([100, 300], 1000))["time_ns"].to_list() == [250, 750]


def test_time_goes_equally_where_a_size_is_unknown() -> None:
    assert share_time(fused([100, None], 1000))["time_ns"].to_list() == [500, 500]


def test_times_that_were_told_one_by_one_stay() -> None:
    assert share_time(fused([100, 300], 1000, group_key=-1))["time_ns"].to_list() == [500, 500]


@given(
    sizes=st.lists(st.none() | st.integers(min_value=0, max_value=2**40), min_size=2, max_size=9),
    total=st.integers(min_value=0, max_value=10**12),
)
def test_the_kernels_time_is_kept_exactly(sizes: list[int | None], total: int) -> None:
    shared = share_time(fused(sizes, total))
    assert shared["time_ns"].sum() == total
    assert shared["transfer_id"].to_list() == list(range(len(sizes)))


@given(
    groups=st.lists(
        st.tuples(
            st.integers(min_value=0, max_value=2**62),
            st.lists(st.none() | st.integers(min_value=0, max_value=2**62) | st.just(3), min_size=1, max_size=6),
        ),
        max_size=5,
    )
)
def test_many_groups_at_once_are_divided_as_each_alone(groups: list[tuple[int, list[int | None]]]) -> None:
    rows = [(number, total, weight) for number, (total, weights) in enumerate(groups) for weight in weights]
    types = {"group": pl.UInt32, "total": pl.Int64, "weight": pl.Int64}
    got = apportioned(pl.DataFrame(rows, schema=types, orient="row")).sort("row")["part"].to_list()
    expected = []
    for total, weights in groups:
        known = [weight for weight in weights if weight is not None]
        expected += apportion(total, known if len(known) == len(weights) else [1] * len(weights))
    assert got == expected
