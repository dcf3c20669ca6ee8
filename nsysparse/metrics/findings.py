"""What is worth doing something about."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from nsysparse.analysis import Finding, Request
from nsysparse.errors import UsageError
from nsysparse.theory.dtypes import cache_types
from nsysparse.theory.kv_cache import wire_bytes
from nsysparse.theory.shipment import Shipment
from nsysparse.units import counted

TOLERANCE = 0.05
"""By so much a request may move more or less than its model says."""
_CLOSE = 0.01
_MOST_TP = 64
_MOST_OPTIONS = 3


def differs(request: Request) -> bool:
    """Whether a request moved clearly more or less than its model says."""
    if request.bytes is None or not request.expected_bytes:
        return False
    return abs(request.bytes - request.expected_bytes) > TOLERANCE * request.expected_bytes


def findings(requests: Sequence[Request], known: Shipment | None) -> tuple[Finding, ...]:
    """Findings, worst first."""
    against = _against_model(requests, known)
    return () if against is None else (against,)


def _against_model(requests: Sequence[Request], known: Shipment | None) -> Finding | None:
    """That requests moved other bytes than their model says, and what would explain it."""
    off = [request for request in requests if differs(request)]
    if known is None or not off:
        return None
    ratios = sorted((request.bytes or 0) / (request.expected_bytes or 1) for request in off)
    middle = median(ratios)
    several = f"{ratios[0]:.3g} to {ratios[-1]:.3g}, in the median {middle:.3g} times"
    one = f"{middle:.3g} times"
    even = ratios[-1] - ratios[0] <= _CLOSE * middle
    return Finding(
        id="bytes-against-model",
        kind="coverage",
        severity="medium",
        title=f"{counted(len(off), 'request')} moved {one if even else several} what {known.model.name} keeps",
        evidence=f"{len(off):,} of {counted(len(requests), 'request')} with a known prompt, over {TOLERANCE:.0%} off",
        cost_ns=None,
        advice=_advice(off, known, middle, even=even),
        refs=tuple(f"/requests/{request.request_id}" for request in off[:3]),
    )


def _advice(off: Sequence[Request], known: Shipment, middle: float, *, even: bool) -> str:
    """The options that would make theory and observation agree, where one factor explains all; else what may."""
    tokens = next((request.prompt_tokens for request in off if request.prompt_tokens), None)
    if even and tokens:
        options = [*_ranks(known, tokens, middle), *_types(known, tokens, middle)][:_MOST_OPTIONS]
        if options:
            return f"{' or '.join(options)} would explain it; if the server does not run so, check --model."
    if middle < 1:
        return (
            "Part of the KV may not have crossed (prefix-cache hits), or lies outside the capture, or only some ranks"
            " were recorded; or it is another model (--model)."
        )
    return (
        "More ranks may have sent the same heads (--tp), or requests were sent again; or it is another model (--model)."
    )


def _types(known: Shipment, tokens: int, ratio: float) -> list[str]:
    """Other types of the cache that come to about that share of what is expected."""
    whole = known.sent(tokens)
    found = []
    for kind in cache_types().values():
        try:
            nbytes = wire_bytes(known.model, tokens, layout=known.layout, kv_dtype=kind)
        except UsageError:  # a layout of its own, which this model does not have
            continue
        if kind != known.kv_dtype and abs(nbytes / whole - ratio) <= _CLOSE * ratio:
            found.append(f"--kv-dtype {kind.id}")
    return found


def _ranks(known: Shipment, tokens: int, ratio: float) -> list[str]:
    """Numbers of ranks whose duplicated heads come to about that multiple of what is expected."""
    whole = known.sent(tokens)
    found = []
    for tp in (2**power for power in range(1, _MOST_TP.bit_length())):
        other = replace(known, layout=replace(known.layout, tp=tp))
        if tp != known.layout.tp and abs(other.sent(tokens) / whole - ratio) <= _CLOSE * ratio:
            found.append(f"--tp {tp}")
    return found
