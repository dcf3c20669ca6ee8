"""Changes that would help, in words: what a report calls those that `whatif[]` has by id."""

from collections.abc import Mapping
from types import MappingProxyType

from nsysparse.catalog.loader import links

LINK = "link:"
"""What an id begins with that ends in that of a link."""
_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "wire-fp8": "FP8 on the wire",
        "wire-int8": "INT8 on the wire",
        "sender-pipelining": "Layers sent while others are computed",
        "receiver-pipelining": "Layers decoded while others arrive",
        "more-streams": "More streams or adapters",
        "larger-messages": "Larger messages",
        "smaller-batch": "Fewer requests at once",
    }
)


def title(idea_id: str) -> str:
    """The idea in words; an id that nobody knows stays itself."""
    link = links().get(idea_id.removeprefix(LINK)) if idea_id.startswith(LINK) else None
    return _TITLES.get(idea_id, idea_id) if link is None else f"Link: {link.name}"
