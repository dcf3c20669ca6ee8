"""What a user can ask of an analysis, and what is refused before anything is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from nsysparse.analysis import (
    CLOCK_MODES,
    CONVENTIONS,
    DEFAULT_PURPOSE,
    DEFAULT_THRESHOLD,
    PURPOSES,
    ROLES,
    UTC_ERROR_NS,
)
from nsysparse.errors import InputError, UsageError
from nsysparse.filenames import shown_name

Progress = Callable[[str], None]
"""Is told what is being done, for people who wait: a text, which is a `Stage` where it is known how far that is."""
OPTION, DEFAULT = "option", "default"
AS_MANY_AS_HELP = 0
"""Of processes that read traces: as files, cores and memory allow, one where more are not worth their start."""
AFTER_READING = 3
"""Stages of a report after its files are read: pairing, metrics, writing."""


class Stage(str):
    """What is being done, and how far all of it is: `done` of `of` stages were over when it began."""

    __slots__ = ("done", "of")
    done: int
    of: int

    def __new__(cls, text: str, done: int, of: int) -> Self:
        """The text that a listener who wants no more is told."""
        made = super().__new__(cls, text)
        made.done, made.of = done, of
        return made


class Unreadable(str):
    """That one of several files cannot be read, for people to be told at once: a text, with the `error` that says why.

    The rest is read all the same.
    """

    __slots__ = ("error",)
    error: InputError

    def __new__(cls, error: InputError) -> Self:
        """The text that a listener who wants no more is told."""
        made = super().__new__(cls, error.message)
        made.error = error
        return made


def silent(_: str) -> None:
    """Nobody listens."""


def each_file(paths: Sequence[Path], progress: Progress, after: int = 0) -> Iterator[tuple[Path, str]]:
    """Inputs with their trace ids, in order; each is told when its turn comes.

    Args:
        paths: The inputs.
        progress: Is told.
        after: How many stages follow when all are read.
    """
    for place, (path, trace_id) in enumerate(zip(paths, trace_ids(paths), strict=True)):
        progress(Stage(f"reading {path.name}", place, len(paths) + after))
        yield path, trace_id


@dataclass(frozen=True, slots=True)
class Options:
    """What a user can ask of an analysis; None means not given.

    Attributes:
        link: Link id from the catalogue, perhaps `…@bidirectional`.
        peak_gb_s: One-direction peak in GB/s, instead of the catalogue's.
        box: Machine id from the catalogue, which names the links within it and between two of them.
        measured: What a bandwidth benchmark printed for the link: its practical ceiling.
        model: Model id from the catalogue, or the path of a Hugging Face `config.json` or of its folder.
        tp: Tensor-parallel ranks of the side that sends, for the bytes that its model says; 1 unless given.
        kv_dtype: Type of cached values (`nsysparse.theory.dtypes`); 16-bit unless given.
        wire_dtype: Their type while they cross; that of the cache unless given.
        ttft: Which side emits the first token, one of `CONVENTIONS`; what marks or presets say unless given.
        clock: How clocks of several traces are aligned, one of `CLOCK_MODES`.
        utc_error_ns: How far the UTC of two hosts may be apart.
        step_ns: The shortest and the longest decode step, for critical lengths.
        layers: Number of layers, for annotations that say `layer=all`.
        threshold: Share of the time to first token over which the KV gap is too much.
        nccl_buffsize: NCCL_BUFFSIZE of the run in bytes, where it was not NCCL's default.
        roles: Role (prefill, decode or mixed) by input: its file name, its stem or its trace id.
        normalize_request: A pattern whose first group is what counts of a request's id.
        overlap: Whether time alone may tell a layer or a request, where nothing else does.
        purpose: Which purposes totals, links, layers and requests cover, a key of `PURPOSES`; the rest is excluded.
        presets: Names of built-in presets, only which then speak; and preset files, which are stronger.
        sources: What set a value, by its name in `Analysis.settings`, for the reader of a report: a file, a variable.
            A value that is none's is an option where it differs from the default.
        request_pattern: Finds the id of a request in the text of a range: its group `request`, else its first.
        jobs: How many processes read traces, each one at a time; 1 is this one, `AS_MANY_AS_HELP` leaves it open. The
            processes import the main module, so a script that asks for several must keep its own work under
            `if __name__ == "__main__":`.
        scheduler: Address of a Dask scheduler whose workers read the traces instead.
        is_lenient: Whether a file that cannot be read is left out, and said to be, while another one can.
    """

    link: str | None = None
    peak_gb_s: float | None = None
    box: str | None = None
    measured: Path | None = None
    model: str | None = None
    tp: int | None = None
    kv_dtype: str | None = None
    wire_dtype: str | None = None
    ttft: str | None = None
    clock: str = CLOCK_MODES[0]
    utc_error_ns: int = UTC_ERROR_NS
    step_ns: tuple[int, int] | None = None
    layers: int | None = None
    threshold: float = DEFAULT_THRESHOLD
    purpose: str = DEFAULT_PURPOSE
    nccl_buffsize: int | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    normalize_request: str | None = None
    overlap: bool = False
    presets: tuple[str, ...] = ()
    request_pattern: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    jobs: int = 1
    scheduler: str | None = None
    is_lenient: bool = False

    def source(self, name: str, *, given: bool) -> str:
        """Where the setting of that name came from; `given` is whether it is other than what it is by default."""
        return self.sources.get(name, OPTION if given else DEFAULT)

    def is_typed(self, name: str) -> bool:
        """Whether the setting was meant for this very run, and not for all of a project."""
        return self.source(name, given=True) == OPTION


def check(asked: Options) -> None:
    """Refuse, before anything is read, what no trace could make good."""
    if asked.purpose not in PURPOSES:
        raise InputError(f"There is no purpose {asked.purpose!r}.", f"Purposes are {', '.join(PURPOSES)}.")
    for name, value, known in (("--ttft", asked.ttft, CONVENTIONS), ("--clock", asked.clock, CLOCK_MODES)):
        if value is not None and value not in known:
            raise UsageError(f"{name} {value}: there is no such way.", f"Say {' or '.join(known)}.")
    if asked.scheduler is not None and asked.jobs > 1:
        raise UsageError("--jobs and --scheduler: a cluster has its own number of workers.", "Leave one out.")
    if not 0 < asked.threshold < 1:
        raise UsageError(f"--threshold {asked.threshold:g}: is no share between 0 and 1.", "Say for instance 0.2.")
    if asked.normalize_request is not None:
        # What judges a pattern is heavy, and a command that reads saved reports needs nothing heavy.
        from nsysparse.request_ids import check_pattern

        check_pattern(asked.normalize_request)


def trace_ids(paths: Sequence[Path]) -> list[str]:
    """A short unique name for each input: its stem, numbered where stems repeat."""
    names: list[str] = []
    for path in paths:
        stem = shown_name(path.stem)
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}#{number}"
        names.append(name)
    return names


def roles_by_trace(paths: Sequence[Path], roles: Mapping[str, str], *, typed: bool = True) -> dict[str, str]:
    """Role by trace id, for inputs named by file, stem or id.

    Args:
        paths: The inputs.
        roles: As told.
        typed: Whether that was for these inputs; what is set for a project may name others, which are passed over.

    Raises:
        UsageError: A name means none of the inputs, a role does not exist, or a trace is given two.
    """
    told: dict[str, str] = {}
    names = dict(zip(trace_ids(paths), paths, strict=True))
    for name, role in roles.items():
        if role not in ROLES:
            raise UsageError(f"There is no role {role!r}.", f"Roles are {', '.join(ROLES)}.")
        meant = [each for each, path in names.items() if name in (each, path.name, path.stem, str(path))]
        if not meant and typed:
            raise UsageError(f"--role {name}: is none of the traces.", f"They are {', '.join(names)}.")
        if any(told.get(each, role) != role for each in meant):
            raise UsageError(f"--role {name}: the trace is given two roles.", "Leave one out, or say mixed.")
        told |= dict.fromkeys(meant, role)
    return told
