"""Which reference lines each link of a run is held against: one for all, or of a machine's two kinds of links.

A trace records no link's speed. So a link is what the user names (`--link`, `--peak`, `--box`), or, between GPUs of one
trace, what their product name implies; and unknown where neither says it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nsysparse.catalog.loader import find_box, link_of_gpu
from nsysparse.errors import UsageError
from nsysparse.theory.links import Peak, resolve

UNKNOWN = "unknown"
"""`--link unknown`: assume nothing."""


@dataclass(frozen=True, slots=True)
class References:
    """The peaks of links between GPUs of one trace, and between those of two; None where unknown.

    Attributes:
        within: Between two GPUs of one trace, hence of one machine.
        across: Between traces, taken to be of two machines.
        trace_ids: Which prefixes of the ends of links are traces.
        assumption: What was taken for granted, a sentence; empty where the user named the link.
        adapters: How many adapters the peak across adds up, perhaps a part of one.
    """

    within: Peak | None = None
    across: Peak | None = None
    trace_ids: tuple[str, ...] = ()
    assumption: str = ""
    adapters: float = 1

    def between(self, src: str, dst: str) -> Peak | None:
        """The peak of the link between two ends, as links name them."""
        if self.within == self.across:
            return self.within
        one, other = self._owner(src), self._owner(dst)
        if one is None or other is None:
            return None
        return self.within if one == other else self.across

    def everywhere(self) -> Peak | None:
        """The peak that all links have."""
        return self.within if self.within == self.across else None

    def _owner(self, end: str) -> str | None:
        """The trace that an end is a device of; the longest, where one id begins with another."""
        known = [each for each in self.trace_ids if end.startswith(f"{each}:")]
        return max(known, key=len, default=None)


def references(
    link: str | None, peak_gb_s: float | None, box: str | None, gpus: Sequence[str | None], trace_ids: Sequence[str]
) -> References:
    """What a user named, else what the GPUs' names imply.

    Args:
        link: Id of a link, perhaps `…@bidirectional`, or `UNKNOWN`.
        peak_gb_s: One-direction peak in GB/s.
        box: Id of a machine.
        gpus: Product names of all GPUs of all traces; None where one is not recorded.
        trace_ids: The traces.

    Raises:
        UsageError: There is no such link or machine, or two options name the link.
    """
    ids = tuple(trace_ids)
    if box is not None:
        if link is not None or peak_gb_s is not None:
            raise UsageError("--box names the links of a machine, and --link or --peak another.", "Leave one out.")
        return replace(_of_box(box), trace_ids=ids)
    if link == UNKNOWN:
        if peak_gb_s is not None:
            raise UsageError("--link unknown assumes nothing, and --peak names a rate.", "Leave one out.")
        return References(trace_ids=ids)
    if link is not None or peak_gb_s is not None:
        named = resolve(link, peak_gb_s)
        return References(named, named, ids)
    return replace(_of_gpus(gpus), trace_ids=ids)


def _of_box(box: str) -> References:
    found = find_box(box)
    intra = resolve(found.intra_link, None)
    if intra is not None:
        pair = float(found.pair_intra_one_way_peak_bytes_per_s)
        intra = _scaled(intra, pair, f"catalogue: {found.id}, between two GPUs ({found.source})")
    across, adapters = None, 1.0
    if found.nic_link is not None and found.nic_one_way_peak_per_gpu_bytes_per_s is not None:
        nic = resolve(found.nic_link, None)
        each = float(found.nic_one_way_peak_per_gpu_bytes_per_s)
        adapters = found.nics_per_node / found.gpus_per_node if found.nics_per_node else 1.0
        across = nic and _scaled(nic, each, f"catalogue: {found.id}, adapters of one GPU ({found.source})")
    text = f"traces are taken to be of different machines of the kind {found.name}, and one GPU to use its own adapters"
    return References(intra, across, assumption=text, adapters=adapters)


def _scaled(peak: Peak, bytes_per_s: float, source: str) -> Peak:
    """A link of which a GPU has several, or a part: its practical share stays what it is."""
    share = None if peak.practical_bytes_per_s is None else peak.practical_bytes_per_s / peak.bytes_per_s
    practical = None if share is None else share * bytes_per_s
    return replace(peak, bytes_per_s=bytes_per_s, source=source, practical_bytes_per_s=practical)


def _of_gpus(gpus: Sequence[str | None]) -> References:
    links = {None if name is None else link_of_gpu(name) for name in gpus}
    found = links.pop() if len(links) == 1 else None
    if found is None:
        return References()
    name = next(each for each in gpus if each is not None)
    peak = resolve(found.id, None)
    text = f"GPUs named {name} have {found.name} between them; --link says otherwise, --link {UNKNOWN} assumes nothing"
    return References(peak and replace(peak, source=f"assumed of GPUs named {name}; {peak.source}"), assumption=text)
