"""The one sentence that stands first, true whatever is known."""

from collections.abc import Sequence

from nsysparse.analysis import ADVICE, Excluded, Link, Totals, TraceFacts, Verdict
from nsysparse.metrics.links import UNKNOWN_END
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
    moved = _moved(totals)
    if totals.bytes is None and totals.time_ns is None:
        why = _lacking(traces, "gpu_kernels", "graph_nodes", "nccl_sizes")
        return f"Throughput is unknown: {moved}, without size or time: {why}"
    took = f"{human_ns(totals.time_ns)} of kernel time" if totals.time_ns is not None else "an unrecorded time"
    if totals.bytes is None:
        return f"Throughput is unknown: {moved} took {took}, but {_lacking(traces, 'nccl_sizes')}"
    size = human_bytes(totals.bytes)
    if totals.bytes_known_share is not None and totals.bytes_known_share < 1:
        size = f"at least {size}"
    text = f"{moved} carried {size} in {took}"
    real = [link for link in links if UNKNOWN_END not in (link.src, link.dst)]
    busiest = max(real, key=lambda link: (link.bytes or 0, link.link_key), default=None)
    if busiest is None or busiest.headline_gb_s is None:
        return f"Throughput is unknown: {text}, but {_unproven(totals, traces)}"
    rate = f"at least {human_rate(busiest.headline_gb_s)}"
    if busiest.peak_gb_s is not None and busiest.efficiency is not None:
        rate = f"at least {busiest.headline_gb_s:.3g} of {busiest.peak_gb_s:.4g} GB/s ({busiest.link_name})"
        if busiest.efficiency > 1:
            return f"Inconsistent: {text}, {rate}: faster than the link can be, so bytes, pairing or link are wrong."
    where = f" on the busiest of {len(real)} links" if len(real) > 1 else ""
    return f"KV gap unknown, transfer measured: {text}, {rate}{where}, waiting for the peer included."


def _moved(totals: Totals) -> str:
    """How many movements, how many of them nothing proves to be KV, and how many are known not to be."""
    counts = {purpose: each.movement_count for purpose, each in totals.by_purpose.items()}
    moved, doubts = _count(totals.movement_count, "movement"), []
    if unproven := counts.get("unknown"):
        doubts.append(f"{'none' if unproven == totals.movement_count else f'{unproven:,} not'} proven to be KV")
    if other := counts.get("other"):
        doubts.append(f"{'all' if other == totals.movement_count else f'{other:,}'} known to be other traffic")
    return f"{moved} ({', '.join(doubts)})" if doubts else moved


def _unproven(totals: Totals, traces: Sequence[TraceFacts]) -> str:
    if totals.time_ns is None:
        unseen = "no kernel of theirs was recorded"
        if all(trace.capabilities["graph_nodes"].status == "present" for trace in traces):
            return f"{unseen}."
        return f"{unseen}: {_lacking(traces, 'gpu_kernels', 'graph_nodes')}"
    return (
        "that proves no rate: NCCL could have buffered all of it on the way; record both sides in one nsys profile that"
        " starts before NCCL's communicators are made, or longer hand-overs."
    )


def _nothing(excluded: Sequence[Excluded], traces: Sequence[TraceFacts]) -> str:
    if not excluded:
        return f"No KV transfer found: {_lacking(traces, 'graph_nodes', 'nccl_calls')}"
    rules = ", ".join(sorted({row.rule for row in excluded if row.purpose == "other"}))
    transfers, kernels = (sum(row.transfer_count for row in excluded), sum(row.kernel_count for row in excluded))
    found = f"{_count(transfers, 'Send/Recv transfer')} in {_count(kernels, 'kernel')}"
    unproven = sum(row.transfer_count for row in excluded if row.purpose != "other")
    if not unproven:
        return f"No KV transfer found: all {found} are other traffic ({rules})."
    rest = f", the others are other traffic ({rules})" if rules else ""
    return f"No proven KV transfer found: of {found}, {unproven:,} may be KV, but nothing proves it{rest}."


def _lacking(traces: Sequence[TraceFacts], *names: str) -> str:
    """Why a fact is missing, and the command that records it, from the first trace that lacks it."""
    for name in names:
        for trace in traces:
            fact = trace.capabilities[name]
            if fact.status != "present":
                return f"{fact.reason}.{ADVICE}{fact.fix}" if fact.fix else f"{fact.reason}."
    return "the trace recorded everything, and no Send or Recv is in it."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
