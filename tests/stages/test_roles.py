"""Prefill or decode: of a transfer first, then of its process, and what says so."""

from pathlib import Path

import pytest

from nsysparse.api import Options, Study, study_traces
from nsysparse.errors import UsageError
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"


class Scene:
    """One process whose main thread sends or receives inside what is said of it."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
        self.process = self.builder.process(pid=1)
        self.thread = self.process.thread(tid=1)
        self.at = 1_000

    def move(self, call: str = "ncclSend", around: str | None = "kv_transfer request=a") -> None:
        if around:
            self.thread.push_pop(around, self.at, self.at + 90)
        self.thread.nccl(call, self.at + 10, self.at + 20, communicator=9, nbytes=64, peer=1)
        launch = self.thread.launch(self.at + 12, self.at + 14)
        self.process.kernel(SEND_RECV, self.at + 30, self.at + 40, launch=launch)
        self.at += 100

    def steps(self, *phases: str) -> None:
        for phase in phases:
            self.thread.push_pop(f"kv_step phase={phase}", self.at, self.at + 50)
            self.at += 100

    def study(self, folder: Path, **options: object) -> Study:
        return study_traces([self.builder.write(folder / "t.sqlite")], Options(**options))  # type: ignore[arg-type]

    def told(self, folder: Path, **options: object) -> list[tuple[str | None, str | None]]:
        return self.study(folder, **options).transfers.select("role", "role_provenance").rows()


def test_what_the_range_says_comes_first(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.mark("kv_role role=decode", 1)
    scene.move(around="kv_transfer request=a role=prefill")
    scene.move()
    assert scene.told(tmp_path) == [("prefill", "exact"), ("decode", "process")]
    assert scene.study(tmp_path).roles["t"] == ("decode", "kv_role mark")


def test_what_the_user_says_of_a_file_comes_before_marks(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.mark("kv_role role=decode", 1)
    scene.move()
    for name in ("t", "t.sqlite", str(tmp_path / "t.sqlite")):
        study = scene.study(tmp_path, roles={name: "prefill"})
        assert study.roles["t"] == ("prefill", "option")
        assert study.transfers["role"].to_list() == ["prefill"]
    with pytest.raises(UsageError, match="none of the traces"):
        scene.study(tmp_path, roles={"other": "prefill"})
    with pytest.raises(UsageError, match="no role 'both'"):
        scene.study(tmp_path, roles={"t": "both"})


def test_steps_tell_what_a_process_nearly_always_does(tmp_path: Path) -> None:
    scene = Scene()
    scene.steps(*["decode"] * 19, "prefill")
    scene.move("ncclRecv", around=None)
    study = scene.study(tmp_path)
    assert study.roles["t"] == ("decode", "steps")
    assert study.transfers.select("role", "role_provenance").rows() == [("decode", "process")]


def test_in_a_mixed_process_kv_has_the_role_of_its_direction(tmp_path: Path) -> None:
    scene = Scene()
    scene.steps("prefill", "decode")
    scene.move("ncclSend")
    scene.move("ncclRecv")
    scene.move("ncclRecv", around=None)
    assert scene.study(tmp_path).roles["t"] == ("mixed", "steps")
    assert scene.told(tmp_path) == [("prefill", "direction"), ("decode", "direction"), (None, None)]


def test_who_only_sends_is_prefill(tmp_path: Path) -> None:
    scene = Scene()
    scene.move(around=None)
    assert scene.study(tmp_path).roles["t"] == ("prefill", "direction")
    assert scene.told(tmp_path) == [("prefill", "process")]
    scene.move("ncclRecv", around=None)
    assert scene.study(tmp_path).roles["t"] == ("mixed", "direction")
    assert scene.told(tmp_path) == [(None, None), (None, None)]


def test_pipeline_traffic_says_nothing_of_a_role(tmp_path: Path) -> None:
    scene = Scene()
    scene.move(around="megatron.core.pipeline_parallel.p2p_communication.send_forward")
    assert scene.study(tmp_path).roles["t"] == (None, None)
