"""Sends that nothing names have their layer and request from the order of issue, where it is proven; else none."""

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nsysparse.api import Options, Study, study_traces
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
Step = tuple[int, dict[str, int]]
"""When a step begins, and its requests with their bytes per layer."""


@dataclass
class Engine:
    """A prefill engine whose worker thread sends layer by layer, request by request; what is recorded is told apart.

    Attributes:
        backlog: How long after its step a worker begins, ns.
        created: Whether the making of the communicator was recorded.
        begins: When the recording begins, ns.
        ends: When it ends.
        lost: Sends that were lost, by number.
        extra_at: When the worker sends something else.
        marks: What the `kv_role` mark says beside the role.
        order: What steps say of their order.
        by_request: It sends request by request, layer by layer.
        silent: Requests that send nothing: chunks that are not the last, prompts that stay.
        named: Texts of ranges around sends, by the number of the send.
    """

    layers: int = 4
    steps: list[Step] = field(default_factory=list)
    backlog: int = 0
    created: bool = True
    begins: int = 0
    ends: int = 10**9
    lost: frozenset[int] = frozenset()
    extra_at: int | None = None
    workers: int = 1
    marks: str = ""
    order: str = ""
    by_request: bool = False
    silent: frozenset[str] = frozenset()
    named: dict[int, str] = field(default_factory=dict)

    def sends(self) -> list[tuple[int, int, int, str]]:
        """(start, bytes, layer, request) in issue order."""
        found, free = [], 0
        for start, requests in self.steps:
            at = max(free, start + 100 + self.backlog)
            sent = [(name, nbytes) for name, nbytes in requests.items() if name not in self.silent]
            pairs = [(layer, each) for layer in range(self.layers) for each in sent]
            if self.by_request:
                pairs = [(layer, each) for each in sent for layer in range(self.layers)]
            for layer, (name, nbytes) in pairs:
                found.append((at, nbytes, layer, name))
                at += 20
            free = at
        if self.extra_at is not None:
            found.append((self.extra_at, 77, -1, "extra"))
        return sorted(found)

    def write(self, folder: Path, *, named: bool = True) -> Path:
        builder = TraceBuilder(schema="3.25", gpus={0: "x"})
        process = builder.process(pid=1)
        main, *workers = (process.thread(tid=1 + number) for number in range(1 + self.workers))
        if self.marks:
            main.mark(f"kv_role role=prefill {self.marks}", 3)
        if self.created:
            main.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=0, device=0)
        for number, (start, requests) in enumerate(self.steps):
            if self.begins <= start <= self.ends:
                told = f" requests={','.join(requests)}" if named else ""
                told += f" order={self.order}" if self.order else ""
                main.push_pop(f"kv_step step={number} phase=prefill{told}", start, start + 90)
        for number, (at, nbytes, _, _) in enumerate(self.sends()):
            if self.begins <= at <= self.ends and number not in self.lost:
                thread = workers[number % len(workers)]
                if number in self.named:
                    thread.push_pop(self.named[number], at - 2, at + 12)
                thread.nccl("ncclSend", at, at + 10, communicator=9, nbytes=nbytes, peer=1)
                process.kernel(SEND_RECV, at + 20, at + 35, launch=thread.launch(at + 2, at + 4), stream=20)
        return builder.write(folder / "t.sqlite")

    def told(
        self, folder: Path, layers: int | None = None, *, named: bool = True
    ) -> dict[int, tuple[int | None, str | None]]:
        """What is said of the send that began at each instant."""
        study = self.study(folder, layers, named=named)
        return {
            at: (layer, request)
            for at, layer, request in study.transfers.select("call_start_ns", "layer", "request_id").iter_rows()
        }

    def study(self, folder: Path, layers: int | None = None, *, named: bool = True) -> Study:
        return study_traces([self.write(folder, named=named)], Options(layers=layers or self.layers))

    def truth(self) -> dict[int, tuple[int | None, str | None]]:
        return {
            at: (layer, name) if name != "extra" else (None, None)
            for number, (at, _, layer, name) in enumerate(self.sends())
            if self.begins <= at <= self.ends and number not in self.lost
        }


INTERLEAVED: list[Step] = [(1_000, {"a": 100, "b": 300}), (5_000, {"c": 200}), (9_000, {"d": 100, "e": 50, "f": 70})]
ALIKE: list[Step] = [(1_000, {"a": 100}), (5_000, {"b": 100}), (9_000, {"c": 100})]
NOTHING = (None, None)


def test_the_order_tells_layer_and_request_of_every_send(tmp_path: Path) -> None:
    engine = Engine(steps=INTERLEAVED)
    assert engine.told(tmp_path) == engine.truth()
    study = engine.study(tmp_path)
    assert set(study.shares["layer_provenance"]) == {"ordinal"} == set(study.shares["request_provenance"])
    assert study.anomalies["sends-without-proven-order"] == 0


def test_steps_that_do_not_say_how_many_requests_they_prefill_tell_nothing(tmp_path: Path) -> None:
    assert set(Engine(steps=ALIKE).told(tmp_path, named=False).values()) == {NOTHING}


def test_sends_that_lag_behind_their_steps_are_told_where_none_is_missing(tmp_path: Path) -> None:
    engine = Engine(steps=ALIKE, backlog=4_000)
    assert engine.told(tmp_path) == engine.truth()


@pytest.mark.parametrize("steps", [INTERLEAVED, ALIKE])
def test_after_a_lost_send_nothing_is_said(steps: list[Step], tmp_path: Path) -> None:
    engine = Engine(steps=steps, lost=frozenset([6]))
    told, truth = engine.told(tmp_path), engine.truth()
    assert all(told[at] in (truth[at], NOTHING) for at in truth)
    assert told[engine.sends()[-1][0]] == NOTHING
    assert engine.study(tmp_path).anomalies["sends-without-proven-order"] > 0


def test_a_send_too_many_is_noticed(tmp_path: Path) -> None:
    engine = Engine(steps=ALIKE, extra_at=5_050)
    told, truth = engine.told(tmp_path), engine.truth()
    assert all(told[at] in (truth[at], NOTHING) for at in truth)
    assert told[9_100] == NOTHING


def test_a_capture_that_begins_within_a_step_is_realigned_by_sizes(tmp_path: Path) -> None:
    engine = Engine(steps=INTERLEAVED, created=False, begins=1_150)
    told, truth = engine.told(tmp_path), engine.truth()
    assert {at for at, said in told.items() if said == NOTHING} == {at for at in truth if at < 5_000}
    assert all(told[at] == truth[at] for at in truth if at >= 5_000)


def test_a_capture_that_begins_within_a_step_of_equal_sizes_says_nothing(tmp_path: Path) -> None:
    engine = Engine(steps=ALIKE, created=False, begins=1_150)
    assert set(engine.told(tmp_path).values()) == {NOTHING}


def test_a_steady_backlog_of_equal_sizes_says_nothing(tmp_path: Path) -> None:
    """Every step's window holds as many sends as the step makes, but they are the one before's."""
    engine = Engine(steps=ALIKE, created=False, backlog=4_000, begins=4_900)
    assert set(engine.told(tmp_path).values()) == {NOTHING}


def test_the_last_step_that_a_capture_cuts_stays_open(tmp_path: Path) -> None:
    engine = Engine(steps=INTERLEAVED, ends=9_200)
    told, truth = engine.told(tmp_path), engine.truth()
    assert all(said == (truth[at] if at < 9_000 else NOTHING) for at, said in told.items())


def test_the_wrong_number_of_layers_says_nothing_wrong_of_requests_that_differ(tmp_path: Path) -> None:
    told = Engine(steps=INTERLEAVED).told(tmp_path, layers=5)
    assert set(told.values()) == {NOTHING}


def test_a_process_with_some_of_the_layers_sends_its_own(tmp_path: Path) -> None:
    engine = Engine(steps=INTERLEAVED, marks="layers=32 own_layers=7-10")
    told = engine.told(tmp_path, layers=32)
    assert told == {at: (7 + (layer or 0), name) for at, (layer, name) in engine.truth().items()}


@pytest.mark.parametrize("marks", ["own_layers=7-9", "own_layers=7-11", "own_layers=9-8", "pp=1", "layers=4 pp=3"])
def test_of_a_stage_whose_layers_are_not_told_nothing_is_said(marks: str, tmp_path: Path) -> None:
    engine = Engine(steps=INTERLEAVED, marks=marks)
    assert set(engine.told(tmp_path, layers=8).values()) == {NOTHING}


TWINS: list[Step] = [(1_000, {"a": 100, "b": 100}), (5_000, {"c": 200, "d": 200})]


def test_equal_sizes_do_not_tell_layer_by_layer_from_request_by_request(tmp_path: Path) -> None:
    for by_request in (False, True):
        assert set(Engine(steps=TWINS, by_request=by_request).told(tmp_path).values()) == {NOTHING}


def test_an_engine_that_says_its_order_is_believed(tmp_path: Path) -> None:
    engine = Engine(steps=TWINS, order="layer-major")
    assert engine.told(tmp_path) == engine.truth()


@pytest.mark.parametrize("steps", [INTERLEAVED, TWINS])
def test_an_engine_that_sends_request_by_request_is_told_by_no_order(steps: list[Step], tmp_path: Path) -> None:
    engine = Engine(steps=steps, by_request=True)
    told, truth = engine.told(tmp_path), engine.truth()
    assert all(told[at] in (truth[at], NOTHING) for at in truth)


def test_after_a_step_of_which_a_request_sends_nothing_no_order_speaks(tmp_path: Path) -> None:
    for created, steps in ((True, INTERLEAVED), (False, INTERLEAVED), (False, ALIKE)):
        engine = Engine(steps=steps, silent=frozenset("bc"), created=created)
        told, truth = engine.told(tmp_path), engine.truth()
        assert all(told[at] in (truth[at], NOTHING) for at in truth)


def test_what_ranges_name_keeps_its_place_in_the_order(tmp_path: Path) -> None:
    engine = Engine(steps=INTERLEAVED, named={3: "kv_transfer layer=1 request=b", 9: "kv_transfer request=c"})
    assert engine.told(tmp_path) == engine.truth()


@pytest.mark.parametrize("text", ["kv_transfer layer=2", "kv_transfer request=a"])
def test_from_a_step_on_whose_ranges_say_otherwise_no_order_speaks(text: str, tmp_path: Path) -> None:
    engine = Engine(steps=INTERLEAVED, named={9: text})
    told, truth = engine.told(tmp_path), engine.truth()
    number = {at: place for place, (at, *_) in enumerate(engine.sends())}
    assert {at: told[at] for at in truth if number[at] < 8} == {at: truth[at] for at in truth if number[at] < 8}
    assert all(told[at] == NOTHING for at in truth if number[at] > 9)


def test_a_request_that_spans_a_send_of_another_is_taken_back(tmp_path: Path) -> None:
    """The worker still sends the last layers of `a` when only `b` is in flight."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    process = builder.process(pid=1)
    main, worker = process.thread(tid=1), process.thread(tid=2)
    main.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=0, device=0)
    for name, start in (("a", 1_000), ("b", 3_000)):
        main.push_pop(f"kv_step phase=prefill requests={name}", start, start + 90)
        main.start_end(f"kv_request request={name}", start - 50, start + 1_900)
    sends = [1_500, 2_500, 3_100, 3_200, 4_000, 4_100, 4_200, 4_300]
    for at in sends:
        worker.nccl("ncclSend", at, at + 10, communicator=9, nbytes=64, peer=1)
        process.kernel(SEND_RECV, at + 20, at + 35, launch=worker.launch(at + 2, at + 4), stream=20)
    study = study_traces([builder.write(tmp_path / "t.sqlite")], Options(layers=4))
    assert study.transfers["layer"].to_list() == [0, 1, 2, 3] * 2
    assert study.transfers["request_id"].to_list() == ["a", "a", None, None, "b", "b", "b", "b"]
    assert study.anomalies["order-and-request-differ"] == 2


def test_the_engine_s_own_range_around_a_step_adds_to_it(tmp_path: Path) -> None:
    """The engine says how many requests, the convention which."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    process = builder.process(pid=1)
    main = process.thread(tid=1)
    main.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=0, device=0)
    main.push_pop("execute_context_2(64)_generation_0(0)", 1_000, 1_200)
    main.push_pop("kv_step phase=prefill requests=a,b", 1_010, 1_190)
    for at in range(1_300, 1_700, 100):
        main.nccl("ncclSend", at, at + 10, communicator=9, nbytes=64, peer=1)
        process.kernel(SEND_RECV, at + 20, at + 35, launch=main.launch(at + 2, at + 4), stream=20)
    transfers = study_traces([builder.write(tmp_path / "t.sqlite")], Options(layers=2)).transfers
    assert transfers.select("layer", "request_id").rows() == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]


def test_after_a_step_whose_requests_are_not_known_nothing_is_said(tmp_path: Path) -> None:
    """A chunk of `a` sends nothing; what the mixed step after it sends is not `a`'s."""
    engine = Engine(steps=[(1_000, {"a": 100})], silent=frozenset("a"))
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    process = builder.process(pid=1)
    main = process.thread(tid=1)
    main.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=0, device=0)
    main.push_pop("kv_step phase=prefill requests=a", 1_000, 1_090)
    main.push_pop("kv_step phase=mixed requests=b,c", 2_000, 2_090)
    for at in range(2_100, 2_500, 100):
        main.nccl("ncclSend", at, at + 10, communicator=9, nbytes=64, peer=1)
        process.kernel(SEND_RECV, at + 20, at + 35, launch=main.launch(at + 2, at + 4), stream=20)
    study = study_traces([builder.write(tmp_path / "t.sqlite")], Options(layers=engine.layers))
    assert study.transfers["layer"].null_count() == 4


def test_fully_annotated_sends_need_no_order(tmp_path: Path) -> None:
    engine = Engine(steps=ALIKE, created=False, named={k: f"kv_transfer layer={k % 4} request=x" for k in range(12)})
    assert engine.study(tmp_path).anomalies["sends-without-proven-order"] == 0


def test_sends_whose_order_would_speak_ask_for_the_number_of_layers(tmp_path: Path) -> None:
    study = study_traces([Engine(steps=INTERLEAVED).write(tmp_path)], Options())
    assert study.anomalies["order-needs-layers"] == 24


def test_several_threads_have_no_order(tmp_path: Path) -> None:
    assert set(Engine(steps=INTERLEAVED, workers=2).told(tmp_path).values()) == {NOTHING}


def test_what_is_said_is_true_whatever_is_cut_or_lost(tmp_path: Path) -> None:
    said = silent = 0
    for seed in range(150):
        rng = random.Random(seed)  # noqa: S311 (a test's own dice)
        unsent = rng.choice([0, 0, 0.3])
        steps: list[Step] = []
        at = 1_000
        for number in range(rng.randint(1, 6)):
            names = [f"r{number}-{each}" for each in range(rng.randint(1, 3))]
            steps.append((at, {name: rng.choice([100, 100, 200, 300]) for name in names}))
            at += rng.choice([300, 1_000, 4_000])
        engine = Engine(
            layers=rng.randint(2, 4), steps=steps, backlog=rng.choice([0, 0, 500, 4_000]), created=rng.random() < 0.5,
            begins=rng.choice([0, 0, 1_000 + rng.randint(0, 3_000)]),
            ends=rng.choice([10**9, at - rng.randint(0, 900)]),
            lost=frozenset(rng.sample(range(20), rng.choice([0, 0, 1]))),
            silent=frozenset(name for _, each in steps for name in each if rng.random() < unsent),
            by_request=rng.random() < 0.2,
        )  # fmt: skip
        if engine.begins:  # whoever begins late has not seen the communicator made
            engine.created = False
        if not engine.truth():
            continue
        told = engine.told(tmp_path)
        wrong = {at: said for at, said in told.items() if said not in (engine.truth()[at], NOTHING)}
        assert not wrong, seed
        said += sum(each != NOTHING for each in told.values())
        silent += sum(each == NOTHING for each in told.values())
    assert said > 200
    assert silent > 50
