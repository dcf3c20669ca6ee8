"""A measured ceiling: the rate that somebody's benchmark reached over a link, and under which conditions."""

from bisect import bisect_left
from dataclasses import dataclass
from math import log
from typing import Literal

Direction = Literal["read", "write", "send", "sendrecv", "copy"]
Memory = Literal["gpu", "host"]
MEASURED = "measured: "
"""How the source of a ceiling begins that a benchmark showed."""
NEAR = 2
"""A size speaks for another one that is at most so many times larger or smaller."""


@dataclass(frozen=True, slots=True)
class Rate:
    """One row of a benchmark: bytes of a message (None where the tool does not print them), and bytes per second."""

    size_bytes: int | None
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What one run of a benchmark proves about one direction of a link, in decimal bytes per second.

    Attributes:
        tool: The program or suite, as `perftest`.
        test: The test of it, as `ib_write_bw`.
        bytes_per_s: The rate; what ran in both directions at once counts once.
        size_bytes: The size of a message at which it was reached; None where the tool does not print sizes.
        direction: Who moved the bytes: `read` pulls, `write` pushes, `sendrecv` does both at once; None if unknown.
        queue_pairs: How many queue pairs an RDMA test used; None where there are none or the output does not say.
        memory: Where the bytes lay at the end that matters, `host` where either end was; None if unknown.
        note: What was done to get from the output to the rate, and what weakens it: sentences, for people.
        curve: The rate of every size, by size, in one direction as well.
        within_host: Whether all ends were in one host; None where the output does not say.
        wire: The network that an RDMA test says it ran over, `infiniband` or `ethernet`; None where it does not say.
    """

    tool: str
    test: str
    bytes_per_s: float
    size_bytes: int | None
    direction: Direction | None
    queue_pairs: int | None
    memory: Memory | None
    note: str
    curve: tuple[Rate, ...]
    within_host: bool | None = None
    wire: str | None = None

    def at(self, size: int) -> float | None:
        """The rate that the curve shows at about `size` bytes; None where it shows none.

        The nearest size that was measured must be within a factor of two. Between two measured sizes the rate is a
        straight line over the logarithm of the size; beyond the last one it is that of the last.
        """
        known = sorted((rate.size_bytes, rate.bytes_per_s) for rate in self.curve if rate.size_bytes)
        sizes = [each for each, _ in known]
        above = bisect_left(sizes, size)
        around = known[max(0, above - 1) : above + 1]
        if size <= 0 or not any(max(each, size) <= NEAR * min(each, size) for each, _ in around):
            return None
        (low, slow), (high, fast) = around[0], around[-1]
        if low == high or size >= high:
            return fast
        return slow if size <= low else slow + (fast - slow) * log(size / low) / log(high / low)
