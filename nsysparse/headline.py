"""Which link a run's rate is of: one answer for the verdict and all that repeats it."""

from collections.abc import Sequence

from nsysparse.analysis import Link
from nsysparse.units import UNKNOWN


def known_links(links: Sequence[Link]) -> list[Link]:
    """The links of which both ends are known."""
    return [link for link in links if UNKNOWN not in (link.src, link.dst)]


def busiest(links: Sequence[Link]) -> Link | None:
    """The link with most bytes among those whose ends are known, whether or not it has a rate; None without any."""
    return max(known_links(links), key=lambda link: (link.bytes or 0, link.link_key, link.transport), default=None)
