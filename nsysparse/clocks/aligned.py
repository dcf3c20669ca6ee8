"""Clocks of several traces, tied to each other as well as is known."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from nsysparse.analysis import Clock
from nsysparse.anchor import Anchor
from nsysparse.clocks.notes import about, why_not
from nsysparse.clocks.offset import METHODS, REFUSED, SAME, UTC_UNVERIFIED, Offset, itself

Pair = frozenset[str]


@dataclass(frozen=True, slots=True)
class Clocks:
    """How the clocks of a run's traces stand against each other. Made by `solve`.

    Attributes:
        anchors: Of every trace.
        edges: What is known of two traces, or of a trace and the clock of a host or UTC, which stand for all that share
            them: so there are as many as traces and pairs that exchanged something.
        refused: Two traces whose clocks cannot be told, and why, where something else than lack of facts forbids it.
        mode: As asked.
        runs: First and last instant of each trace, where known.
    """

    anchors: Mapping[str, Anchor]
    edges: tuple[Offset, ...] = ()
    refused: Mapping[Pair, str] = field(default_factory=dict)
    mode: str = "auto"
    runs: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    _found: dict[str, dict[str, Offset]] = field(default_factory=dict, repr=False, compare=False)

    def between(self, base: str, other: str) -> Offset | None:
        """The offset of two traces on the way of least uncertainty; None where there is none, or it is refused."""
        if base == other:
            return itself(base)
        if frozenset((base, other)) in self.refused:
            return None
        if base not in self._found:
            self._found[base] = self._from(base)
        return self._found[base].get(other)

    def rows(self, order: Sequence[str]) -> tuple[Clock, ...]:
        """One row for every trace but the first, which is the base of all."""
        return tuple(self.row(order[0], other) for other in order[1:])

    def _from(self, base: str) -> dict[str, Offset]:
        """All clocks that can be reached from one; by what nothing verifies only those that nothing else ties to it."""
        verified = [edge for edge in self.edges if edge.method != UTC_UNVERIFIED]
        return _reached(base, self.edges) | _reached(base, verified)

    def row(self, base: str, other: str) -> Clock:
        """How the clock of one trace stands against that of another, or why that is not known."""
        offset = self.between(base, other)
        ours, theirs = self.anchors[base], self.anchors[other]
        if offset is None:
            reason = self.refused.get(frozenset((base, other))) or why_not(self.mode, base, ours, other, theirs)
            return Clock(base, other, REFUSED, None, None, None, None, 0, reason)
        first, last = self.runs.get(base, (offset.at_ns, offset.at_ns))
        apart = offset.at((first + last) // 2)
        if ours.utc_epoch_ns is not None and theirs.utc_epoch_ns is not None:
            apart += theirs.utc_epoch_ns - ours.utc_epoch_ns
        return Clock(
            base=base,
            other=other,
            method=offset.method,
            offset_ns=apart,
            uncertainty_ns=offset.uncertainty_ns,
            drift_ppm=round(offset.slope * 1e6, 3) if offset.knows_drift else None,
            one_sided=offset.one_sided,
            pair_count=offset.pair_count,
            note=about(offset, ours, theirs),
        )


def _reached(base: str, edges: Sequence[Offset]) -> dict[str, Offset]:
    """All clocks that edges lead to from one, each on the way of least uncertainty (Dijkstra's search)."""
    ways: dict[str, list[Offset]] = defaultdict(list)
    for edge in edges:
        ways[edge.base].append(edge)
        ways[edge.other].append(edge.reversed())
    found: dict[str, Offset] = {}
    known = [itself(base)]
    waiting = [(0, 0, 0)]
    while waiting:
        number = heappop(waiting)[-1]
        here = known[number]
        if here.other in found:
            continue
        found[here.other] = here
        for step in ways[here.other]:
            if step.other not in found:
                onward = here.then(step) if here.method != SAME else step
                # Of two equally sure ways the one of the better method, then the one found first.
                heappush(waiting, (onward.uncertainty_ns, METHODS.index(onward.method), len(known)))
                known.append(onward)
    return found
