"""What requests take of each other's link, against counting instant by instant."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.metrics.crowding import Crowding, crowding

_SPANS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.integers(0, 12)), max_size=12)


def rows(*spans: tuple[str, int, int]) -> pl.DataFrame:
    return pl.DataFrame(spans, schema={"request_id": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}, orient="row")


def test_sharing_and_queueing() -> None:
    crossing = rows(("a", 0, 100), ("b", 100, 200), ("b", 200, 300), ("c", 250, 350))
    found = crowding(crossing, {"b": (0, 400), "c": (200, 400)})
    assert found["b"] == Crowding(shared_ns=25, queued_ns=150)
    assert found["c"] == Crowding(shared_ns=25, queued_ns=50)


def test_nobody_else() -> None:
    assert crowding(rows(), {"a": (0, 9)}) == {}
    assert crowding(rows(("a", 5, 9), ("a", 6, 12)), {"a": (0, 20), "b": (0, 20)}) == {"a": Crowding(0, 0)}


@given(_SPANS, st.integers(0, 40), st.integers(0, 40))
def test_as_counted_instant_by_instant(spans: list[tuple[str, int, int]], begin: int, length: int) -> None:
    crossing = rows(*((name, start, start + long) for name, start, long in spans))
    found = crowding(crossing, dict.fromkeys("abc", (begin, begin + length)))
    for name, each in found.items():
        at = [
            {other for other, start, long in spans if start <= instant < start + long}
            for instant in range(begin, begin + length)
        ]
        shared = sum(1 - 1 / len(now) for now in at if name in now)
        assert abs(each.shared_ns - shared) < 1.001
        assert each.queued_ns == sum(bool(now) and name not in now for now in at)
