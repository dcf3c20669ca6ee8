"""Other messages over the same link: fewer and larger ones, or several at once."""

from collections.abc import Sequence
from math import ceil
from statistics import median

from nsysparse.analysis import Link
from nsysparse.metrics.cases import Case
from nsysparse.metrics.whatif.idea import Idea, Saving, Scene, at_most, busiest, saving, shown
from nsysparse.units import human_rate

_WORTH = 0.9
"""A link that reaches so much of its ceiling has nothing to win from more streams."""


def larger_messages(scene: Scene) -> Idea | None:
    """One message per request in place of several: saves the other messages' fixed cost, and the pauses between them.

    Only where all is sent after prefill: one message cannot leave before the last layer is computed.
    """
    found: list[Saving] = []
    for case in scene.cases:
        if case.message_count < 2 or case.overlap_ns or case.is_sent_again:  # noqa: PLR2004 (one is as large as can be)
            continue
        fixed = case.fixed_ns * (case.message_count - 1) / case.message_count
        each = saving(case, fixed + case.pause_ns, case.fixed_ns + case.pause_ns)
        if each is not None:
            found.append(each)
    if not found:
        return None
    costs = [each.case.link.fixed_cost_ns for each in found if each.case.link and each.case.link.fixed_cost_ns]
    line = f"{shown(costs)} of fixed cost a message, fitted from size against time" if costs else (
        "pauses alone, as no line through the messages tells their fixed cost"
    )  # fmt: skip
    return Idea(
        "larger-messages",
        tuple(found),
        f"{shown_count(found)} messages a request; {line}; {shown([each.case.pause_ns for each in found])} of pauses",
        "All layers of a request go in one message, which needs their KV in one piece (a copy of it, whose time this"
        " trace does not show), and excludes sending layers while others are computed. Pauses are taken to come from"
        " the number of messages.",
    )


def more_streams(scene: Scene) -> Idea | None:
    """Several streams or adapters at once, where one alone does not fill its link: wire time down to its ceiling's."""
    found = [each for case in scene.cases if (each := _filled(case)) is not None]
    link = busiest(each.case for each in found)
    if link is None:
        return None
    here = [each.case for each in found if each.case.link == link]
    rate, most = median(_rate(case) for case in here), _most(link) or 1.0
    ceiling = "practical ceiling" if link.practical_gb_s else "line rate"
    return Idea(
        "more-streams",
        tuple(found),
        f"{human_rate(rate)} on {link.link_key} in the median (a request's bytes over its time on the wire), of"
        f" {human_rate(most)} ({ceiling}): {ceil(most / rate):,} such streams would fill it",
        "At best: streams add up until the link's ceiling, nobody else uses it, and what limits one stream (its"
        f" channels, its queue pair, one adapter of several) does not limit all.{at_most(found)}",
    )


def _filled(case: Case) -> Saving | None:
    """What the link's ceiling would save of the time that a request has the wire for itself."""
    most = None if case.link is None else _most(case.link)
    alone = _alone_ns(case)
    if most is None or not case.wire_bytes or alone <= 0 or _rate(case) >= _WORTH * most:
        return None
    return saving(case, alone - case.wire_bytes / most, alone)


def _alone_ns(case: Case) -> int:
    """Time on the wire for bytes, less what transfers of others took of it: these are streams of their own."""
    return case.wire_ns - case.fixed_ns - (0 if case.crowding is None else case.crowding.shared_ns)


def _rate(case: Case) -> float:
    """What a request's own transfers reached, in GB/s."""
    return (case.wire_bytes or 0) / _alone_ns(case)


def _most(link: Link) -> float | None:
    """What a link can carry, in GB/s."""
    return link.practical_gb_s or link.peak_gb_s


def shown_count(found: Sequence[Saving]) -> str:
    """How many messages the requests have, from the fewest to the most."""
    counts = [each.case.message_count for each in found]
    return f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
