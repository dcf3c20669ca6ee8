"""How long requests are: a histogram, and what share of it a link makes pay."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MOST_TOKENS = 1_000_000_000
"""No prompt has more; what has is no count of tokens."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Requests by the length of their prompts.

    `lengths` are (tokens, requests) sorted by tokens. `unknown_count` requests have no length that is told; they are in
    no share. `source` names the file and what was read in it.
    """

    source: str
    lengths: Sequence[tuple[int, int]]
    unknown_count: int = 0

    @property
    def total(self) -> int:
        """Requests whose length is known."""
        return sum(count for _, count in self.lengths)

    def share(self, matches: Callable[[int], bool]) -> float | None:
        """The share of requests whose length matches; None where there are none."""
        return sum(count for tokens, count in self.lengths if matches(tokens)) / self.total if self.total else None

    def percentile(self, percent: int) -> int | None:
        """The shortest length that at least this percentage of requests does not exceed; None where there are none."""
        total, seen = self.total, 0
        for tokens, count in self.lengths:
            seen += count
            if 100 * seen >= percent * total:
                return tokens
        return None

    def bins(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Edges and counts: each bin from its edge on to below the next. Edges double; 0 tokens have their own bin."""
        counts: Counter[int] = Counter()
        for tokens, count in self.lengths:
            counts[tokens.bit_length()] += count
        if not counts:
            return (), ()
        places = range(min(counts), max(counts) + 1)
        edges = [_from_bits(place) for place in (*places, places.stop)]
        return tuple(edges), tuple(counts[place] for place in places)


def histogram(source: str, lengths: Iterable[int | None]) -> Histogram:
    """The histogram of these lengths; None is a request whose length is not told."""
    counts = Counter(lengths)
    unknown = counts.pop(None, 0)
    return Histogram(source, sorted((tokens, count) for tokens, count in counts.items() if tokens is not None), unknown)


def _from_bits(bits: int) -> int:
    """The least number of that many binary digits."""
    return 1 << bits - 1 if bits else 0
