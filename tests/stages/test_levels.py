"""Levels of detail: what merging keeps, what it bounds, and that it does what its rule says."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.metrics import levels as module
from nsysparse.metrics.levels import ALL_MARKS, CELL, COARSE_MARKS, FINEST_MARKS, MARK, levels

STRETCH = {"lane": pl.UInt32, "kind": pl.UInt32, "start_ns": pl.Int64, "end_ns": pl.Int64, "request": pl.UInt32}
Rows = list[tuple[int, int, int, int, int | None]]
stretches = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 1),
        st.one_of(st.integers(0, 60), st.integers(0, 4_000)),
        st.integers(0, 30),
        st.one_of(st.none(), st.integers(0, 1)),
    ).map(lambda row: (row[0], row[1], row[2], row[2] + row[3], row[4])),
    max_size=30,
)


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=STRETCH, orient="row")


def by_hand(rows: Rows, threshold: int) -> list[tuple[int, ...]]:
    """The rule, one stretch after the other; covered time by counting nanoseconds."""
    found: list[tuple[int, ...]] = []
    for unit in sorted({row[:2] for row in rows}):
        groups: list[Rows] = []
        for row in sorted((row for row in rows if row[:2] == unit), key=lambda row: row[2:4]):
            held = groups[-1] if groups else []
            reach = max((other[3] for group in groups for other in group), default=0)
            pause = row[2] - reach
            if held and (pause < 0 or (pause < threshold and _cell(row, threshold) == _cell(held[-1], threshold))):
                held.append(row)
            else:
                groups.append([row])
        found += [_mark(unit, group) for group in groups]
    return sorted(found, key=_order)


def _cell(row: tuple[int, int, int, int, int | None], threshold: int) -> int:
    return row[2] // (CELL * threshold)


def _mark(unit: tuple[int, int], group: Rows) -> tuple[int, ...]:
    covered = {at for row in group for at in range(row[2], row[3])}
    requests = {row[4] for row in group}
    request = requests.pop() if len(requests) == 1 else None
    return (*unit, min(row[2] for row in group), max(row[3] for row in group), len(covered), len(group),
            -1 if request is None else request)  # fmt: skip


def _order(mark: tuple[int, ...]) -> tuple[int, ...]:
    lane, kind, start, end, _, _, request = mark
    return lane, start, end, kind, request


def told(marks: pl.DataFrame) -> list[tuple[int, ...]]:
    return marks.with_columns(pl.col("request").cast(pl.Int64).fill_null(-1)).rows()


@given(stretches, st.integers(1, 12))
def test_each_level_is_what_its_rule_says(rows: Rows, most: int) -> None:
    """With room for a few marks, so that small examples have several levels."""
    units = len({row[:2] for row in rows})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FINEST_MARKS", units + most)
        patch.setattr(module, "ALL_MARKS", 2 * (units + most))
        patch.setattr(module, "COARSE_MARKS", units)
        found = levels(frame(rows))
    assert bool(found) == bool(rows)
    for threshold, marks in found:
        assert told(marks) == by_hand(rows, threshold)
    if found:
        finest, marks = found[-1]
        assert marks.height <= units + most
        if finest:
            assert len(by_hand(rows, 0 if finest == 1 else finest // 4)) > units + most
    for (higher, coarse), (lower, fine) in pairwise(found):
        assert higher > lower
        assert 2 * coarse.height <= fine.height


@given(stretches, st.randoms())
def test_order_of_rows_does_not_show(rows: Rows, dice: object) -> None:
    mixed = list(rows)
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = levels(frame(rows)), levels(frame(mixed))
    assert [(threshold, marks.rows()) for threshold, marks in one] == [
        (threshold, marks.rows()) for threshold, marks in other
    ]


def test_two_instants_at_once_stand_in_one_order() -> None:
    rows: Rows = [(0, 0, 5, 5, request) for request in (2, None, 0, 1)]
    (told_once,), (told_again,) = levels(frame(rows)), levels(frame(rows[::-1]))
    assert [row[-1] for row in told_once[1].rows()] == [None, 0, 1, 2]
    assert told_once[1].rows() == told_again[1].rows()


def test_what_only_touches_stays_apart_and_what_overlaps_does_not() -> None:
    rows: Rows = [(0, 0, 0, 10, 1), (0, 0, 10, 20, 1), (0, 0, 19, 25, 1), (0, 1, 0, 99, None)]
    ((threshold, marks),) = levels(frame(rows))
    assert threshold == 0
    assert marks.columns == list(MARK)
    assert marks.rows() == [(0, 0, 0, 10, 10, 1, 1), (0, 1, 0, 99, 99, 1, None), (0, 0, 10, 25, 15, 2, 1)]


def million(pauses: str) -> pl.DataFrame:
    """A million stretches of eight lanes and two kinds, some inside others: at random, in bursts or evenly."""
    dice, count = np.random.default_rng(5), 1_000_000
    starts = {
        "random": dice.integers(0, 10**11, count),
        "bursts": dice.integers(0, 300, count) * 3 * 10**8 + dice.integers(0, 10**7, count),
        "even": np.arange(count) // 16 * 20_000,
    }[pauses]
    place = np.arange(count) % 16
    return pl.DataFrame(
        {"lane": place // 2, "kind": place % 2, "start_ns": starts, "end_ns": starts + dice.integers(0, 15_000, count),
         "request": dice.integers(0, 500, count)},
    ).cast(STRETCH)  # fmt: skip


@pytest.mark.parametrize("pauses", ["random", "bursts", "even"])
def test_a_million_stretches_leave_no_more_marks_than_a_page_can_hold(pauses: str) -> None:
    rows = million(pauses)
    found = levels(rows)
    heights = [marks.height for _, marks in found]
    assert heights[-1] <= FINEST_MARKS
    assert sum(heights) <= ALL_MARKS
    assert heights == sorted(heights)
    assert heights[0] <= COARSE_MARKS
    # Every level holds all, and in the finest one there is enough to see.
    covered = {unit: _covered(part) for unit, part in rows.partition_by("lane", "kind", as_dict=True).items()}
    for _, marks in found:
        sums = marks.group_by("lane", "kind").agg(pl.col("busy_ns", "count").sum())
        assert {(lane, kind): busy for lane, kind, busy, _ in sums.iter_rows()} == covered
        assert sums["count"].sum() == rows.height
        assert (marks["busy_ns"] <= marks["end_ns"] - marks["start_ns"]).all()
    assert heights[-1] > FINEST_MARKS / 8


def _covered(part: pl.DataFrame) -> int:
    """Time covered, by adding up +1 and -1 in order of time."""
    edges = pl.concat([part.select(at="start_ns", step=pl.lit(1)), part.select(at="end_ns", step=pl.lit(-1))])
    depth = edges.group_by("at").agg(pl.col("step").sum()).sort("at").with_columns(pl.col("step").cum_sum())
    lengths = depth.select((pl.col("at").shift(-1) - pl.col("at")).filter(pl.col("step") > 0).sum())
    return int(lengths.item())


def test_nothing_has_no_level() -> None:
    assert levels(frame([])) == []
