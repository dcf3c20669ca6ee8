"""What the intervals of each transport show, in words."""

from collections.abc import Iterable

from nsysparse.analysis import Link
from nsysparse.kinds import ANNOTATED, COPIES, NCCL

_OWN_INTERVAL = {
    **dict.fromkeys(COPIES, "the copies themselves"),
    ANNOTATED: "the annotated ranges, waiting unseen",
}
_HOST_INTERVAL = "from post to completion, waiting unseen"


def wire_interval(transport: str) -> str:
    """What a rate of basis `wire` is over."""
    if transport == NCCL:
        return "while both sides were there"
    return _OWN_INTERVAL.get(transport, _HOST_INTERVAL)


def unseen_waiting(links: Iterable[Link]) -> list[str]:
    """Transports of these links that have times in which waiting cannot be seen, by name."""
    return sorted({link.transport for link in links if link.busy_ns is not None} - {NCCL, *COPIES})


def several(links: Iterable[Link]) -> bool:
    """Whether the links differ in their transport, so that it must be said."""
    return len({link.transport for link in links}) > 1
