"""Other messages over the same link: fewer and larger ones, or several at once."""

from collections.abc import Sequence
from math import ceil

from nsysparse.analysis import Link
from nsysparse.metrics.cases import Case
from nsysparse.metrics.whatif.idea import Idea, Saving, Scene, saving, shown
from nsysparse.units import human_rate

WIRE = "wire"
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
    found: list[Saving] = []
    for case in scene.cases:
        rates = None if case.link is None else _rates(case.link)
        if rates is None or rates[0] >= _WORTH * rates[1]:
            continue
        payload = case.wire_ns - case.fixed_ns
        each = saving(case, payload * (1 - rates[0] / rates[1]), payload)
        if each is not None:
            found.append(each)
    if not found:
        return None
    link = _busiest([each.case for each in found])
    rate, most = _rates(link) or (1.0, 1.0)
    is_bound = bool(link.headline_is_bound) and link.fitted_gb_s is None
    how = "fitted" if link.fitted_gb_s else "proven at least" if is_bound else "proven"
    ceiling = "practical ceiling" if link.practical_gb_s else "line rate"
    return Idea(
        "more-streams",
        tuple(found),
        f"{how} {human_rate(rate)} on {link.link_key}, of {human_rate(most)} ({ceiling}): {ceil(most / rate):,} streams"
        " would fill it",
        "At best: streams add up until the link's ceiling, nobody else uses it, and what limits one stream (its"
        " channels, its queue pair, one adapter of several) does not limit all."
        + (" The true rate may be higher than what is proven, and then less is saved." if is_bound else ""),
    )


def _rates(link: Link) -> tuple[float, float] | None:
    """What one stream reaches and what the link can carry; None where either is not known."""
    proven = link.headline_gb_s if link.headline_basis == WIRE else None
    rate, most = link.fitted_gb_s or proven, link.practical_gb_s or link.peak_gb_s
    return None if rate is None or most is None else (rate, most)


def _busiest(cases: Sequence[Case]) -> Link:
    links = [case.link for case in cases if case.link is not None]
    return max(links, key=lambda link: (link.bytes or 0, link.link_key))


def shown_count(found: Sequence[Saving]) -> str:
    """How many messages the requests have, from the fewest to the most."""
    counts = [each.case.message_count for each in found]
    return f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
