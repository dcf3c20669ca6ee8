"""Interval algebra equals brute force on small inputs."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.apportion import apportion
from nsysparse.intervals import (
    crossings,
    innermost_container,
    monotone_chains,
    open_around,
    run_extremes,
    union_length,
    union_lengths,
)

Pairs = list[tuple[int, int]]
spans = st.tuples(st.integers(-8, 20), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
sorted_spans = st.lists(spans, max_size=20).map(lambda found: sorted(found, key=lambda span: (span[0], -span[1])))


def arrays(found: Pairs) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(found, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(st.lists(spans, max_size=20))
def test_union_length_counts_each_nanosecond_once(found: Pairs) -> None:
    covered = {ns for start, end in found for ns in range(start, end)}
    assert union_length(*arrays(found)) == len(covered)


@given(sorted_spans)
def test_open_around_counts_earlier_intervals_that_have_not_ended(found: Pairs) -> None:
    depth = open_around(*arrays(found))
    assert depth.tolist() == [
        sum(1 for _, end in found[:index] if end > start) for index, (start, _) in enumerate(found)
    ]


@given(sorted_spans, st.lists(spans, max_size=8))
def test_innermost_container_is_the_last_to_start_that_contains(found: Pairs, inner: Pairs) -> None:
    def brute(start: int, end: int) -> int:
        holding = [index for index, (a, b) in enumerate(found) if a <= start and b >= end]
        return holding[-1] if holding else -1

    got = innermost_container(*arrays(found), *arrays(inner))
    assert got.tolist() == [brute(*span) for span in inner]


@given(sorted_spans)
def test_chains_have_ends_that_never_fall_and_are_as_few_as_possible(found: Pairs) -> None:
    _, ends = arrays(found)
    chains = monotone_chains(ends)
    for chain in range(int(chains.max()) + 1 if len(chains) else 0):
        assert (np.diff(ends[chains == chain]) >= 0).all()
    # Dilworth: no cover has fewer chains than the longest strictly falling sequence of ends.
    falling = [0] * len(ends)
    for index, end in enumerate(ends):
        falling[index] = 1 + max((falling[j] for j in range(index) if ends[j] > end), default=0)
    assert (int(chains.max()) + 1 if len(chains) else 0) == max(falling, default=0)


@given(sorted_spans, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8))
def test_run_extremes_equal_slices(found: Pairs, runs: Pairs) -> None:
    starts, ends = arrays(found)
    bounds = [(min(a, b, len(found)), min(max(a, b), len(found))) for a, b in runs]
    low, high = run_extremes(starts, ends, *arrays(bounds))
    for (first, stop), smallest, largest in zip(bounds, low, high, strict=True):
        if stop > first:
            assert (smallest, largest) == (starts[first:stop].min(), ends[first:stop].max())
        else:
            assert (smallest, largest) == (0, 0)


@given(st.integers(0, 2**62), st.lists(st.integers(0, 2**62), min_size=1, max_size=30))
def test_apportion_conserves_and_stays_within_one_of_the_exact_share(total: int, weights: list[int]) -> None:
    parts = apportion(total, weights)
    assert sum(parts) == total
    whole = sum(weights)
    for part, weight in zip(parts, weights, strict=True):
        exact = total * weight / whole if whole else total / len(weights)
        assert abs(part - exact) <= max(1, exact * 1e-9)


def test_apportion_gives_the_rest_to_the_largest_remainders_then_the_earliest() -> None:
    assert apportion(10, [1, 1, 1]) == [4, 3, 3]
    assert apportion(10, [1, 2, 2]) == [2, 4, 4]
    assert apportion(7, [3, 3, 1]) == [3, 3, 1]
    assert apportion(5, [0, 0]) == [3, 2]


far = st.tuples(st.sampled_from(["a", "b", None]), st.integers(-(2**62), 2**62), st.integers(0, 2**40))
near = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 9), st.integers(0, 5))


@given(st.lists(far | near, max_size=20))
def test_unions_of_many_groups_are_those_of_each_alone(placed: list[tuple[str | None, int, int]]) -> None:
    types = {"group": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}
    rows = pl.DataFrame([(group, start, start + length) for group, start, length in placed], types, orient="row")
    expected = {
        group: union_length(*arrays([(start, start + length) for each, start, length in placed if each == group]))
        for group in {group for group, _, _ in placed}
    }
    assert dict(union_lengths(rows, ["group"]).select("group", "union_ns").iter_rows()) == expected


@pytest.mark.parametrize("seed", range(40))
def test_crossings_are_those_that_brute_force_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 12))
    starts = rng.integers(0, 20, count)
    ends = starts + rng.integers(0, 12, count)
    order = np.lexsort((-ends, starts))
    starts, ends = starts[order].astype(np.int64), ends[order].astype(np.int64)

    def crosses(one: int, other: int) -> bool:
        return bool(starts[one] < starts[other] < ends[one] < ends[other])

    expected = [any(crosses(i, j) or crosses(j, i) for j in range(count)) for i in range(count)]
    assert crossings(starts, ends).tolist() == expected


def test_an_interval_crosses_one_that_a_third_hides() -> None:
    starts, ends = np.array([0, 50, 60]), np.array([100, 200, 150])
    assert crossings(starts, ends).tolist() == [True, True, True]
