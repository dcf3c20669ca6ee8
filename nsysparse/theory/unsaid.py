"""Why a value of a prediction is null, and what would change it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nsysparse.analysis import Reason
from nsysparse.prediction import Lengths, Question
from nsysparse.theory.critical import Length, Why
from nsysparse.theory.dtypes import NARROW_BITS
from nsysparse.theory.links import Peak
from nsysparse.theory.shipment import Shipment

_WHY: Mapping[Why, str] = {
    "state-exceeds": "The recurrent state alone takes longer, however short the sequence.",
    "token-exceeds": "Even the shortest sequence takes longer.",
    "never-reached": "The cache never takes so long: all its layers have windows or a fixed state.",
}
_LENGTH_SHARES = ("below_fixed_cost_share", "above_critical_share/low", "above_critical_share/high", "pays_share")


@dataclass(frozen=True, slots=True)
class Limits:
    """Lengths of one request over one link: for the shortest and the longest step at both rates, and the fixed cost."""

    line_rate: tuple[Length, Length]
    practical: tuple[Length, Length] | None
    fixed_cost: Length | None


def of_question(shipment: Shipment, asked: Question) -> list[Reason]:
    """What was not asked or told at all."""
    found = []
    if shipment.wire_dtype is None:
        text = "Nothing says that the cache is compressed on its way."
        fix = "--wire-dtype TYPE" if shipment.kv_dtype.bits > NARROW_BITS else ""
        found.append(Reason("/wire_dtype", "not-given", text, fix))
    if asked.layer_ns is None:
        found.append(_no_layer("/layer_ns"))
    if asked.fixed_cost_ns is None:
        found.append(_no_cost("/fixed_cost_ns"))
    if asked.benefit_ns is None:
        found.append(_no_benefit("/benefit_ns"))
    if asked.lengths is None:
        found.append(Reason("/lengths", "not-given", "No lengths of requests are given.", "--lengths FILE"))
    return found


def of_row(path: str, peak: Peak, limits: Limits, asked: Question) -> Iterator[Reason]:
    """What one row cannot say."""
    if peak.link_id is None:
        yield Reason(f"{path}/link", "not-given", "The rate is given without a link.", "--link ID")
    yield from _critical(f"{path}/critical_tokens", limits.line_rate)
    if limits.practical is None:
        text = "The catalogue does not know what large transfers reach on this link."
        for key in ("practical_gb_s", "practical_source", "practical_ns"):
            yield Reason(f"{path}/{key}", "no-ceiling", text)
        for end in ("low", "high"):
            yield Reason(f"{path}/practical_critical_tokens/{end}", "no-ceiling", text)
    else:
        yield from _critical(f"{path}/practical_critical_tokens", limits.practical)
    if limits.fixed_cost is None:
        yield _no_cost(f"{path}/fixed_cost_tokens")
    elif limits.fixed_cost.why:
        yield Reason(f"{path}/fixed_cost_tokens", limits.fixed_cost.why, _WHY[limits.fixed_cost.why])
    if asked.layer_ns is None:
        yield _no_layer(f"{path}/exposed_ns")


def of_lengths(lengths: Lengths, asked: Question) -> Iterator[Reason]:
    """Which shares of requests are missing."""
    places = [f"/lengths/by_link/{place}" for place in range(len(lengths.by_link))]
    if len(places) > 1:
        text = "There are several links: each has its own shares in `by_link`."
        yield from (Reason(f"/lengths/{key}", "several-links", text, "--link ID") for key in _LENGTH_SHARES)
    else:
        places.append("/lengths")
    for path in places:
        if asked.fixed_cost_ns is None:
            yield _no_cost(f"{path}/below_fixed_cost_share")
        if asked.benefit_ns is None:
            yield _no_benefit(f"{path}/pays_share")
    for place, each in enumerate(lengths.by_link):
        if each.link is None:
            text = "The rate is given without a link."
            yield Reason(f"/lengths/by_link/{place}/link", "not-given", text, "--link ID")


def _critical(path: str, ends: tuple[Length, Length]) -> Iterator[Reason]:
    for name, end in zip(("low", "high"), ends, strict=True):
        if end.why:
            yield Reason(f"{path}/{name}", end.why, _WHY[end.why])


def _no_cost(path: str) -> Reason:
    text = "What a transfer costs whatever its size is not told; a report fits it per link as fixed_cost_ns."
    return Reason(path, "not-given", text, "--fixed-cost-us US")


def _no_layer(path: str) -> Reason:
    text = "How long one layer computes is not told, so layers are taken to be sent after all were computed."
    return Reason(path, "not-given", text, "--layer-ms MS")


def _no_benefit(path: str) -> Reason:
    text = "What a request gains from disaggregation is not told."
    return Reason(path, "not-given", text, "--benefit-ms MS")
