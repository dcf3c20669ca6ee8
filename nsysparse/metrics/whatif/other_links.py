"""The same bytes over another link of the catalogue."""

from collections.abc import Iterable
from statistics import median

from nsysparse.analysis import Link as Crossed
from nsysparse.catalog.entries import Link
from nsysparse.catalog.loader import links
from nsysparse.metrics.cases import Case
from nsysparse.metrics.whatif.idea import Idea, Saving, Scene, at_most, busiest, saving, shown
from nsysparse.units import GB, human_rate

_FASTER = 1.1
"""A link that is less than so much faster is no other link."""
_BETWEEN_HOSTS = ("infiniband", "ethernet")
_WITHIN_HOST = (
    "NVLink ties prefill and decode to one server, so their counts can no longer be chosen freely, and GPUs that"
    " prefill cannot decode"
)
_BETWEEN = "new adapters, switches and cables, in every server of both roles"


def other_links(scene: Scene) -> list[Idea]:
    """The next faster InfiniBand and Ethernet, and what joins these GPUs within a server, where that is faster."""
    now = busiest(scene.cases)
    ceiling = None if now is None else _known(now) or _reached(scene.cases, now)
    if now is None or ceiling is None:
        return []
    faster = [link for link in _candidates(scene.own_links) if _practical(link) >= _FASTER * ceiling]
    next_ones = [min((link for link in faster if link.kind == kind), key=_practical, default=None)
                 for kind in ("nvlink", *_BETWEEN_HOSTS)]  # fmt: skip
    ideas = [_idea(link, scene, now, ceiling) for link in next_ones if link is not None]
    return [idea for idea in ideas if idea.savings]


def _candidates(own: Iterable[Link]) -> list[Link]:
    return [link for link in (*own, *(each for each in links().values() if each.kind in _BETWEEN_HOSTS))
            if link.typical_fraction is not None and link.scope in ("gpu", "port")]  # fmt: skip


def _practical(link: Link) -> float:
    """What large transfers reach on it in GB/s: the upper end of what is typical."""
    _, high = link.typical_fraction or (0.0, 0.0)
    return high * link.one_way_peak_bytes_per_s / GB


def _reached(cases: Iterable[Case], link: Crossed) -> float | None:
    """What a link that nobody named gave these requests, in the median; None where no size is known.

    Nor where all that is known of the link is a lower bound: what limits a request may not be the link at all.
    """
    if not _is_told(link):
        return None
    here = [case for case in cases if case.link == link and case.wire_bytes and case.wire_ns > case.fixed_ns]
    return median((case.wire_bytes or 0) / (case.wire_ns - case.fixed_ns) for case in here) if here else None


def _known(link: Crossed) -> float | None:
    """What the present link can carry, in GB/s; None where nobody named it."""
    return link.practical_gb_s or link.peak_gb_s


def _is_told(link: Crossed) -> bool:
    """Whether the run tells a link's rate, not only that it is at least so much."""
    return link.fitted_gb_s is not None or (link.headline_gb_s is not None and not link.headline_is_bound)


def _saved(case: Case, reached: float) -> Saving | None:
    """By the share of its ceiling that the present link gave it; of a link that nobody named, by its own bytes."""
    if case.link is None:
        return None
    payload, known = case.wire_ns - case.fixed_ns, _known(case.link)
    if known is not None:
        return saving(case, payload * (1 - known / reached), payload)
    told = case.wire_bytes and _is_told(case.link)
    return saving(case, payload - (case.wire_bytes or 0) / reached, payload) if told else None


def _idea(link: Link, scene: Scene, now: Crossed, ceiling: float) -> Idea:
    reached = _practical(link)
    found = [each for case in scene.cases if (each := _saved(case, reached)) is not None]
    known = _known(now)
    present = f"{now.link_name or 'the present link'} with {human_rate(ceiling)}"
    what = "its ceiling" if known else "bytes over time on the wire in the median, as the link is not named"
    costs = _WITHIN_HOST if link.kind == "nvlink" else _BETWEEN
    same = "reaches the same share of its ceiling as this run reaches of its own" if known else "reaches its ceiling"
    low, high = link.typical_fraction or (0.0, 0.0)
    typical = f"{low:.0%} to {high:.0%} of the line rate are typical, {link.typical_basis}"
    return Idea(
        f"link:{link.id}",
        tuple(found),
        f"{shown([each.case.wire_ns - each.case.fixed_ns for each in found])} on the wire over {present} ({what}), set"
        f" against {human_rate(reached)} of {link.name} ({typical}; its peak: {link.source})",
        f"The transfer {same}, and messages cost what they cost now. It costs: {costs}.{at_most(found)}",
    )
