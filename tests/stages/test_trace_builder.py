"""The trace builder: what it writes is shaped as exporters shape it."""

import sqlite3
import struct
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.testing import SYNTHETIC, VERSIONS, TraceBuilder
from nsysparse.testing.ids import global_id, signed
from nsysparse.testing.schemas import tables

PAYLOAD_SCHEMAS = ("3.25", "3.27")
COMMUNICATOR = 13_429_301_450_432_826_988  # above 2^63
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"


def query(path: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def table_names(path: Path) -> set[str]:
    return {name for (name,) in query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def small_trace(schema: str, **options) -> TraceBuilder:
    """Two processes that use everything the builder can write in every schema."""
    trace = TraceBuilder(schema, {0: "NVIDIA H100 80GB HBM3", 1: "NVIDIA H100 80GB HBM3"}, **options)
    prefill, decode = trace.process(111), trace.process(222, domains={"NCCL": 3})
    for rank, process in enumerate((prefill, decode)):
        main, helper = process.thread(), process.thread(process.pid + 5, "kv")
        main.push_pop("model.layers.0", 1_000, 9_000)
        main.push_pop("forward", 900, 9_500, domain="serving", registered=True)
        main.start_end("kv_request request=r1", 500, 9_900, end_thread=helper)
        main.mark("kv_role role=prefill", 400)
        main.nccl("ncclCommInitRank", 100, 300, communicator=COMMUNICATOR, nranks=2, rank=rank, device=rank)
        helper.nccl("ncclSend", 2_000, 3_000, communicator=COMMUNICATOR, nbytes=8_192, peer=1 - rank)
        process.kernel(SEND_RECV, 3_500, 4_000, device=rank, stream=20, launch=helper.launch(2_100, 2_200))
        process.copy(
            "PtoP", 64, 5_000, 5_100, device=rank, launch=main.launch(4_100, 4_200), src_device=0, dst_device=1
        )
        process.memset(64, 6_000, 6_010, device=rank)
    return trace


@pytest.mark.parametrize("schema", VERSIONS)
def test_without_lazy_every_table_has_the_exact_columns(schema, tmp_path):
    path = small_trace(schema, lazy=False).write(tmp_path / "trace.sqlite")
    for table, columns in tables(schema).items():
        found = query(path, f"PRAGMA table_info({table})")
        assert [(name, kind, bool(filled), bool(key)) for _, name, kind, filled, _, key in found] == list(columns), (
            table
        )
    assert table_names(path) - set(tables(schema)) == ({SYNTHETIC} if schema == "2021" else set())


@pytest.mark.parametrize("schema", VERSIONS)
def test_lazy_leaves_out_tables_without_rows_and_omit_takes_out_more(schema, tmp_path):
    trace = small_trace(schema)
    trace.omit("CUPTI_ACTIVITY_KIND_MEMSET")
    trace.omit("CUPTI_ACTIVITY_KIND_KERNEL", "gridX", "sharedMemoryExecuted")
    path = trace.write(tmp_path / "trace.sqlite")
    names = table_names(path)
    assert "CUPTI_ACTIVITY_KIND_MEMSET" not in names
    assert "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" not in names
    assert all(query(path, f"SELECT count(*) FROM {name}") != [(0,)] for name in names)
    columns = [row[1] for row in query(path, "PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")]
    kept = [column.name for column in tables(schema)["CUPTI_ACTIVITY_KIND_KERNEL"]]
    assert columns == [name for name in kept if name not in {"gridX", "sharedMemoryExecuted"}]


def test_omitting_the_metadata_moves_the_label_to_a_table_of_its_own(tmp_path):
    trace = small_trace("3.25", notice="made up")
    path = trace.write(tmp_path / "with.sqlite")
    assert query(path, f"SELECT value FROM META_DATA_EXPORT WHERE name = '{SYNTHETIC}'") == [("made up",)]
    trace.omit("META_DATA_EXPORT")
    path = trace.write(tmp_path / "without.sqlite")
    assert query(path, f"SELECT name, value FROM {SYNTHETIC}") == [(SYNTHETIC, "made up")]


@given(
    hardware=st.integers(0, 255), vm=st.integers(0, 255), pid=st.integers(0, 2**24 - 1), tid=st.integers(0, 2**24 - 1)
)
def test_ids_are_packed_into_a_signed_number(hardware, vm, pid, tid):
    packed = global_id(hardware, vm, pid, tid)
    assert struct.pack(">q", packed) == bytes([hardware, vm]) + pid.to_bytes(3, "big") + tid.to_bytes(3, "big")


@pytest.mark.parametrize("value", [-1, 2**64])
def test_numbers_beyond_64_bits_are_refused(value):
    with pytest.raises(ValueError, match="64 unsigned bits"):
        signed(value)
    with pytest.raises(ValueError, match="pid 16777216 does not fit 24 bits"):
        global_id(0, 1, 2**24)


def test_rows_of_a_process_share_its_identity_and_correlation_ids_repeat_across_processes(tmp_path):
    path = small_trace("3.25").write(tmp_path / "trace.sqlite")
    assert query(path, "SELECT globalPid, pid FROM PROCESSES ORDER BY pid") == [
        (1 << 48 | 111 << 24, 111),
        (1 << 48 | 222 << 24, 222),
    ]
    joined = """SELECT count(*), count(DISTINCT kernel.globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL AS kernel
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS call ON call.correlationId = kernel.correlationId"""
    assert query(path, joined) == [(4, 2)]  # cross-wired: two kernels, four matches
    assert query(path, f"{joined} AND call.globalTid & ~16777215 = kernel.globalPid") == [(2, 2)]


@pytest.mark.parametrize("schema", VERSIONS)
def test_domains_are_named_once_a_process_and_ids_may_differ(schema, tmp_path):
    trace = small_trace(schema)
    rows = "SELECT globalTid >> 24 & 16777215, domainId, text FROM NVTX_EVENTS WHERE eventType = 75 ORDER BY 1, 2"
    expected = [(111, 1, "serving"), (111, 2, "NCCL"), (222, 1, "serving"), (222, 3, "NCCL")]
    assert query(trace.write(tmp_path / "a.sqlite"), rows) == expected
    trace.omit_nccl_domain_row()
    assert query(trace.write(tmp_path / "b.sqlite"), rows) == [row for row in expected if row[2] != "NCCL"]


def test_names_stand_in_the_text_or_among_the_strings(tmp_path):
    trace = TraceBuilder()
    thread = trace.process(7).thread()
    thread.push_pop("plain", 1, 2)
    thread.push_pop("known", 3, 4, registered=True)
    thread.push_pop("", 5, 6)
    path = trace.write(tmp_path / "trace.sqlite")
    sql = "SELECT text, value FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId ORDER BY start"
    assert query(path, sql) == [("plain", None), (None, "known"), (None, None)]


def test_open_ranges_end_with_the_capture_and_only_another_thread_is_named(tmp_path):
    trace = TraceBuilder(duration=1_000)
    process = trace.process(7)
    first, second = process.thread(), process.thread(8)
    first.start_end("a", 1, None)
    first.start_end("b", 2, 20)
    first.start_end("c", 3, 30, end_thread=second)
    first.push_pop("d", 4, None)
    first.push_pop("e", 5, 50, end_null=True)
    sql = "SELECT end, rangeId, endGlobalTid FROM NVTX_EVENTS ORDER BY start"
    path = trace.write(tmp_path / "trace.sqlite")
    ends = [(1_000, 1, None), (20, 2, None), (30, 3, second.global_tid), (1_000, None, None), (None, None, None)]
    assert query(path, sql) == ends
    assert query(path, "SELECT duration, stopTime - startTime FROM ANALYSIS_DETAILS") == [(1_000, 1_000)]


@pytest.mark.parametrize("schema", VERSIONS)
def test_payloads_as_json(schema, tmp_path):
    trace = TraceBuilder(schema)
    thread = trace.process(7).thread()
    thread.nccl("ncclSend", 1, 2, communicator=123, nbytes=8_192, peer=1)
    thread.nccl("ncclRecv", 3, 4, nbytes=8_192, peer=-1, payload="json-id")
    thread.nccl("ncclCommInitRank", 5, 6, communicator=COMMUNICATOR, nranks=2, rank=0, device=0)
    thread.nccl("ncclAllReduce", 7, 8, communicator=COMMUNICATOR, nbytes=4)
    thread.nccl("ncclGroupEnd", 9, 10)
    thread.nccl("ncclSend", 11, 12, nbytes=1, peer=1, payload=None)
    sql = """SELECT jsonText, value FROM NVTX_EVENTS LEFT JOIN StringIds ON id = jsonTextId
        WHERE eventType = 59 ORDER BY start"""
    assert query(trace.write(tmp_path / "trace.sqlite"), sql) == [
        ('{"NCCL communicator ID":123,"Message size [bytes]":8192,"Peer rank":1}', None),
        (None, '{"Bytes":8192,"Peer rank":-1}'),
        ('{"NCCL communicator ID":13429301450432826988,"No. of ranks":2,"Rank":0,"CUDA device":0}', None),
        (
            '{"NCCL communicator ID":13429301450432826988,"Message size [bytes]":4,"Reduction operation":"Sum"}',
            None,
        ),
        (None, None),
        (None, None),
    ]


@pytest.mark.parametrize("schema", PAYLOAD_SCHEMAS)
def test_payloads_as_blobs_with_their_layouts(schema, tmp_path):
    trace = TraceBuilder(schema)
    for process in (trace.process(7), trace.process(8, domains={"NCCL": 4})):
        thread = process.thread()
        thread.nccl("ncclSend", 1, 2, communicator=COMMUNICATOR, nbytes=2**40, peer=1, payload="blob")
        thread.nccl("ncclRecv", 3, 4, nbytes=4_096, peer=-1, payload="blob")
        thread.nccl("ncclCommInitRank", 5, 6, communicator=7, nranks=4, rank=2, device=3, payload="blob")
    path = trace.write(tmp_path / "trace.sqlite")
    blobs = [
        blob
        for (blob,) in query(path, "SELECT binaryData FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start, domainId")
    ]
    send, _, recv, _, init, other = blobs
    assert struct.unpack("<4Q QQi4x", send) == (1, 2**24 + 9, 24, 32, COMMUNICATOR, 2**40, 1)
    assert struct.unpack("<4Q Qi4x", recv) == (1, 2**24 + 10, 16, 32, 4_096, -1)
    assert struct.unpack("<4Q Qiii4x", init) == (1, 2**24 + 2, 24, 32, 7, 4, 2, 3)
    assert struct.unpack_from("<Q", other) == (4,)

    layouts = query(path, "SELECT schemaId, type, numEntries, payloadSize FROM NVTX_PAYLOAD_SCHEMAS WHERE domainId = 4")
    assert layouts == [(2**24 + 9, 1, 3, 24), (2**24 + 10, 1, 2, 16), (2**24 + 2, 1, 4, 24)]
    assert query(path, "SELECT count(*) FROM NVTX_PAYLOAD_SCHEMAS") == [(2 * len(layouts),)]
    entries = (
        f"SELECT idx, type, name, offset FROM NVTX_PAYLOAD_SCHEMA_ENTRIES WHERE domainId = 4 AND schemaId = {2**24 + 9}"
    )
    assert query(path, entries) == [
        (0, 18, "NCCL communicator ID", None),
        (1, 22, "Message size [bytes]", 8),
        (2, 5, "Peer rank", 16),
    ]
    options = "SELECT value FROM META_DATA_EXPORT WHERE name LIKE 'EXPORT_PARAM_INCLUDE_%' ORDER BY name"
    assert query(path, options) == [("true",), ("false",)]


def test_a_dropped_payload_leaves_its_layout_but_no_value(tmp_path):
    trace = TraceBuilder()
    trace.process(7).thread().nccl("ncclSend", 1, 2, communicator=7, nbytes=1, peer=1, payload="dropped")
    path = trace.write(tmp_path / "trace.sqlite")
    assert query(path, "SELECT count(binaryData), count(jsonText) FROM NVTX_EVENTS") == [(0, 0)]
    assert query(path, "SELECT schemaId FROM NVTX_PAYLOAD_SCHEMAS") == [(2**24 + 9,)]


@pytest.mark.parametrize("schema", ["2021", "3.0", "3.7"])
def test_what_a_schema_does_not_have_is_refused(schema):
    trace = TraceBuilder(schema)
    process = trace.process(7)
    with pytest.raises(ValueError, match=f"schema {schema} has no NVTX payload tables"):
        process.thread().nccl("ncclSend", 1, 2, communicator=7, nbytes=1, peer=1, payload="blob")
    with pytest.raises(ValueError, match=f"schema {schema} has no table CUPTI_ACTIVITY_KIND_GRAPH_TRACE"):
        process.graph(1, 2)
    with pytest.raises(ValueError, match=f"KERNEL of schema {schema} has no column clusterX"):
        process.kernel("k", 1, 2, clusterX=1)


def test_mistakes_in_a_plan_are_refused():
    with pytest.raises(ValueError, match=r"'3\.99' is not one of 2021"):
        TraceBuilder("3.99")
    trace = TraceBuilder()
    first, second = trace.process(1), trace.process(2)
    with pytest.raises(ValueError, match="belongs to another process"):
        second.kernel("k", 1, 2, launch=first.thread().launch(0, 1))
    with pytest.raises(ValueError, match="needs all of: NCCL communicator ID, Message size"):
        first.thread().nccl("ncclSend", 1, 2, communicator=7, peer=1)
    with pytest.raises(ValueError, match="ncclGroupEnd carries no payload"):
        first.thread().nccl("ncclGroupEnd", 1, 2, peer=1)


@pytest.mark.parametrize("schema", VERSIONS)
def test_the_same_calls_give_the_same_bytes_and_shuffle_changes_only_the_order(schema, tmp_path):
    paths = [small_trace(schema).write(tmp_path / f"{name}.sqlite") for name in "ab"]
    trace = small_trace(schema)
    trace.shuffle(7)
    paths += [trace.write(tmp_path / f"{name}.sqlite") for name in "cd"]
    straight, again, mixed, mixed_again = (path.read_bytes() for path in paths)
    assert straight == again
    assert mixed == mixed_again
    assert straight != mixed
    for table in table_names(paths[0]):
        before, after = (query(path, f"SELECT * FROM {table} ORDER BY rowid") for path in (paths[0], paths[2]))
        assert Counter(before) == Counter(after)
    nvtx = "SELECT * FROM NVTX_EVENTS ORDER BY rowid"
    assert query(paths[0], nvtx) != query(paths[2], nvtx)


def test_whole_graphs_copies_and_gpus(tmp_path):
    trace = small_trace("3.25")
    process = trace.processes[0]
    process.graph(7_000, 8_000, device=0, correlation=77, graphId=9)
    process.copy("HtoD", 10, 1, 2)
    process.kernel("void ns::add<float>(float*)", 8_100, 8_200, gridX=64)
    trace.sql("UPDATE TARGET_INFO_GPU SET name = ? WHERE id = 1", ("Other",))
    path = trace.write(tmp_path / "trace.sqlite")
    assert query(path, "SELECT correlationId, graphId, graphExecId FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE") == [
        (77, 9, 2)
    ]
    copies = "SELECT copyKind, srcKind, dstKind, srcDeviceId, dstDeviceId, copyCount FROM CUPTI_ACTIVITY_KIND_MEMCPY"
    assert set(query(path, copies)) == {(10, 2, 2, 0, 1, 1), (1, 1, 2, None, None, 1)}
    names = """SELECT value, gridX, tensorSizeMinusOneElements FROM CUPTI_ACTIVITY_KIND_KERNEL
        JOIN StringIds ON id = shortName"""
    assert set(query(path, names)) == {("ncclDevKernel_SendRecv", 8, "[]"), ("add", 64, "[]")}
    assert query(path, "SELECT id, name FROM TARGET_INFO_GPU") == [(0, "NVIDIA H100 80GB HBM3"), (1, "Other")]
    devices = query(path, "SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE ORDER BY pid, cudaId")
    assert devices == [(111, 0, 0), (111, 1, 1), (222, 0, 0), (222, 1, 1)]


def test_any_row_and_any_metadata_can_be_added(tmp_path):
    trace = small_trace("3.7", lazy=False)
    trace.row("META_DATA_CAPTURE", name="DEVICE_TYPE", value="Unix")
    trace.meta("EXPORT_PARAM_TIMES_TO_EXPORT", "1s-2s")
    path = trace.write(tmp_path / "trace.sqlite")
    assert ("DEVICE_TYPE", "Unix") in query(path, "SELECT name, value FROM META_DATA_CAPTURE")
    records = dict(query(path, "SELECT name, value FROM META_DATA_EXPORT"))
    assert records["EXPORT_PARAM_TIMES_TO_EXPORT"] == "1s-2s"
    assert (records["EXPORT_SCHEMA_VERSION"], records["EXPORT_PRODUCT_VERSION"]) == ("3.7.2", "2023.4.4.54")
    assert "EXPORT_PARAM_INCLUDE_JSON" not in records


@pytest.mark.parametrize("schema", ["3.0", "3.27"])
def test_the_hosts_clocks_at_the_start_can_be_told(tmp_path, schema):
    utc = 1_790_000_000_123_456_789
    path = small_trace(schema, utc_epoch_ns=utc, system_clock_ns=77_000).write(tmp_path / "trace.sqlite")
    assert query(path, "SELECT utcEpochNs, utcTime FROM TARGET_INFO_SESSION_START_TIME") == [
        (utc, "2026-09-21T14:13:20")
    ]
    assert query(path, "SELECT startTime, stopTime - duration FROM ANALYSIS_DETAILS") == [(77_000, 77_000)]
    if schema == "3.27":
        assert query(path, "SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME") == [(77_000,)]


def test_a_capture_without_utc_has_no_such_row(tmp_path):
    path = small_trace("3.27", utc_epoch_ns=None).write(tmp_path / "trace.sqlite")
    assert "TARGET_INFO_SESSION_START_TIME" not in table_names(path)
