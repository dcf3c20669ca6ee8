"""Traces read one by one, by several processes, or by the workers of a cluster; the same results, whoever reads."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from nsysparse import machine
from nsysparse.api.options import AS_MANY_AS_HELP, Options, Progress, Stage, Unreadable
from nsysparse.errors import InputError

_WORTH_A_START = 48 * 2**20
"""Bytes to read below which other processes would still be importing when one has read them all."""
_SHARE_OF_MEMORY = 0.5
_NEEDED = 2.0
"""Memory that reading a file takes at most, as a multiple of its size; only the choice of how many rests on it."""


class Readable(Protocol):
    """What is to be read: at least where it lies."""

    @property
    def path(self) -> Path:
        """The export."""
        ...


T = TypeVar("T", bound=Readable)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Found(Generic[R]):
    """What was read, in the order of the tasks, and why some of it could not be, likewise."""

    results: list[R]
    unreadable: list[InputError]


def read_all(
    read: Callable[[T], R], tasks: Sequence[T], asked: Options, progress: Progress, after: int = 0
) -> Found[R]:
    """Read every task, in whatever order they get done.

    Args:
        read: Reads one; a function of a module, so that other processes find it.
        tasks: At least one.
        asked: Who reads, and whether what cannot be read is left out.
        progress: Is told what is being done.
        after: How many stages follow when all are read.

    Raises:
        NsysparseError: What `read` raises of the first task that fails; where all that can be is to be read, only an
            error other than `InputError`, or that nothing can.
    """
    done: dict[int, R] = {}
    failed: dict[int, InputError] = {}
    with closing(_runs(read, tasks, asked, progress, after)) as runs:
        for place, result in runs:
            if not isinstance(result, InputError):
                done[place] = result
            elif not asked.is_lenient or len(tasks) == 1:
                raise result
            else:
                failed[place] = result
                progress(Unreadable(result))
    if not done:
        raise _none(len(tasks))
    return Found([done[place] for place in sorted(done)], [failed[place] for place in sorted(failed)])


def read_each(
    read: Callable[[T], R], tasks: Sequence[T], asked: Options, progress: Progress
) -> Generator[R, None, None]:
    """As `read_all`, each result as soon as it and all before it are there; here none is read before it is wanted."""
    early: dict[int, R | InputError] = {}
    wanted, found = 0, 0
    with closing(_runs(read, tasks, asked, progress, 0)) as runs:
        for place, result in runs:
            early[place] = result
            while wanted in early:
                next_one = early.pop(wanted)
                wanted += 1
                if not isinstance(next_one, InputError):
                    found += 1
                    yield next_one
                elif not asked.is_lenient or len(tasks) == 1:
                    raise next_one
                else:
                    progress(Unreadable(next_one))
    if not found:
        raise _none(len(tasks))


def is_read_here(tasks: Sequence[Readable], asked: Options) -> bool:
    """Whether this process reads them, so that results need not cross between processes."""
    return asked.scheduler is None and _jobs(tasks, asked) == 1


def _jobs(tasks: Sequence[Readable], asked: Options) -> int:
    jobs = _sensible([task.path for task in tasks]) if asked.jobs == AS_MANY_AS_HELP else asked.jobs
    return min(jobs, len(tasks))


def _none(count: int) -> InputError:
    return InputError(f"None of the {count:,} files can be read.", "The lines above say why.")


def _runs(
    read: Callable[[T], R], tasks: Sequence[T], asked: Options, progress: Progress, after: int
) -> Generator[tuple[int, R | InputError], None, None]:
    """Results with the places of their tasks, as they get done; progress is told of each."""
    if asked.scheduler is not None:
        from nsysparse.api.cluster import run_on_cluster

        runs = run_on_cluster(read, tasks, asked.scheduler)
    else:
        jobs = _jobs(tasks, asked)
        if jobs == 1:
            yield from _one_by_one(read, tasks, progress, after)
            return
        from nsysparse.api.processes import run_in_processes

        runs = run_in_processes(read, tasks, jobs)
    every, stages = f"{len(tasks):,} {'file' if len(tasks) == 1 else 'files'}", len(tasks) + after
    progress(Stage(f"reading {every}", 0, stages))
    with closing(runs):
        for done, (place, result) in enumerate(runs, 1):
            progress(Stage(f"{done:,} of {every} read", done, stages))
            yield place, result


def _one_by_one(
    read: Callable[[T], R], tasks: Sequence[T], progress: Progress, after: int
) -> Generator[tuple[int, R | InputError], None, None]:
    for place, task in enumerate(tasks):
        so_far = f" ({place:,} of {len(tasks):,} files read)" if len(tasks) > 1 else ""
        progress(Stage(f"reading {task.path.name}{so_far}", place, len(tasks) + after))
        try:
            result: R | InputError = read(task)
        except InputError as error:
            result = error
        yield place, result


def _sensible(paths: Sequence[Path]) -> int:
    """How many processes: no more than files, than cores, than memory holds what they read at a time; 1 for little."""
    sizes = [_size(path) for path in paths]
    if sum(sizes) < _WORTH_A_START:
        return 1
    fitting = int(machine.memory() * _SHARE_OF_MEMORY / (_NEEDED * max(sizes)))
    return max(1, min(len(paths), machine.cores(), fitting))


def _size(path: Path) -> int:
    """Bytes of a file; 0 where it cannot be looked at, of which reading it says more."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0
