"""Traps: traces that look as if they told a layer or a request, where the only right answer is that they do not.

Wrong is worse than missing. Every trap has a twin that differs in one thing, in which the same facts do tell: so no
trap is passed by looking away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nsysparse.api import Options, analyse
from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
AT, DONE = 1_000, 1_010
"""When the call that is asked about begins and ends."""
LAYER, REQUEST = 3, "req-7"
KNOWN = {"kv_layer": f"kv_layer layer={LAYER}", "kv_request": f"kv_request request={REQUEST}"}


@dataclass
class Scene:
    """A process with a thread that computes and one that sends, once; `other` is another process of the trace."""

    builder: TraceBuilder
    process: Process
    main: Thread
    worker: Thread
    other: Process

    def send(self, at: int = AT, nbytes: int = 64) -> None:
        self.worker.nccl("ncclSend", at, at + DONE - AT, communicator=9, nbytes=nbytes, peer=1)
        launch = self.worker.launch(at + 2, at + 4)
        self.process.kernel(SEND_RECV, at + 20, at + 70, launch=launch, stream=20)


def scene() -> Scene:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    process, other = builder.process(pid=1), builder.process(pid=2)
    made = Scene(builder, process, process.thread(tid=11), process.thread(tid=12), other)
    made.send()
    return made


def said(made: Scene, folder: Path, **options: object) -> tuple[set[int], set[str]]:
    """The layers and requests that any bytes are given to."""
    analysis = analyse([made.builder.write(folder / "t.sqlite")], Options(**options))  # type: ignore[arg-type]
    total = analysis.totals.bytes
    assert total is not None
    for name, rows in (("layer", analysis.layers), ("request", analysis.requests)):
        assert sum(row.bytes or 0 for row in rows) + (analysis.unattributed[name].bytes or 0) == total
    return {row.layer for row in analysis.layers}, {row.request_id for row in analysis.requests if row.movement_count}


Trap = Callable[[Scene], None]


def beside(trap: Trap, twin: Trap, name: str) -> object:
    """A trap beside its twin, as parameters of a test."""
    return pytest.param(trap, twin, id=name)


LAYER_TRAPS = [
    beside(
        lambda s: s.main.push_pop(KNOWN["kv_layer"], 900, 2_000),
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, 2_000),
        "the layer that another thread computes at that time",
    ),
    beside(
        lambda s: s.other.thread(tid=12).push_pop(KNOWN["kv_layer"], 900, 2_000),
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, 2_000),
        "a thread of the same number in another process",
    ),
    beside(
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, AT - 1),
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, DONE),
        "a range that was over",
    ),
    beside(
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], AT + 1, 2_000),
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], AT, 2_000),
        "a range that began within the call",
    ),
    beside(
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, AT + 5),
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, AT + 10),
        "a range that ended within the call",
    ),
    beside(
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, None),
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], 900, 2_000),
        "a range whose pop was lost",
    ),
    beside(
        lambda s: (
            s.worker.push_pop(KNOWN["kv_layer"], 900, 2_000),
            s.worker.push_pop("forward", 950, 2_500),
        )[0],
        lambda s: (
            s.worker.push_pop(KNOWN["kv_layer"], 900, 2_000),
            s.worker.push_pop("forward", 950, 1_500),
        )[0],
        "a range that crosses another of its stack",
    ),
    beside(
        lambda s: s.worker.mark(KNOWN["kv_layer"], AT - 1),
        lambda s: s.worker.push_pop(KNOWN["kv_layer"], AT - 1, DONE + 1),
        "a mark",
    ),
    beside(
        lambda s: s.worker.push_pop(
            f"{{'Module': 'LlamaForCausalLM.model.layers.{LAYER}', 'Outputs': [[8, 4096]]}}", 900, 2_000
        ),
        lambda s: s.worker.push_pop(
            f"{{'Module': 'LlamaForCausalLM.model.layers.{LAYER}', 'Inputs': [[8, 4096]]}}", 900, 2_000
        ),
        "the empty twin of a module's range",
    ),
    *(
        beside(
            lambda s, text=text: s.worker.push_pop(text, 900, 2_000),
            lambda s: s.worker.push_pop(f"model.layers.{LAYER}", 900, 2_000),
            f"a text that only resembles a layer: {text}",
        )
        for text in (
            "num_layers=3", "layer_norm 3", "player.3", "model.layers.norm", "layers: 32", "sublayers.3",
            "conv.blocks3",
            "model.layers.3b", "batch=3 layer=", "layer=-3", "layer=3.5", "kv_layer layer=three",
            "layerwise 3", "graph.h.", "http://host/h.3x",
            "n_layer=3", "num_hidden_layer 3", "init kv num_layers=3", "max layer: 3", "layers per gpu 3",
            "per_layer 3",
            "layer 2 to 3", "layer=3:32", "layer 3, 4", "layer 2 and 3", "layer 3/32", "prefetch layer 4, send layer 3",
            "kv.blocks.3", "cache.blocks.3", "my_layer=3",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("trap", "twin"), LAYER_TRAPS)
def test_no_layer_is_told(trap: Trap, twin: Trap, tmp_path: Path) -> None:
    made = scene()
    trap(made)
    assert said(made, tmp_path) == (set(), set())
    made = scene()
    twin(made)
    assert said(made, tmp_path)[0] == {LAYER}


def request_around(s: Scene, start: int, end: int | None, name: str = REQUEST, thread: Thread | None = None) -> None:
    (thread or s.main).start_end(f"kv_request request={name}", start, end)


REQUEST_TRAPS = [
    beside(
        lambda s: (request_around(s, 500, 3_000), request_around(s, 600, 2_000, "b"))[0],
        lambda s: (request_around(s, 500, 3_000), request_around(s, 600, 900, "b"))[0],
        "two requests in flight",
    ),
    beside(
        lambda s: (request_around(s, 500, 3_000), request_around(s, AT, 2_000, "b"))[0],
        lambda s: (request_around(s, 500, 3_000), request_around(s, DONE + 1, 2_000, "b"))[0],
        "another request that arrives with the call",
    ),
    beside(
        lambda s: (request_around(s, 500, 3_000), request_around(s, 600, None, "b"))[0],
        lambda s: (request_around(s, 500, 3_000), request_around(s, 2_000, None, "b"))[0],
        "another request that outlasts the recording",
    ),
    beside(
        lambda s: request_around(s, 500, 3_000, thread=s.other.thread(tid=21)),
        lambda s: request_around(s, 500, 3_000),
        "a request of another process",
    ),
    beside(
        lambda s: s.main.push_pop(KNOWN["kv_request"], 500, 3_000),
        lambda s: s.worker.push_pop(KNOWN["kv_request"], 500, 3_000),
        "what another thread works on",
    ),
    *(
        beside(
            lambda s, text=text: s.worker.push_pop(text, 500, 3_000),
            lambda s: s.worker.push_pop(f"request={REQUEST}", 500, 3_000),
            f"a text that only resembles a request: {text}",
        )
        for text in (
            "process_input_requests", "request_queue 5", "requests=5", "prequest=5", "handle request", "request: ",
            "http request", "cmpl", "chat completions", "kv_request",
            "n_req=5", "max_req=5", "http request:GET", "request=None", "req_id='None'", "request: 5 of 8",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("trap", "twin"), REQUEST_TRAPS)
def test_no_request_is_told(trap: Trap, twin: Trap, tmp_path: Path) -> None:
    made = scene()
    trap(made)
    assert said(made, tmp_path) == (set(), set())
    made = scene()
    twin(made)
    assert said(made, tmp_path)[1] == {REQUEST}


# --- time alone -------------------------------------------------------------------------------------------------------


def test_time_alone_tells_nothing_unless_it_is_asked_for(tmp_path: Path) -> None:
    made = scene()
    made.main.push_pop(KNOWN["kv_layer"], 900, 2_000)
    made.main.push_pop(KNOWN["kv_request"], 900, 2_000)
    assert said(made, tmp_path) == (set(), set())
    assert said(made, tmp_path, overlap=True) == ({LAYER}, {REQUEST})


def test_of_two_that_overlap_even_the_option_tells_neither(tmp_path: Path) -> None:
    made = scene()
    for layer, at in ((LAYER, 900), (LAYER + 1, 1_040)):  # the kernel runs from 1,020 to 1,070
        made.main.push_pop(f"kv_layer layer={layer}", at, at + 130)
    assert said(made, tmp_path, overlap=True) == (set(), set())


# --- order ------------------------------------------------------------------------------------------------------------


def ordered(requests: str, sends: int, *, phase: str = "prefill", since: int = 0, order: str = "layer-major") -> Scene:
    """One step, then sends of equal size by the worker: the first is that of `scene`."""
    made = scene()
    if not since:
        made.main.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=0, device=0)
    made.main.push_pop(f"kv_step step=1 phase={phase} requests={requests} order={order}", 900, 990)
    for number in range(1, sends):
        made.send(AT + 100 * number)
    return made


def test_an_order_that_is_proven_tells(tmp_path: Path) -> None:
    assert said(ordered("a,b", 8), tmp_path, layers=4) == ({0, 1, 2, 3}, {"a", "b"})


@pytest.mark.parametrize(
    ("made", "layers"),
    [
        pytest.param(lambda: ordered("a,b", 8), None, id="how many layers there are is not known"),
        pytest.param(lambda: ordered("a,b", 7), 4, id="a send too few"),
        pytest.param(lambda: ordered("a,b", 9), 4, id="a send too many"),
        pytest.param(lambda: ordered("a,b", 8, since=1), 4, id="the first send may not be the first"),
        pytest.param(lambda: ordered("a,b", 8, order="any"), 4, id="whether it sends layer by layer is not known"),
        pytest.param(lambda: ordered("a,b", 8, phase="decode"), 4, id="a step that prefills nothing"),
        pytest.param(lambda: ordered("a,b", 8, phase="mixed"), 4, id="a step of which some requests decode"),
    ],
)
def test_an_order_that_is_not_proven_tells_nothing(
    made: Callable[[], Scene], layers: int | None, tmp_path: Path
) -> None:
    assert said(made(), tmp_path, layers=layers) == (set(), set())


def test_an_order_with_a_size_that_is_out_of_step_tells_nothing(tmp_path: Path) -> None:
    made = scene()
    made.main.nccl("ncclCommInitRank", 1, 5, communicator=9, nranks=2, rank=0, device=0)
    made.main.push_pop("kv_step step=1 phase=prefill requests=a", 900, 990)
    for number, nbytes in enumerate((64, 64, 65), 1):
        made.send(AT + 100 * number, nbytes)
    assert said(made, tmp_path, layers=4) == (set(), set())


# --- wholes -----------------------------------------------------------------------------------------------------------


def test_a_whole_model_of_unknown_layers_names_none(tmp_path: Path) -> None:
    made = scene()
    made.worker.push_pop("kv_transfer layer=all", 900, 2_000)
    assert said(made, tmp_path) == (set(), set())
    assert said(made, tmp_path, layers=3) == ({0, 1, 2}, set())


def test_marks_that_differ_tell_no_number_of_layers(tmp_path: Path) -> None:
    made = scene()
    made.worker.push_pop("kv_transfer layer=all", 900, 2_000)
    made.main.mark("kv_role role=prefill layers=3", 10)
    assert said(made, tmp_path)[0] == {0, 1, 2}
    made.other.thread(tid=21).mark("kv_role role=decode layers=4", 10)
    assert said(made, tmp_path) == (set(), set())


def test_nixl_s_post_while_several_requests_are_in_flight_names_none(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    process = builder.process(pid=1)
    main, api = process.thread(tid=1), process.thread(tid=2)
    for number in range(2):
        at = 1_000 * (number + 1)
        main.nixl_post("read", at, at + 10, agent="decode-0", handle=5, nbytes=64, remote="prefill-0")
        main.nixl_complete(at + 500, agent="decode-0", handle=5)
    api.start_end("kv_request request=a", 500, 1_800)
    api.start_end("kv_request request=b", 900, 3_000)
    analysis = analyse([builder.write(tmp_path / "t.sqlite")], Options(purpose="all"))
    assert {row.request_id: row.bytes for row in analysis.requests if row.movement_count} == {"b": 64}
    assert analysis.unattributed["request"].bytes == 64


# --- who speaks of what -----------------------------------------------------------------------------------------------


def test_a_range_that_is_a_transfer_names_nothing_beside_it(tmp_path: Path) -> None:
    """An RDMA of its own is in flight while the worker receives something else."""
    made = scene()
    made.main.start_end(f"kv_transfer op=put request={REQUEST} layer={LAYER} bytes=4096", 500, 3_000)
    made.worker.nccl("ncclRecv", 1_200, 1_210, communicator=9, nbytes=64, peer=1)
    analysis = analyse([made.builder.write(tmp_path / "t.sqlite")])
    assert {row.layer: row.bytes for row in analysis.layers} == {LAYER: 4096}
    assert {row.request_id: row.bytes for row in analysis.requests} == {REQUEST: 4096}
    assert analysis.unattributed["layer"].bytes == 128


def test_a_range_of_the_other_direction_names_no_call(tmp_path: Path) -> None:
    made = scene()
    made.worker.push_pop(f"kv_transfer op=recv request={REQUEST} layer={LAYER}", 900, 2_000)
    analysis = analyse([made.builder.write(tmp_path / "t.sqlite")])
    assert [row.bytes for row in analysis.layers] == [None]
    assert analysis.unattributed["layer"].bytes == 64


def test_an_annotation_names_no_weights(tmp_path: Path) -> None:
    made = scene()
    made.main.start_end(f"kv_transfer op=put request={REQUEST} layer={LAYER}", 500, 3_000)
    made.worker.push_pop("load_weights", 900, 2_000)
    analysis = analyse([made.builder.write(tmp_path / "t.sqlite")], Options(purpose="all"))
    assert sum(row.bytes or 0 for row in analysis.layers) == 0


def test_a_crossing_that_a_third_range_hides_is_seen(tmp_path: Path) -> None:
    made = scene()
    made.worker.push_pop("forward", 800, 1_200)
    made.worker.push_pop("request=lost", 850, 3_000)
    made.worker.push_pop(KNOWN["kv_layer"], 900, 2_000)
    assert said(made, tmp_path) == (set(), set())


@pytest.mark.parametrize("order", ["any", "layer-major"])
def test_equal_sizes_are_told_only_where_the_order_is_declared(order: str, tmp_path: Path) -> None:
    told = said(ordered("a,b", 8, order=order), tmp_path, layers=4)
    assert told == ((set(), set()) if order == "any" else ({0, 1, 2, 3}, {"a", "b"}))
