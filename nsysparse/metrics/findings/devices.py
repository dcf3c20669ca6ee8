"""What transfers cost devices: prefill that stalls, decode that idles or slows down, and connections being made."""

from collections.abc import Sequence

from nsysparse.analysis import DecodeDevice, Finding, PrefillDevice, Totals
from nsysparse.metrics.findings.ranking import severity
from nsysparse.units import counted, human_ns, human_share, significant

SLOWER = 1.05
"""By so much kernels must be slower while KV arrives for it to be told."""


def prefill_stalls(devices: Sequence[PrefillDevice]) -> Finding | None:
    """Time within prefill steps in which a send ran and no compute did, over all devices."""
    lost, ran = sum(each.stall_ns for each in devices), sum(each.step_ns for each in devices)
    how_bad = severity(lost / ran) if ran else None
    if how_bad is None:
        return None
    worst = max(devices, key=lambda each: each.stall_ns)
    return Finding(
        id="prefill-stalls",
        kind="wire",
        severity=how_bad,
        title=f"Prefill stands still while it sends: {human_ns(lost)}, {human_share(lost / ran)} of its steps",
        evidence=f"{counted(len(devices), 'prefill device')}, {human_ns(ran)} of steps; worst: {worst.gpu} with"
        f" {human_ns(worst.stall_ns)}",
        cost_ns=lost,
        advice="Send on a stream of its own that compute does not wait for, once the next layer's kernels are queued.",
    )


def decode_idle(devices: Sequence[DecodeDevice]) -> Finding | None:
    """Time without compute on decode devices while a request's KV was on its way, over all of which that is known."""
    known = [(each, each.idle_while_pending_ns) for each in devices if each.idle_while_pending_ns is not None]
    lost, ran = sum(idle for _, idle in known), sum(each.active_ns for each, _ in known)
    how_bad = severity(lost / ran) if ran else None
    if how_bad is None:
        return None
    worst, most = max(known, key=lambda pair: pair[1])
    return Finding(
        id="decode-idle",
        kind="compute",
        severity=how_bad,
        title=f"Decode idles while KV is in flight or ready: {human_ns(lost)}, {human_share(lost / ran)} of its time",
        evidence=f"{counted(len(known), 'decode device')}, {human_ns(ran)} between first and last decode work; worst:"
        f" {worst.gpu} with {human_ns(most)}",
        cost_ns=lost,
        advice="Keep more requests in the batch, so that decode has others to go on with, or shorten the gap itself.",
    )


def decode_slower(devices: Sequence[DecodeDevice]) -> Finding | None:
    """Kernels of decode that take longer while KV arrives. What that cost in all is not known."""
    slower = [(each, each.slowdown_ratio) for each in devices if (each.slowdown_ratio or 0) > SLOWER]
    if not slower:
        return None
    worst, ratio = max(((each, ratio or 0) for each, ratio in slower), key=lambda pair: pair[1])
    return Finding(
        id="decode-slower",
        kind="compute",
        severity=severity(ratio - 1) or "low",
        title=f"Decode is up to {significant(ratio)} times slower while KV arrives",
        evidence=f"{counted(len(slower), 'decode device')}; worst: {worst.gpu}, the same"
        f" {counted(worst.slowdown_kernel_count, 'kernel')} with and without KV arriving",
        cost_ns=None,
        advice="Receives compete with decode for SMs and memory: fewer NCCL channels for them (NCCL_MAX_NCHANNELS), or"
        " a transport that moves data without SMs (RDMA, copy engines).",
    )


def first_uses(totals: Totals) -> Finding | None:
    """Time of transfers that also made their connection."""
    cost, ran = totals.first_use_ns, totals.time_ns
    how_bad = severity(cost / ran) if cost and ran else None
    if cost is None or how_bad is None:
        return None
    return Finding(
        id="first-uses",
        kind="wait",
        severity=how_bad,
        title=f"Making connections took up to {human_ns(cost)}, {human_share(cost / (ran or 1))} of all transfer time",
        evidence=f"{counted(totals.first_use_count or 0, 'transfer')} that were the first between their two ends",
        cost_ns=cost,
        advice="Send something small between all pairs before the server takes requests.",
    )
