"""Ranges, GPU work and launches as typed frames, whatever the exporter's version, row order and gaps."""

import sqlite3
from pathlib import Path

import polars as pl
import pytest

from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import VERSIONS, TraceBuilder


def read(builder: TraceBuilder, folder: Path, *, everything: bool = True) -> Trace:
    return read_trace(builder.write(folder / "t.sqlite"), "t", all_gpu_work=everything)


def named(trace: Trace) -> pl.DataFrame:
    return trace.ranges.join(trace.labels, on="label_id", how="left", maintain_order="left")


@pytest.mark.parametrize("schema", VERSIONS)
def test_every_schema_gives_the_same_frames(schema: str, tmp_path: Path) -> None:
    builder = TraceBuilder(schema=schema, gpus={0: "NVIDIA A100"})
    process = builder.process(pid=5)
    thread = process.thread(tid=6)
    thread.push_pop("registered", 10, 90, registered=True)
    thread.push_pop("plain", 20, 80)
    call = thread.launch(30, 40)
    process.kernel("k(int)", 50, 60, launch=call)
    process.copy("DtoH", 4096, 61, 70, launch=thread.launch(41, 42))
    trace = read(builder, tmp_path)
    assert named(trace).select("name", "start_ns", "end_ns").rows() == [("registered", 10, 90), ("plain", 20, 80)]
    rows = trace.gpu_ops.select("kind", "name", "start_ns", "end_ns", "launch_start_ns", "bytes").rows()
    assert rows == [("kernel", "k(int)", 50, 60, 30, None), ("memcpy", "memcpy DtoH", 61, 70, 41, 4096)]
    assert trace.schema_version == (None if schema == "2021" else trace.schema_version)
    assert trace.gpus[0].name == "NVIDIA A100"
    assert trace.synthetic


def test_row_order_never_shows(tmp_path: Path) -> None:
    def built(seed: int | None) -> Trace:
        builder = TraceBuilder(schema="3.27", gpus={0: "x"})
        process = builder.process(pid=5)
        thread = process.thread(tid=6)
        for step in range(30):
            thread.push_pop(f"step {step % 3}", step * 100, step * 100 + 90)
            process.kernel("k", step * 100 + 20, step * 100 + 30, launch=thread.launch(step * 100 + 1, step * 100 + 5))
        if seed is not None:
            builder.shuffle(seed)
        return read(builder, tmp_path)

    plain = built(None)
    for seed in (1, 2):
        shuffled = built(seed)
        assert named(shuffled).drop("label_id").equals(named(plain).drop("label_id"))
        assert shuffled.gpu_ops.equals(plain.gpu_ops)


def test_open_ranges_end_with_the_recording_and_say_so(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=5000)
    thread = builder.process(pid=5).thread(tid=6)
    thread.push_pop("null end", 10, 20, end_null=True)
    thread.push_pop("closed by nsys", 30, None)
    thread.start_end("never ended", 40, None)
    thread.push_pop("ended", 50, 60)
    trace = read(builder, tmp_path)
    got = {row["name"]: (row["end_ns"], row["is_open"]) for row in named(trace).iter_rows(named=True)}
    assert got == {
        "null end": (5000, True),
        "closed by nsys": (5000, True),
        "never ended": (5000, True),
        "ended": (60, False),
    }
    assert trace.anomalies["ranges-never-closed"] == 3


def test_correlation_ids_of_two_processes_do_not_cross(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, start in ((1, 100), (2, 500)):
        process = builder.process(pid=pid)
        call = process.thread(tid=pid).launch(start, start + 10, correlation=77)
        process.kernel("k", start + 50, start + 60, device=pid - 1, launch=call)
    ops = read(builder, tmp_path).gpu_ops
    assert ops.select("device_id", "launch_start_ns").rows() == [(0, 100), (1, 500)]


def test_a_repeated_launch_is_resolved_by_time_and_counted(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    for start in (10, 200, 900):
        thread.launch(start, start + 5, correlation=3)
    process.kernel("after two", 300, 310, correlation=3)
    process.kernel("before all", 5, 8, correlation=3)
    trace = read(builder, tmp_path)
    assert dict(trace.gpu_ops.select("name", "launch_start_ns").iter_rows()) == {"after two": 200, "before all": 10}
    assert trace.anomalies["launches-repeated"] == 2


def test_a_kernel_may_start_before_its_launch(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    process.kernel("k", 50, 60, launch=process.thread(tid=1).launch(100, 110))
    assert read(builder, tmp_path).gpu_ops["launch_start_ns"].to_list() == [100]


def test_a_kernel_without_launch_stays(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    builder.process(pid=1).kernel("k", 50, 60)
    trace = read(builder, tmp_path)
    assert trace.gpu_ops["launch_start_ns"].to_list() == [None]
    assert trace.anomalies["gpu-work-without-launch"] == 1
    assert trace.capabilities["cuda_calls"].status == "absent"


def test_domains_are_named_per_process(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.7", gpus={0: "x"})
    one, two = builder.process(pid=1, domains={"NCCL": 2}), builder.process(pid=2, domains={"NCCL": 3, "mine": 2})
    one.thread(tid=1).nccl("ncclGroupStart", 10, 20)
    two.thread(tid=2).nccl("ncclGroupEnd", 10, 20)
    two.thread(tid=2).push_pop("own", 30, 40, domain="mine")
    assert named(read(builder, tmp_path)).select("domain", "name").rows() == [
        ("NCCL", "ncclGroupStart"),
        ("NCCL", "ncclGroupEnd"),
        ("mine", "own"),
    ]


def test_impossible_times_are_left_out_and_counted(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    thread.push_pop("good", 10, 20)
    thread.push_pop("backwards", 50, 60)
    process.kernel("good", 10, 20, correlation=1)
    process.kernel("far", 30, 40, correlation=2)
    path = builder.write(tmp_path / "t.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE NVTX_EVENTS SET end = 5 WHERE start = 50")
    connection.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807 WHERE start = 30")
    connection.commit()
    connection.close()
    trace = read_trace(path, "t", all_gpu_work=True)
    assert named(trace)["name"].to_list() == ["good"]
    assert trace.gpu_ops["name"].to_list() == ["good"]
    assert trace.anomalies["ranges-with-impossible-times"] == trace.anomalies["gpu-work-with-impossible-times"] == 1


def test_only_nccl_kernels_are_read_when_that_is_enough(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    process.kernel("gemm", 50, 60, launch=thread.launch(10, 11))
    process.kernel("ncclDevKernel_SendRecv(args)", 70, 80, launch=thread.launch(12, 13))
    trace = read(builder, tmp_path, everything=False)
    assert trace.gpu_ops.select("name", "launch_start_ns").rows() == [("ncclDevKernel_SendRecv(args)", 12)]


def test_graph_launches_hide_what_is_inside(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    process.graph(10, 90, launch=process.thread(tid=1).launch(1, 2))
    trace = read(builder, tmp_path)
    assert trace.gpu_ops.select("kind", "graph").rows() == [("graph", True)]
    assert trace.capabilities["graph_nodes"].status == "absent"
    assert "--cuda-graph-trace=node" in trace.capabilities["graph_nodes"].fix


def test_payloads_that_name_no_communicator_say_which_nccl_does(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    builder.process(pid=1).thread(tid=1).nccl("ncclSend", 10, 20, nbytes=8, peer=1)
    capabilities = read(builder, tmp_path).capabilities
    assert capabilities["nccl_sizes"].status == "present"
    assert capabilities["nccl_communicators"].status == "absent"
    assert "2.25" in capabilities["nccl_communicators"].reason


def test_hardware_ids_above_127_are_negative_and_still_join(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=123, hardware_id=200)
    thread = process.thread(tid=45)
    thread.push_pop("r", 1, 9)
    process.kernel("k", 50, 60, launch=thread.launch(3, 4))
    trace = read(builder, tmp_path)
    assert trace.ranges["process"][0] < 0
    assert trace.gpu_ops["launch_start_ns"].to_list() == [3]
    from nsysparse.frames import pid, tid

    ids = trace.ranges.select(pid(pl.col("process")).alias("pid"), tid(pl.col("thread")).alias("tid"))
    assert ids.rows() == [(123, 45)]
