"""Every column of every table of traces: pages say what SQL says."""

import sqlite3
from pathlib import Path

import pytest
from page_tables import assert_same_together, tables

from nsysparse.pages import Damaged, NotCovered, PageFile

SAMPLES = Path(__file__).parents[2] / "sample_traces"


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*/*.sqlite")), ids=lambda path: path.name)
def test_sample_traces(path):
    roots = tables(path)

    assert sum(assert_same_together(path, table, root) for table, root in roots.items()) > 2 * len(roots)


@pytest.mark.real
@pytest.mark.parametrize("kind", ["lab_traces", "real_traces"])
def test_captures(kind, shared_traces):
    for path in shared_traces(kind):
        try:
            roots = tables(path)
        except sqlite3.DatabaseError:  # no trace at all, or a part of one
            with pytest.raises((Damaged, NotCovered)):
                PageFile(path)
            continue
        for table, root in roots.items():
            assert_same_together(path, table, root)
