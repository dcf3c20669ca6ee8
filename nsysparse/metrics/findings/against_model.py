"""That requests moved other bytes than their model says, and what would explain it."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from nsysparse.analysis import Finding, Request
from nsysparse.catalog.entries import IndexedLatent, Latent
from nsysparse.errors import UsageError
from nsysparse.metrics.findings.ranking import refs
from nsysparse.theory.dtypes import NARROW_BITS, cache_types
from nsysparse.theory.shipment import Shipment
from nsysparse.units import counted, human_bytes

TOLERANCE = 0.05
"""By so much a request may move more or less than its model says."""
_CLOSE = 0.01
_MOST_TP = 64
_MOST_OPTIONS = 3
_FEWEST_COPIES = 2


def differs(request: Request) -> bool:
    """Whether a request moved clearly more or less than its model says."""
    if request.bytes is None or not request.expected_bytes:
        return False
    return abs(request.bytes - request.expected_bytes) > TOLERANCE * request.expected_bytes


def against_model(requests: Sequence[Request], known: Shipment | None, strays: int | None) -> Finding | None:
    """The finding, where any request differs.

    Args:
        requests: What each request moved, and must by the model.
        known: The model as a user says that it is served, if named.
        strays: Bytes that were attributed to no request; None where some are and their sizes are unknown.
    """
    off = [request for request in requests if differs(request)]
    if known is None or not off:
        return None
    ratios = sorted((request.bytes or 0) / (request.expected_bytes or 1) for request in off)
    middle = median(ratios)
    several = f"{ratios[0]:.3g} to {ratios[-1]:.3g}, in the median {middle:.3g} times"
    missing = sum((request.expected_bytes or 0) - (request.bytes or 0) for request in off)
    rest = "the rest" if (strays or 0) >= (1 - TOLERANCE) * missing else "a part of what is missing"
    told = f"{human_bytes(strays)} were attributed to no request (no annotation names one): they may be {rest}. "
    one = f"{middle:.3g} times"
    even = ratios[-1] - ratios[0] <= _CLOSE * middle
    return Finding(
        id="bytes-against-model",
        kind="coverage",
        severity="medium",
        title=f"{counted(len(off), 'request')} moved {one if even else several} what {known.model.name} must hand over",
        evidence=f"{len(off):,} of {counted(len(requests), 'request')} with a known prompt, over {TOLERANCE:.0%} off",
        cost_ns=None,
        advice=(told if strays and middle < 1 else "") + _advice(off, known, middle),
        refs=refs(request.request_id for request in off),
    )


def _advice(off: Sequence[Request], known: Shipment, middle: float) -> str:
    """The options that would make theory and observation agree, where any explains all; else what may."""
    ranks = [*_copies(known, off, middle), *_ranks(known, off)]
    if options := [*_uncompressed(known, off), *ranks, *_types(known, off)][:_MOST_OPTIONS]:
        found = " or ".join(options)
        return f"{found[0].upper()}{found[1:]} would explain it; if the server does not run so, check --model."
    if middle < 1:
        return (
            "Part of the KV may not have crossed (prefix-cache hits), or lies outside the capture, or only some ranks"
            " were recorded; or it is another model (--model)."
        )
    same = "their copies of the latents" if _keeps_latents(known) else "the same heads (--tp)"
    return f"More ranks may have sent {same}, or requests were sent again; or it is another model (--model)."


def _explains(other: Shipment, off: Sequence[Request]) -> bool:
    """Whether all these requests moved what they must if the model is served so; not where it cannot be."""
    try:
        return all(_close(request.bytes or 0, other.sent(request.prompt_tokens or 0)) for request in off)
    except UsageError:
        return False


def _close(seen: float, wanted: float) -> bool:
    return abs(seen - wanted) <= _CLOSE * wanted


def _uncompressed(known: Shipment, off: Sequence[Request]) -> list[str]:
    """That nothing was compressed for the crossing, where it was said to be and that explains all."""
    plain = replace(known, wire_dtype=None)
    return ["leaving out --wire-dtype"] if known.wire_dtype and _explains(plain, off) else []


def _types(known: Shipment, off: Sequence[Request]) -> list[str]:
    """Other types that explain all: of the cache, or on the wire, where only a cache of over 8 bits is compressed."""
    found = []
    for kind in cache_types().values():
        kept, crossing = replace(known, kv_dtype=kind), replace(known, wire_dtype=kind)
        options = [f"--kv-dtype {kind.id}"] if _explains(kept, off) else []
        if known.kv_dtype.bits > NARROW_BITS and _explains(crossing, off):
            options.append(f"--wire-dtype {kind.id}")
        if known.wire_dtype and kind != known.kv_dtype and _explains(replace(kept, wire_dtype=None), off):
            options.append(f"--kv-dtype {kind.id} without --wire-dtype")
        if options:
            found.append(options[0] + "".join(f" (or {other})" for other in options[1:]))
    return found


def _ranks(known: Shipment, off: Sequence[Request]) -> list[str]:
    """The fewest ranks whose duplicated heads explain all."""
    powers = (2**power for power in range(_MOST_TP.bit_length()))
    fitting = (tp for tp in powers if _explains(replace(known, layout=replace(known.layout, tp=tp)), off))
    return [f"--tp {tp}" for tp in fitting][:1]


def _copies(known: Shipment, off: Sequence[Request], middle: float) -> list[str]:
    """That so many ranks sent all of each latent, where the model has latents and that multiple explains all."""
    count = round(middle)
    if count < _FEWEST_COPIES or not _keeps_latents(known):
        return []
    whole = all(_close(request.bytes or 0, count * (request.expected_bytes or 0)) for request in off)
    return [f"{count} ranks each sending their copy of the latents"] if whole else []


def _keeps_latents(known: Shipment) -> bool:
    """Whether there are latents, of which every rank has all, so that --tp changes nothing."""
    return any(isinstance(group, Latent | IndexedLatent) for group in known.model.groups)
