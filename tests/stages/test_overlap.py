"""Time alone attributes only when asked, and only where one range overlaps."""

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

from nsysparse.overlap import _single, by_overlap
from nsysparse.scope_table import ScopeTable


def transfers(*intervals: tuple[int | None, int | None]) -> pl.DataFrame:
    rows = [
        {
            "transfer_id": number, "process": 1, "start_ns": start, "end_ns": end, "call_start_ns": None,
            "call_end_ns": None, "layer_text": None, "layer_provenance": None, "request_text": None,
            "request_provenance": None,
        }
        for number, (start, end) in enumerate(intervals)
    ]  # fmt: skip
    numbers = ("start_ns", "end_ns", "call_start_ns", "call_end_ns", "process")
    return pl.DataFrame(
        rows, schema_overrides=dict.fromkeys(numbers, pl.Int64)
        | {"transfer_id": pl.UInt32}
        | {f"{field}_{part}": pl.String for field in ("layer", "request") for part in ("text", "provenance")},
    )  # fmt: skip


def ranges(*rows: tuple[str, str, int, int, int], style: str = "start_end") -> ScopeTable:
    """Rows of (kind, name, process, start, end)."""
    types = {"kind": pl.String, "name": pl.String, "process": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
    frame = (
        pl.DataFrame(rows, schema=types, orient="row")
        .with_row_index("range_id")
        .with_columns(
            label_id="range_id",
            style=pl.lit(style),
            layer=pl.when(pl.col("kind") == "layer").then("name"),
            request=pl.when(pl.col("kind") == "request").then("name"),
        )
    )
    places = ["range_id", "label_id", "style", "process", "start_ns", "end_ns"]
    return ScopeTable(frame.select(places), frame.select("label_id", "kind", "layer", "request"))


def told(rows: pl.DataFrame, scopes: ScopeTable, anomalies: Counter[str] | None = None) -> pl.DataFrame:
    return by_overlap(rows.with_columns(is_movement=pl.lit(value=True)), scopes, anomalies or Counter())


def said(found: pl.DataFrame) -> list[tuple[str | None, str | None]]:
    return found.select("layer_text", "request_text").rows()


def test_the_only_range_that_overlaps_tells_it() -> None:
    found = told(transfers((15, 30)), ranges(("request", "a", 2, 10, 20), ("layer", "3", 1, 28, 40)))
    assert said(found) == [("3", "a")]
    assert found.select("layer_provenance", "request_provenance").rows() == [("overlap", "overlap")]


@pytest.mark.parametrize(
    "rows",
    [
        [("request", "a", 1, 10, 20), ("request", "b", 1, 18, 40)],
        [("request", "a", 1, 0, 15)],  # over when it began
        [("request", "a", 1, 30, 40)],  # begins when it is over
        [("layer", "3", 2, 10, 40)],  # another process computes
        [],
    ],
)
def test_several_ranges_or_none_tell_nothing(rows: list[tuple[str, str, int, int, int]]) -> None:
    empty = ranges(("request", "x", 9, 900, 901), *rows)
    assert said(told(transfers((15, 30)), empty)) == [(None, None)]


def test_transfers_without_time_and_named_ones_stay() -> None:
    rows = transfers((None, None), (15, 30)).with_columns(
        request_text=pl.when(pl.col("transfer_id") == 1).then(pl.lit("named"))
    )
    assert said(told(rows, ranges(("request", "a", 1, 0, 90)))) == [(None, None), (None, "named")]


def test_one_among_many_is_found_as_by_looking_at_each() -> None:
    for seed in range(200):
        rng = random.Random(seed)  # noqa: S311 (a test's own dice)
        pairs = sorted((start, start + rng.randint(1, 20)) for start in (rng.randint(0, 60) for _ in range(6)))
        begin = rng.randint(0, 70)
        end = begin + rng.randint(1, 15)
        open_ones = [index for index, (first, last) in enumerate(pairs) if first < end and last > begin]
        starts, ends = (np.array([pair[edge] for pair in pairs]) for edge in (0, 1))
        hit, which = _single(starts, ends, np.array([begin]), np.array([end]))
        assert bool(hit[0]) == (len(open_ones) == 1), seed
        assert not hit[0] or [int(which[0])] == open_ones, seed


@pytest.mark.parametrize("style", ["open", "crossed", "mark"])
def test_what_holds_nothing_overlaps_nothing(style: str) -> None:
    scopes = ranges(("request", "a", 2, 10, 20), ("layer", "3", 1, 28, 40), style=style)
    assert said(told(transfers((15, 30)), scopes)) == [(None, None)]


def test_what_time_alone_tells_is_counted() -> None:
    anomalies: Counter[str] = Counter({"x": 1})
    told(transfers((15, 30), (50, 60)), ranges(("request", "a", 2, 10, 20)), anomalies)
    assert anomalies["told-by-time-alone"] == 1
