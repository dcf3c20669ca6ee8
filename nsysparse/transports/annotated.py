"""`kv_transfer` ranges as transfers: for engines whose transfers leave nothing else in a trace.

The range is the transfer: its interval is the host's, its size what its text says. A transfer that another transport
recorded as well is found here too; which of the two counts is decided where all are known.
"""

import polars as pl

from nsysparse.frames import Found, Frame, found_frame
from nsysparse.kinds import ANNOTATED
from nsysparse.scope_table import ScopeTable
from nsysparse.source import schema
from nsysparse.source.trace import Trace
from nsysparse.transports.announced import announced

NAME = ANNOTATED
ABOUT = "kv_transfer ranges of the annotation convention, from their start to their end"
UNSEEN = (
    "what a server does not annotate, and no engine annotates by itself; where nothing else recorded the transfer,"
    " nothing checks what the range says"
)
NEEDS = (schema.NVTX,)
SHOWN_BY = (("nvtx_ranges",),)
RULE = "own/kv_transfer"
SIDES = {
    "send": "send", "put": "send", "offload": "send", "recv": "recv", "get": "recv", "load": "recv", "copy": "copy",
}  # fmt: skip
ONE_SIDED = ("put", "get")
MAX_PEER = 2**31 - 1


def find(trace: Trace, scopes: ScopeTable) -> Frame[Found]:
    """All annotated transfers of a trace, in the order in which they began.

    `op` says the side; without it, or with a word that the convention does not know, the side stays unknown: the role
    of a process does not tell, since engines hand over both ways. `peer` counts where it is a rank.
    """
    peer = pl.col("peer").cast(pl.Int64, strict=False)
    return found_frame(
        announced(trace, scopes, RULE, bytes_source="annotation").with_columns(
            transport=pl.lit(NAME),
            # A push/pop range is a call: what it started may outlast it, or have waited before.
            interval_kind=pl.when(pl.col("style") == "push_pop").then(pl.lit("call")).otherwise("interval_kind"),
            side=pl.col("op").replace_strict(SIDES, default=None, return_dtype=pl.String),
            peer=pl.when(peer.is_between(0, MAX_PEER)).then(peer),
            is_one_sided=pl.col("op").is_in(ONE_SIDED),
            match_key=pl.concat_str(pl.lit("xfer:"), "xfer"),
        )
    )
