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
    # The receive of b ran while a was on the wire, but for its first part; that of c began with its own wire.
    running = {"b": rows(("b", 30, 300)), "c": rows(("c", 250, 350))}
    found = crowding(crossing, {"b": (0, 400), "c": (200, 400)}, running)
    assert found["b"] == Crowding(shared_ns=25, queued_ns=150, behind_ns=80)
    assert found["c"] == Crowding(shared_ns=25, queued_ns=50, behind_ns=50)


def test_nobody_else() -> None:
    assert crowding(rows(), {"a": (0, 9)}, {"a": rows()}) == {}
    alone = rows(("a", 5, 9), ("a", 6, 12))
    assert crowding(alone, {"a": (0, 20), "b": (0, 20)}, {"a": alone, "b": rows()}) == {"a": Crowding(0, 0, 0)}


@given(_SPANS, st.integers(0, 12), st.integers(0, 40), st.integers(0, 40))
def test_as_counted_instant_by_instant(spans: list[tuple[str, int, int]], waited: int, begin: int, length: int) -> None:
    """Receives run from `waited` before they are on the wire."""
    crossing = rows(*((name, start, start + long) for name, start, long in spans))
    run = {name: rows(*((one, at - waited, at + long) for one, at, long in spans if one == name)) for name in "abc"}
    found = crowding(crossing, dict.fromkeys("abc", (begin, begin + length)), run)
    for name, each in found.items():
        at = [
            {other for other, start, long in spans if start <= instant < start + long}
            for instant in range(begin, begin + length)
        ]
        shared = sum(1 - 1 / len(now) for now in at if name in now)
        assert abs(each.shared_ns - shared) < 1.001
        assert each.queued_ns == sum(bool(now) and name not in now for now in at)
        runs = [
            any(one == name and start - waited <= instant < start + long for one, start, long in spans)
            for instant in range(begin, begin + length)
        ]
        assert each.behind_ns == sum(
            bool(now) and name not in now and not busy for now, busy in zip(at, runs, strict=True)
        )
