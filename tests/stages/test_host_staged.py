"""KV to and from the host: which copies belong to which offload or load, and what their time is."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import export_frame
from nsysparse.scopes import find_scopes, wants_local_copies
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import Process, Thread, TraceBuilder
from nsysparse.transports import nccl
from nsysparse.transports.host_staged import find

MULTI = "void lmc::load_and_reshape_multi_layer_kernel<long, true>(long *, long **)"
SINGLE = "void lmc::single_layer_kv_transfer_kernel<long>(long *, long *)"
SPLIT = "void tensorrt_llm::kernels::splitKVCacheKernel<__half>(int)"


class Scene:
    """A process that sees GPU 3 as 0 and GPU 2 as 1; `name` finds a range again by its text."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(schema="3.25", gpus={2: "x", 3: "x"}, duration=100_000)
        self.process: Process = self.builder.process(pid=1, devices={0: 3, 1: 2})
        self.thread: Thread = self.process.thread(tid=1)

    def lmcache(self, name: str, start: int, end: int, thread: Thread | None = None) -> None:
        (thread or self.thread).push_pop(name, start, end, domain="lmcache", registered=True)

    def copy(self, kind: str, nbytes: int, at: int, ran: tuple[int, int], thread: Thread | None = None, **more) -> None:
        self.process.copy(kind, nbytes, *ran, launch=(thread or self.thread).launch(at, at + 2), **more)

    def kernel(self, name: str, at: int, ran: tuple[int, int], **more: int) -> None:
        self.process.kernel(name, *ran, launch=self.thread.launch(at, at + 2), **more)

    def trace(self, folder: Path) -> Trace:
        path = self.builder.write(folder / "t.sqlite")
        return read_trace(path, "t", all_gpu_work=False, local_copies=wants_local_copies)

    def found(self, folder: Path) -> pl.DataFrame:
        """What is found, with the name of the range each transfer is."""
        trace = self.trace(folder)
        named = trace.ranges.join(trace.labels, on="label_id").select(scope_id="range_id", scope="name")
        return find(trace, find_scopes(trace)).join(named, on="scope_id", how="left", maintain_order="left")


def test_the_copies_of_a_store_are_one_transfer_of_the_innermost_range(tmp_path: Path) -> None:
    scene = Scene()
    scene.lmcache("LMCacheEngine.store", 100, 900)
    scene.lmcache("VLLMPagedMemGPUConnectorV2.from_gpu", 200, 500)
    scene.copy("DtoH", 1000, 210, (1000, 1100))
    scene.copy("DtoH", 500, 220, (1050, 1200), copyCount=3)  # overlaps: the union is 1000 to 1200, and 1300 to 1400
    scene.copy("DtoH", 500, 480, (1300, 1400))
    scene.copy("DtoH", 7, 1000, (2000, 2001))  # after the store: sampled tokens, perhaps
    found = scene.found(tmp_path)
    assert found.select("transport", "side", "interval_kind", "scope").rows() == [
        ("host-staged", "copy", "gpu", "VLLMPagedMemGPUConnectorV2.from_gpu")
    ]
    assert found.select("start_ns", "end_ns", "time_ns", "bytes", "bytes_source", "copy_count").rows() == [
        (1000, 1400, 300, 2000, "memcpy", 5)
    ]
    assert found.select("src_end", "dst_end", "is_self", "device_id", "gpu_id", "stream_id").rows() == [
        ("t:gpu3", "host", False, 0, 3, 7)
    ]
    assert found.select("call_start_ns", "call_end_ns", "thread").rows() == [(210, 482, scene.thread.global_tid)]
    assert found.select("purpose", "purpose_rule", "kernel_count", "pack_ns").rows() == [
        ("kv", "lmcache/store", 0, None)
    ]


def test_what_the_outer_range_launches_itself_is_a_transfer_of_its_own(tmp_path: Path) -> None:
    scene = Scene()
    scene.lmcache("LMCacheEngine.retrieve", 100, 900)
    scene.lmcache("VLLMPagedMemGPUConnectorV2.to_gpu", 200, 500)
    scene.copy("HtoD", 10, 210, (1000, 1010))
    scene.copy("HtoD", 20, 600, (2000, 2020))
    assert scene.found(tmp_path).select("scope", "bytes", "src_end", "dst_end").rows() == [
        ("VLLMPagedMemGPUConnectorV2.to_gpu", 10, "host", "t:gpu3"),
        ("LMCacheEngine.retrieve", 20, "host", "t:gpu3"),
    ]


def test_each_device_has_a_transfer_of_its_own(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer op=load layer=1", 100, 900)
    scene.copy("HtoD", 10, 110, (1000, 1010), device=1)
    scene.copy("HtoD", 20, 120, (1000, 1030), device=0, stream=8)
    scene.copy("HtoD", 30, 130, (1100, 1150), device=1, stream=9)
    found = scene.found(tmp_path)
    assert found.select("dst_end", "bytes", "time_ns", "copy_count", "stream_id").rows() == [
        ("t:gpu2", 40, 60, 2, None),
        ("t:gpu3", 20, 30, 1, 8),
    ]
    assert found["scope_id"].n_unique() == 1


def test_copies_against_the_direction_are_none_of_it(tmp_path: Path) -> None:
    scene = Scene()
    scene.lmcache("LMCacheEngine.store", 100, 900)
    scene.copy("HtoD", 10, 110, (1000, 1010))  # which slots to store
    scene.copy("DtoD", 10, 120, (1020, 1030))
    assert scene.found(tmp_path).is_empty()


def test_only_ranges_that_say_so_and_only_lmcaches_own(tmp_path: Path) -> None:
    scene = Scene()
    for at, text in enumerate(["kv_transfer layer=1", "kv_transfer op=send", "LMCacheEngine.store", "offload"], 1):
        scene.thread.push_pop(text, at * 1000, at * 1000 + 900)  # the default domain
        scene.copy("DtoH", 10, at * 1000 + 5, (at * 1000 + 10, at * 1000 + 20))
    scene.lmcache("LMCacheEngine.lookup", 9000, 9900)
    scene.copy("DtoH", 10, 9005, (9010, 9020))
    assert scene.found(tmp_path).is_empty()


def test_what_packs_is_told_apart_from_the_transfer(tmp_path: Path) -> None:
    scene = Scene()
    scene.lmcache("LMCacheEngine.store", 100, 900)
    scene.kernel(MULTI, 110, (1000, 1300))
    scene.kernel(SINGLE, 120, (1200, 1400))  # together 500, whatever they overlap
    scene.kernel("gemm", 130, (1400, 1500))
    scene.copy("DtoH", 50, 140, (1500, 1550))
    found = scene.found(tmp_path)
    columns = ("start_ns", "end_ns", "time_ns", "bytes", "copy_count", "kernel_count", "pack_ns")
    assert found.select(columns).rows() == [(1500, 1550, 50, 50, 1, 0, 500)]


def test_kernels_that_reach_the_host_themselves_are_the_transfer(tmp_path: Path) -> None:
    scene = Scene()
    scene.lmcache("LMCacheEngine.store", 100, 900)
    scene.copy("HtoD", 10, 105, (950, 960))  # an index: no copy of the store
    scene.kernel(MULTI, 110, (1000, 1300))
    scene.kernel(SINGLE, 120, (1200, 1400))
    scene.kernel(SPLIT, 130, (1500, 1520))  # stays on the device
    found = scene.found(tmp_path)
    columns = ("start_ns", "end_ns", "time_ns", "bytes", "bytes_source", "copy_count", "pack_ns")
    assert found.select(columns).rows() == [(1000, 1400, 400, None, None, None, 20)]
    assert found.select("src_end", "dst_end").rows() == [("t:gpu3", "host")]


def test_kernels_that_stay_on_the_device_move_nothing_to_the_host(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer op=offload", 100, 900)
    scene.kernel(SPLIT, 110, (1000, 1300))
    assert scene.found(tmp_path).is_empty()


def test_kernels_that_pack_are_no_nccl_kernels(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.nccl("ncclSend", 100, 200, nbytes=8, peer=1)
    scene.kernel(SINGLE, 110, (300, 400))
    trace = scene.trace(tmp_path)
    assert trace.gpu_ops["name"].to_list() == [SINGLE]
    sent = nccl.find(trace, find_scopes(trace))
    assert sent.select("side", "kernel_count", "time_ns").rows() == [("send", 0, None)]


@pytest.mark.parametrize("style", ["push_pop", "start_end"])
def test_a_worker_thread_copies_for_the_only_range_open(style: str, tmp_path: Path) -> None:
    scene = Scene()
    worker = scene.process.thread(tid=2)
    getattr(scene.thread, style)("kv_transfer op=offload layer=4 request=r1", 100, 900)
    scene.copy("DtoH", 10, 50, (60, 70), worker)  # before
    scene.copy("DtoH", 20, 200, (210, 240), worker)
    scene.copy("DtoH", 30, 899, (905, 909), worker)  # its launch ends after the range
    found = scene.found(tmp_path)
    assert found.select("bytes", "time_ns", "scope").rows() == [(20, 30, "kv_transfer op=offload layer=4 request=r1")]
    # The range stands for the call, so that what it says about layer and request is found.
    assert found.select("thread", "call_start_ns", "call_end_ns").rows() == [(scene.thread.global_tid, 100, 900)]
    assert found["purpose_rule"].to_list() == ["own/kv_transfer"]


def test_of_several_open_ranges_none_gets_a_workers_copy(tmp_path: Path) -> None:
    scene = Scene()
    worker, other = scene.process.thread(tid=2), scene.process.thread(tid=3)
    scene.thread.push_pop("kv_transfer op=offload request=a", 100, 500)
    other.push_pop("kv_transfer op=load request=b", 300, 900)
    for kind in ("DtoH", "HtoD"):
        scene.copy(kind, 10, 350, (360, 370), worker)  # either range could have asked for it
    scene.copy("DtoH", 20, 200, (210, 240), worker)
    scene.copy("HtoD", 40, 600, (610, 640), worker)
    elsewhere = scene.builder.process(pid=2, devices={0: 2})
    elsewhere.copy("DtoH", 80, 210, 220, launch=elsewhere.thread(tid=9).launch(200, 202))  # another process
    assert scene.found(tmp_path).select("scope", "bytes").rows() == [
        ("kv_transfer op=offload request=a", 20),
        ("kv_transfer op=load request=b", 40),
    ]


def test_a_range_that_copies_itself_left_nothing_to_other_threads(tmp_path: Path) -> None:
    scene = Scene()
    scene.lmcache("LMCacheEngine.store", 100, 900)
    scene.copy("DtoH", 10, 110, (120, 130))
    scene.copy("DtoH", 7, 400, (410, 420), scene.process.thread(tid=2))  # sampled tokens, perhaps
    assert scene.found(tmp_path)["bytes"].to_list() == [10]


@pytest.mark.parametrize(("theirs", "counted"), [(20, 30), (30, 10)])
def test_a_size_tells_whether_other_threads_copied_the_rest(theirs: int, counted: int, tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer op=offload bytes=30", 100, 900)
    scene.copy("DtoH", 10, 110, (120, 130))
    scene.copy("DtoH", theirs, 400, (410, 420), scene.process.thread(tid=2))
    assert scene.found(tmp_path)["bytes"].to_list() == [counted]


def test_one_unknown_size_makes_the_sum_unknown(tmp_path: Path) -> None:
    scene = Scene()
    scene.lmcache("LMCacheEngine.store", 100, 900)
    scene.copy("DtoH", 10, 110, (120, 130))
    scene.copy("DtoH", 2**60, 140, (150, 160))
    assert scene.found(tmp_path).select("bytes", "bytes_source", "copy_count").rows() == [(None, None, 2)]


def test_row_order_never_shows(tmp_path: Path) -> None:
    def found(seed: int | None) -> pl.DataFrame:
        scene = Scene()
        for at in range(0, 4000, 1000):
            scene.lmcache("LMCacheEngine.store", at, at + 900)
            scene.kernel(MULTI, at + 5, (at + 10, at + 30))
            for device in (0, 1):
                for step in (1, 2):
                    scene.copy("DtoH", step, at + 100 * step, (at + 300, at + 400), device=device)
        if seed is not None:
            scene.builder.shuffle(seed)
        return scene.found(tmp_path)

    plain = found(None)
    assert plain.select("bytes", "copy_count", "time_ns").unique().rows() == [(3, 2, 100)]
    assert plain.select("device_id", "pack_ns").rows() == [(0, 20), (1, None)] * 4
    for seed in (1, 2, 3):
        assert found(seed).equals(plain)


def test_offloads_pass_the_later_stages_as_movements_of_their_own(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer op=offload layer=3 request=r1 bytes=30", 100, 400)
    scene.copy("DtoH", 10, 110, (500, 510))
    scene.copy("DtoH", 20, 120, (520, 540))
    scene.lmcache("LMCacheEngine.retrieve", 1000, 1400)
    scene.copy("HtoD", 40, 1100, (1200, 1240))
    found = export_frame([scene.builder.write(tmp_path / "t.sqlite")], "transfers")
    columns = ("purpose_rule", "layer", "layer_provenance", "request_id", "is_movement", "bytes", "time_ns")
    assert found.select(columns).rows() == [
        ("own/kv_transfer", 3, "exact", "r1", True, 30, 30),
        ("lmcache/retrieve", None, None, None, True, 40, 40),
    ]
