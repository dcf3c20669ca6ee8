"""For which share of requests a link is fast enough: each request by the time of its own bytes, without rounding."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor

from nsysparse.lengths import Histogram
from nsysparse.prediction import Band, Lengths, LinkShares, Question
from nsysparse.theory.links import Peak
from nsysparse.theory.shipment import Shipment
from nsysparse.units import NS_PER_S

_NOT_ONE = LinkShares(None, None, Band(None, None), None)


def shares_over(shipment: Shipment, peaks: Sequence[Peak], asked: Question, told: Histogram) -> Lengths:
    """The requests by length, and their shares over each of the links at its line rate.

    Below the fixed cost are those whose bytes take less time than it; above the critical length those whose bytes take
    longer than a decode step; disaggregation pays for those whose transfer, with the fixed cost where that is known, is
    over in less time than the benefit.
    """
    sizes = {tokens: shipment.on_link(tokens) for tokens, _ in told.lengths}
    by_link = [_shares(peak, asked, told, sizes) for peak in peaks]
    only = by_link[0] if len(by_link) == 1 else _NOT_ONE
    edges, counts = told.bins()
    return Lengths(
        source=told.source,
        total=told.total,
        unknown_count=told.unknown_count,
        p50=told.percentile(50),
        p90=told.percentile(90),
        p99=told.percentile(99),
        edges=edges,
        counts=counts,
        below_fixed_cost_share=only.below_fixed_cost_share,
        above_critical_share=only.above_critical_share,
        pays_share=only.pays_share,
        by_link=by_link,
    )


def _shares(peak: Peak, asked: Question, told: Histogram, sizes: Mapping[int, int]) -> LinkShares:
    rate = Fraction(peak.bytes_per_s)
    cost, benefit, step = asked.fixed_cost_ns, asked.benefit_ns, asked.step_ns

    def slower(than_ns: int) -> Callable[[int], bool]:
        most = floor(than_ns * rate / NS_PER_S)
        return lambda tokens: sizes[tokens] > most

    def quicker(than_ns: int) -> Callable[[int], bool]:
        least = ceil(than_ns * rate / NS_PER_S)
        return lambda tokens: sizes[tokens] < least

    return LinkShares(
        link=peak.link_id,
        below_fixed_cost_share=None if cost is None else told.share(quicker(cost)),
        above_critical_share=Band(told.share(slower(step.high)), told.share(slower(step.low))),
        pays_share=None if benefit is None else told.share(quicker(benefit - (cost or 0))),
    )
