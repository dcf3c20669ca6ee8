"""Two runs read and held against each other: traces are analysed, saved reports are read."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nsysparse.analysis import Analysis
from nsysparse.api.options import AFTER_READING, Options, Progress, Stage, check, roles_by_trace, silent
from nsysparse.errors import InputError, UsageError
from nsysparse.source.inputs import Run

if TYPE_CHECKING:
    from nsysparse.compare import Rules
    from nsysparse.comparison import Comparison


def compare_runs(
    bases: Sequence[Run],
    candidate: Run,
    options: Options | None = None,
    rules: "Rules | None" = None,
    gates: Sequence[str] = (),
    progress: Progress = silent,
) -> "Comparison":
    """Compare a candidate with one or several base runs.

    Args:
        bases: The base runs, at least one; a run that is named twice counts once.
        candidate: The run that is judged.
        options: What to analyse traces with; the numbers of saved reports stand.
        rules: What counts as a change.
        gates: Conditions, as users write them.
        progress: Is told what is being done.

    Raises:
        NsysparseError: A file cannot be used, an option or gate names something unknown, or the candidate is one of
            several base runs.
    """
    from nsysparse.compare import compare, parse  # an analysis passes here, too

    asked = options or Options()
    check(asked)
    conditions = [parse(each) for each in gates]
    bases = _distinct(bases, candidate)
    every = list(dict.fromkeys([*bases, candidate]))
    roles = _roles(every, asked)
    stages = [1 if run.is_saved else len(run.paths) + AFTER_READING for run in every]
    found: dict[Run, Analysis] = {}
    for place, run in enumerate(every):
        name = "candidate" if run == candidate else "base"
        told = _within(progress, name, sum(stages[:place]), sum(stages))
        found[run] = analyse_run(run, replace(asked, roles=roles[run]), told)
    return compare([found[run] for run in bases], found[candidate], rules, conditions)


def analyse_run(run: Run, options: Options, progress: Progress = silent) -> Analysis:
    """The analysis of a run's traces, or the one that was saved.

    Args:
        run: Its files.
        options: What to analyse traces with; the numbers of a saved report stand.
        progress: Is told what is being done.

    Raises:
        NsysparseError: A file cannot be used, or an option names something unknown.
    """
    if run.is_saved:
        progress(Stage(f"reading {run.paths[0].name}", 0, 1))
        from nsysparse.saved import read_saved

        return read_saved(run.paths[0])
    # Reading traces takes packages that take longer to load than saved reports take to compare.
    from nsysparse.api.reports import analyse

    return analyse(run.paths, options, progress)


def _distinct(bases: Sequence[Run], candidate: Run) -> list[Run]:
    """The base runs, each once: counted twice, a run would weigh twice in the median, and add nothing to the spread."""
    found: dict[frozenset[Path], Run] = {}
    for run in bases:
        found.setdefault(_files(run), run)
    if _files(candidate) not in found:
        return list(found.values())
    if len(found) == 1:
        return [candidate]
    name = candidate.paths[0].name
    raise InputError(
        f"{name}: is the candidate and one of {len(found):,} base runs, so whatever it changed would pass for noise.",
        "Name base runs without it.",
    )


def _files(run: Run) -> frozenset[Path]:
    return frozenset(path.resolve() for path in run.paths)


def _within(progress: Progress, name: str, before: int, of: int) -> Progress:
    """Tells what is done of one run as a part of all."""

    def told(text: str) -> None:
        done = before + (text.done if isinstance(text, Stage) else 0)
        progress(Stage(f"{name}: {text}", done, of))

    return told


def _roles(runs: Sequence[Run], asked: Options) -> dict[Run, dict[str, str]]:
    """The roles that each run's files were given; what is typed must mean a file of at least one run."""
    known: dict[Run, dict[str, str]] = {run: {} for run in runs}
    for name, role in asked.roles.items():
        meant = [run for run in runs if not run.is_saved and roles_by_trace(run.paths, {name: role}, typed=False)]
        if not meant and asked.is_typed("roles"):
            raise UsageError(f"--role {name}: is none of the traces.", "Name a file of either run.")
        for run in meant:
            known[run][name] = role
    return known
