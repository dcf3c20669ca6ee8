"""What a process uses of the machine it runs on: cores, and memory that it gave back."""

import os
from contextlib import suppress

THREADS = "POLARS_MAX_THREADS"
"""The variable that tells polars, before it is imported, how many threads to have."""
_ARENAS = -8  # M_ARENA_MAX of glibc's malloc.h


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """Threads that this process should work on: as many as there are cores, or as polars is told to have."""
    told = os.environ.get(THREADS, "")
    return min(cores(), int(told)) if told.isdecimal() and int(told) else cores()


def memory() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def share_freed_memory() -> None:
    """Let all threads take from the same freed memory; to be called before there are any.

    With glibc each has an arena of its own, and what a batch leaves in one is of no use to the others: a sixth of what
    a report on ten million kernels takes. Elsewhere nothing is done.
    """
    import ctypes

    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENAS, 1)
