"""Copies between devices, and those of which only a range says that they cross."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import export_frame
from nsysparse.scopes import find_scopes, wants_local_copies
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import Process, Thread, TraceBuilder
from nsysparse.transports.memcpy import find

ENDS = ("src_end", "dst_end", "is_self")


class Scene:
    """A decode process on GPU 1, which it calls 0; ordinal 1 is its peer's GPU 0."""

    def __init__(self, schema: str = "3.25", devices: dict[int, int] | None = None) -> None:
        self.builder = TraceBuilder(schema=schema, gpus={0: "x", 1: "x"}, duration=100_000)
        self.process: Process = self.builder.process(pid=1, devices={0: 1, 1: 0} if devices is None else devices)
        self.thread: Thread = self.process.thread(tid=1)

    def copy(self, kind: str, nbytes: int, at: int, **more: int | None) -> None:
        """Launched at `at`, runs from `at + 10` for a nanosecond per byte."""
        launch = self.thread.launch(at, at + 2, name="cudaMemcpyAsync")
        self.process.copy(kind, nbytes, at + 10, at + 10 + nbytes, launch=launch, **more)

    def trace(self, folder: Path) -> Trace:
        path = self.builder.write(folder / "t.sqlite")
        return read_trace(path, "t", all_gpu_work=False, local_copies=wants_local_copies)

    def found(self, folder: Path) -> pl.DataFrame:
        trace = self.trace(folder)
        return find(trace, find_scopes(trace))


def test_a_peer_copy_is_a_transfer_between_the_gpus_behind_its_ordinals(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("PtoP", 400, 100, src_device=1, dst_device=0, stream=9)
    found = scene.found(tmp_path)
    assert found.select(*ENDS).rows() == [("t:gpu0", "t:gpu1", False)]
    assert found.select("transport", "side", "interval_kind", "bytes", "bytes_source").rows() == [
        ("memcpy", "copy", "gpu", 400, "memcpy")
    ]
    times = found.select("start_ns", "end_ns", "time_ns", "call_start_ns", "call_end_ns", "copy_count", "kernel_count")
    assert times.rows() == [(110, 510, 400, 100, 102, 1, 0)]
    assert found.select("device_id", "gpu_id", "stream_id", "thread").rows() == [(0, 1, 9, scene.thread.global_tid)]
    assert found.select("purpose", "scope_id", "staging_bytes", "kernel_ops").rows() == [(None, None, 0, None)]


def test_the_same_ordinal_is_another_gpu_in_another_process(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "x", 2: "x"})
    for pid, devices in ((1, {0: 0, 1: 1}), (2, {0: 2, 1: 0})):
        process = builder.process(pid=pid, devices=devices)
        launch = process.thread(tid=pid).launch(100, 102)
        process.copy("PtoP", 8, 110, 120, launch=launch, src_device=0, dst_device=1)
    trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    assert find(trace, find_scopes(trace)).select(*ENDS).rows() == [
        ("t:gpu0", "t:gpu1", False),
        ("t:gpu2", "t:gpu0", False),
    ]


def test_unmapped_ordinals_name_the_process_where_several_use_them(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.7", gpus={0: "x", 1: "x"})  # a schema without a table of ordinals
    for pid, far in ((1, 1), (2, 3)):
        process = builder.process(pid=pid)
        launch = process.thread(tid=pid).launch(100, 102)
        process.copy("PtoP", 8, 110, 120, launch=launch, src_device=0, dst_device=far)
    trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    assert find(trace, find_scopes(trace)).select(*ENDS).rows() == [
        ("t:gpu0/pid1", "t:gpu1", False),
        ("t:gpu0/pid2", "t:gpu3", False),
    ]


def test_an_end_that_was_not_recorded_stays_unknown(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("PtoP", 8, 100, dst_device=0)
    scene.copy("PtoP", 8, 200, src_device=0)
    scene.copy("PtoP", 8, 300, src_device=2**32 - 1, dst_device=0)  # "no device", in 32 bits
    assert scene.found(tmp_path).select(*ENDS).rows() == [
        (None, "t:gpu1", None),
        ("t:gpu1", None, None),
        (None, "t:gpu1", None),
    ]


def test_a_peer_copy_within_one_device_is_a_self_copy(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("PtoP", 8, 100, src_device=0, dst_device=0)
    assert scene.found(tmp_path).select(*ENDS).rows() == [("t:gpu1", "t:gpu1", True)]


def test_a_copy_whose_devices_differ_counts_whatever_its_kind(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("DtoD", 8, 100, src_device=0, dst_device=1)
    scene.copy("DtoD", 8, 200, src_device=1, dst_device=1)
    scene.copy("DtoD", 8, 300)
    scene.copy("HtoD", 8, 400, src_device=0, dst_device=1)
    assert scene.found(tmp_path).select("call_start_ns", *ENDS).rows() == [(100, "t:gpu1", "t:gpu0", False)]


def test_an_ipc_pull_is_known_by_the_range_around_it(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer op=get layer=3", 90, 150)
    scene.copy("DtoD", 600, 100)
    scene.copy("DtoD", 700, 200)  # after it: an ordinary copy
    other = scene.process.thread(tid=2)
    scene.process.copy("DtoD", 5, 300, 305, launch=other.launch(100, 102))  # meanwhile, on another thread
    trace = scene.trace(tmp_path)
    scopes = find_scopes(trace)
    found = find(trace, scopes)
    assert found.select("bytes", "time_ns", *ENDS).rows() == [(600, 600, None, None, None)]
    assert found["scope_id"].to_list() == scopes.select("range_id")["range_id"].to_list()


def test_a_range_whose_copies_were_not_launched_inside_says_nothing(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.start_end("kv_transfer op=get", 90, 150)  # open, but no stack says that the copy is its
    scene.copy("DtoD", 8, 100)
    scene.thread.push_pop("kv_transfer op=offload", 190, 290)  # a step of the offload
    scene.copy("DtoD", 8, 200)
    scene.thread.push_pop("kv_layer layer=1", 300, 400)
    scene.copy("DtoD", 8, 310)
    assert scene.found(tmp_path).is_empty()


def test_beside_an_nccl_call_a_copy_without_devices_is_preparation(tmp_path: Path) -> None:
    scene = Scene()
    for start in (100, 200):
        scene.thread.push_pop("kv_transfer layer=3", start, start + 50)
        scene.copy("DtoD", 8, start + 5)
    scene.thread.nccl("ncclSend", 120, 130, nbytes=8, peer=1)
    scene.copy("PtoP", 9, 140, src_device=0, dst_device=1)  # names its devices: no doubt about it
    assert scene.found(tmp_path).select("call_start_ns", "bytes").rows() == [(140, 9), (205, 8)]


def test_a_batched_row_is_one_transfer_of_many_copies(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("PtoP", 4096, 100, src_device=1, dst_device=0, copyCount=64)
    scene.copy("PtoP", 4096, 9000, src_device=1, dst_device=0, copyCount=0)
    assert scene.found(tmp_path).select("bytes", "copy_count").rows() == [(4096, 64), (4096, 1)]


def test_a_2d_copy_has_the_bytes_of_its_row(tmp_path: Path) -> None:
    scene = Scene(schema="3.7", devices={})  # no copyCount column there
    launch = scene.thread.launch(100, 104, name="cudaMemcpy2DAsync")
    scene.process.copy("PtoP", 32 * 16 * 128 * 2, 200, 300, launch=launch, src_device=1, dst_device=0)
    assert scene.found(tmp_path).select("bytes", "copy_count", "time_ns").rows() == [(131_072, 1, 100)]


def test_a_size_that_no_copy_can_have_is_unknown_and_counted(tmp_path: Path) -> None:
    scene = Scene()
    launch = scene.thread.launch(100, 102)
    scene.process.copy("PtoP", 2**48, 110, 120, launch=launch, src_device=1, dst_device=0)
    assert scene.found(tmp_path).select("bytes", "bytes_source").rows() == [(None, None)]
    assert scene.trace(tmp_path).anomalies["sizes-impossible"] == 1


def test_a_copy_without_recorded_launch_still_moved_its_bytes(tmp_path: Path) -> None:
    scene = Scene()
    scene.process.copy("PtoP", 8, 110, 120, src_device=1, dst_device=0)
    assert scene.found(tmp_path).select("bytes", "call_start_ns", "thread").rows() == [(8, None, None)]


def test_row_order_never_shows(tmp_path: Path) -> None:
    def found(seed: int | None) -> pl.DataFrame:
        scene = Scene()
        launch = scene.thread.launch(100, 102)
        for dst in (0, 1, None):  # alike but for where they go
            for count in (1, 2):
                scene.process.copy("PtoP", 8, 110, 120, launch=launch, src_device=1, dst_device=dst, copyCount=count)
        if seed is not None:
            scene.builder.shuffle(seed)
        return scene.found(tmp_path)

    plain = found(None)
    assert plain.height == 6
    for seed in (1, 2, 3):
        assert found(seed).equals(plain)


def test_copies_pass_the_later_stages_as_movements_of_their_own(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer op=get layer=3 request=r1", 90, 150)
    scene.copy("PtoP", 400, 100, src_device=1, dst_device=0)
    scene.copy("PtoP", 500, 200, src_device=1, dst_device=0)
    found = export_frame([scene.builder.write(tmp_path / "t.sqlite")], "transfers")
    columns = ("side", "purpose", "layer", "layer_provenance", "request_id", "is_movement", "bytes", "gpu")
    assert found.select(columns).rows() == [
        ("copy", "kv", 3, "exact", "r1", True, 400, "gpu1"),
        ("copy", "unknown", None, None, None, True, 500, "gpu1"),
    ]


def test_copies_have_no_say_about_the_kernels_of_their_stream(tmp_path: Path) -> None:
    scene = Scene()
    kernel = "ncclDevKernel_SendRecv(args)"
    scene.thread.push_pop("kv_transfer layer=3", 90, 150)
    scene.thread.nccl("ncclSend", 100, 110, nbytes=8, peer=1)
    scene.process.kernel(kernel, 120, 130, launch=scene.thread.launch(102, 104), stream=20)
    scene.process.kernel(kernel, 140, 150, correlation=99, stream=20)
    scene.copy("PtoP", 500, 200, src_device=1, dst_device=0, stream=20)
    found = export_frame([scene.builder.write(tmp_path / "t.sqlite")], "transfers")
    assert found.select("transport", "purpose_rule").rows() == [
        ("nccl", "own/kv_transfer"),
        ("nccl", "same stream as own/kv_transfer"),
        ("memcpy", "no rule matched"),
    ]


def test_copies_within_a_device_might_cross_to_another_and_are_counted(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("PtoP", 1, 100, src_device=1, dst_device=0)
    scene.copy("DtoD", 1, 200, src_device=1, dst_device=1)
    assert scene.trace(tmp_path).capabilities["ipc_copies"].status == "present"
    scene.copy("DtoD", 600, 300)
    scene.copy("DtoD", 400, 400, src_device=1)
    fact = scene.trace(tmp_path).capabilities["ipc_copies"]
    assert fact.status == "partial"
    assert fact.reason.startswith("2 copies (1.00 kB) within a device")
    assert "kv_transfer" in fact.fix


@pytest.mark.parametrize("omitted", [("srcDeviceId",), ("srcDeviceId", "dstDeviceId")])
def test_a_file_without_columns_for_devices_tells_of_none(omitted: tuple[str, ...], tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("DtoD", 600, 300, src_device=1, dst_device=1)
    scene.copy("PtoP", 8, 2000, src_device=1, dst_device=0)
    scene.builder.omit("CUPTI_ACTIVITY_KIND_MEMCPY", *omitted)
    assert scene.trace(tmp_path).capabilities["ipc_copies"].reason.startswith("1 copy (600 B)")
    assert scene.found(tmp_path)["src_end"].to_list() == [None]


def test_a_file_without_copies_says_so(tmp_path: Path) -> None:
    assert Scene().trace(tmp_path).capabilities["ipc_copies"].status == "absent"
