"""Which NCCL range launches a call: the call's own, or the end of its outermost group.

Inside ncclGroupStart … ncclGroupEnd nothing is launched until the outermost group of the thread ends; then one or
more kernels serve all its calls. NCCL up to 2.23 nests Group ranges inside every Send and Recv, which are no groups.
"""

import numpy as np
from numpy.typing import NDArray

from nsysparse.intervals import Ints, innermost_container

# In the order in which they take effect at the same instant.
GROUP_START, CALL, GROUP_END = 0, 1, 2
_STRAY = 3
Flags = NDArray[np.bool_]


def launching_range(
    kinds: NDArray[np.int8], starts: Ints, ends: Ints, launched: Flags, strays: Ints | None = None
) -> Ints:
    """For the NCCL ranges of one thread: the position of the range that launches each call.

    Args:
        kinds: GROUP_START, CALL or GROUP_END per range.
        starts: Range starts, sorted by (start, -end).
        ends: Range ends.
        launched: Whether a kernel was launched inside the range. A call that launches for itself is in no group, and
            an end that launches closes the outermost: so a lost GroupEnd is noticed and does not swallow what follows.
        strays: When kernels of NCCL were launched outside all ranges: whatever group seemed open then had ended.

    Returns:
        Per range: its own position for an ungrouped call, the closing GroupEnd's for a grouped one, -1 for a call
        whose group never ends in the capture, and -1 for Group ranges themselves.
    """
    owner = np.full(len(kinds), -1, dtype=np.int64)
    calls, marks = np.flatnonzero(kinds == CALL), np.flatnonzero(kinds != CALL)
    if len(calls) == 0:
        return owner
    around = calls[innermost_container(starts[calls], ends[calls], starts[marks], ends[marks])]
    # Strictly: a group may start or end in the very nanosecond in which its call does.
    marks = marks[~((starts[around] < starts[marks]) & (ends[around] > ends[marks]))]
    lost = np.zeros(0, dtype=np.int64) if strays is None else strays
    place = np.concatenate([calls, marks, np.full(len(lost), -1, dtype=np.int64)])
    kind = np.concatenate([kinds[calls], kinds[marks], np.full(len(lost), _STRAY, dtype=np.int8)])
    moment = np.concatenate([starts[calls], starts[marks], lost])
    order = np.lexsort((kind, moment))
    place, kind = place[order], kind[order]
    is_call = kind == CALL
    step = np.where(kind == GROUP_START, 1, np.where(kind == GROUP_END, -1, 0)).astype(np.int64)
    alone_launch = (is_call & launched[place]) | (kind == _STRAY)
    closing_launch = (kind == GROUP_END) & launched[place]
    depth = _depth(step, alone_launch, closing_launch)
    alone = depth == 0
    owner[place[is_call & alone]] = place[is_call & alone]
    before = np.concatenate([[depth[0] - step[0]], depth[:-1]]) if len(depth) else depth
    closes = np.flatnonzero((step == -1) & (depth == 0) & (before > 0))
    grouped = np.flatnonzero(is_call & ~alone)
    following = np.searchsorted(closes, grouped)
    # A group that something launched on its own interrupts has lost its end.
    next_reset = np.append(np.flatnonzero(alone_launch), len(place))
    interrupted = next_reset[np.searchsorted(next_reset, grouped)]
    closed = following < len(closes)
    closed[closed] &= closes[following[closed]] < interrupted[closed]
    # Where an end closes several groups at once, those further out had lost theirs.
    closed[closed] &= depth[grouped[closed]] >= before[closes[following[closed]]]
    owner[place[grouped[closed]]] = place[closes[following[closed]]]
    return owner


def _depth(step: Ints, alone_launch: Flags, closing_launch: Flags) -> Ints:
    """How many groups are open after each event; what launches closes all, a stray end none.

    Ends before the first start mean that the capture began inside that many groups.
    """
    if len(step) == 0:
        return step
    resets = alone_launch | closing_launch
    segment = np.cumsum(resets)
    opening = np.flatnonzero((step == 1) | alone_launch)
    inherited = int((step[: opening[0] if len(opening) else len(step)] == -1).sum())
    walk = inherited + np.cumsum(step)
    first = np.searchsorted(segment, np.arange(segment[-1] + 1))
    base = np.where(np.arange(segment[-1] + 1) == 0, 0, walk[first])
    walk = walk - base[segment]
    # Far apart, the segments do not see each other's minima.
    apart = np.int64(2 * len(step) + 2) * segment
    lowest = np.minimum.accumulate(walk - apart) + apart
    return np.asarray(walk - np.minimum(lowest, 0), dtype=np.int64)
