"""Which NCCL call launched a kernel: an ungrouped call itself, or the end of its outermost group.

Inside ncclGroupStart … ncclGroupEnd nothing is launched until the outermost group of the thread ends; then one or
more kernels serve all its calls. NCCL up to 2.23 nests Group ranges inside every Send and Recv, which are no groups.
"""

import numpy as np
from numpy.typing import NDArray

from nsysparse.intervals import Ints, innermost_container

CALL, GROUP_START, GROUP_END = 0, 1, 2


def launching_range(kinds: NDArray[np.int8], starts: Ints, ends: Ints) -> Ints:
    """For the NCCL ranges of one thread, sorted by (start, -end): the position of the range that launches each call.

    Args:
        kinds: CALL, GROUP_START or GROUP_END per range.
        starts: Range starts.
        ends: Range ends.

    Returns:
        Per range: its own position for an ungrouped call, the closing GroupEnd's for a grouped one, -1 for a call
        whose group never ends in the capture, and -1 for Group ranges themselves.
    """
    owner = np.full(len(kinds), -1, dtype=np.int64)
    calls = np.flatnonzero(kinds == CALL)
    marks = np.flatnonzero(kinds != CALL)
    # Group ranges inside a call's own range belong to that call.
    inside = innermost_container(starts[calls], ends[calls], starts[marks], ends[marks])
    marks = marks[inside < 0]
    if len(marks) == 0:
        owner[calls] = calls
        return owner
    step = np.where(kinds[marks] == GROUP_START, 1, -1)
    opening = np.flatnonzero(step == 1)
    # Group ends before the first start: the capture began inside that many groups.
    inherited = int(opening[0]) if len(opening) else len(step)
    walk = inherited + np.cumsum(step)
    depth = walk - np.minimum(np.minimum.accumulate(walk), 0)  # a stray end never goes below zero
    depth_before = np.concatenate([[inherited], depth[:-1]])
    # A call sees the depth after the last group mark before it.
    seen = np.searchsorted(marks, calls, side="left")
    grouped = np.concatenate([[inherited], depth])[seen] > 0
    owner[calls[~grouped]] = calls[~grouped]
    closes = np.flatnonzero((step == -1) & (depth == 0) & (depth_before > 0))
    if len(closes):
        nxt = np.searchsorted(closes, seen[grouped], side="left")
        closed = nxt < len(closes)
        owner[calls[grouped][closed]] = marks[closes[nxt[closed]]]
    return owner
