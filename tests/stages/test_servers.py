"""What else engines do with requests does not change their way to the first token, nor hide what it is made of."""

from collections.abc import Callable
from pathlib import Path

import pytest
from serving import BLOCK, LAYERS, MS, US, WIRE, Server, Serving, hand_over, plain, send

from nsysparse.analysis import Request

Servers = tuple[Server, Server, Server]
SEGMENTS = ("prefill_ns", "handoff_ns", "overlap_ns", "transfer_span_ns", "ready_to_decode_ns", "first_decode_ns")
PLAIN = (4 * MS, MS, 0, 3_800 * US, 1_200 * US, MS)
FIRST, SECOND = 10 * MS, 90 * MS


@pytest.fixture
def serving() -> Serving:
    return Serving()


def segments(request: Request) -> tuple[int | None, ...]:
    return tuple(getattr(request, name) for name in SEGMENTS)


def moves_on(servers: Servers) -> None:
    """Decoded for a while elsewhere, once its KV has moved there."""
    _, decode, other = servers
    hand_over(decode, other, "r", FIRST + 20 * MS)
    other.decode(FIRST + 30 * MS, "r")


def offloads(servers: Servers) -> None:
    """Kept in host memory after it was handed over, in case the prompt comes again."""
    prefill, _, _ = servers
    prefill.copy("DtoH", "r", f"0-{LAYERS - 1}", FIRST + 11 * MS, FIRST + 13 * MS)


def offloads_layers(servers: Servers) -> None:
    """The same while prefill still computes: nothing has left for decode yet."""
    prefill, _, _ = servers
    prefill.copy("DtoH", "r", "0", FIRST + MS, FIRST + 2 * MS)


def recomputes(servers: Servers) -> None:
    """Preempted where it is decoded, and prefilled again there."""
    _, decode, _ = servers
    decode.step(FIRST + 20 * MS, FIRST + 23 * MS, "r", phase="prefill")
    decode.decode(FIRST + 24 * MS, "r")


def prefills_again(servers: Servers) -> None:
    """The same prompt again, later: the second is not the way of the first."""
    prefill, _, _ = servers
    prefill.step(FIRST + 30 * MS, FIRST + 34 * MS, "r")


def sends_back(servers: Servers) -> None:
    """KV of new tokens returns to where the prompt's is cached."""
    prefill, decode, _ = servers
    hand_over(decode, prefill, "r", FIRST + 20 * MS)


def decodes_where_prefilled(servers: Servers) -> None:
    """The server that prefills runs a step of decode before it hands over."""
    prefill, _, _ = servers
    prefill.step(FIRST + 4_100 * US, FIRST + 4_500 * US, "r", phase="decode")


@pytest.mark.parametrize(
    "does",
    [moves_on, offloads, offloads_layers, recomputes, prefills_again, sends_back, decodes_where_prefilled],
    ids=lambda does: str(does.__name__),
)
def test_what_comes_beside_or_after_is_not_on_the_way(
    does: Callable[[Servers], None], serving: Serving, tmp_path: Path
) -> None:
    prefill, decode, other = serving.server("prefill"), serving.server("decode"), serving.server("decode")
    plain(prefill, decode, "r", FIRST)
    does((prefill, decode, other))
    plain(prefill, decode, "later", SECOND)
    found = serving.requests(tmp_path)
    assert segments(found["r"]) == segments(found["later"]) == PLAIN
    assert found["r"].verdict == "over"
    assert found["r"].attempt_count == 1


def test_a_server_to_which_a_request_moves_on_did_not_wait_for_its_prefill(serving: Serving, tmp_path: Path) -> None:
    prefill, decode, other = serving.server("prefill"), serving.server("decode"), serving.server("decode")
    plain(prefill, other, "early", FIRST)
    plain(prefill, decode, "r", FIRST + 30 * MS)
    hand_over(decode, other, "r", FIRST + 60 * MS)
    other.decode(FIRST + 70 * MS, "r")
    devices = {device.device_id: device for device in serving.analysis(tmp_path).decode or ()}
    moved = devices[other.device]
    # Idle between steps twice for each of both; since `r` had come its KV may have been on its way, or not.
    assert moved.by_reason == {
        "kv_ready": 0, "transfer": 0, "prefill_running": 0, "between_steps": 4 * MS,
        "no_request": 15 * MS, "unknown": 40 * MS,
    }  # fmt: skip
    assert moved.idle_while_pending_ns == 0


def test_stages_of_a_pipeline_are_one_server(serving: Serving, tmp_path: Path) -> None:
    """The first token has come when the last stage's step has ended."""
    prefill, first, second = serving.server("prefill"), serving.server("decode"), serving.server("decode")
    prefill.step(FIRST, FIRST + 4 * MS, "r")
    hand_over(prefill, first, "r", FIRST + 5 * MS, range(2))
    hand_over(prefill, second, "r", FIRST + 7 * MS, range(2, LAYERS))
    first.decode(FIRST + 10 * MS, "r")
    second.decode(FIRST + 11 * MS + 50 * US, "r")
    found = serving.requests(tmp_path)["r"]
    assert segments(found) == (*PLAIN[:-1], 2 * MS + 50 * US)
    assert found.decode_step_count == 3


def test_kv_of_a_later_stage_may_come_while_the_first_already_computes(serving: Serving, tmp_path: Path) -> None:
    prefill, first, second = serving.server("prefill"), serving.server("decode"), serving.server("decode")
    prefill.step(FIRST, FIRST + 4 * MS, "r")
    hand_over(prefill, first, "r", FIRST + 5 * MS, range(2))
    send(prefill, second, "r", 2, FIRST + 7 * MS)
    send(prefill, second, "r", 3, FIRST + 11 * MS + 100 * US)
    first.decode(FIRST + 10 * MS, "r")
    second.decode(FIRST + 12 * MS, "r")
    found = serving.requests(tmp_path)["r"]
    assert found.ready_to_decode_ns == 0
    assert found.kv_gap_ns == 6 * MS
    assert found.transfer_span_ns == 5 * MS


def test_an_impossible_order_is_said_and_nothing_made_of_it(serving: Serving, tmp_path: Path) -> None:
    """One id for two requests: the second decodes what the first has only begun to prefill."""
    prefill, decode = serving.server("prefill"), serving.server("decode")
    prefill.step(FIRST + 30 * MS, FIRST + 40 * MS, "r")
    prefill.step(FIRST, FIRST + 4 * MS, "r")
    hand_over(prefill, decode, "r", FIRST + 5 * MS)
    decode.decode(FIRST + 35 * MS, "r")
    analysis = serving.analysis(tmp_path)
    (found,) = analysis.requests
    assert (found.missing, found.kv_gap_ns) == ("contradiction", None)
    (finding,) = [each for each in analysis.findings if each.id == "clocks-apart"]
    assert "an order that cannot be" in finding.title
    assert "clocks" not in finding.title
    (device,) = analysis.decode or ()
    assert device.by_reason["unknown"] + device.by_reason["between_steps"] == device.idle_ns


def test_copies_to_a_decode_device_bring_its_kv(serving: Serving, tmp_path: Path) -> None:
    prefill, decode = serving.server("prefill"), serving.server("decode")
    for request, at in (("r", FIRST), ("later", SECOND)):
        prefill.step(at, at + 4 * MS, request)
        for layer in range(LAYERS):
            start = at + (5 + layer) * MS
            prefill.copy(
                "PtoP", request, str(layer), start, start + 800 * US,
                src_device=prefill.device, dst_device=decode.device,
            )  # fmt: skip
        decode.decode(at + 10 * MS, request)
    analysis = serving.analysis(tmp_path)
    assert {segments(request) for request in analysis.requests} == {PLAIN}
    (device,) = analysis.decode or ()
    assert device.idle_while_pending_ns == 5 * MS
    assert device.by_reason["transfer"] == 3_800 * US


def test_kv_that_crosses_host_memory_is_on_the_wire_both_times(serving: Serving, tmp_path: Path) -> None:
    """Copies to the host and back follow on each other: nothing pauses, so no larger message would save a thing."""
    prefill, decode = serving.server("prefill"), serving.server("decode")
    for request, at in (("r", FIRST), ("later", SECOND)):
        prefill.step(at, at + 4 * MS, request)
        for layer in range(LAYERS):
            start = at + (5 + layer) * MS
            prefill.copy("DtoH", request, str(layer), start, start + 600 * US)
            decode.copy("HtoD", request, str(layer), start + 600 * US, start + MS)
        decode.decode(at + 10 * MS, request)
    analysis = serving.analysis(tmp_path)
    for request in analysis.requests:
        assert segments(request) == (4 * MS, MS, 0, 4 * MS, MS, MS)
        assert request.span is not None
        assert (request.span["wire_ns"], request.span["peer_wait_ns"], request.span["gap_ns"]) == (4 * MS, 0, 0)
        assert request.blame == "link"
    assert {each.id for each in analysis.whatif or ()}.isdisjoint({"larger-messages", "more-streams"})


@pytest.mark.parametrize("op", ["put", "get"])
def test_an_annotation_of_the_side_that_acts_shows_both_ends(op: str, serving: Serving, tmp_path: Path) -> None:
    prefill, decode = serving.server("prefill"), serving.server("decode")
    acts = prefill if op == "put" else decode
    for request, at in (("r", FIRST), ("later", SECOND)):
        prefill.step(at, at + 4 * MS, request)
        for layer in range(LAYERS):
            start = at + (5 + layer) * MS
            name = f"kv_transfer op={op} request={request} layer={layer} bytes={BLOCK}"
            acts.connector.start_end(name, start, start + WIRE)
        decode.decode(at + 10 * MS, request)
    assert {segments(request) for request in serving.requests(tmp_path).values()} == {PLAIN}


@pytest.mark.parametrize("decodes", [True, False])
def test_pauses_in_which_others_are_on_the_link_are_no_fragmentation(
    *, decodes: bool, serving: Serving, tmp_path: Path
) -> None:
    """Layers of two requests take turns, whether the second is ever decoded or not: the first waits for the second."""
    prefill, decode = serving.server("prefill"), serving.server("decode")
    for turn, at in enumerate((FIRST, SECOND)):
        one, two = f"a{turn}", f"b{turn}"
        prefill.step(at, at + 4 * MS, one, two)
        for layer in range(LAYERS):
            for place, request in enumerate((one, two)):
                send(prefill, decode, request, layer, at + 5 * MS + (2 * layer + place) * MS)
        decode.decode(at + 16 * MS, *((one, two) if decodes else (one,)))
    analysis = serving.analysis(tmp_path)
    first = next(request for request in analysis.requests if request.request_id == "a0")
    assert first.span is not None
    assert first.span["gap_ns"] == (LAYERS - 1) * 1_200 * US
    ideas = {idea.id: idea for idea in analysis.whatif or ()}
    # Three pauses of 1.2 ms each, of which the link is idle for 0.4 ms.
    assert ideas["larger-messages"].saves_ns == 3 * 400 * US
    assert ideas["smaller-batch"].saves_ns == 3 * WIRE
    costs = {finding.id: finding.cost_ns for finding in analysis.findings}
    assert costs["gap-wait"] == 3 * WIRE * (4 if decodes else 2)


def twice_a_layer(prefill: Server, decode: Server, request: str, at: int) -> None:
    """K and V, one after the other."""
    for layer in range(LAYERS):
        for half in range(2):
            send(prefill, decode, request, layer, at + (2 * layer + half) * MS)


def twice(prefill: Server, decode: Server, request: str, at: int) -> None:
    """All, and all again."""
    hand_over(prefill, decode, request, at)
    hand_over(prefill, decode, request, at + LAYERS * MS)


@pytest.mark.parametrize(("sends", "attempts"), [(twice_a_layer, {1, None}), (twice, {2})])
def test_two_messages_per_layer_are_two_attempts_only_in_that_order(
    sends: Callable[[Server, Server, str, int], None], attempts: set[int | None], serving: Serving, tmp_path: Path
) -> None:
    prefill, decode = serving.server("prefill"), serving.server("decode")
    for request, at in (("r", FIRST), ("s", SECOND)):
        prefill.step(at, at + 4 * MS, request)
        sends(prefill, decode, request, at + 5 * MS)
        decode.decode(at + 15 * MS, request)
    assert {request.attempt_count for request in serving.requests(tmp_path).values()} <= attempts


def test_a_prompt_in_chunks_that_was_sent_again_lost_what_came_before_its_last_attempt(
    serving: Serving, tmp_path: Path
) -> None:
    """Two chunks are sent, and then both again: 10 ms after the first message, not when the last chunk goes again."""
    prefill, decode = serving.server("prefill"), serving.server("decode")
    for at, request in ((FIRST, "r"), (SECOND, "s"), (SECOND + 80 * MS, "t")):
        prefill.step(at, at + 2 * MS, request)
        prefill.step(at + 2_100 * US, at + 4 * MS, request)
        for chunk in range(2 if request != "r" else 4):
            hand_over(prefill, decode, request, at + (5 + 5 * chunk) * MS)
        decode.decode(at + 26 * MS, request)
    analysis = serving.analysis(tmp_path)
    counts = {request.request_id: (request.prefill_step_count, request.attempt_count) for request in analysis.requests}
    assert counts == {"r": (2, 2), "s": (2, 1), "t": (2, 1)}
    (finding,) = [each for each in analysis.findings if each.id == "sent-again"]
    assert finding.cost_ns == 10 * MS
