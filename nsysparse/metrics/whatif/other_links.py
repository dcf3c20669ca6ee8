"""The same bytes over another link of the catalogue."""

from collections.abc import Iterable

from nsysparse.analysis import Link as Crossed
from nsysparse.catalog.entries import Link
from nsysparse.catalog.loader import links
from nsysparse.metrics.cases import Case
from nsysparse.metrics.whatif.idea import Idea, Saving, Scene, saving, shown
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
    now = _busiest(scene.cases)
    ceiling = None if now is None else _ceiling_now(now)
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


def _ceiling_now(link: Crossed) -> float | None:
    """What the present link can carry, else what this run shows of it; None where that is a mere lower bound."""
    shown_gb_s = None if link.headline_is_bound else link.headline_gb_s
    return link.practical_gb_s or link.peak_gb_s or link.fitted_gb_s or shown_gb_s


def _busiest(cases: Iterable[Case]) -> Crossed | None:
    crossed = [case.link for case in cases if case.link is not None]
    return max(crossed, key=lambda link: (link.bytes or 0, link.link_key), default=None)


def _idea(link: Link, scene: Scene, now: Crossed, ceiling: float) -> Idea:
    reached = _practical(link)
    found: list[Saving] = []
    for case in scene.cases:
        own = None if case.link is None else _ceiling_now(case.link)
        payload = case.wire_ns - case.fixed_ns
        each = None if own is None else saving(case, payload * (1 - own / reached), payload)
        if each is not None:
            found.append(each)
    known = now.practical_gb_s or now.peak_gb_s
    present = f"{now.link_name or 'the present link'} with {human_rate(ceiling)}"
    what = "its ceiling" if known else "what this run shows, as the link is not named"
    costs = _WITHIN_HOST if link.kind == "nvlink" else _BETWEEN
    same = "reaches the same share of its ceiling as this run reaches of its own" if known else "reaches its ceiling"
    low, high = link.typical_fraction or (0.0, 0.0)
    typical = f"{low:.0%} to {high:.0%} of the line rate are typical, {link.typical_basis}"
    return Idea(
        f"link:{link.id}",
        tuple(found),
        f"{shown([each.case.wire_ns - each.case.fixed_ns for each in found])} on the wire over {present} ({what}), set"
        f" against {human_rate(reached)} of {link.name} ({typical}; its peak: {link.source})",
        f"The transfer {same}, and messages cost what they cost now. It costs: {costs}.",
    )
