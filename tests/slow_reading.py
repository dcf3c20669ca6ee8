"""Reading that lasts, dies or complains, by what the folder of the trace holds: other processes find it by its name."""

import os
import signal
import time
from pathlib import Path

from nsysparse.api.part import Part, Task, read_part
from nsysparse.errors import UsageError

FOREVER_S, PATIENCE_S = 300, 120
COMMAND = """
import nsysparse.api.study, slow_reading
nsysparse.api.study.read_part = slow_reading.read
from nsysparse.cli import main
main()
"""
"""The command line, reading as `read` does."""


def environment() -> dict[str, str]:
    """That of a process which is to find this module."""
    paths = [str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def reader(told: Path) -> int:
    """The process that waits, when it does."""
    until = time.monotonic() + PATIENCE_S
    while not told.exists():
        assert time.monotonic() < until, f"{told.name} did not appear"
        time.sleep(0.05)
    return int(told.read_text())


def read(task: Task) -> Part:
    """As `read_part`; a file beside the trace, named after its id, says what goes wrong the first time.

    `ID.waits`: says which process reads it in `ID.pid`, and does not end. `ID.dies`: as when memory runs out.
    """
    here = task.path.parent
    if _is_ordered(here / f"{task.trace_id}.waits"):
        done = here / f"{task.trace_id}.writing"
        done.write_text(str(os.getpid()))
        done.rename(here / f"{task.trace_id}.pid")
        time.sleep(FOREVER_S)
    if _is_ordered(here / f"{task.trace_id}.dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    return read_part(task)


def complain(task: Task) -> Part:
    raise UsageError(f"{task.trace_id} is odd.", "Make it even.")


def fail(task: Task) -> Part:
    raise LookupError(task.trace_id)


def threads(_: Task) -> str | None:
    return os.environ.get("POLARS_MAX_THREADS")


def hears_interrupts(_: Task) -> bool:
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _is_ordered(order: Path) -> bool:
    try:
        order.unlink()
    except FileNotFoundError:
        return False
    return True
