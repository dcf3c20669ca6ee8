"""What the intervals of each transport show, in words."""

from collections.abc import Iterable, Sequence

from nsysparse.analysis import Link
from nsysparse.kinds import ANNOTATED, COPIES, HOST_STAGED, NCCL

_OWN_INTERVAL = {
    **dict.fromkeys(COPIES, "the copies themselves"),
    HOST_STAGED: "the copies of each range, from the first to the last",
    ANNOTATED: "the annotated ranges, waiting unseen",
}
_HOST_INTERVAL = "from post to completion, waiting unseen"


def wire_interval(transport: str) -> str:
    """What a rate of basis `wire` is over."""
    if transport == NCCL:
        return "while both sides were there"
    return _OWN_INTERVAL.get(transport, _HOST_INTERVAL)


def bounds(links: Sequence[Link]) -> str:
    """What lowers the rates of these links, which are lower bounds all."""
    copied = sorted({link.transport for link in links} & set(COPIES))
    waited = "contain waiting for the peer, or leave out what may have been buffered"
    paused = "contain the pauses between copies"
    if not copied:
        return f"these {waited}"
    if all(link.transport in COPIES for link in links):
        return f"these {paused}"
    return f"these {waited}; those of {' and '.join(copied)} {paused}"


def unseen_waiting(links: Iterable[Link]) -> list[str]:
    """Transports of these links that have times in which waiting cannot be seen, by name."""
    return sorted({link.transport for link in links if link.busy_ns is not None} - {NCCL, *COPIES})


def several(links: Iterable[Link]) -> bool:
    """Whether the links differ in their transport, so that it must be said."""
    return len({link.transport for link in links}) > 1
