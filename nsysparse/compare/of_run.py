"""Metrics of a whole run: the distributions of its summary, by statistic, and single values."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nsysparse.analysis import Analysis
from nsysparse.compare.measures import (
    BYTES,
    COUNT,
    DEVICES_MS,
    FIRST_USE_MS,
    HIGHER,
    KERNEL_MS,
    LOWER,
    NEITHER,
    RATE,
    RATE_FLOOR,
    SHARE,
    SHARE_FLOOR,
    STATISTICS,
    STEP_MS,
    TIME,
    Measure,
)
from nsysparse.compare.readings import Reading, unknown
from nsysparse.compare.taking import adding, convention, doubt, one_of, rate_of
from nsysparse.headline import busiest
from nsysparse.idling import idle_for_kv
from nsysparse.units import NS_PER_MS


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
    Family("wire_gb_s", "Wire rate", RATE, HIGHER, RATE_FLOOR, ("p50", "p10"), ("p50", "p10")),
    Family("kernel_gb_s", "Kernel rate, waiting included", RATE, HIGHER, RATE_FLOOR),
    Family("delivered_gb_s", "Delivered rate", RATE, HIGHER, RATE_FLOOR),
    Family("peer_wait_ms", "Peer wait of a movement", TIME, LOWER, DEVICES_MS, ("p50", "p90"), ("p50",)),
    Family("exposed_ms", "Exposed time of a movement", TIME, LOWER, DEVICES_MS),
    Family("exposed_to_request_ms", "Receives within the KV gap", TIME, LOWER, STEP_MS, ("p50",), ("p50",), True),
    Family("kv_gap_ms", "KV gap", TIME, LOWER, STEP_MS, ("p50", "p99"), ("p50", "p99"), True),
    Family("kv_gap_share", "KV gap share", SHARE, LOWER, SHARE_FLOOR, ("p50", "p90"), ("p50",), True),
    Family("ttft_ms", "Time to first token", TIME, LOWER, STEP_MS, ("p50", "p99"), (), True),
    Family("tpot_ms", "Time per output token", TIME, LOWER, STEP_MS),
    Family("tpot_without_gap_ms", "Time per output token, without the KV gap", TIME, LOWER, STEP_MS),
    Family("queue_ms", "Queue", TIME, LOWER, STEP_MS),
    Family("prefill_ms", "Prefill", TIME, LOWER, STEP_MS, of_requests=True),
    Family("handoff_ms", "Hand-off", TIME, LOWER, STEP_MS),
    Family("transfer_span_ms", "Transfer", TIME, LOWER, STEP_MS, of_requests=True),
    Family("span_wire_ms", "Transfer: on the wire", TIME, LOWER, STEP_MS, of_requests=True),
    Family("span_peer_wait_ms", "Transfer: waiting for a late sender", TIME, LOWER, STEP_MS),
    Family("span_sender_wait_ms", "Transfer: waiting for a late receiver", TIME, LOWER, STEP_MS),
    Family("span_gap_ms", "Transfer: pauses", TIME, LOWER, STEP_MS),
    Family("ready_to_decode_ms", "Ready, not started", TIME, LOWER, STEP_MS),
    Family("first_decode_ms", "First decode step", TIME, LOWER, STEP_MS),
    Family("path_ms", "Whole way to the first decoded token", TIME, LOWER, STEP_MS, of_requests=True),
    Family("message_bytes", "Message size", BYTES, NEITHER, 0.0),
)


def _summary(family: Family, statistic: str) -> Measure[Analysis]:
    def read(analysis: Analysis) -> Reading:
        why = analysis.reason(f"/summary/{family.name}")
        like = convention(analysis) if family.name in ("ttft_ms", "tpot_ms") else ""
        found = one_of(analysis.summary.get(family.name), statistic, why.message if why else "nothing to measure")
        return adding(found, doubt(analysis, family.name), like)

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


def _exchange(analysis: Analysis, length: str) -> Reading:
    """Mean length of one of the two kernels of an exchange, on the clock of its own device; sizes are not needed."""
    totals = analysis.totals
    took: int | None = getattr(totals, length)
    if took is None or not totals.exchange_count:
        why = analysis.reason("/totals/exchange_count")
        return unknown(why.message if why else "no kernels of two sides met")
    return Reading(took / totals.exchange_count / NS_PER_MS, totals.exchange_count)


def _movements(analysis: Analysis) -> Reading:
    return Reading(analysis.totals.movement_count)


SHORTER = "shorter_kernel_ms"
"""Of the two kernels of an exchange the one that waited less: it decides where no rate is known."""
SINGLE: tuple[Measure[Analysis], ...] = (
    Measure("headline_gb_s", "Rate of the busiest link", RATE, HIGHER, RATE_FLOOR,
            lambda analysis: rate_of(busiest(analysis.links), efficiency=False), decides=True),
    Measure("efficiency", "Share of its line rate", SHARE, HIGHER, SHARE_FLOOR,
            lambda analysis: rate_of(busiest(analysis.links), efficiency=True)),
    Measure("decode_idle_share", "Decode idle", SHARE, LOWER, SHARE_FLOOR, _idle_share),
    Measure("decode_idle_for_kv_share", "Decode idle for KV", SHARE, LOWER, SHARE_FLOOR, _idle_for_kv, decides=True),
    Measure(SHORTER, "Shorter kernel of an exchange, mean", TIME, LOWER, KERNEL_MS,
            lambda analysis: _exchange(analysis, "shorter_kernel_ns")),
    Measure("longer_kernel_ms", "Longer kernel of an exchange, mean", TIME, LOWER, KERNEL_MS,
            lambda analysis: _exchange(analysis, "longer_kernel_ns")),
    Measure("bytes_per_token", "Bytes per prompt token", BYTES, LOWER, 0.0, _bytes_per_token),
    Measure("first_use_ms", "First uses, in all", TIME, LOWER, FIRST_USE_MS, _first_use),
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
