"""The ways KV moves, one module each. A new transport is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

import dataframely as dy

from nsysparse.frames import Found
from nsysparse.source.trace import Trace
from nsysparse.transports import nccl


@dataclass(frozen=True, slots=True)
class Transport:
    """A transport: which tables and columns it reads, and how it finds transfers in a trace."""

    name: str
    needs: tuple[str, ...]
    find: Callable[[Trace], dy.DataFrame[Found]]


TRANSPORTS = (Transport("nccl", nccl.NEEDS, nccl.find),)
