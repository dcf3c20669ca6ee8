"""What most of the gap is made of beside the wire, in milliseconds per request: a clause of the verdict."""

from collections.abc import Mapping, Sequence

from nsysparse.analysis import Request
from nsysparse.metrics.cases import FRAGMENTATION, HANDOFF, LINK, PARTS, RECEIVER, SCHEDULER, TRANSFER, WAIT, Case
from nsysparse.metrics.whatif.idea import middle
from nsysparse.units import human_ns, human_within

_WORDS: Mapping[str, str] = {
    LINK: "on the wire",
    WAIT: "waiting for the prefill side",
    RECEIVER: "waiting for the decode side",
    TRANSFER: "transfer, wire and waiting not told apart",
    FRAGMENTATION: "pauses and fixed costs of transfers",
    HANDOFF: "hand-off before the first send",
    SCHEDULER: "KV ready before decode starts",
}
_RESTS_ON: Mapping[str, str] = {HANDOFF: "handoff_ns", SCHEDULER: "ready_to_decode_ns"}
"""The time of a request that a part is; of the others all lie within its transfer span."""
_WORTH_TELLING = 0.1
_MOST = 0.5


def largest_part(cases: Sequence[Case], requests: Sequence[Request]) -> str:
    """The part with the largest median over the requests that the verdict is of, as a clause.

    Empty where the parts are known of fewer than half of them, or the largest is within its clocks' error. The wire is
    told only where no other part is a tenth of it: its rate is told anyway.

    Args:
        cases: Requests whose gap and parts are known.
        requests: All requests, with the ± of their times.
    """
    judged = {each.request_id: each for each in requests if each.kv_gap_share is not None}
    known = [case for case in cases if case.request_id in judged]
    if not known or len(known) < _MOST * len(judged):
        return ""
    medians = {part: middle([case.parts[part] for case in known]) for part in PARTS}
    part = max((each for each in PARTS if each != LINK), key=lambda each: medians[each])
    if medians[part] < _WORTH_TELLING * medians[LINK]:
        part = LINK
    named = _RESTS_ON.get(part, "transfer_span_ns")
    doubt = max(judged[case.request_id].uncertainties.get(named, 0) for case in known)
    if medians[part] <= doubt:
        return ""
    took = human_within(medians[part], doubt) if doubt else human_ns(medians[part])
    of = "" if len(known) == len(judged) else f" ({len(known):,} of {len(judged):,} known)"
    return f"{took} per request{of} is {_WORDS[part]}"
