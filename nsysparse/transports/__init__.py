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
        needs: The tables without which it finds nothing; the columns stand in their specs.
        find: From a trace and its scopes (`nsysparse.scopes.find_scopes`) to transfers, each seen from one side.
    """

    name: str
    about: str
    needs: tuple[TableSpec, ...]
    find: Callable[[Trace, pl.DataFrame], dy.DataFrame[Found]]


# Best source first: of several that recorded one movement the earlier one stands.
TRANSPORTS = (
    Transport(nccl.NAME, nccl.ABOUT, nccl.NEEDS, nccl.find),
    Transport(nixl.NAME, nixl.ABOUT, nixl.NEEDS, nixl.find),
    Transport(trtllm_bounce.NAME, trtllm_bounce.ABOUT, trtllm_bounce.NEEDS, trtllm_bounce.find),
    Transport(memcpy.NAME, memcpy.ABOUT, memcpy.NEEDS, memcpy.find),
    Transport(host_staged.NAME, host_staged.ABOUT, host_staged.NEEDS, host_staged.find),
    Transport(ucx.NAME, ucx.ABOUT, ucx.NEEDS, ucx.find),
    Transport(annotated.NAME, annotated.ABOUT, annotated.NEEDS, annotated.find),
)
