"""Who is to blame for the gap between prefill and decode: link, waiting, fragmentation, hand-off or scheduler."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nsysparse.analysis import Finding, WhatIf
from nsysparse.ideas import title
from nsysparse.metrics.cases import FRAGMENTATION, HANDOFF, LINK, PARTS, RECEIVER, SCHEDULER, TRANSFER, WAIT, Case
from nsysparse.metrics.findings.ranking import MEDIUM, refs, severity
from nsysparse.metrics.whatif.idea import middle
from nsysparse.units import counted, human_ns, human_share


@dataclass(frozen=True, slots=True)
class _Part:
    """How a part of the gap is told: its kind in a report, what it is, what to do, and the ideas that act on it."""

    kind: str
    title: str
    advice: str
    ideas: tuple[str, ...]


_TOLD: Mapping[str, _Part] = {
    LINK: _Part(
        "wire",
        "Link-bound: KV is on the wire",
        "Send fewer bytes, send them earlier, or over a faster link.",
        ("wire-", "link:", "more-streams", "sender-pipelining", "receiver-pipelining", "smaller-batch"),
    ),
    WAIT: _Part(
        "wait",
        "Wait-bound: the receiver waits for a late sender",
        "See what the sending side does meanwhile: other requests' transfers, computing, or a host that launches late.",
        ("smaller-batch", "receiver-pipelining"),
    ),
    RECEIVER: _Part(
        "wait",
        "Wait-bound: the sender waits for a late receiver",
        "Post receives as soon as a request is admitted, not when its prefill reports to be done; see what holds the"
        " decode side's host up.",
        (),
    ),
    TRANSFER: _Part(
        "wire",
        "Transfer-bound, by the link or a late sender: receives run",
        "Record both sides in one nsys profile to tell the wire from waiting; for either of them, send earlier.",
        (),
    ),
    FRAGMENTATION: _Part(
        "wire",
        "Fragmentation-bound: messages' fixed costs and pauses between them",
        "Send larger messages (several layers or blocks at once), or send them while prefill still computes.",
        ("larger-messages", "sender-pipelining", "receiver-pipelining", "smaller-batch"),
    ),
    HANDOFF: _Part(
        "handoff",
        "Late hand-off: prefill is done and nothing is sent yet",
        "Look at what lies between the end of prefill and the first send: the answer to the router, the receiver's"
        " request for blocks, packing; or send layers as soon as they are computed.",
        (),
    ),
    SCHEDULER: _Part(
        "ready",
        "Scheduler-bound: KV is there and decode has not started",
        "Admit requests as soon as their KV has arrived (poll for it more often, between steps too), keep room for them"
        " in the batch, or shorten decode steps.",
        (),
    ),
}


def blamed_gaps(cases: Sequence[Case], ideas: Sequence[WhatIf]) -> list[Finding]:
    """One finding for each part that takes a share of the way worth telling.

    Args:
        cases: Requests whose gap and parts are known.
        ideas: What would help.
    """
    found = [_blamed(part, cases, ideas) for part in PARTS]
    return [each for each in found if each is not None]


def _blamed(part: str, cases: Sequence[Case], ideas: Sequence[WhatIf]) -> Finding | None:
    lost = [case.parts[part] for case in cases if case.parts[part]]
    cost = sum(lost)
    if not cost:
        return None
    # The way is known of requests that the capture holds from their beginning on.
    whole = [case for case in cases if case.path_ns]
    of_way = sum(case.parts[part] for case in whole) / sum(case.path_ns or 0 for case in whole) if whole else None
    how_bad = MEDIUM if of_way is None else severity(of_way)
    if how_bad is None:
        return None
    told = _TOLD[part]
    most = sum(case.blame == part for case in cases)
    worst = sorted((case for case in cases if case.parts[part]), key=lambda case: (-case.parts[part], case.request_id))
    of_gap = cost / sum(case.gap_ns for case in cases)
    names = ", ".join(case.request_id for case in worst[:3])
    way = "" if of_way is None else f", {human_share(of_way)} of the way to the first decoded token"
    return Finding(
        id=f"gap-{part}",
        kind=told.kind,
        severity=how_bad,
        title=f"{told.title} for {human_ns(middle(lost))} in the median of {counted(len(lost), 'request')},"
        f" {human_share(of_gap)} of all gaps",
        evidence=f"{human_ns(cost)} over {counted(len(cases), 'request')} with a known gap{way}; the largest part of"
        f" {most:,} of these gaps; worst: {names}",
        cost_ns=cost,
        advice=f"{told.advice}{_best(told, ideas)}",
        refs=refs(case.request_id for case in worst),
    )


def _best(told: _Part, ideas: Sequence[WhatIf]) -> str:
    """The idea that would save most of all requests together."""
    fitting = [idea for idea in ideas if idea.id.startswith(told.ideas) and _gain(idea) > 0] if told.ideas else []
    best = max(fitting, key=_gain, default=None)
    if best is None:
        return ""
    net = (best.saves_ns or 0) - (best.costs_ns or 0)
    unpaid = ", before what it costs" if best.costs_ns is None else ""
    saves = f"{human_ns(net)} in the median of {counted(best.request_count, 'request')}{unpaid}"
    return f' Of what would help, "{title(best.id)}" saves most in all: {saves}.'


def _gain(idea: WhatIf) -> int:
    return ((idea.saves_ns or 0) - (idea.costs_ns or 0)) * idea.request_count
