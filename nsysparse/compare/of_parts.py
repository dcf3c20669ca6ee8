"""Metrics of the parts of a run: its links, layers, requests, and classes of prompt lengths."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from nsysparse.analysis import Analysis, Layer, Link, PromptBucket, Request
from nsysparse.compare.measures import (
    BYTES,
    COUNT,
    DEVICES_MS,
    HIGHER,
    LOWER,
    NEITHER,
    NO_RATE,
    RATE,
    RATE_FLOOR,
    SHARE,
    SHARE_FLOOR,
    STEP_MS,
    TIME,
    Measure,
)
from nsysparse.compare.of_run import RUN
from nsysparse.compare.readings import Reading, unknown
from nsysparse.compare.taking import adding, convention, doubt, one_of, rate_of
from nsysparse.doubts import MISSING
from nsysparse.units import NS_PER_MS


def _link_rate(name: str, statistic: str) -> Callable[[Link], Reading]:
    return lambda link: one_of(getattr(link, name), statistic, NO_RATE)


LINKS: tuple[Measure[Link], ...] = (
    Measure("headline_gb_s", "Rate", RATE, HIGHER, RATE_FLOOR, lambda link: rate_of(link, efficiency=False),
            decides=True),
    Measure("efficiency", "Share of line rate", SHARE, HIGHER, SHARE_FLOOR,
            lambda link: rate_of(link, efficiency=True)),
    Measure("wire_gb_s.p50", "Wire rate, p50", RATE, HIGHER, RATE_FLOOR, _link_rate("wire_gb_s", "p50"), decides=True),
    Measure("wire_gb_s.p10", "Wire rate, p10", RATE, HIGHER, RATE_FLOOR, _link_rate("wire_gb_s", "p10"), decides=True),
    Measure("kernel_gb_s.p50", "Kernel rate, p50", RATE, HIGHER, RATE_FLOOR, _link_rate("kernel_gb_s", "p50")),
    Measure("movement_count", "Movements", COUNT, NEITHER, 0.0, lambda link: Reading(link.movement_count)),
)  # fmt: skip


def _layer_rate(name: str) -> Callable[[Layer], Reading]:
    return lambda layer: one_of(getattr(layer, name), "p50", NO_RATE)


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
    Measure("wire_gb_s.p50", "Wire rate, p50", RATE, HIGHER, RATE_FLOOR, _layer_rate("wire_gb_s"), decides=True),
    Measure("kernel_gb_s.p50", "Kernel rate, p50", RATE, HIGHER, RATE_FLOOR, _layer_rate("kernel_gb_s")),
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
    Measure(name, title, TIME, LOWER, STEP_MS, _of_request(field))
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
        found = one_of(getattr(bucket, name), "p50", "known of no request of this length")
        like = convention(analysis) if name == "ttft_ms" else ""
        return adding(found, doubt(analysis, name), like)

    return read


LENGTHS: tuple[Measure[Bucket], ...] = (
    Measure("kv_gap_ms.p50", "KV gap, p50", TIME, LOWER, STEP_MS, _of_bucket("kv_gap_ms"), decides=True),
    Measure("kv_gap_share.p50", "KV gap share, p50", SHARE, LOWER, SHARE_FLOOR, _of_bucket("kv_gap_share")),
    Measure("ttft_ms.p50", "Time to first token, p50", TIME, LOWER, STEP_MS, _of_bucket("ttft_ms")),
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
