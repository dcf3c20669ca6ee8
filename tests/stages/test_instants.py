"""Sets of instants equal sets of Python's integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.instants import Instants

Pairs = list[tuple[int, int]]
spans = st.lists(st.tuples(st.integers(-8, 20), st.integers(-2, 9)).map(lambda each: (each[0], sum(each))), max_size=9)


def made(pairs: Pairs) -> Instants:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Instants.of(both[:, 0], both[:, 1])


def brute(pairs: Pairs) -> set[int]:
    return {at for start, end in pairs for at in range(start, end)}


def members(found: Instants) -> set[int]:
    """Its instants; the intervals must be in order, and neither touch nor be empty."""
    edges = [edge for pair in zip(found.starts.tolist(), found.ends.tolist(), strict=True) for edge in pair]
    assert edges == sorted(set(edges))
    return {at for start, end in zip(found.starts, found.ends, strict=True) for at in range(start, end)}


@given(spans, spans)
def test_algebra(left: Pairs, right: Pairs) -> None:
    first, second = made(left), made(right)
    assert members(first) == brute(left)
    assert first.length == len(brute(left))
    assert members(first.both(second)) == brute(left) & brute(right)
    assert members(first.without(second)) == brute(left) - brute(right)


@given(spans, spans)
def test_shares_of_intervals(held: Pairs, asked: Pairs) -> None:
    lasting = [(start, end) for start, end in asked if end >= start]
    both = np.array(lasting, dtype=np.int64).reshape(-1, 2)
    found = made(held).within(both[:, 0], both[:, 1])
    assert found.tolist() == [len(brute(held) & set(range(start, end))) for start, end in lasting]
    assert made(held).holds(both[:, 0]).tolist() == [start in brute(held) for start, _ in lasting]
