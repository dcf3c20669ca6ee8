"""What moved and how fast at least, or why no rate is known: a clause of the verdict, and all of it at length."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.analysis import Capability, Link, Totals, TraceFacts
from nsysparse.headline import busiest as busiest_of
from nsysparse.headline import known_links
from nsysparse.kinds import COPIES, NCCL
from nsysparse.units import counted, human_bytes, human_ns, human_rate, human_share, significant

_UNTOLD = Capability("absent", "the trace says no more of them")
_ALL_RECORDED = Capability("absent", "all that could tell was recorded, and none of them has it")
_ASIDE = re.compile(r" \([^()]*\)")
_INFINIBAND = re.compile(r"^InfiniBand (\w+) 4x")


@dataclass(frozen=True, slots=True)
class Moved:
    """What is said of transfers.

    Attributes:
        clause: Part of a sentence.
        detail: Sentences; empty where there is nothing to add.
        advice: What would make more known, a command or words; empty where nothing would, or nothing lacks.
        has_rate: Whether the clause tells a rate.
    """

    clause: str
    detail: str = ""
    advice: str = ""
    has_rate: bool = False


def moved(totals: Totals, links: Sequence[Link], traces: Sequence[TraceFacts]) -> Moved:
    """What is to be said where transfers count.

    Args:
        totals: Of the run.
        links: Likewise.
        traces: Facts about the inputs.
    """
    text = _counted(totals)
    by_nccl = any(link.transport == NCCL for link in links)
    if totals.bytes is None and totals.time_ns is None:
        why = _lacking(traces, "gpu_kernels", "graph_nodes", "nccl_sizes") if by_nccl else _other_sizes(traces)
        return _unknown(f"{text}, without size or time", why)
    whose = "kernel time" if all(link.transport == NCCL for link in links) else "transfer time"
    took = f"{human_ns(totals.time_ns)} of {whose}" if totals.time_ns is not None else "an unrecorded time"
    if totals.bytes is None:
        return _unknown(f"{text} took {took}", _lacking(traces, "nccl_sizes") if by_nccl else _other_sizes(traces))
    size = human_bytes(totals.bytes)
    if totals.bytes_known_share is not None and totals.bytes_known_share < 1:
        size = f"at least {size}"
    text = f"{text} carried {size} in {took}"
    real, busiest = known_links(links), busiest_of(links)
    if busiest is None or busiest.headline_gb_s is None:
        return _unknown(text, _unproven(totals, links, busiest, traces))
    rests = _rests(busiest, real, len(links))
    return Moved(_rate(busiest, real), f"{text}{_on_wire(totals, links)}.{rests}", has_rate=True)


def _unknown(text: str, why: Capability) -> Moved:
    """No rate: why in a few words, and at length with what was seen."""
    return Moved(f"rate unknown: {_ASIDE.sub('', why.reason)}", f"{text}: {why.reason}.", why.fix)


def _rate(busiest: Link, real: Sequence[Link]) -> str:
    """The rate of the link with most bytes among those whose ends are known, against its peak."""
    on_wire = busiest.headline_basis == "wire" and busiest.transport in (NCCL, *COPIES)
    name = "wire rate" if on_wire else "rate"
    bound = "at least " if busiest.headline_is_bound else ""
    called = _short(busiest.link_name) if busiest.link_name else ""
    if busiest.peak_gb_s is None or busiest.efficiency is None:
        rate, called = human_rate(busiest.headline_gb_s), ""
    else:
        rate = f"{significant(busiest.headline_gb_s or 0)} of {busiest.peak_gb_s:.4g} GB/s"
    where = f" on {called}" if called else ""
    if len(real) > 1:
        where = f" on the busiest of {len(real):,} links" + (f" ({called})" if called else "")
    text = f"{name} {bound}{rate}{where}"
    if busiest.efficiency is not None and busiest.efficiency > 1:
        copied = busiest.transport in COPIES  # size and time of a copy are the driver's own
        wrong = "these copies crossed another" if copied else "bytes, pairing or link are wrong"
        return f"inconsistent: {text} is faster than the link can be, so {wrong}"
    return text


def _short(name: str) -> str:
    """A link's name as people say it: without what it is found in, `IB NDR` for `InfiniBand NDR 4x`."""
    return _INFINIBAND.sub(r"IB \1", _ASIDE.sub("", name))


def _rests(busiest: Link, real: Sequence[Link], link_count: int) -> str:
    """Which of several links the rate is of, and what more than the transfer a lower bound holds."""
    told = []
    if len(real) > 1:
        how = f" ({busiest.transport})" if len({link.transport for link in real}) > 1 else ""
        of = f"{len(real):,} links" if len(real) == link_count else f"{len(real):,} whose ends are known"
        told.append(f"is of the link with most bytes{how}, of {of},")
    elif link_count > 1:
        told.append("is of the only link whose ends are known")
    if busiest.headline_is_bound:
        told.append(f"includes {_included(busiest)}")
    return f" The rate {' and '.join(told).rstrip(',')}." if told else ""


def _included(link: Link) -> str:
    """What more than the transfer the time of a rate that is a lower bound holds."""
    if link.transport in COPIES:
        return "pauses between copies"
    by_host = link.transport != NCCL and link.headline_basis == "wire"
    return "the time until the host saw it complete" if by_host else "waiting for the peer"


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


def _counted(totals: Totals) -> str:
    """How many movements, how many of them nothing proves to be KV, and how many are known not to be."""
    counts = {purpose: each.movement_count for purpose, each in totals.by_purpose.items()}
    text, doubts = counted(totals.movement_count, "movement"), []
    if unproven := counts.get("unknown"):
        doubts.append(f"{'none' if unproven == totals.movement_count else f'{unproven:,} not'} proven to be KV")
    if other := counts.get("other"):
        doubts.append(f"{'all' if other == totals.movement_count else f'{other:,}'} known to be other traffic")
    return f"{text} ({', '.join(doubts)})" if doubts else text


def _unproven(totals: Totals, links: Sequence[Link], busiest: Link | None, traces: Sequence[TraceFacts]) -> Capability:
    """Why no link has a rate: of the busiest one whose ends are known, else of all."""
    told = links if busiest is None else [busiest]
    if any(link.transport != NCCL for link in told):
        if busiest is None and any(link.headline_gb_s is not None for link in told):
            return Capability("absent", "the ends of its link are not known")
        only_calls = "of some only a call was recorded, which need not last as long as its transfer"
        return Capability("absent", only_calls)
    if totals.time_ns is None:
        unseen = "no kernel of theirs was recorded"
        if all(trace.capabilities["graph_nodes"].status == "present" for trace in traces):
            return Capability("absent", unseen)
        lacking = _lacking(traces, "gpu_kernels", "graph_nodes")
        is_all = any(lacking == trace.capabilities["gpu_kernels"] for trace in traces)
        return Capability("absent", lacking.reason if is_all else f"{unseen}: {lacking.reason}", lacking.fix)
    return Capability(
        "absent",
        "NCCL could have buffered all of it on the way",
        "record both sides in one nsys profile that starts before NCCL's communicators are made, or longer hand-overs.",
    )


# Where sizes come from beside NCCL's payloads: partial, such transfers are there and some lack one.
_OTHER_SIZES = ("nixl_requests", "ucx_messages")


def _other_sizes(traces: Sequence[TraceFacts]) -> Capability:
    """Why transports other than NCCL tell no size, as far as a file says."""
    partial = (trace.capabilities[name] for trace in traces for name in _OTHER_SIZES if name in trace.capabilities)
    return next((fact for fact in partial if fact.status == "partial"), _UNTOLD)


def _lacking(traces: Sequence[TraceFacts], *names: str) -> Capability:
    """The first fact that is missing in a trace, with why and the command that records it."""
    facts = (trace.capabilities[name] for name in names for trace in traces)
    return next((fact for fact in facts if fact.status != "present"), _ALL_RECORDED)
