import sqlite3
from contextlib import closing

import large_trace
import pytest

from nsysparse.source.export import Export


def rows(path, query):
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    first, again, other = tmp_path / "first.sqlite", tmp_path / "again.sqlite", tmp_path / "other.sqlite"
    large_trace.write(first, 4_000)
    large_trace.write(again, 4_000)
    large_trace.write(other, 4_000, seed=2)
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes() != other.read_bytes()


def test_a_file_of_one_seed_and_size_is_made_once(tmp_path):
    path = large_trace.trace(tmp_path, "2000")
    made = path.stat().st_mtime_ns
    assert large_trace.trace(tmp_path, "2000").stat().st_mtime_ns == made
    large_trace.trace(tmp_path, "2000", seed=2)
    assert path.stat().st_mtime_ns != made
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_large_trace_holds_what_makes_exports_awkward(tmp_path):
    path = tmp_path / "many.sqlite"
    # 40 steps of 4 processes are 76,800 kernels: more than one chunk, so clocks, GPUs and ids go on over its end
    written = large_trace.write(path, 76_800)
    assert written["CUPTI_ACTIVITY_KIND_KERNEL"] == 76_800
    assert written["CUPTI_ACTIVITY_KIND_RUNTIME"] == 2 * 76_800 + written["CUPTI_ACTIVITY_KIND_MEMCPY"]
    assert rows(path, "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59 AND end IS NULL") == [(4,)]
    assert rows(path, "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 75 AND end IS NULL") == [(4,)]
    crossing = "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 60 AND endGlobalTid <> globalTid"
    assert 0 < rows(path, crossing)[0][0] < rows(path, "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 60")[0][0]
    repeated = "SELECT max(n) FROM (SELECT count(*) n FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY correlationId)"
    assert rows(path, repeated) == [(4,)]
    twice = "SELECT max(n) FROM (SELECT count(*) n FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY globalTid, correlationId)"
    assert rows(path, twice) == [(1,)]
    # a GPU's kernels follow each other, over the ends of chunks too
    overlapping = """SELECT count(*) FROM (SELECT start, lag(end) OVER (PARTITION BY deviceId ORDER BY start) before
        FROM CUPTI_ACTIVITY_KIND_KERNEL) WHERE start < before"""
    assert rows(path, overlapping) == [(0,)]


@pytest.mark.parametrize("size", ["0", "-5", "../x", "XXL", ""])
def test_a_size_that_is_none_writes_nothing(tmp_path, size):
    with pytest.raises(ValueError, match="no number of kernels"):
        large_trace.trace(tmp_path / "cache", size)
    assert list(tmp_path.iterdir()) == []


def test_a_large_trace_says_that_it_is_made_up(tmp_path):
    path = tmp_path / "some.sqlite"
    large_trace.write(path, 2_000)
    with Export(path) as export:
        notice = export.read_metadata()["NSYSPARSE_SYNTHETIC"]
    assert notice.startswith("synthetic: invented by")
    assert "2000 kernels" in notice
    assert "seed 1" in notice
