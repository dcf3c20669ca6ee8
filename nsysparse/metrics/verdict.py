"""The one sentence that stands first, true whatever is known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nsysparse.analysis import ADVICE, Capability, Excluded, Link, Totals, TraceFacts, Verdict
from nsysparse.kinds import COPIES, NCCL
from nsysparse.metrics.rates import UNKNOWN_END
from nsysparse.units import counted, human_bytes, human_ns, human_rate, human_share, significant

_UNTOLD = "the trace says no more of them."
_NO_GAP = "KV gap unknown, transfer measured: "


def verdict(
    gap: Verdict, totals: Totals, links: Sequence[Link], excluded: Sequence[Excluded], traces: Sequence[TraceFacts]
) -> Verdict:
    """The run's verdict, with what can be said of its transfers: what moved, how fast at least; or why nothing can.

    Args:
        gap: From `gap_verdict`.
        totals: Of the run.
        links: Likewise.
        excluded: What is not counted.
        traces: Facts about the inputs.
    """
    moved = _text(totals, links, excluded, traces)
    if not gap.text:
        return replace(gap, text=moved)
    return replace(gap, text=f"{gap.text} {moved.replace(_NO_GAP, 'Transfer: ', 1)}")


def _text(totals: Totals, links: Sequence[Link], excluded: Sequence[Excluded], traces: Sequence[TraceFacts]) -> str:
    if not totals.transfer_count:
        return _nothing(excluded, traces)
    moved = _moved(totals)
    by_nccl = any(link.transport == NCCL for link in links)
    if totals.bytes is None and totals.time_ns is None:
        why = _lacking(traces, "gpu_kernels", "graph_nodes", "nccl_sizes") if by_nccl else _other_sizes(traces)
        return f"Throughput is unknown: {moved}, without size or time: {why}"
    whose = "kernel time" if all(link.transport == NCCL for link in links) else "transfer time"
    took = f"{human_ns(totals.time_ns)} of {whose}" if totals.time_ns is not None else "an unrecorded time"
    if totals.bytes is None:
        why = _lacking(traces, "nccl_sizes") if by_nccl else _other_sizes(traces)
        return f"Throughput is unknown: {moved} took {took}, but {why}"
    size = human_bytes(totals.bytes)
    if totals.bytes_known_share is not None and totals.bytes_known_share < 1:
        size = f"at least {size}"
    text = f"{moved} carried {size} in {took}"
    real = [link for link in links if UNKNOWN_END not in (link.src, link.dst)]
    busiest = max(real, key=lambda link: (link.bytes or 0, link.link_key, link.transport), default=None)
    if busiest is None or busiest.headline_gb_s is None:
        return f"Throughput is unknown: {text}, but {_unproven(totals, links, busiest, traces)}"
    return _measured(f"{text}{_on_wire(totals, links)}", busiest, real, len(links))


def _measured(text: str, busiest: Link, real: Sequence[Link], link_count: int) -> str:
    """The rate of the link with most bytes among those whose ends are known."""
    waits = bool(busiest.headline_is_bound)
    rate = human_rate(busiest.headline_gb_s)
    if busiest.peak_gb_s is not None and busiest.efficiency is not None:
        rate = f"{significant(busiest.headline_gb_s or 0)} of {busiest.peak_gb_s:.4g} GB/s ({busiest.link_name})"
    rate = f"at least {rate}" if waits else f"at {rate}"
    if busiest.efficiency is not None and busiest.efficiency > 1:
        copied = busiest.transport in COPIES  # size and time of a copy are the driver's own
        wrong = "these copies crossed another" if copied else "bytes, pairing or link are wrong"
        return f"Inconsistent: {text}, {rate}: faster than the link can be, so {wrong}."
    how = f" ({busiest.transport})" if len({link.transport for link in real}) > 1 else ""
    where = ""
    if len(real) > 1:
        of = f"{len(real):,} links" if len(real) == link_count else f"{len(real):,} whose ends are known"
        where = f" on the link with most bytes{how}, of {of}"
    elif link_count > 1:
        where = " on the only link whose ends are known"
    waiting = f", {_included(busiest)}" if waits else ""
    return f"{_NO_GAP}{text}, {rate}{where}{waiting}."


def _included(link: Link) -> str:
    """What more than the transfer the time of a rate that is a lower bound holds."""
    if link.transport in COPIES:
        return "pauses between copies included"
    by_host = link.transport != NCCL and link.headline_basis == "wire"
    return "until the host saw it complete" if by_host else "waiting for the peer included"


def _on_wire(totals: Totals, links: Sequence[Link]) -> str:
    """How much of the time was on the wire; nothing where a transport's times do not show who waited."""
    transports = {link.transport for link in links if link.busy_ns is not None}
    known = totals.wire_known_share
    shown = NCCL in transports and transports <= {NCCL, *COPIES}
    if not (shown and known and totals.time_ns and totals.wire_ns is not None):
        return ""
    wire = human_share(totals.wire_ns / (known * totals.time_ns))
    of = "" if known == 1 else f"of the {human_share(known)} told apart, "
    return f" ({of}{wire} on the wire)"


def _moved(totals: Totals) -> str:
    """How many movements, how many of them nothing proves to be KV, and how many are known not to be."""
    counts = {purpose: each.movement_count for purpose, each in totals.by_purpose.items()}
    moved, doubts = counted(totals.movement_count, "movement"), []
    if unproven := counts.get("unknown"):
        doubts.append(f"{'none' if unproven == totals.movement_count else f'{unproven:,} not'} proven to be KV")
    if other := counts.get("other"):
        doubts.append(f"{'all' if other == totals.movement_count else f'{other:,}'} known to be other traffic")
    return f"{moved} ({', '.join(doubts)})" if doubts else moved


def _unproven(totals: Totals, links: Sequence[Link], busiest: Link | None, traces: Sequence[TraceFacts]) -> str:
    """Why no link has a rate: of the busiest one whose ends are known, else of all."""
    told = links if busiest is None else [busiest]
    if any(link.transport != NCCL for link in told):
        if busiest is None and any(link.headline_gb_s is not None for link in told):
            return "between which ends is not known, so that is no link's rate."
        return "that proves no rate: of some only a call was recorded, which need not last as long as its transfer."
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
        return _sought(traces)
    rules = ", ".join(sorted({row.rule for row in excluded if row.purpose == "other"}))
    transfers, kernels = (sum(row.transfer_count for row in excluded), sum(row.kernel_count for row in excluded))
    found = counted(transfers, "transfer") + (f" in {counted(kernels, 'kernel')}" if kernels else "")
    unproven = sum(row.transfer_count for row in excluded if row.purpose != "other")
    if not unproven:
        which = f"all {found} are" if transfers > 1 else "the only transfer is"
        return f"No KV transfer found: {which} other traffic ({rules})."
    rest = f", the others are other traffic ({rules})" if rules else ""
    return f"No proven KV transfer found: of {found}, {unproven:,} may be KV, but nothing proves it{rest}."


# What transfers are found by, as a reader knows it, the most usual first.
_SOUGHT: Mapping[str, str] = {
    "nccl_calls": "calls of NCCL", "nixl_requests": "requests of NIXL", "ucx_messages": "operations of UCX",
    "gpu_copies": "copies", "nvtx_ranges": "NVTX ranges",
}  # fmt: skip
_ROWLESS = (
    "What an engine moves by RDMA of its own leaves no row at all (Mooncake's, in SGLang and vLLM's MooncakeConnector):"
    " put kv_transfer ranges around it (docs/reference/convention.md), or sample --nic-metrics=lf and"
    " --gpu-metrics-devices=all."
)


def _sought(traces: Sequence[TraceFacts]) -> str:
    """Where transfers were looked for and where they could not be, why, and what would leave them to be found."""
    facts = [trace.capabilities for trace in traces]
    recorded = [name for name in _SOUGHT if any(found[name].status != "absent" for found in facts if name in found)]
    missing = [name for name in _SOUGHT if name not in recorded]
    text = "No KV transfer found"
    if recorded:
        text += f" among {_listed(recorded)}, which were recorded"
    if missing:
        text += f"; {_listed(missing)} were not" if recorded else f": no {_listed(missing, 'or')} were recorded"
    # Kernels that could not be seen may have been NCCL's, whatever else was recorded.
    hidden = [found["graph_nodes"].reason for found in facts if found["graph_nodes"].status != "present"]
    # One command records all kinds; the first that is missing and known to a command has it.
    unrecorded = ("nixl_requests", "ucx_messages", "nccl_calls", "graph_nodes")
    fixes = [found[name].fix for name in unrecorded for found in facts if found[name].status == "absent"]
    why = f" {hidden[0][0].upper()}{hidden[0][1:]}." if hidden else ""
    return f"{text}.{why} {_ROWLESS}" + (f"{ADVICE}{fixes[0]}" if fixes else "")


def _listed(names: Sequence[str], word: str = "and") -> str:
    *most, last = [_SOUGHT[name] for name in names]
    return f"{', '.join(most)} {word} {last}" if most else last


# Where sizes come from beside NCCL's payloads: partial, such transfers are there and some lack one.
_OTHER_SIZES = ("nixl_requests", "ucx_messages")


def _other_sizes(traces: Sequence[TraceFacts]) -> str:
    """Why transports other than NCCL tell no size, as far as a file says."""
    for trace in traces:
        for name in _OTHER_SIZES:
            fact = trace.capabilities.get(name)
            if fact is not None and fact.status == "partial":
                return _because(fact)
    return _UNTOLD


def _lacking(traces: Sequence[TraceFacts], *names: str) -> str:
    """Why a fact is missing, and the command that records it, from the first trace that lacks it."""
    for name in names:
        for trace in traces:
            fact = trace.capabilities[name]
            if fact.status != "present":
                return _because(fact)
    return "all that could tell was recorded, and none of them has it."


def _because(fact: Capability) -> str:
    return f"{fact.reason}.{ADVICE}{fact.fix}" if fact.fix else f"{fact.reason}."
