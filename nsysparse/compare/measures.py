"""What can be compared: each metric with its unit, which way is better, and how little of a change says nothing.

A metric of a distribution has its statistic after a point (`kv_gap_ms.p99`); others stand alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Generic, TypeVar

from nsysparse.analysis import Analysis, Distribution, Layer, Link, PromptBucket, Request
from nsysparse.compare.readings import Reading, unknown
from nsysparse.doubts import MISSING, doubt_ms
from nsysparse.headline import busiest
from nsysparse.idling import idle_for_kv
from nsysparse.units import NS_PER_MS

STATISTICS = ("p10", "p50", "p90", "p99", "min", "max")
HIGHER, LOWER, NEITHER = "higher", "lower", "neither"
RATE, TIME, SHARE, BYTES, COUNT = "GB/s", "ms", "share", "B", ""

# Floors: what a recording does not tell apart, whatever the runs did.
DEVICES_MS = 0.03
"""Clocks of two devices of one file are up to 30 us apart."""
_STEP_MS = 0.05
"""Steps and their launches jitter by tens of microseconds between runs of the same code."""
_SHARE_FLOOR = 0.005
_RATE_FLOOR = 0.01
_FIRST_USE_MS = 1.0
"""Setting up a connection takes tens of milliseconds, once: a millisecond of them is nothing."""

_NO_RATE = "no movement proves a rate"

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Measure(Generic[Subject]):
    """One comparable metric of a run, a link, a layer or a request.

    Attributes:
        name: As gates and JSON call it.
        title: As people call it.
        unit: `GB/s`, `ms`, `share`, `B`, or empty for a count.
        better: `higher`, `lower` or `neither`.
        floor: What a change must exceed to count, in the unit.
        read: Takes it from its subject.
        decides: Whether the comparison's verdict rests on it.
        of_requests: Whether longer prompts alone change it.
    """

    name: str
    title: str
    unit: str
    better: str
    floor: float
    read: Callable[[Subject], Reading]
    decides: bool = False
    of_requests: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """A distribution of `summary`: the statistics that are listed, and of these the ones that decide."""

    name: str
    title: str
    unit: str
    better: str
    floor: float
    listed: tuple[str, ...] = ("p50",)
    decides: tuple[str, ...] = ()
    of_requests: bool = False


FAMILIES = (
    Family("wire_gb_s", "Wire rate", RATE, HIGHER, _RATE_FLOOR, ("p50", "p10"), ("p50", "p10")),
    Family("kernel_gb_s", "Kernel rate, waiting included", RATE, HIGHER, _RATE_FLOOR),
    Family("delivered_gb_s", "Delivered rate", RATE, HIGHER, _RATE_FLOOR),
    Family("peer_wait_ms", "Peer wait of a movement", TIME, LOWER, DEVICES_MS, ("p50", "p90"), ("p50",)),
    Family("exposed_ms", "Exposed time of a movement", TIME, LOWER, DEVICES_MS),
    Family("exposed_to_request_ms", "Receives within the KV gap", TIME, LOWER, _STEP_MS, ("p50",), ("p50",), True),
    Family("kv_gap_ms", "KV gap", TIME, LOWER, _STEP_MS, ("p50", "p99"), ("p50", "p99"), True),
    Family("kv_gap_share", "KV gap share", SHARE, LOWER, _SHARE_FLOOR, ("p50", "p90"), ("p50",), True),
    Family("ttft_ms", "Time to first token", TIME, LOWER, _STEP_MS, ("p50", "p99"), (), True),
    Family("tpot_ms", "Time per output token", TIME, LOWER, _STEP_MS),
    Family("tpot_without_gap_ms", "Time per output token, without the KV gap", TIME, LOWER, _STEP_MS),
    Family("queue_ms", "Queue", TIME, LOWER, _STEP_MS),
    Family("prefill_ms", "Prefill", TIME, LOWER, _STEP_MS, of_requests=True),
    Family("handoff_ms", "Hand-off", TIME, LOWER, _STEP_MS),
    Family("transfer_span_ms", "Transfer", TIME, LOWER, _STEP_MS, of_requests=True),
    Family("span_wire_ms", "Transfer: on the wire", TIME, LOWER, _STEP_MS, of_requests=True),
    Family("span_peer_wait_ms", "Transfer: waiting for a late sender", TIME, LOWER, _STEP_MS),
    Family("span_sender_wait_ms", "Transfer: waiting for a late receiver", TIME, LOWER, _STEP_MS),
    Family("span_gap_ms", "Transfer: pauses", TIME, LOWER, _STEP_MS),
    Family("ready_to_decode_ms", "Ready, not started", TIME, LOWER, _STEP_MS),
    Family("first_decode_ms", "First decode step", TIME, LOWER, _STEP_MS),
    Family("path_ms", "Whole way to the first decoded token", TIME, LOWER, _STEP_MS, of_requests=True),
    Family("message_bytes", "Message size", BYTES, NEITHER, 0.0),
)


def _summary(family: Family, statistic: str) -> Measure[Analysis]:
    def read(analysis: Analysis) -> Reading:
        why = analysis.reason(f"/summary/{family.name}")
        like = _convention(analysis) if family.name in ("ttft_ms", "tpot_ms") else ""
        found = _statistic(analysis.summary.get(family.name), statistic, why.message if why else "nothing to measure")
        return _with(found, _doubt(analysis, family.name), like)

    return Measure(
        f"{family.name}.{statistic}",
        f"{family.title}, {statistic}",
        family.unit,
        family.better,
        family.floor,
        read,
        statistic in family.decides,
        family.of_requests,
    )


def _statistic(found: Distribution | None, statistic: str, why: str) -> Reading:
    value: float | None = None if found is None else getattr(found, statistic)
    return unknown(why) if found is None or value is None else Reading(value, found.count)


def _with(found: Reading, doubt: float, like: str) -> Reading:
    """A value with its doubt and kind; what is not known has neither."""
    return found if found.value is None else replace(found, doubt=doubt, like=like)


def _convention(analysis: Analysis) -> str:
    told = analysis.settings["ttft"].value if "ttft" in analysis.settings else None
    return told if isinstance(told, str) else ""


def _doubt(analysis: Analysis, name: str) -> float:
    """How far clocks may have a metric of requests off, in its unit."""
    if name != "kv_gap_share":
        return doubt_ms(analysis.requests, name) if name.endswith("_ms") else 0.0
    return max((_share_doubt(request) for request in analysis.requests), default=0.0)


def _share_doubt(request: Request) -> float:
    low, value, high = request.kv_gap_share_low, request.kv_gap_share, request.kv_gap_share_high
    return 0.0 if low is None or value is None or high is None else max(high - value, value - low)


def _rate_of(link: Link | None, *, efficiency: bool) -> Reading:
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


def _idle_share(analysis: Analysis) -> Reading:
    devices = analysis.decode or ()
    active = sum(device.active_ns for device in devices)
    if not active:
        why = analysis.reason("/decode")
        return unknown(why.message if why else "no decode device is known")
    return Reading(sum(device.idle_ns for device in devices) / active, _steps(analysis))


def _steps(analysis: Analysis) -> int | None:
    """Observations of decode: its steps; None where devices are known by their kernels alone."""
    return sum(device.step_count for device in analysis.decode or ()) or None


def _idle_for_kv(analysis: Analysis) -> Reading:
    idle = idle_for_kv(analysis)
    if idle is None:
        return unknown("no decode step was recorded, or no request's KV is known to be pending")
    return Reading(idle.share, _steps(analysis), idle.doubt_ns / idle.active_ns)


def _bytes_per_token(analysis: Analysis) -> Reading:
    known = [(each.bytes, each.prompt_tokens) for each in analysis.requests if each.bytes and each.prompt_tokens]
    if not known:
        return unknown("no request of known size and prompt length")
    return Reading(sum(size or 0 for size, _ in known) / sum(tokens or 0 for _, tokens in known), len(known))


def _first_use(analysis: Analysis) -> Reading:
    totals = analysis.totals
    if totals.first_use_ns is None or not totals.first_use_count:
        return unknown("no first use lies in the capture")
    return Reading(totals.first_use_ns / NS_PER_MS)


def _movements(analysis: Analysis) -> Reading:
    return Reading(analysis.totals.movement_count)


SINGLE: tuple[Measure[Analysis], ...] = (
    Measure("headline_gb_s", "Rate of the busiest link", RATE, HIGHER, _RATE_FLOOR,
            lambda analysis: _rate_of(busiest(analysis.links), efficiency=False), decides=True),
    Measure("efficiency", "Share of its line rate", SHARE, HIGHER, _SHARE_FLOOR,
            lambda analysis: _rate_of(busiest(analysis.links), efficiency=True)),
    Measure("decode_idle_share", "Decode idle", SHARE, LOWER, _SHARE_FLOOR, _idle_share),
    Measure("decode_idle_for_kv_share", "Decode idle for KV", SHARE, LOWER, _SHARE_FLOOR, _idle_for_kv, decides=True),
    Measure("bytes_per_token", "Bytes per prompt token", BYTES, LOWER, 0.0, _bytes_per_token),
    Measure("first_use_ms", "First uses, in all", TIME, LOWER, _FIRST_USE_MS, _first_use),
    Measure("movement_count", "Movements", COUNT, NEITHER, 0.0, _movements),
)  # fmt: skip

RUN: Mapping[str, Measure[Analysis]] = MappingProxyType(
    {
        measure.name: measure
        for measure in (*(_summary(each, name) for each in FAMILIES for name in STATISTICS), *SINGLE)
    }
)
"""All that can be asked of a whole run, by name."""
BUSIEST = ("headline_gb_s", "efficiency")
"""Those that are of the busiest link."""
LISTED = (*(f"{each.name}.{name}" for each in FAMILIES for name in each.listed), *(each.name for each in SINGLE))
"""Those that every comparison has, in their order."""
DRAWN = ("wire_gb_s", "kernel_gb_s", "kv_gap_ms", "exposed_to_request_ms", "ttft_ms", "transfer_span_ms",
         "ready_to_decode_ms", "peer_wait_ms")  # fmt: skip
"""Distributions that are drawn side by side."""
UNITS: Mapping[str, str] = MappingProxyType({each.name: each.unit for each in FAMILIES})
TITLES: Mapping[str, str] = MappingProxyType({each.name: each.title for each in FAMILIES})


def _link_rate(name: str, statistic: str) -> Callable[[Link], Reading]:
    return lambda link: _statistic(getattr(link, name), statistic, _NO_RATE)


LINKS: tuple[Measure[Link], ...] = (
    Measure("headline_gb_s", "Rate", RATE, HIGHER, _RATE_FLOOR, lambda link: _rate_of(link, efficiency=False),
            decides=True),
    Measure("efficiency", "Share of line rate", SHARE, HIGHER, _SHARE_FLOOR,
            lambda link: _rate_of(link, efficiency=True)),
    Measure("wire_gb_s.p50", "Wire rate, p50", RATE, HIGHER, _RATE_FLOOR, _link_rate("wire_gb_s", "p50"), decides=True),
    Measure("wire_gb_s.p10", "Wire rate, p10", RATE, HIGHER, _RATE_FLOOR, _link_rate("wire_gb_s", "p10"), decides=True),
    Measure("kernel_gb_s.p50", "Kernel rate, p50", RATE, HIGHER, _RATE_FLOOR, _link_rate("kernel_gb_s", "p50")),
    Measure("movement_count", "Movements", COUNT, NEITHER, 0.0, lambda link: Reading(link.movement_count)),
)  # fmt: skip


def _layer_rate(name: str) -> Callable[[Layer], Reading]:
    return lambda layer: _statistic(getattr(layer, name), "p50", _NO_RATE)


def _per_movement(layer: Layer, part: int | None, rest: int | None, why: str) -> Reading:
    """Milliseconds per movement of a part of the layer's time, where all of it is told apart from the rest."""
    if part is None or rest is None or part + rest != layer.time_ns or not layer.movement_count:
        return unknown(why)
    return Reading(part / layer.movement_count / NS_PER_MS, layer.movement_count)


def _wait(layer: Layer) -> Reading:
    return _per_movement(layer, layer.peer_wait_ns, layer.wire_ns, "waiting is not told apart of all its movements")


def _exposed(layer: Layer) -> Reading:
    known = None not in (layer.exposed_wire_ns, layer.exposed_wait_ns)
    exposed = (layer.exposed_wire_ns or 0) + (layer.exposed_wait_ns or 0) if known else None
    why = "what compute hides is not known of all its movements"
    return _per_movement(layer, exposed, layer.overlapped_ns, why)


def _size(layer: Layer) -> Reading:
    known = layer.bytes is not None and layer.movement_count
    return Reading((layer.bytes or 0) / layer.movement_count) if known else unknown("its sizes are not known")


LAYERS: tuple[Measure[Layer], ...] = (
    Measure("wire_gb_s.p50", "Wire rate, p50", RATE, HIGHER, _RATE_FLOOR, _layer_rate("wire_gb_s"), decides=True),
    Measure("kernel_gb_s.p50", "Kernel rate, p50", RATE, HIGHER, _RATE_FLOOR, _layer_rate("kernel_gb_s")),
    Measure("peer_wait_ms.mean", "Peer wait of a movement, mean", TIME, LOWER, DEVICES_MS, _wait),
    Measure("exposed_ms.mean", "Exposed time of a movement, mean", TIME, LOWER, DEVICES_MS, _exposed),
    Measure("message_bytes.mean", "Message size, mean", BYTES, NEITHER, 0.0, _size),
)


def _of_request(field: str) -> Callable[[Request], Reading]:
    def read(request: Request) -> Reading:
        value: int | None = getattr(request, field)
        if value is None:
            return unknown(MISSING.get(request.missing, "not known of this request"))
        like = (request.ttft_convention or "") if field == "ttft_ns" else ""
        return Reading(value / NS_PER_MS, doubt=request.uncertainties.get(field, 0) / NS_PER_MS, like=like)

    return read


REQUESTS: tuple[Measure[Request], ...] = tuple(
    Measure(name, title, TIME, LOWER, _STEP_MS, _of_request(field))
    for name, title, field in (
        ("kv_gap_ms", "KV gap", "kv_gap_ns"),
        ("transfer_span_ms", "Transfer", "transfer_span_ns"),
        ("exposed_to_request_ms", "Receives within the KV gap", "exposed_to_request_ns"),
        ("ready_to_decode_ms", "Ready, not started", "ready_to_decode_ns"),
        ("ttft_ms", "Time to first token", "ttft_ns"),
    )
)
"""Of a request that both runs know by its id: one observation each, so none of them decides."""


Bucket = tuple[Analysis, PromptBucket]
"""A class of prompt lengths, and the run that it is of."""


def _of_bucket(name: str) -> Callable[[Bucket], Reading]:
    def read(subject: Bucket) -> Reading:
        analysis, bucket = subject
        found = _statistic(getattr(bucket, name), "p50", "known of no request of this length")
        like = _convention(analysis) if name == "ttft_ms" else ""
        return _with(found, _doubt(analysis, name), like)

    return read


LENGTHS: tuple[Measure[Bucket], ...] = (
    Measure("kv_gap_ms.p50", "KV gap, p50", TIME, LOWER, _STEP_MS, _of_bucket("kv_gap_ms"), decides=True),
    Measure("kv_gap_share.p50", "KV gap share, p50", SHARE, LOWER, _SHARE_FLOOR, _of_bucket("kv_gap_share")),
    Measure("ttft_ms.p50", "Time to first token, p50", TIME, LOWER, _STEP_MS, _of_bucket("ttft_ms")),
)
"""Of requests of similar prompts, where ids tell nothing."""

_OF_PARTS: Mapping[str, str] = MappingProxyType(
    {
        **{measure.name: measure.title for measure in LAYERS},
        **{measure.name: measure.title for measure in LINKS},
        **{measure.name: measure.title for measure in REQUESTS},
        **{measure.name: measure.title for measure in LENGTHS},
    }
)


def title_of(metric: str, *, of_run: bool) -> str:
    """What people call a metric; of the whole run some say more than of one link or layer."""
    return RUN[metric].title if of_run else _OF_PARTS[metric]
