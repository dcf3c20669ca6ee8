"""What paired transfers say of θ, the clock of `other` less that of `base`, at instants of `base`'s clock.

A transfer gives inequalities between an event on one clock and one on the other. Each is exact at the instant of
`base`'s event, whatever the drift: `other`'s clock grows with `base`'s, so which event came first shows on either.
docs/explanation/clocks.md derives them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.clocks.feasible import Floats, Points, line_under
from nsysparse.clocks.pairs import Pairs
from nsysparse.intervals import Ints

STEEPEST = 100e-6
"""The greatest drift of two clocks against each other: quartz is off by 10 to 50 ppm, either way."""

# A window of the run has its least delayed message; of fewer large ones than these nothing says that one is undelayed.
_LEAST_IN_WINDOW, _MOST_WINDOWS, _LEAST_LARGE = 8, 8, 4
# The floor of delays is as far below the least of them as the third least is above it, at most.
_NTH = 2


@dataclass(frozen=True, slots=True)
class Origin:
    """Instants and offsets near those of a run; differences from them keep every ns in a float."""

    at_ns: int
    offset_ns: int

    def points(self, at: Ints, value: Ints, which: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
        """Instants and offsets from here, of all or of some."""
        some = slice(None) if which is None else which
        return (at[some] - self.at_ns).astype(np.float64), (value[some] - self.offset_ns).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Points that θ does not exceed, and points that it does not fall below."""

    upper: Points
    lower: Points

    def and_also(self, other: "Bounds") -> "Bounds":
        """Both."""
        return Bounds(self.upper.and_also(other.upper), self.lower.and_also(other.lower))


def origin(there: Pairs, back: Pairs) -> Origin:
    """A rough offset: of each direction the least delayed transfer, of both the middle; one of them must have some."""
    firsts = [
        pairs.send_end if ours else pairs.recv_end for pairs, ours in ((there, True), (back, False)) if len(pairs)
    ]
    rough = [int((there.recv_end - there.send_end).min())] if len(there) else []
    rough += [int((back.send_end - back.recv_end).max())] if len(back) else []
    return Origin(int(min(each.min() for each in firsts)), sum(rough) // len(rough))


def causal(there: Pairs, back: Pairs, zero: Origin) -> Bounds:
    """What holds of any transfers, whichever way they go.

    Args:
        there: What `base` sent to `other`.
        back: What `other` sent to `base`.
        zero: From where the points count.

    Returns:
        A receive does not end before its send began, nor before its send ended where that had a kernel to itself; and
        the send of what cannot be buffered does not end before its receive begins.
    """
    slack = CLOCK_SLACK_NS
    large = there.kernels & (there.bytes > there.staging), back.kernels & (back.bytes > back.staging)
    upper = Points.of(
        zero.points(there.send_start, there.recv_end - there.send_start + slack),
        zero.points(there.send_end, there.recv_end - there.send_end + slack, there.sent_alone),
        zero.points(back.recv_start, back.send_end - back.recv_start + slack, large[1]),
    )
    lower = Points.of(
        zero.points(back.recv_end, back.send_start - back.recv_end - slack),
        zero.points(back.recv_end, back.send_end - back.recv_end - slack, back.sent_alone),
        zero.points(there.send_end, there.recv_start - there.send_end - slack, large[0]),
    )
    return Bounds(upper, lower)


def coincident(there: Pairs, back: Pairs, zero: Origin) -> Bounds:
    """The other side of the bracket where transfers go one way only: the least delayed large messages end together.

    When such a send ends, no more than the buffers hold is still to be received. So of messages that nothing delays the
    two ends are no more apart than draining the buffers takes. That the least delayed one of each stretch of the run is
    such a message is an assumption (as in NTP's filter, RFC 5905), with room for that it is not quite.
    """
    upper, lower = Points.of(), Points.of()
    if len(there) and not len(back):
        lower = _floor(there, there.send_end, there.recv_end - there.send_end, zero, sign=1)
    if len(back) and not len(there):
        upper = _floor(back, back.recv_end, back.recv_end - back.send_end, zero, sign=-1)
    return Bounds(upper, lower)


def _floor(pairs: Pairs, at: Ints, delay: Ints, zero: Origin, *, sign: int) -> Points:
    """Points that `sign` x θ does not fall below; of θ itself."""
    large = pairs.alone & (pairs.bytes > pairs.staging)
    if large.sum() < _LEAST_LARGE:
        return Points.of()
    when = (at[large] - zero.at_ns).astype(np.float64)
    value = (delay[large] - sign * zero.offset_ns).astype(np.float64)
    lengths = np.minimum(pairs.send_end - pairs.send_start, pairs.recv_end - pairs.recv_start)[large]
    drains = lengths * (pairs.staging[large] / pairs.bytes[large])
    height, slope = line_under(Points(when, value), STEEPEST)
    late = value - height - slope * when
    order = np.argsort(when, kind="stable")
    windows = np.array_split(order, int(np.clip(len(order) // _LEAST_IN_WINDOW, 1, _MOST_WINDOWS)))
    at_floor, floor = [], []
    for window in windows:
        ranked = window[np.argsort(late[window], kind="stable")]
        least = ranked[0]
        room = late[ranked[min(_NTH, len(ranked) - 1)]] - late[least]
        at_floor.append(when[least])
        floor.append(sign * (value[least] - drains[least] - room - CLOCK_SLACK_NS))
    return Points(np.asarray(at_floor), np.asarray(floor))
