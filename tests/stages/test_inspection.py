"""What `inspect` says of each transport: found, looked for and not found, or not recorded."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from nsysparse.analysis import Capability
from nsysparse.api import analyse, inspect, study_traces
from nsysparse.cli import cli
from nsysparse.inspection import TraceInspection, TransportCount
from nsysparse.testing import Process, Thread, TraceBuilder

MIB = 2**20


class Scene:
    """One process with one thread."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "x"})
        self.process: Process = self.builder.process(pid=1, devices={0: 0, 1: 1})
        self.thread: Thread = self.process.thread(tid=1)

    def post(self, start: int, handle: int, nbytes: int | None = MIB) -> None:
        remote = None if nbytes is None else "prefill-0"
        self.thread.nixl_post("read", start, start + 10, agent="d", handle=handle, nbytes=nbytes, remote=remote)
        self.thread.nixl_complete(start + 50, agent="d", handle=handle)

    def copy(self, kind: str, nbytes: int, at: int, **more: int) -> None:
        self.process.copy(kind, nbytes, at + 10, at + 20, launch=self.thread.launch(at, at + 2), **more)

    def write(self, folder: Path) -> Path:
        return self.builder.write(folder / "t.sqlite")

    def look(self, folder: Path) -> TraceInspection:
        (trace,) = inspect([self.write(folder)]).traces
        return trace


def of(trace: TraceInspection, transport: str) -> TransportCount:
    (found,) = (each for each in trace.transports if each.transport == transport)
    return found


def answer(trace: TraceInspection, question: str) -> tuple[str, str, str]:
    (found,) = (each for each in trace.answers if each.question.startswith(question))
    return found.answer, found.why, found.fix


def test_transfers_count_by_side_with_the_share_of_known_sizes(tmp_path: Path) -> None:
    scene = Scene()
    scene.post(100, 0xA)
    scene.post(200, 0xB)
    scene.post(300, 0xC, nbytes=None)
    scene.thread.nixl_post("write", 400, 410, agent="d", handle=0xD, nbytes=5, remote="e")
    scene.copy("PtoP", 700, 1000, src_device=0, dst_device=1)
    trace = scene.look(tmp_path)
    nixl, copies = of(trace, "nixl"), of(trace, "memcpy")
    assert (nixl.transfer_count, nixl.send_count, nixl.recv_count, nixl.copy_count) == (4, 1, 3, 0)
    assert (nixl.bytes, nixl.bytes_known_share) == (2 * MIB + 5, 0.75)
    assert (copies.transfer_count, copies.copy_count, copies.bytes, copies.bytes_known_share) == (1, 1, 700, 1.0)
    assert (nixl.why, copies.why) == ("", "")


def test_none_found_and_not_recorded_are_told_apart(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("forward", 1, 2)
    scene.copy("DtoD", 700, 1000, src_device=0, dst_device=0)
    trace = scene.look(tmp_path)
    copies, ucx, annotated = of(trace, "memcpy"), of(trace, "ucx"), of(trace, "annotated")
    assert (copies.transfer_count, annotated.transfer_count) == (0, 0)
    assert "RDMA" in copies.why
    assert ucx.transfer_count is None
    assert ucx.send_count is None
    assert (ucx.why, ucx.fix) == (trace.capabilities["ucx_messages"].reason, trace.capabilities["ucx_messages"].fix)
    assert "-t cuda,nvtx,ucx" in ucx.fix


@pytest.mark.parametrize("whole_graph", [False, True])
def test_kernels_without_nccl_are_looked_through_unless_a_graph_hides_them(
    whole_graph: bool,  # noqa: FBT001 (what differs)
    tmp_path: Path,
) -> None:
    scene = Scene()
    scene.process.kernel("gemm", 10, 20, launch=scene.thread.launch(1, 3))
    if whole_graph:
        scene.process.graph(30, 40, launch=scene.thread.launch(21, 23))
    assert of(scene.look(tmp_path), "nccl").transfer_count == (None if whole_graph else 0)


def test_a_movement_that_two_sources_recorded_is_one(tmp_path: Path) -> None:
    scene = Scene()
    with_range = scene.thread
    with_range.push_pop("kv_transfer op=recv bytes=1048576", 90, 200)
    scene.post(100, 0xA)
    path = scene.write(tmp_path)
    (trace,) = inspect([path]).traces
    counts = {each.transport: each.transfer_count for each in trace.transports if each.transfer_count}
    assert counts == {"nixl": 1}
    assert study_traces([path], None).transfers["transport"].to_list() == ["nixl"]


def test_questions_are_answered_for_whatever_moved_it(tmp_path: Path) -> None:
    scene = Scene()
    scene.post(100, 0xA)
    scene.post(300, 0xC, nbytes=None)
    trace = scene.look(tmp_path)
    assert answer(trace, "How long") == ("yes", "2 transfers found, each with a time", "")
    verdict, why, fix = answer(trace, "How much")
    assert (verdict, why[:43]) == ("partly", "1 of 2 transfers found have size and time: ")
    assert "1 of 2 NIXL posts have no size" in why
    assert fix.startswith("nsys export ")


@pytest.mark.parametrize(("sampled", "said"), [(False, "no"), (True, "partly")])
def test_rdma_without_a_row_can_at_best_be_counted(sampled: bool, said: str, tmp_path: Path) -> None:  # noqa: FBT001
    scene = Scene()
    scene.thread.push_pop("forward", 1, 2)
    if sampled:
        scene.builder.nic_metric("mlx5_0", "IB: Bytes sent", {(0, 1_000): 4_096}, unit="bytes")
    verdict, why, fix = answer(scene.look(tmp_path), "Was KV moved by RDMA")
    assert verdict == said
    assert "it leaves no row" in why
    assert "docs/reference/convention.md" in fix
    assert ("--nic-metrics=lf" in fix) is not sampled


def test_the_text_has_a_line_for_each_transport(tmp_path: Path) -> None:
    scene = Scene()
    scene.post(100, 0xA)
    scene.post(300, 0xC, nbytes=None)
    printed = CliRunner().invoke(cli, ["inspect", str(scene.write(tmp_path))], catch_exceptions=False).stdout
    lines = [line.split(maxsplit=1) for line in printed.partition("Transfers found\n")[2].splitlines()[:7]]
    assert [name for name, _ in lines] == [
        "nccl", "nixl", "trtllm-bounce", "memcpy", "host-staged", "ucx", "annotated",
    ]  # fmt: skip
    said = dict(lines)
    assert said["nixl"] == "2 (2 received), 1.05 MB, size known of 50.0 %"
    assert said["ucx"].startswith("not recorded: no operation of UCX")
    assert said["annotated"].startswith("none; cannot see: ")


# --- capabilities of transports other than NCCL -----------------------------------------------------------------------


def fact(scene: Scene, name: str, folder: Path) -> Capability:
    return scene.look(folder).capabilities[name]


def test_nixl_requests_are_present_with_size_and_number(tmp_path: Path) -> None:
    scene = Scene()
    scene.post(100, 0xA)
    assert fact(scene, "nixl_requests", tmp_path).status == "present"


def test_nixl_requests_without_size_or_number_are_partial(tmp_path: Path) -> None:
    scene = Scene()
    scene.post(100, 0xA)
    scene.post(300, 0xC, nbytes=None)
    scene.thread.push_pop("nixl::postXferReq.read", 500, 510, domain="d")
    found = fact(scene, "nixl_requests", tmp_path)
    assert found.status == "partial"
    assert "2 of 3 NIXL posts have no size and 1 of 3 NIXL posts have no number" in found.reason


def test_the_passive_side_of_nixl_says_so(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("nixl::getNotifs", 1, 2, domain="prefill-0")
    found = fact(scene, "nixl_requests", tmp_path)
    assert found.status == "absent"
    assert "passive side" in found.reason


def test_without_any_event_of_nixl_what_would_make_them_is_said(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("forward", 1, 2)
    found = fact(scene, "nixl_requests", tmp_path)
    assert found.status == "absent"
    assert "before 1.4.0" in found.reason
    assert found.fix.startswith("NIXL_TRACE_BACKENDS=nvtx nsys profile -t cuda,nvtx,ucx ")


@pytest.mark.parametrize(("nbytes", "status"), [(MIB, "present"), (None, "partial")])
def test_ucx_messages_need_sizes(nbytes: int | None, status: str, tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucx("ucp_tag_send_nbx", 100, 110, done=900, nbytes=nbytes)
    assert fact(scene, "ucx_messages", tmp_path).status == status


def test_host_copies_are_counted_and_promise_nothing(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("DtoH", 600, 100)
    scene.copy("HtoD", 400, 200)
    scene.copy("DtoD", 9, 300)
    found = fact(scene, "host_copies", tmp_path)
    assert found.status == "present"
    assert found.reason.startswith("2 copies (1.00 kB) to or from the host: only those")


def test_copies_within_a_device_are_none_of_the_host(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy("DtoD", 9, 300)
    found = fact(scene, "host_copies", tmp_path)
    assert (found.status, found.reason[:20]) == ("absent", "copies were recorded")


# --- the verdict where nothing was found ------------------------------------------------------------------------------


def test_nothing_found_says_where_it_was_looked_for_and_what_leaves_no_row(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("forward", 1, 2)
    scene.process.kernel("gemm", 10, 20, launch=scene.thread.launch(1, 3))
    scene.copy("DtoD", 9, 300)
    found = analyse([scene.write(tmp_path)]).verdict
    assert found.text.startswith(
        "No KV transfer found among copies and NVTX ranges, which were recorded;"
        " calls of NCCL, requests of NIXL and operations of UCX were not."
        " To change that: NIXL_TRACE_BACKENDS=nvtx nsys profile "
    )
    assert "Mooncake" in found.detail
    assert "docs/reference/convention.md" in found.detail
    assert "does not read" not in found.text + found.detail


def test_graphs_recorded_whole_are_named_where_nothing_was_found(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("forward", 1, 2)
    scene.process.graph(30, 40, launch=scene.thread.launch(21, 23))
    assert "1 CUDA graph launch was recorded whole" in analyse([scene.write(tmp_path)]).verdict.detail


def test_sizes_that_nixl_lacks_are_not_blamed_on_nccl(tmp_path: Path) -> None:
    scene = Scene()
    scene.post(100, 0xA, nbytes=None)
    text = analyse([scene.write(tmp_path)]).verdict.text
    assert "NIXL posts have no size" in text
    assert "no NCCL call" not in text


def test_traffic_that_is_no_kv_is_called_what_it_is(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.ucx("ucp_tag_send_nbx", 100, 110, done=900, nbytes=64, tag=3, peer=8)
    text = analyse([scene.write(tmp_path)]).verdict.text
    assert text == "No KV transfer found: the only transfer is other traffic (ucx/control-message)."
