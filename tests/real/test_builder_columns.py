"""The builder's column lists against files that real exporters wrote."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nsysparse.testing.documented import DOCUMENTED
from nsysparse.testing.schemas import Column, tables

pytestmark = pytest.mark.real

GRAPHS = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUDA_GRAPH_EVENTS"}

# Which real file shows which tables of a schema. The export of 3.25 that has NCCL ranges comes from a container without
# a GPU table, and none of the two newest has whole-graph rows; the nearest other file stands in.
SOURCES = {
    "2021": {
        "real_traces/mordred_report1.sqlite": None,
        "real_traces/pipit_saxpy-mpi-cuda_nsys_perlmutter0.sqlite": {"NVTX_EVENTS"},
    },
    "3.0": {"lab_traces/hybrid-nsys22-nccl2.23.4-simple.sqlite": None},
    "3.7": {"lab_traces/hybrid-nsys23-nccl2.26.2-simple.sqlite": None},
    "3.25": {
        "real_traces/nsys-ai_mfu_2gpu_before.sqlite": None,
        "real_traces/jacc_cg_trace.sqlite": {"TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"},
        "real_traces/test-cuda_report1.sqlite": {"TARGET_INFO_CUDA_DEVICE"},
        "real_traces/cs336-zx3xyy_result_2_7B_compile_ro.sqlite": GRAPHS,
    },
    "3.27": {
        "real_traces/cs336-lizhieffe_ddp53_profile.sqlite": None,
        "real_traces/flameox_nsight-2025.5.2.sqlite": GRAPHS,
    },
}

# Taken from NVIDIA's schema reference: none of our files of these schemas was recorded with --cuda-graph-trace=node.
UNSEEN = {"CUDA_GRAPH_NODE_EVENTS"}


def _columns(path: Path, wanted: set[str]) -> Iterator[tuple[str, tuple[Column, ...]]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        for table in wanted:
            rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
            if rows:
                yield (
                    table,
                    tuple(Column(name, kind, bool(filled), bool(key)) for _, name, kind, filled, _, key in rows),
                )


@pytest.mark.parametrize("schema", SOURCES)
def test_column_lists_are_those_of_real_exports(schema: str, shared: Callable[[str], Path]):
    unseen = {*UNSEEN, *DOCUMENTED}
    ours = {table: columns for table, columns in tables(schema).items() if table not in unseen}
    theirs: dict[str, tuple[Column, ...]] = {}
    for path, only in SOURCES[schema].items():
        for table, columns in _columns(shared(path), set(ours) if only is None else only):
            theirs.setdefault(table, columns)
    assert theirs == ours
