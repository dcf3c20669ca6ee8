"""Whole traces of which every layer and request is known: what is said of them is right, and what cannot be is not.

Each trace is as an engine would leave it; its truth is written beside it. Bytes of layers, requests and of what nothing
explains are compared as a report has them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nsysparse.analysis import Analysis
from nsysparse.api import Options, analyse
from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
PACK = "void lmc::single_layer_kv_transfer_kernel<long>(long *, long *)"
KERNEL_NS = 50


@dataclass(frozen=True)
class Truth:
    """Bytes by layer and by request, and what must stay without either."""

    layers: dict[int, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    no_layer: int = 0
    no_request: int = 0
    layer_by: Sequence[str] = ()
    request_by: Sequence[str] = ()


def holds(analysis: Analysis, truth: Truth) -> None:
    """What the analysis says is the truth, and it adds up."""
    assert {row.layer: row.bytes for row in analysis.layers} == truth.layers
    assert {row.request_id: row.bytes for row in analysis.requests if row.movement_count} == truth.requests
    assert analysis.unattributed["layer"].bytes == truth.no_layer
    assert analysis.unattributed["request"].bytes == truth.no_request
    total = sum(truth.layers.values()) + truth.no_layer
    assert analysis.totals.bytes == total == sum(truth.requests.values()) + truth.no_request
    for name, expected in (("layer", truth.layer_by), ("request", truth.request_by)):
        known = {row.provenance for row in analysis.coverage if row.field == name and row.movement_count}
        assert known - {"none"} == set(expected), name
        assert sum(row.bytes or 0 for row in analysis.coverage if row.field == name) == total


def begin(pid: int = 1) -> tuple[TraceBuilder, Process, Thread]:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**6)
    process = builder.process(pid=pid)
    return builder, process, process.thread(tid=10 * pid)


def transfer(
    process: Process, thread: Thread, at: int, nbytes: int, *, name: str = "ncclSend", peer: int = 1, comm: int = 9
) -> None:
    """One ungrouped call of 10 ns, and its kernel right behind."""
    thread.nccl(name, at, at + 10, communicator=comm, nbytes=nbytes, peer=peer)
    process.kernel(SEND_RECV, at + 20, at + 20 + KERNEL_NS, launch=thread.launch(at + 2, at + 4), stream=20)


def compute(process: Process, thread: Thread, at: int) -> None:
    process.kernel("gemm", at + 20, at + 60, launch=thread.launch(at + 1, at + 3), stream=7)


# --- the thread that computes sends -----------------------------------------------------------------------------------


def test_sends_of_the_thread_that_computes_lie_in_its_layers(tmp_path: Path) -> None:
    """As an engine does that hands over each layer within its module, of one request at a time."""
    builder, process, thread = begin()
    for number, (request, nbytes) in enumerate((("req-a", 1000), ("req-b", 300))):
        start = 1_000 + 10_000 * number
        thread.push_pop(f"request={request}", start, start + 9_000)
        for layer in range(3):
            at = start + 100 + 1_000 * layer
            thread.push_pop(f"model.layers.{layer}", at, at + 900)
            thread.push_pop(f"model.layers.{layer}.self_attn", at + 10, at + 700)
            compute(process, thread, at + 20)
            transfer(process, thread, at + 200, nbytes)
        transfer(process, thread, start + 8_000, 7)  # after the last layer: no layer, but the request
    holds(
        analyse([builder.write(tmp_path / "t.sqlite")]),
        Truth(
            dict.fromkeys(range(3), 1_300), {"req-a": 3_007, "req-b": 907}, no_layer=14, layer_by=["nested"],
            request_by=["nested"],
        ),
    )  # fmt: skip


# --- a worker thread sends --------------------------------------------------------------------------------------------


def test_a_worker_s_sends_belong_to_the_request_that_alone_is_in_flight(tmp_path: Path) -> None:
    """Requests are announced from arrival to last token by another thread; two of four overlap for a while."""
    builder, process, main = begin()
    worker = process.thread(tid=11)
    for name, start, end in (("a", 100, 1_000), ("b", 1_200, 3_000), ("c", 2_000, 4_000), ("d", 5_000, 6_000)):
        main.start_end(f"kv_request request={name} prompt=64", start, end, end_thread=worker)
    for layer, at in enumerate((300, 400, 1_300, 2_500, 3_500, 5_500, 6_500)):
        main.push_pop(f"model.layers.{layer}", at - 20, at + 80)  # the forward thread's: says nothing of the worker
        transfer(process, worker, at, 100)
    # At 300 and 400 a, at 1,300 b, at 2,500 b or c, at 3,500 c, at 5,500 d, at 6,500 nobody.
    holds(
        analyse([builder.write(tmp_path / "t.sqlite")]),
        Truth({}, {"a": 200, "b": 100, "c": 100, "d": 100}, no_layer=700, no_request=200, request_by=["spanning"]),
    )


# --- only the order tells ---------------------------------------------------------------------------------------------


LAYERS = 4
Steps = Sequence[tuple[int, Sequence[int]]]
"""When steps begin, and the bytes per layer of each request that they prefill."""
STEPS: Steps = ((1_000, (100, 300)), (6_000, (200,)), (12_000, (100, 50, 70)))
ALIKE: Steps = ((1_000, (100,)), (6_000, (100,)), (12_000, (100,)))


def vllm_pair(
    folder: Path, steps: Steps, *, since: int = 0, layers: int = LAYERS, skip: frozenset[int] = frozenset()
) -> list[Path]:
    """vLLM with its P2pNcclConnector: steps on the main thread, sends and receives on threads of their own."""
    paths = []
    for pid, (side, name) in enumerate((("prefill", "ncclSend"), ("decode", "ncclRecv"))):
        builder, process, main = begin(pid + 1)
        worker = process.thread(tid=10 * pid + 15)
        if not since:
            worker.nccl("ncclCommInitRank", 10, 90, communicator=9, nranks=2, rank=pid, device=0)
        number = 0
        for start, requests in steps:
            if side == "prefill" and start >= since:
                tokens = 64 * len(requests)
                text = f"execute_context_{len(requests)}({tokens})_generation_0(0)"
                main.push_pop(text, start, start + 500)
            for layer in range(layers):
                for place, nbytes in enumerate(requests):
                    at = start + 600 + 200 * (layer * len(requests) + place)  # after the step's own range
                    if at >= since and number not in skip:
                        transfer(process, worker, at + 20 * pid, nbytes, name=name, peer=1 - pid)
                    number += 1
        for at in range(max(since, 1_000), 20_000, 2_000) if side == "decode" else ():
            main.push_pop("execute_context_0(0)_generation_2(2)", at, at + 100)
        paths.append(builder.write(folder / f"{side}.sqlite"))
    return paths


def total(steps: Steps, since: int = 0) -> int:
    return sum(
        nbytes
        for start, requests in steps
        for layer in range(LAYERS)
        for place, nbytes in enumerate(requests)
        if start + 600 + 200 * (layer * len(requests) + place) >= since
    )


def test_vllm_s_order_tells_the_layer_of_interleaved_requests_on_both_sides(tmp_path: Path) -> None:
    """Its steps say how many requests they prefill, not which: layers follow, requests do not."""
    paths = vllm_pair(tmp_path, STEPS)
    each = sum(nbytes for _, requests in STEPS for nbytes in requests)
    truth = Truth(dict.fromkeys(range(LAYERS), each), no_request=LAYERS * each, layer_by=["ordinal"])
    analysis = analyse(paths, Options(layers=LAYERS))
    holds(analysis, truth)
    assert analysis.totals.paired_count == analysis.totals.movement_count
    assert {trace.trace_id: trace.role for trace in analysis.traces} == {"prefill": "prefill", "decode": "decode"}


def test_without_the_number_of_layers_no_order_speaks(tmp_path: Path) -> None:
    moved = total(STEPS)
    holds(analyse(vllm_pair(tmp_path, STEPS)), Truth(no_layer=moved, no_request=moved))


def test_a_capture_that_begins_within_a_step_tells_nothing_where_all_steps_are_alike(tmp_path: Path) -> None:
    since = 1_900
    moved = total(ALIKE, since)
    analysis = analyse(vllm_pair(tmp_path, ALIKE, since=since), Options(layers=LAYERS))
    holds(analysis, Truth(no_layer=moved, no_request=moved))
    assert "sends-without-proven-order" in {warning.code for warning in analysis.warnings}


def test_a_capture_that_begins_within_a_step_is_realigned_where_sizes_tell_steps_apart(tmp_path: Path) -> None:
    """Sends are; their receives learn nothing from them, since nothing proves which met which."""
    since = 1_900
    late = sum(nbytes for start, requests in STEPS for nbytes in requests if start > since)
    cut = total(STEPS, since) - LAYERS * late
    assert cut > 0
    truth = Truth(
        dict.fromkeys(range(LAYERS), late), no_layer=cut, no_request=total(STEPS, since), layer_by=["ordinal"]
    )
    paths = vllm_pair(tmp_path, STEPS, since=since)
    holds(analyse(paths[:1], Options(layers=LAYERS)), truth)
    both = analyse(paths, Options(layers=LAYERS))
    holds(both, Truth(no_layer=total(STEPS, since), no_request=total(STEPS, since)))
    assert "names-of-unproven-pairs" in {warning.code for warning in both.warnings}


@pytest.mark.parametrize("layers", [LAYERS - 1, LAYERS + 1, 2 * LAYERS, 1])
@pytest.mark.parametrize("steps", [STEPS, ALIKE])
def test_another_model_s_layers_tell_nothing(steps: Steps, layers: int, tmp_path: Path) -> None:
    moved = total(steps)
    holds(analyse(vllm_pair(tmp_path, steps), Options(layers=layers)), Truth(no_layer=moved, no_request=moved))


def test_a_send_that_was_lost_tells_nothing_of_its_step_and_what_follows(tmp_path: Path) -> None:
    paths = vllm_pair(tmp_path, STEPS, skip=frozenset([LAYERS * 2 + 1]))  # the second of the second step
    first, moved = sum(STEPS[0][1]), total(STEPS) - 200
    truth = Truth(
        dict.fromkeys(range(LAYERS), first), no_layer=moved - LAYERS * first, no_request=moved, layer_by=["ordinal"]
    )
    holds(analyse(paths, Options(layers=LAYERS)), truth)


# --- one transfer of a whole model ------------------------------------------------------------------------------------


def test_nixl_moves_a_request_whole_and_its_layers_are_an_even_estimate(tmp_path: Path) -> None:
    """vLLM's decode reads; a handle's address is used again. Nothing says which request."""
    builder, _, main = begin()
    for number, nbytes in enumerate((4_003, 800, 1_600)):
        at = 1_000 * (number + 1)
        main.push_pop("execute_context_0(0)_generation_2(2)", at, at + 50)
        main.nixl_post("read", at + 100, at + 110, agent="decode-0", handle=77, nbytes=nbytes, remote="prefill-0")
        main.nixl_complete(at + 600, agent="decode-0", handle=77)
    path = builder.write(tmp_path / "t.sqlite")
    moved = 4_003 + 800 + 1_600
    layers = {0: 1_601, 1: 1_601, 2: 1_601, 3: 1_600}
    holds(analyse([path], Options(layers=4)), Truth(layers, no_request=moved, layer_by=["estimated"]))
    unknown = analyse([path])
    holds(unknown, Truth(no_layer=moved, no_request=moved))
    assert "layers-need-their-number" in {warning.code for warning in unknown.warnings}


# --- LMCache ----------------------------------------------------------------------------------------------------------


def test_what_lmcache_s_generators_start_is_not_in_their_ranges(tmp_path: Path) -> None:
    """Layer by layer its ranges last as long as making the generator; whole, its stores hold their copies."""
    builder, process, main = begin()
    main.push_pop("LMCacheEngine.store", 100, 900, domain="lmcache", registered=True)
    for number in range(3):
        at = 200 + 100 * number
        process.copy("DtoH", 1_000, at + 500, at + 540, launch=main.launch(at, at + 2))
    main.push_pop("LMCacheEngine.store_layer", 10_000, 10_003, domain="lmcache", registered=True)
    for layer in range(4):
        at = 10_100 + 1_000 * layer
        main.push_pop(f"model.layers.{layer}", at, at + 900)
        process.kernel(PACK, at + 10, at + 20, launch=main.launch(at + 1, at + 3))
        process.copy("DtoH", 250, at + 100, at + 120, launch=main.launch(at + 5, at + 7))
    holds(analyse([builder.write(tmp_path / "t.sqlite")]), Truth(no_layer=3_000, no_request=3_000))


# --- what is no KV beside it ------------------------------------------------------------------------------------------


def test_pipeline_traffic_beside_kv_is_excluded_and_takes_nothing_from_it(tmp_path: Path) -> None:
    """Megatron's stages exchange activations within a layer while KV goes to another process."""
    builder, process, main = begin()
    kv = pipeline = 0
    for layer in range(4):
        at = 1_000 * (layer + 1)
        main.push_pop(f"model.layers.{layer}", at, at + 900)
        main.push_pop(f"kv_transfer op=send request=r layer={layer}", at + 100, at + 150)
        transfer(process, main, at + 110, 500 + layer, comm=9)
        main.push_pop("megatron.core.pipeline_parallel.p2p_communication.send_forward", at + 300, at + 350)
        transfer(process, main, at + 310, 9_000, comm=8)
        kv, pipeline = kv + 500 + layer, pipeline + 9_000
    analysis = analyse([builder.write(tmp_path / "t.sqlite")])
    holds(
        analysis,
        Truth({layer: 500 + layer for layer in range(4)}, {"r": kv}, layer_by=["exact"], request_by=["exact"]),
    )
    assert [(row.purpose, row.rule, row.bytes) for row in analysis.excluded] == [
        ("other", "megatron-pp/p2p-communication", pipeline)
    ]


# --- two engines, two spellings ---------------------------------------------------------------------------------------


def two_engines(folder: Path, names: Iterable[tuple[str, str]]) -> list[Path]:
    """Prefill announces its requests by the first spelling, decode annotates its receives by the second."""
    listed = list(names)
    paths = []
    for pid, name in enumerate(("ncclSend", "ncclRecv")):
        builder, process, thread = begin(pid + 1)
        thread.nccl("ncclCommInitRank", 10, 90, communicator=9, nranks=2, rank=pid, device=0)
        for number, spelling in enumerate(listed):
            at = 1_000 * (number + 1)
            thread.push_pop(f"kv_transfer request={spelling[pid]} layer=0", at, at + 100)
            transfer(process, thread, at + 10 * (1 + pid), 100 + number, name=name, peer=1 - pid)
        paths.append(builder.write(folder / f"{name}.sqlite"))
    return paths


def test_two_engines_ids_are_one_request_where_the_normaliser_says_so(tmp_path: Path) -> None:
    ids = [(f"cmpl-{number}-{number:08x}", f"cmpl-{number}-{number + 77:08x}") for number in range(3)]
    paths = two_engines(tmp_path, ids)
    apart = analyse(paths)
    assert {warning.code for warning in apart.warnings} >= {
        "sides-disagree-on-request", "request-ids-differ-by-suffix",
    }  # fmt: skip
    assert {row.request_id for row in apart.requests} == {decode for _, decode in ids}
    one = analyse(paths, Options(normalize_request="^(.*)-[0-9a-f]{8}$"))
    truth = Truth(
        {0: 303}, {f"cmpl-{number}": 100 + number for number in range(3)}, layer_by=["exact"], request_by=["exact"]
    )
    holds(one, truth)
    assert not {warning.code for warning in one.warnings} & {"sides-disagree-on-request", "request-ids-collide"}


def test_ids_that_the_normaliser_makes_one_within_an_engine_are_reported(tmp_path: Path) -> None:
    ids = [("turn-1-00000001", "turn-1-0000000a"), ("turn-1-00000002", "turn-1-0000000b")]
    analysis = analyse(two_engines(tmp_path, ids), Options(normalize_request="^(.*)-[0-9a-f]{8}$"))
    assert "request-ids-collide" in {warning.code for warning in analysis.warnings}
