"""`p2pBandwidthLatencyTest` of the CUDA samples: copies between two devices, with and without peer access.

What it prints:
https://github.com/NVIDIA/cuda-samples/blob/master/Samples/5_Domain_Specific/p2pBandwidthLatencyTest/p2pBandwidthLatencyTest.cu
; GB/s is 1e9 bytes. The diagonal is a copy inside one device, counted as read and written; tables called bidirectional
add both directions up. A pair without peer access is staged through the host even where the table says enabled.
"""

import re
from dataclasses import dataclass

from nsysparse.measured.ceilings import Ceiling, Direction, Rate
from nsysparse.measured.matrix import Matrix, middle, read_matrix, spread
from nsysparse.measured.text import RefusedError, lines, sentences, starts_as_json

NAME = "p2pBandwidthLatencyTest"

_HEADING = re.compile(
    r"(Unidirectional|Bidirectional) P2P=(Enabled|Disabled) Bandwidth (?:\(P2P (Writes|Reads)\) )?Matrix \(GB/s\)"
)
_CONNECTIVITY = "P2P Connectivity Matrix"
_TITLE = "P2P (Peer-to-Peer) GPU Bandwidth Latency Test"
_COMMAND = "nvbandwidth -t device_to_device_memcpy_write_ce"
_WAYS: dict[str | None, Direction] = {"Writes": "write", "Reads": "read", None: "copy"}


@dataclass(frozen=True, slots=True)
class _Table:
    both_ways: bool
    enabled: bool
    direction: Direction
    matrix: Matrix


def recognises(text: str) -> bool:
    """Whether p2pBandwidthLatencyTest printed this."""
    return not starts_as_json(text) and any(_HEADING.search(line) or _TITLE in line for _, line in lines(text))


def parse(text: str) -> Ceiling:
    """The median of all pairs of the table of one direction with peer access, or half of that of both."""
    every = list(lines(text))
    tables = [
        _Table(found.group(1) == "Bidirectional", found.group(2) == "Enabled", _WAYS[found.group(3)], matrix)
        for place, (_, line) in enumerate(every)
        if (found := _HEADING.search(line)) and (matrix := read_matrix(every, place)).pairs()
    ]
    if not tables:
        raise RefusedError("No table of bandwidths between two devices is there.", f"With two devices, run {_COMMAND}")
    connected = next(
        (read_matrix(every, place) for place, (_, line) in enumerate(every) if _CONNECTIVITY in line), None
    )
    # Peer access first: it is the link. Both directions at once, halved, only where nothing better is there.
    order = sorted(tables, key=lambda each: (not each.enabled, each.both_ways))
    chosen = order[0]
    same = [each for each in tables if (each.both_ways, each.enabled) == (chosen.both_ways, chosen.enabled)]
    if len(same) > 1:
        raise RefusedError(
            "Several runs are in one file, and which one is meant is not clear.",
            "Keep that of one run.",
            same[1].matrix.line,
        )
    pairs = chosen.matrix.pairs()
    linked = {at: rate for at, rate in pairs.items() if connected is None or connected.cells.get(at) != 0}
    if not chosen.enabled or not linked:
        raise RefusedError(
            "Its copies were staged through host memory, without peer access: no ceiling of a link between devices.",
            f"Where devices do reach each other, run {_COMMAND}",
            chosen.matrix.line,
        )
    share = 2 if chosen.both_ways else 1
    rate = middle(linked) / share
    note = sentences(
        [
            spread(linked, "pair"),
            "Halved, since both directions are added up." if chosen.both_ways else "One direction at a time.",
            ""
            if len(linked) == len(pairs)
            else f"{len(pairs) - len(linked)} of {len(pairs)} pairs have no peer access and were left out.",
        ]
    )
    test = f"{'Bidirectional' if chosen.both_ways else 'Unidirectional'} P2P=Enabled"
    return Ceiling(NAME, test, rate, None, chosen.direction, None, "gpu", note, (Rate(None, rate),), True)
