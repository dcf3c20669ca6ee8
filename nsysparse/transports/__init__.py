"""The ways KV moves, one module each. A new transport is one file and its name here."""

from typing import Protocol

import polars as pl

from nsysparse.frames import Found, Frame
from nsysparse.scope_table import ScopeTable
from nsysparse.source.schema import TableSpec
from nsysparse.source.trace import Trace
from nsysparse.transports import annotated, host_staged, memcpy, nccl, nixl, trtllm_bounce, ucx
from nsysparse.transports.launching import device_name


class Transport(Protocol):
    """What the module of a transport has: which tables it reads, and how it finds transfers in a trace.

    Attributes:
        NAME: Its name in reports.
        ABOUT: What it finds, in a sentence.
        UNSEEN: What moves KV and yet leaves it nothing to find, in a sentence.
        NEEDS: The tables that it reads; the columns stand in their specs.
        SHOWN_BY: Names of capabilities, as alternatives: where all of one are not absent, it could look, and finding
            nothing means that there is nothing of its kind in the file.
    """

    NAME: str
    ABOUT: str
    UNSEEN: str

    @property
    def NEEDS(self) -> tuple[TableSpec, ...]:  # noqa: D102, N802 (constants of the module, of any length)
        ...

    @property
    def SHOWN_BY(self) -> tuple[tuple[str, ...], ...]:  # noqa: D102, N802
        ...

    def find(self, trace: Trace, scopes: ScopeTable) -> Frame[Found]:
        """From a trace and its scopes (`nsysparse.scopes.find_scopes`) to transfers, each seen from one side."""


# Best source first: of several that recorded one movement the earlier one stands.
TRANSPORTS: tuple[Transport, ...] = (nccl, nixl, trtllm_bounce, memcpy, host_staged, ucx, annotated)


def find_all(trace: Trace, scopes: ScopeTable) -> pl.DataFrame:
    """What all transports find in one trace: columns of `Found`, with the names of the devices."""
    found = pl.concat([transport.find(trace, scopes) for transport in TRANSPORTS])
    return found.with_columns(gpu=device_name(trace))
