"""Senders that wait for a receive: no pause between transfers, but time that the decode side lost."""

from pathlib import Path

from nsysparse.analysis import Analysis, Request
from tests.serving import LAYERS, MS, Serving

LATE, LONG = 6 * MS, 2 * MS


def late(folder: Path, lateness: int = LATE, pause: int = 0, sends_for: int | None = None) -> Analysis:
    """Prefilled for 4 ms and sent at once; the first receive is posted `lateness` after its send.

    Each layer is on the wire for 2 ms, and `pause` lies between two. The first send runs on until its receive ends, or
    for `sends_for` alone, as one whose message was buffered.
    """
    world = Serving()
    source, target = world.server("prefill"), world.server("decode")
    source.join(1, 0)
    target.join(1, 1)
    source.step(10 * MS, 14 * MS, "a")
    at = 14 * MS
    for layer in range(LAYERS):
        posted = at + (lateness if layer == 0 else 0)
        end = posted + LONG
        source.message("send", "a", layer, at, at + sends_for if sends_for and layer == 0 else end, 1)
        target.message("recv", "a", layer, posted, end, 1)
        at = end + pause
    target.decode(at + MS, "a")
    return world.analysis(folder)


def only(found: Analysis) -> Request:
    (request,) = found.requests
    assert request.span is not None
    parts = [request.span[name] for name in ("wire_ns", "peer_wait_ns", "sender_wait_ns", "gap_ns")]
    assert None in parts or sum(part or 0 for part in parts) == request.transfer_span_ns
    return request


def test_a_receiver_that_posts_late_is_to_blame(tmp_path: Path) -> None:
    found = late(tmp_path, lateness=12 * MS)
    request = only(found)
    assert request.span == {
        "rank": 1, "wire_ns": LAYERS * LONG, "peer_wait_ns": 0, "sender_wait_ns": 12 * MS, "gap_ns": 0,
    }  # fmt: skip
    assert request.blame == "receiver"
    assert found.verdict.text.endswith("; 12.00 ± 0.03 ms per request is waiting for the decode side.")
    told = {each.id: each.cost_ns for each in found.findings}
    assert told["gap-receiver"] == 12 * MS
    assert "gap-fragmentation" not in told


def test_pauses_in_which_nobody_sends_stay_pauses(tmp_path: Path) -> None:
    request = only(late(tmp_path, pause=3 * MS))
    assert request.span is not None
    assert (request.span["sender_wait_ns"], request.span["gap_ns"]) == (LATE, (LAYERS - 1) * 3 * MS)


def test_a_sender_that_did_not_wait_is_not_waited_for(tmp_path: Path) -> None:
    """Its kernel ended, as of a message that was buffered, 1 ms after it began: only so long did it wait."""
    request = only(late(tmp_path, sends_for=MS))
    assert request.span is not None
    assert (request.span["sender_wait_ns"], request.span["gap_ns"]) == (MS, LATE - MS)


def test_a_receiver_in_time_is_not_late(tmp_path: Path) -> None:
    request = only(late(tmp_path, lateness=0))
    assert request.span is not None
    assert (request.span["sender_wait_ns"], request.span["gap_ns"]) == (0, 0)
