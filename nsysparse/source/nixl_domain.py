"""Which NVTX events are NIXL's own.

Each NIXL agent (1.4.0 and newer) has a domain named after itself, so that events are known by name alone. The range of
a post covers only the call; a mark with the same number, the address of the request handle, says when the application
first saw it complete.
"""

from collections.abc import Mapping

POSTS: Mapping[str, str] = {"nixl::postXferReq.write": "send", "nixl::postXferReq.read": "recv"}
"""Name of a post → the side that the agent is on: who writes sends, who reads receives."""
COMPLETE = "nixl::xfer.complete"
PREFIX, POST_PREFIX = "nixl::", "nixl::postXferReq."
