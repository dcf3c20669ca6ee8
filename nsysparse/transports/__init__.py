"""The ways KV moves, one module each. A new transport is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

import dataframely as dy
import polars as pl

from nsysparse.frames import Found
from nsysparse.source.schema import TableSpec
from nsysparse.source.trace import Trace
from nsysparse.transports import annotated, host_staged, memcpy, nccl, nixl, trtllm_bounce, ucx


@dataclass(frozen=True, slots=True)
class Transport:
    """A transport: which tables and columns it reads, and how it finds transfers in a trace.

    Attributes:
        name: Its name in reports.
        about: What it finds, in a sentence.
        unseen: What moves KV and yet leaves it nothing to find, in a sentence.
        needs: The tables that it reads; the columns stand in their specs.
        shown_by: Names of capabilities, as alternatives: where all of one are not absent, it could look, and finding
            nothing means that there is nothing of its kind in the file.
        find: From a trace and its scopes (`nsysparse.scopes.find_scopes`) to transfers, each seen from one side.
    """

    name: str
    about: str
    unseen: str
    needs: tuple[TableSpec, ...]
    shown_by: tuple[tuple[str, ...], ...]
    find: Callable[[Trace, pl.DataFrame], dy.DataFrame[Found]]


# Best source first: of several that recorded one movement the earlier one stands.
TRANSPORTS = (
    Transport(nccl.NAME, nccl.ABOUT, nccl.UNSEEN, nccl.NEEDS, nccl.SHOWN_BY, nccl.find),
    Transport(nixl.NAME, nixl.ABOUT, nixl.UNSEEN, nixl.NEEDS, nixl.SHOWN_BY, nixl.find),
    Transport(
        trtllm_bounce.NAME,
        trtllm_bounce.ABOUT,
        trtllm_bounce.UNSEEN,
        trtllm_bounce.NEEDS,
        trtllm_bounce.SHOWN_BY,
        trtllm_bounce.find,
    ),
    Transport(memcpy.NAME, memcpy.ABOUT, memcpy.UNSEEN, memcpy.NEEDS, memcpy.SHOWN_BY, memcpy.find),
    Transport(
        host_staged.NAME,
        host_staged.ABOUT,
        host_staged.UNSEEN,
        host_staged.NEEDS,
        host_staged.SHOWN_BY,
        host_staged.find,
    ),
    Transport(ucx.NAME, ucx.ABOUT, ucx.UNSEEN, ucx.NEEDS, ucx.SHOWN_BY, ucx.find),
    Transport(annotated.NAME, annotated.ABOUT, annotated.UNSEEN, annotated.NEEDS, annotated.SHOWN_BY, annotated.find),
)
