"""Whether rates of two runs are of the like: of messages of similar size, over links that both have."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis
from nsysparse.compare.matching import Partners

SIZES_APART = 0.25
"""Share of the larger by which median sizes may differ: where a fixed cost is a fifth of a message's time, a quarter
more bytes make it 5 % faster, which is what counts as a change."""


def median_sizes(base: Analysis, candidate: Analysis) -> tuple[float, float] | None:
    """The median message of both runs in bytes; None where either is not known."""
    ours, theirs = (found.p50 if (found := each.summary.get("message_bytes")) else None for each in (base, candidate))
    return None if ours is None or theirs is None else (ours, theirs)


def sizes_apart(base: Analysis, candidate: Analysis) -> bool:
    """Whether messages differ so much in size that rates differ for that alone."""
    sizes = median_sizes(base, candidate)
    return sizes is not None and max(sizes) - min(sizes) > SIZES_APART * max(sizes)


def no_link_in_common(partners: Partners) -> bool:
    """Whether both runs have links, and none of one is one of the other."""
    return not partners.pairs and bool(partners.only_base) and bool(partners.only_candidate)


def rates_are_of_the_like(bases: Sequence[Analysis], candidate: Analysis, partners: Sequence[Partners]) -> bool:
    """Whether a change of rates says something of the transfer; all base runs must be like the candidate."""
    return not any(sizes_apart(base, candidate) for base in bases) and not any(map(no_link_in_common, partners))
