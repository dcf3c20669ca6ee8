"""The practical ceiling that a benchmark showed, in place of what is typical: of the link that it ran over, only.

A benchmark's output hardly names its link. What it can be about follows from its tool (RDMA tests cross adapters,
copies between devices do not), from whether its ends were in one host, and from where its bytes lay; small messages
show the cost of a message, whatever the link.
"""

from dataclasses import replace
from pathlib import Path

from nsysparse.catalog.loader import find_link
from nsysparse.errors import InputError, UsageError
from nsysparse.filenames import shown_name
from nsysparse.measured.ceilings import MEASURED, Ceiling
from nsysparse.measured.loader import refuse_faster
from nsysparse.theory.links import Peak
from nsysparse.theory.references import References
from nsysparse.units import human_bytes

LEAST_BYTES = 65_536
"""Smaller messages show how many of them an adapter can send, not how many bytes."""
_COPIES = ("nvbandwidth", "p2pBandwidthLatencyTest")
_RDMA = "perftest"
_BETWEEN_DEVICES = frozenset({"nvlink", "pcie", "c2c", "xgmi"})
_TO_HOST = frozenset({"pcie", "c2c"})
_RDMA_KINDS = frozenset({"infiniband", "ethernet", "roce", "efa", "slingshot", "omnipath"})
_WIRES = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}


def with_measured(found: References, ceiling: Ceiling, path: Path) -> References:
    """The reference lines with the ceiling that a benchmark showed on those it can be about.

    Args:
        found: What links are held against.
        ceiling: What the benchmark proves.
        path: Its file, for messages.

    Raises:
        UsageError: No link is named that can be the one that was measured, or one that no benchmark can be held to.
        InputError: The benchmark proves nothing about that link, or more than it can carry.
    """
    if found.within is None and found.across is None:
        raise UsageError("--measured needs the link that was measured.", "Name it with --link ID, --peak or --box.")
    if found.within == found.across and found.within is not None:
        held = _held(found.within, ceiling, path, 1)
        return replace(found, within=held, across=held)
    within = ceiling.within_host if ceiling.tool != _RDMA else False
    if within is None:
        raise UsageError(
            f"{path}: does not say whether one host ran it or two, and a machine's links differ.",
            "Name the link that was measured with --link ID.",
        )
    peak = found.within if within else found.across
    if peak is None:
        missing = "between GPUs of one machine" if within else "between machines"
        raise UsageError(
            f"--measured {path.name} is of a link {missing}, and none is known.", "Name it with --link ID or --peak."
        )
    adapters = found.adapters if ceiling.tool == _RDMA else 1
    held = _held(peak, ceiling, path, adapters)
    return replace(found, within=held) if within else replace(found, across=held)


def _held(peak: Peak, ceiling: Ceiling, path: Path, adapters: float) -> Peak:
    """A link with `adapters` times the ceiling that was measured; refused where that says nothing of the link."""
    if peak.link_id != peak.catalogue_id:
        what = "adds both directions up" if peak.adds_both_ways else "asks for what headers of packets leave"
        raise UsageError(
            f"--link {peak.link_id} {what}, and {path.name} was measured in one direction, headers and all.",
            f"Use --link {peak.catalogue_id}.",
        )
    if why := _silent_on(None if peak.catalogue_id is None else find_link(peak.catalogue_id).kind, ceiling):
        message = f"{path}: {ceiling.test} proves nothing about {peak.name}: {why}."
        raise InputError(message, "Measure that link itself (docs/reference/measured.md).")
    refuse_faster(ceiling, peak.bytes_per_s / adapters, path)
    return replace(
        peak,
        practical_bytes_per_s=min(ceiling.bytes_per_s * adapters, peak.bytes_per_s),
        practical_source=_source(ceiling, path, adapters),
        practical_curve=tuple(
            (rate.size_bytes, min(rate.bytes_per_s * adapters, peak.bytes_per_s))
            for rate in ceiling.curve
            if rate.size_bytes is not None
        ),
    )


def _silent_on(kind: str | None, ceiling: Ceiling) -> str:
    """Why a benchmark says nothing of a link of that kind (None: of whatever kind it is); empty where it does."""
    copies, rdma = ceiling.tool in _COPIES, ceiling.tool == _RDMA
    named, between_devices = kind is not None, kind in _BETWEEN_DEVICES
    small = ceiling.size_bytes is not None and ceiling.size_bytes < LEAST_BYTES
    reasons = (
        (small, f"at most {human_bytes(ceiling.size_bytes or 0)} a message, which shows what a message costs"),
        (rdma and ceiling.direction is None, "without its title it may add both directions up"),
        (named and copies and not between_devices, "it copies inside one host"),
        (named and copies and ceiling.memory == "host" and kind not in _TO_HOST, "its bytes went to or from the host"),
        (named and rdma and between_devices, "it crosses network adapters"),
        (named and rdma and kind not in _RDMA_KINDS, "it is a test of RDMA"),
        (
            kind in _WIRES and ceiling.wire is not None and kind != ceiling.wire,
            f"it ran over {_WIRES.get(ceiling.wire or '', '')}",
        ),
        (named and bool(ceiling.within_host) and not between_devices, "all its ends were in one host"),
    )
    return next((why for silent, why in reasons if silent), "")


def _source(ceiling: Ceiling, path: Path, adapters: float) -> str:
    size = "" if ceiling.size_bytes is None else f" at {human_bytes(ceiling.size_bytes)}"
    count = ceiling.queue_pairs
    pairs = "" if count is None else f", {count} queue pair{'s' if count > 1 else ''}"
    memory = "" if ceiling.memory is None else f", {ceiling.memory} memory"
    several = "" if adapters == 1 else f", times {adapters:g} adapters of a GPU"
    return f"{MEASURED}{ceiling.test}{size}{pairs}{memory} ({shown_name(path.name)}){several}. {ceiling.note}".rstrip(
        "."
    )
