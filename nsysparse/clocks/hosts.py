"""Which traces come from one host and how its clocks tie them together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nsysparse.anchor import Anchor
from nsysparse.clocks.offset import SAME_HOST_MONOTONIC, SAME_HOST_UTC

SAME_HOST_NS = 60_000
"""How far two recordings of one host may be apart by its clock: each zero is off by 11 to 51 us as measured, and the
clocks of GPUs are converted."""
_STEPPED_NS = 1_000_000
# Wall clocks are set by less; what differs by more was booted anew, or is another host of the same name.
_ONE_BOOT_NS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Host:
    """Traces whose zeros one clock tells.

    Attributes:
        zeros: The reading of that clock at the zero of each trace.
        method: Which clock that is.
        uncertainty_ns: How far any two may be apart by it.
    """

    zeros: Mapping[str, int]
    method: str
    uncertainty_ns: int = SAME_HOST_NS


def hosts(anchors: Mapping[str, Anchor]) -> Iterator[Host]:
    """Hosts with at least two traces, in the order of the first of each."""
    by_host: dict[str, dict[str, Anchor]] = {}
    for trace_id, anchor in anchors.items():
        if anchor.host is not None and anchor.utc_epoch_ns is not None:
            by_host.setdefault(anchor.host, {})[trace_id] = anchor
    for members in by_host.values():
        for host in _boots(members):
            if len(host.zeros) > 1:
                yield host


def _boots(members: Mapping[str, Anchor]) -> Iterator[Host]:
    """The traces of one host, apart where it was booted between them."""
    booted = {name: boot for name, anchor in members.items() if (boot := _boot(anchor)) is not None}
    groups: list[list[str]] = []
    for name in sorted(booted, key=lambda name: (booted[name], name)):
        if groups and booted[name] - booted[groups[-1][0]] <= _ONE_BOOT_NS:
            groups[-1].append(name)
        else:
            groups.append([name])
    unsaid = [name for name in members if name not in booted]
    if len(groups) <= 1:
        stepped = booted[groups[0][-1]] - booted[groups[0][0]] if groups else 0
        if stepped <= _STEPPED_NS:
            # Those that do not record the other clock have but UTC, and nothing says that it was set.
            yield _by_utc(members, stepped)
            return
    for group in map(dict.fromkeys, groups):
        names = list(group)
        stepped = booted[names[-1]] - booted[names[0]]
        if stepped > _STEPPED_NS:
            zeros = {name: members[name].monotonic_ns or 0 for name in members if name in group}
            # Or they are two hosts of one name, booted at about the same time: then UTC is right.
            yield Host(zeros, SAME_HOST_MONOTONIC, SAME_HOST_NS + stepped)
        else:
            yield _by_utc({name: members[name] for name in members if name in group}, stepped)
    if len(unsaid) > 1:
        yield _by_utc({name: members[name] for name in unsaid}, 0)


def _boot(anchor: Anchor) -> int | None:
    """When the host was booted by its wall clock, which shows where that was set."""
    if anchor.utc_epoch_ns is None or anchor.monotonic_ns is None:
        return None
    return anchor.utc_epoch_ns - anchor.monotonic_ns


def _by_utc(members: Mapping[str, Anchor], apart_ns: int) -> Host:
    """What the two clocks tell differently may be a wall clock set by a little, or how either was read."""
    zeros = {name: anchor.utc_epoch_ns or 0 for name, anchor in members.items()}
    return Host(zeros, SAME_HOST_UTC, max(SAME_HOST_NS, apart_ns))
