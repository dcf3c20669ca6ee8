"""Tasks done by several processes of this machine, each one at a time.

The processes are spawned, never forked: threads of polars do not survive a fork. Each has a pipe of its own, so that it
is known which task one died of, and no result is fetched before somebody takes it.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol, cast

from nsysparse import machine
from nsysparse.api.outcome import Outcome, opened, outcome
from nsysparse.errors import InputError

_GRACE_S = 5.0
"""Seconds that an idle process has to end by itself."""


class _OfFile(Protocol):
    @property
    def path(self) -> Path: ...


def run_in_processes(
    read: Callable[[Any], Any], tasks: Sequence[_OfFile], jobs: int
) -> Generator[tuple[int, Any], None, None]:
    """Results with the places of their tasks, in the order in which they get done.

    A process that dies, as when memory runs out, costs the file that it was reading, and another one goes on with the
    rest. However the work ends, no process is left.

    Args:
        read: A function of a module.
        tasks: What it is called with.
        jobs: How many processes.
    """
    waiting = deque(enumerate(tasks))
    threads = max(1, machine.threads() // jobs)
    busy: dict[Connection, tuple[SpawnProcess, int]] = {}
    idle: list[tuple[Connection, SpawnProcess]] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                connection, process = _living(idle) or _started(threads)
                place, task = waiting.popleft()
                busy[connection] = process, place
                with suppress(OSError):  # it has died since, which is seen when its answer is missing
                    connection.send((read, task))
            for connection in cast("list[Connection]", wait(list(busy))):
                process, place = busy[connection]
                told = _received(connection)
                del busy[connection]
                if told is None:
                    process.join()
                    connection.close()
                    yield place, _died(tasks[place].path.name, process.exitcode)
                else:
                    idle.append((connection, process))
                    yield place, opened(told)
                    del told
        for connection, process in idle:
            connection.close()  # which it takes for the end
            process.join(_GRACE_S)
    finally:
        for process in (*(process for process, _ in busy.values()), *(process for _, process in idle)):
            process.kill()
            process.join()


def serve(connection: Connection, threads: int) -> None:
    """Do one task after the other until nobody asks any more; what a process runs.

    Args:
        connection: Brings functions with their tasks, and takes outcomes.
        threads: How many it should have: all processes together share the cores.
    """
    os.environ.setdefault(machine.THREADS, str(threads))  # before anything imports polars
    machine.share_freed_memory()
    with suppress(EOFError, OSError):  # the other end is gone
        while True:
            read, task = connection.recv()
            connection.send(outcome(read, task))
            del task


def _living(idle: list[tuple[Connection, SpawnProcess]]) -> tuple[Connection, SpawnProcess] | None:
    """An idle process; those that were killed meanwhile are none, and cost no file."""
    while idle:
        connection, process = idle.pop()
        if process.is_alive():
            return connection, process
        connection.close()
        process.join()
    return None


def _started(threads: int) -> tuple[Connection, SpawnProcess]:
    # multiprocessing starts a process of its own beside the first, and lets interrupts through afterwards.
    resource_tracker.ensure_running()
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, threads), daemon=True)
    with _interrupts_held():
        process.start()
    theirs.close()
    return ours, process


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal: one that starts meanwhile must leave it to us, from its first moment.

    What is held here comes afterwards; what a process inherits as held, it never sees.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _received(connection: Connection) -> Outcome | None:
    """What a process answers; None where it died before it had."""
    try:
        told = connection.recv()
    except (EOFError, OSError):
        return None
    assert isinstance(told, Outcome)  # noqa: S101 (for the type checker: a process answers nothing else)
    return told


def _died(name: str, exit_code: int | None) -> InputError:
    how = f"exit code {exit_code}"
    if exit_code is not None and exit_code < 0:
        with suppress(ValueError):
            how = signal.Signals(-exit_code).name
    return InputError(
        f"{name}: the process that read it died ({how}).", "Perhaps memory ran out: try --jobs 1, or another machine."
    )
