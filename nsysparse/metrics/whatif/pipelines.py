"""Layers one by one: sent as soon as they are computed, or decoded as soon as they have arrived."""

from collections.abc import Mapping
from fractions import Fraction

from nsysparse.metrics.cases import Case
from nsysparse.metrics.whatif.idea import Idea, Saving, Scene, saving, shown
from nsysparse.theory.pipeline import after_computing

SPLITWISE = "https://arxiv.org/abs/2311.18677"


def sender_pipelining(scene: Scene) -> Idea | None:
    """Each layer is sent while the next is computed, where all were sent after prefill.

    Of the L layers' time on the wire and between messages, t each, remains `max(t, L t - (L - 1) c)`; c is the measured
    compute of the last prefill step over L. Requests of one step share its compute, so t is of all of them.
    """
    known = {case.request_id: case for case in scene.cases}
    found: list[Saving] = []
    for case in scene.cases:
        remaining = _remaining(case, known)
        acts_on = case.wire_ns + case.pause_ns
        each = None if remaining is None else saving(case, acts_on - remaining, acts_on)
        if each is not None:
            found.append(each)
    if not found:
        return None
    layers = [_layers(each.case) for each in found]
    turns = [round(_turn_ns(each.case) / _layers(each.case)) for each in found]
    computes = [round(_layer_compute(each.case)) for each in found]
    return Idea(
        "sender-pipelining",
        tuple(found),
        f"max(t, L t - (L - 1) c) as Splitwise ({SPLITWISE}): L = {_range(layers)} layers, t = {shown(turns)} a layer"
        f" on the wire and between messages, c = {shown(computes)} of compute a layer in the last prefill step",
        "The engine hands each layer over as soon as it is computed, layers take alike to compute and to send, sending"
        " does not slow computing down, and the receiver is there.",
    )


def receiver_pipelining(scene: Scene) -> Idea | None:
    """Decode starts on the first layers while the others arrive: saves at most one decode step."""
    found: list[Saving] = []
    for case in scene.cases:
        if case.first_decode_ns is None or case.spread_ns is None:
            continue
        within = case.wire_ns + case.wait_ns + case.pause_ns
        each = saving(case, min(case.first_decode_ns, case.spread_ns), within)
        if each is not None:
            found.append(each)
    if not found:
        return None
    return Idea(
        "receiver-pipelining",
        tuple(found),
        f"the smaller of one decode step ({shown([each.case.first_decode_ns or 0 for each in found])}) and the time"
        f" from the first layer's arrival to the last one's ({shown([each.case.spread_ns or 0 for each in found])})",
        "Decode runs layer by layer and waits before each for its KV, the layers arrive in the order in which they are"
        " computed, and no other request's decode step is held up meanwhile.",
    )


def _remaining(case: Case, known: Mapping[str, Case]) -> float | None:
    """What remains after prefill; None where the request sends early already, or a measurement is missing."""
    step = case.prefill
    if step is None or not case.layer_count or case.is_sent_again or case.overlap_ns > _layer_compute(case):
        return None
    if not all(other in known for other in step.requests):
        return None
    turns = sum(_turn_ns(known[other]) for other in step.requests)
    left = after_computing(Fraction(turns, case.layer_count), case.layer_count, _layer_compute(case))
    return float(left)


def _turn_ns(case: Case) -> int:
    return case.wire_ns + case.pause_ns


def _layers(case: Case) -> int:
    return case.layer_count or 1


def _layer_compute(case: Case) -> Fraction:
    return Fraction(case.prefill.compute_ns if case.prefill else 0, _layers(case))


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
