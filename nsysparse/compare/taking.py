"""How readings are taken: with how many observations, how far clocks may have them off, and of what kind."""

from dataclasses import replace

from nsysparse.analysis import Analysis, Distribution, Link, Request
from nsysparse.compare.readings import Reading, unknown
from nsysparse.doubts import doubt_ms


def one_of(found: Distribution | None, statistic: str, why: str) -> Reading:
    """A statistic of a distribution; `why` says why there is none."""
    value: float | None = None if found is None else getattr(found, statistic)
    return unknown(why) if found is None or value is None else Reading(value, found.count)


def adding(found: Reading, doubt: float, like: str) -> Reading:
    """A value with its doubt and kind; what is not known has neither."""
    return found if found.value is None else replace(found, doubt=doubt, like=like)


def convention(analysis: Analysis) -> str:
    """Which side is taken to emit the first token; empty where nobody said."""
    told = analysis.settings["ttft"].value if "ttft" in analysis.settings else None
    return told if isinstance(told, str) else ""


def doubt(analysis: Analysis, name: str) -> float:
    """How far clocks may have a metric of requests off, in its unit."""
    if name != "kv_gap_share":
        return doubt_ms(analysis.requests, name) if name.endswith("_ms") else 0.0
    return max((_share_doubt(request) for request in analysis.requests), default=0.0)


def _share_doubt(request: Request) -> float:
    low, value, high = request.kv_gap_share_low, request.kv_gap_share, request.kv_gap_share_high
    return 0.0 if low is None or value is None or high is None else max(high - value, value - low)


def rate_of(link: Link | None, *, efficiency: bool) -> Reading:
    """The headline rate of a link, or its share of the line rate; rates of one basis alone compare."""
    if link is None:
        return unknown("no link of which both ends are known")
    value = link.efficiency if efficiency else link.headline_gb_s
    if value is None or (efficiency and link.peak_gb_s is None):
        return unknown(
            "no movement of it proves a rate" if link.headline_gb_s is None else "its line rate is not known"
        )
    like = f"{link.headline_basis}{', a lower bound' if link.headline_is_bound else ''}"
    if efficiency:
        like += f", of {link.peak_gb_s:.6g} GB/s"
    return Reading(value, link.movement_count, like=like)
