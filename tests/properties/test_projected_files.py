"""The lean projection of any file equals the one on whole frames: repeated ids, lost launches, nulls and nonsense."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import whole_projection
from hypothesis import given, settings
from hypothesis import strategies as st

from nsysparse.api import Options, export_frame
from nsysparse.frames import NvtxRanges
from nsysparse.pages import table
from nsysparse.projection import launching, project
from nsysparse.source import pair_index
from nsysparse.source.access import SQL
from nsysparse.source.export import Export
from nsysparse.source.extract import read_trace
from nsysparse.source.launched import read_launched

TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, endGlobalTid, text, textId, domainId);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, correlationId, globalPid);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, correlationId, globalPid, bytes, copyKind);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, correlationId, globalPid);
CREATE TABLE ANALYSIS_DETAILS (duration);
"""
PROCESSES = [3 << 24, (1 << 56) | (5 << 24), -(7 << 24)]
FAR = [10**9, -5, 2**40, 2**63 - 1, -(2**63)]
ODD_TIMES = [-(2**62), 2**62, 2**63 - 1]


class Dice:
    """Random rows; each kind of oddity comes in about one of ten."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def below(self, stop: int) -> int:
        return int(self.rng.integers(stop))

    def seldom(self) -> bool:
        return self.below(10) == 0

    def one_of(self, values: list[int]) -> int:
        return values[self.below(len(values))]

    def interval(self) -> tuple[int | None, int | None]:
        start = self.below(100)
        end: int | None = start + self.below(40)
        if self.seldom():
            end = self.one_of([start - 1, *ODD_TIMES])
        return start, None if self.seldom() else end

    def thread(self) -> int | None:
        return None if self.seldom() else self.one_of(PROCESSES) + 1 + self.below(2)

    def ids(self) -> tuple[int | None, int | None]:
        """A correlation id and a process."""
        ident = self.one_of(FAR) if self.seldom() else self.below(25)
        return None if self.seldom() else ident, None if self.seldom() else self.one_of(PROCESSES)


def write(path: Path, seed: int) -> Path:
    dice = Dice(seed)
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA page_size = 512")
        file.executescript(TABLES)

        def put(table: str, rows: list[tuple[int | str | None, ...]]) -> None:
            if rows:
                file.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

        kinds = [59, 59, 60, 60, 34]
        put("NVTX_EVENTS", [
            (*dice.interval(), dice.one_of(kinds), dice.thread(), dice.thread() if dice.below(2) else None,
             "abc"[dice.below(3)], None, dice.below(2))
            for _ in range(dice.below(60))
        ])  # fmt: skip
        put("CUPTI_ACTIVITY_KIND_RUNTIME", [
            (*dice.interval(), dice.thread(), dice.ids()[0]) for _ in range(dice.below(160))
        ])  # fmt: skip
        for kind, more in (("KERNEL", ()), ("MEMCPY", (8, 1)), ("MEMSET", ())):
            put(f"CUPTI_ACTIVITY_KIND_{kind}", [
                (*dice.interval(), None if dice.seldom() else 0, *dice.ids(), *more) for _ in range(dice.below(80))
            ])  # fmt: skip
        if dice.below(2):
            put("ANALYSIS_DETAILS", [(dice.one_of([50, 120, 200]),)])
        file.commit()
    return path


@pytest.mark.parametrize(("reach", "examples"), [(4, 40), (0, 20)])
def test_any_file_projects_as_by_joins(
    reach: int, examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tables of ids as they are, and with such as hold next to none, so that nearly all are searched for."""
    monkeypatch.setattr(pair_index, "_REACH", reach)
    monkeypatch.setattr(table, "_AT_ONCE", 1)  # every page is a batch, decoded on whichever thread is free
    worked = 0

    @settings(max_examples=examples)
    @given(st.integers(0, 2**63 - 1))
    def check(seed: int) -> None:
        nonlocal worked
        path = tmp_path / "t.sqlite"
        path.unlink(missing_ok=True)
        write(path, seed)
        trace = read_trace(path, "t", all_gpu_work=True)
        want = whole_projection.project("t", trace.ranges, trace.labels, trace.gpu_ops)
        got = export_frame([path], "nvtx_ranges")
        assert got.schema == want.schema
        assert got.equals(pl.DataFrame(want))
        assert export_frame([path], "nvtx_ranges", Options(purpose="all", reader=SQL)).equals(got)
        NvtxRanges.validate(got)
        assert pl.concat(project("t", trace.ranges, trace.labels, launching(trace.gpu_ops))).equals(got)
        with Export(path) as export:
            launched = read_launched(export)
        lanes = [launched.lane(place) for place in range(len(launched.threads))]
        found = sum(int(lane.ops.sum()) for lane in lanes)
        assert found == trace.gpu_ops["launch_thread"].count()
        worked += found

    check()
    assert worked > 0
