"""Tasks done by the workers of a Dask cluster.

The client and the workers send each other Python objects, so whoever answers at the address can run code here, and
whoever has it, there: a scheduler is trusted as a shell on its machines is.
"""

import logging
import os
import pickle
import platform
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from nsysparse import __version__
from nsysparse.api.outcome import Outcome, opened, outcome
from nsysparse.errors import InputError, NsysparseError

if TYPE_CHECKING:
    from distributed import Client, Future

INSTALL = "pip install 'nsysparse[cluster]'"
INSTALL_THERE = "Install the same versions on every machine of the cluster."
CONNECT_S = 10
"""Seconds in which a scheduler must answer."""
WORKERS_S = 60
"""Seconds in which a worker must join: clusters that grow on demand take a while."""
_LOOK_S = 1.0
_AHEAD = 2
"""Tasks on their way for every thread of a worker: one that is done, one that waits."""
_LEAST_AHEAD = 8
"""Tasks on their way at least, so that a cluster grows on demand."""


def run_on_cluster(
    read: Callable[[Any], Any], tasks: Sequence[Any], address: str
) -> Generator[tuple[int, Any], None, None]:
    """Results with the places of their tasks, in the order in which they get done.

    A task whose worker dies is done by another one, as often as the scheduler allows
    (`distributed.scheduler.allowed-failures`); after that its file counts as one that cannot be read.

    Args:
        read: A function of a module.
        tasks: What it is called with: frozen dataclasses with the `path` of a file that the workers see, too.
        address: Of the scheduler.

    Raises:
        NsysparseError: There is no cluster, or none of this version.
    """
    with _connected(address) as client:
        # What a task raised is raised out here: an OSError of its file is not one of the cluster's.
        for place, told in _while_it_lasts(client, read, tasks, address):
            yield place, opened(told)
            del told


def _while_it_lasts(
    client: "Client", read: Callable[[Any], Any], tasks: Sequence[Any], address: str
) -> Generator[tuple[int, Outcome], None, None]:
    """What became of each task, until the cluster goes away."""
    try:
        _require_same(client)
        yield from _gathered(client, read, tasks, address)
    except (OSError, CancelledError) as error:
        raise NsysparseError(
            f"The Dask cluster at {address} went away ({type(error).__name__}).",
            "The logs of its scheduler and workers say more.",
        ) from error


def _gathered(
    client: "Client", read: Callable[[Any], Any], tasks: Sequence[Any], address: str
) -> Generator[tuple[int, Outcome], None, None]:
    from distributed import wait

    run, waiting = uuid.uuid4().hex, deque(enumerate(tasks))
    underway: dict[Future, int] = {}
    ours, seen = versions(), time.monotonic()
    while waiting or underway:
        threads = sum(client.nthreads().values())
        while waiting and len(underway) < max(_AHEAD * threads, _LEAST_AHEAD):
            place, task = waiting.popleft()
            path = task.path.absolute()
            asked = pickle.dumps((read, replace(task, path=path))), str(path), ours
            underway[client.submit(on_worker, *asked, key=f"nsysparse-{run}-{place}", pure=False)] = place
        with suppress(TimeoutError), client.as_current():
            wait(list(underway), timeout=_LOOK_S, return_when="FIRST_COMPLETED")
        for future in [each for each in underway if each.done()]:
            place = underway.pop(future)
            told = _told(future, tasks[place].path.name, address)
            future.release()
            yield place, told
            del told
        if threads or not underway:
            seen = time.monotonic()
        elif time.monotonic() - seen > WORKERS_S:
            raise NsysparseError(
                f"The Dask scheduler at {address} has no worker, and none joined within {WORKERS_S} s.",
                f"Start one: dask worker {address}",
            )


def on_worker(packed: bytes, path: str, theirs: dict[str, str]) -> Outcome:
    """What a worker runs: one task, if it is of the client's version and can see the file.

    Args:
        packed: A function and its task, pickled: the scheduler looks into what it hands on, and need not into this.
        path: The task's file, absolute.
        theirs: The `versions` of the client.
    """
    if theirs != versions():
        return Outcome(error=_differ(f"The Dask worker on {platform.node()}", versions(), theirs))
    if not os.path.exists(path):  # noqa: PTH110 (a name that no file can have is none here, and no error)
        return Outcome(
            error=InputError(
                f"{os.path.basename(path)}: the Dask worker on {platform.node()} cannot see it.",  # noqa: PTH119
                "Workers read traces themselves: put them where all see them under the same absolute path.",
            )
        )
    read, task = pickle.loads(packed)  # noqa: S301 (from the client, which may run code here anyway)
    return outcome(read, task)


def _told(future: "Future", name: str, address: str) -> Outcome:
    from distributed.scheduler import KilledWorker

    try:
        told = future.result()
    except KilledWorker as error:
        died = InputError(
            f"{name}: the Dask workers that read it died, one after the other.",
            "Perhaps their memory ran out: give workers more, or fewer threads each.",
        )
        died.__cause__ = error
        return Outcome(error=died)
    except CancelledError:
        raise
    except Exception as error:
        raise NsysparseError(
            f"The Dask cluster at {address} gave up a task ({type(error).__name__}: {error}).",
            "The logs of its scheduler and workers say more.",
        ) from error
    return told if isinstance(told, Outcome) else Outcome(error=RuntimeError(f"a worker answered {type(told)}"))


@contextmanager
def _connected(address: str) -> Iterator["Client"]:
    try:
        from distributed import Client
    except ImportError as error:
        raise NsysparseError(f"--scheduler needs Dask, which is not installed ({error}).", INSTALL) from error
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError, RuntimeError) as error:
        raise NsysparseError(
            f"No Dask scheduler answers at {address} within {CONNECT_S} s ({type(error).__name__}).",
            "Check the address, or start one: dask scheduler",
        ) from error
    with _silenced():
        try:
            yield client
        finally:
            client.close(timeout=CONNECT_S)


@contextmanager
def _silenced() -> Iterator[None]:
    """Without what Dask logs to stderr, with tracebacks, of what becomes one sentence of ours."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in ("distributed", "tornado")]
    changed = [logger for logger in map(logging.getLogger, names) if not logger.disabled]
    for logger in changed:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in changed:
            logger.disabled = False


def _require_same(client: "Client") -> None:
    """Refuse a cluster that could not read what we send, before it tries; a worker lost meanwhile is no matter."""
    workers = client.run(versions, on_error="return")
    found: dict[str, Any] = {f"worker at {who}": told for who, told in workers.items()}
    try:
        found["scheduler"] = client.run_on_scheduler(versions)  # it unpacks what it hands on
    except Exception as error:
        if not isinstance(error, ImportError):
            raise NsysparseError(f"The Dask scheduler does not say its version ({error}).", INSTALL_THERE) from error
        found["scheduler"] = error
    for who, theirs in sorted(found.items()):
        if isinstance(theirs, ImportError):
            raise NsysparseError(f"The Dask {who} has no nsysparse ({theirs}).", INSTALL_THERE)
        if isinstance(theirs, dict) and theirs != versions():
            raise _differ(f"The Dask {who}", theirs, versions())


def versions() -> dict[str, str]:
    """What must be the same on both sides: what crosses are objects of these, and checksums that they make."""
    return {"nsysparse": __version__, "polars": version("polars")}


def _differ(who: str, there: dict[str, str], here: dict[str, str]) -> NsysparseError:
    other = [
        f"{name} {there.get(name)} where this one has {here[name]}" for name in here if there.get(name) != here[name]
    ]
    return NsysparseError(f"{who} has {' and '.join(other)}.", INSTALL_THERE)
