"""The one sentence that stands first, true whatever is known."""

from collections.abc import Sequence

from nsysparse.analysis import Excluded, Link, Totals, TraceFacts, Verdict
from nsysparse.units import human_bytes, human_ns, human_rate

_STATE = "unknown"  # until steps are tied to requests, no run can be judged against the threshold


def verdict(
    totals: Totals, links: Sequence[Link], excluded: Sequence[Excluded], traces: Sequence[TraceFacts], threshold: float
) -> Verdict:
    """What can be said of the run: what moved, how fast at least, of how much; or why nothing can be said."""
    return Verdict(state=_STATE, text=_text(totals, links, excluded, traces), threshold=threshold)


def _text(totals: Totals, links: Sequence[Link], excluded: Sequence[Excluded], traces: Sequence[TraceFacts]) -> str:
    if not totals.transfer_count:
        return _nothing(excluded, traces)
    moved = f"{_count(totals.movement_count, 'movement')}"
    took = f"{human_ns(totals.time_ns)} of kernel time" if totals.time_ns is not None else "an unrecorded time"
    if totals.bytes is None:
        why = _lacking(traces, "nccl_sizes")
        return f"Throughput is unknown: {moved} took {took}, but {why}"
    size = human_bytes(totals.bytes)
    if totals.bytes_known_share is not None and totals.bytes_known_share < 1:
        size = f"at least {size}"
    text = f"{moved} carried {size} in {took}"
    best = max((link for link in links if link.headline_gb_s is not None), key=_rate, default=None)
    if best is None:
        return f"Throughput is unknown: {text}, but no movement has both size and time."
    rate = f"at least {human_rate(best.headline_gb_s)}"
    if best.peak_gb_s is not None and best.efficiency is not None:
        rate = f"at least {best.headline_gb_s:.3g} of {best.peak_gb_s:.4g} GB/s ({best.link_name})"
        if best.efficiency > 1:
            return f"Inconsistent: {text}, {rate}: faster than the link can be, so bytes, pairing or link are wrong."
    where = f" on the fastest of {len(links)} links" if len(links) > 1 else ""
    return f"KV gap unknown, transfer measured: {text}, {rate}{where}, waiting for the peer included."


def _nothing(excluded: Sequence[Excluded], traces: Sequence[TraceFacts]) -> str:
    if excluded:
        rules = ", ".join(sorted({row.rule for row in excluded}))
        transfers, kernels = sum(row.transfer_count for row in excluded), sum(row.kernel_count for row in excluded)
        return (
            f"No KV transfer found: all {_count(transfers, 'Send/Recv transfer')} in {_count(kernels, 'kernel')}"
            f" are other traffic ({rules})."
        )
    return f"No KV transfer found: {_lacking(traces, 'graph_nodes', 'nccl_calls')}"


def _lacking(traces: Sequence[TraceFacts], *names: str) -> str:
    """Why a fact is missing, and the command that records it, from the first trace that lacks it."""
    for name in names:
        for trace in traces:
            fact = trace.capabilities[name]
            if fact.status != "present":
                return f"{fact.reason}. To change that: {fact.fix}" if fact.fix else f"{fact.reason}."
    return "the trace recorded everything, and no Send or Recv is in it."


def _rate(link: Link) -> float:
    return link.headline_gb_s or 0.0


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
