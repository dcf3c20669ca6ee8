"""From what a user names to the exports to read: files, folders, patterns, and reports that nsys must export first."""

import glob
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from nsysparse.errors import InputError, NotAnExport, UsageError
from nsysparse.saved import is_report, is_saved
from nsysparse.source.open import NSYS_EXPORT

TRACE_SUFFIX, SAVED_SUFFIX = ".sqlite", ".json"
REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
EXPORT_SECONDS = 3600


def find_inputs(named: Sequence[str], stack: ExitStack) -> list[Path]:
    """The exports that the arguments mean, in a fixed order, each once.

    Args:
        named: Files, folders (all *.sqlite in them) or patterns.
        stack: Owns temporary exports of .nsys-rep files; they vanish when it closes.

    Raises:
        UsageError: `-` is named; SQLite cannot read from a pipe.
        InputError: Nothing is there, or a .nsys-rep cannot be exported here.
    """
    found: list[Path] = []
    for name in named:
        found += _looked_at(name, (TRACE_SUFFIX,))
    distinct = list({path.resolve(): path for path in found}.values())
    return [_exported(path, stack) if path.suffix in REPORT_SUFFIXES and path.is_file() else path for path in distinct]


@dataclass(frozen=True, slots=True)
class Run:
    """The files of one run: its traces, or one report that was saved as JSON."""

    paths: tuple[Path, ...]
    is_saved: bool


def find_run(named: Sequence[str], stack: ExitStack) -> Run:
    """The one run that all arguments together mean: traces, or a saved report.

    Args:
        named: As for `find_inputs`, or what means one saved report alone; traces in a folder go before reports there.
        stack: As for `find_inputs`.

    Raises:
        UsageError: `-` is named.
        InputError: Nothing is there, or a saved report is not alone.
    """
    found = [path for name in named for path in _of_one_run(name)]
    saved = [path for path in found if is_saved(path)]
    if saved and len(found) > 1:
        raise InputError(
            f"{saved[0].name}: a saved report is a run of its own.", "Name it alone, or `nsysparse diff` two."
        )
    if saved:
        return Run((saved[0],), is_saved=True)
    return Run(tuple(find_inputs(named, stack)), is_saved=False)


def find_runs(name: str, stack: ExitStack) -> list[Run]:
    """The runs that one argument means: all traces of a folder or pattern are one, every saved report is one.

    Args:
        name: A file, a folder (its *.sqlite, or its *.json that are saved reports) or a pattern.
        stack: As for `find_inputs`.

    Raises:
        UsageError: `-` is named.
        InputError: Nothing is there, or traces beside saved reports: which of them are the run?
    """
    found = _looked_at(name, (TRACE_SUFFIX, SAVED_SUFFIX))
    saved = [path for path in found if path.suffix.lower() == SAVED_SUFFIX or is_saved(path)]
    if Path(name).is_dir():
        saved = [path for path in saved if is_report(path)]  # other JSON may lie beside them
        found = [path for path in found if path in saved or path.suffix.lower() == TRACE_SUFFIX]
    traces = [path for path in found if path not in saved]
    shown = Path(name).name or name
    if saved and traces:
        raise InputError(
            f"{shown}: holds traces and saved reports.", "Name those of the run with a pattern, such as 'runs/*.json'."
        )
    if not found:
        raise InputError(f"{shown}: no trace and no saved report in this folder.", "Name the files themselves.")
    if saved:
        return [Run((path,), is_saved=True) for path in saved]
    return [Run(tuple(find_inputs([str(path) for path in traces], stack)), is_saved=False)]


def _of_one_run(name: str) -> list[Path]:
    """What an argument of `report` names; where no trace lies in a folder, the saved reports there."""
    found = _looked_at(name, (TRACE_SUFFIX, SAVED_SUFFIX))
    if not Path(name).is_dir():
        return found
    traces = [path for path in found if path.suffix.lower() == TRACE_SUFFIX]
    return traces or [path for path in found if is_report(path)]


def _looked_at(name: str, suffixes: Sequence[str]) -> list[Path]:
    """The files that an argument names; of a folder those with these suffixes."""
    if name == "-":
        raise UsageError(
            "A trace cannot be read from standard input: SQLite needs a file it can seek in.",
            "Save it to a file first.",
        )
    if not name:
        raise UsageError("A trace has an empty name.", "Name a .sqlite file, a folder of them, or a pattern.")
    try:
        return _meant(name, suffixes)
    except (OSError, RuntimeError, ValueError) as error:  # also link loops, and names that no file can have
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{Path(name).name}: cannot be looked at ({reason}).", "Check path and rights.") from error


def _meant(name: str, suffixes: Sequence[str]) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        inside = sorted(entry for entry in path.iterdir() if entry.suffix.lower() in suffixes)
        if not inside:
            said = " or ".join(suffixes)
            raise InputError(f"{path.name or path}: no {said} file in this folder.", "Name the files themselves.")
        return inside
    if not path.exists() and glob.has_magic(name):
        matches = sorted(Path(match) for match in glob.glob(name))  # noqa: PTH207 (a pattern may be absolute)
        if not matches:
            raise InputError(f"{name}: no file matches this pattern.", "Check the path.")
        return matches
    path.resolve()
    return [path]


def _exported(report: Path, stack: ExitStack) -> Path:
    """A temporary export of a .nsys-rep, made by the nsys on PATH."""
    command = f"{NSYS_EXPORT} -o {report.stem}.sqlite {report.name}"
    nsys = shutil.which("nsys")
    if nsys is None:
        raise NotAnExport(
            f"{report.name}: a report of Nsight Systems, not yet exported, and nsys is not on PATH here.",
            f"Where nsys is installed, run: {command}",
        )
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nsysparse-")))
    target = folder / f"{report.stem}.sqlite"
    # Options that an older nsys does not know are fatal to it: the plain export is better than none.
    for extra in (["--include-blobs=true", "--include-json=true"], []):
        arguments = [nsys, "export", "--type", "sqlite", *extra, "-o", str(target), str(report)]
        try:
            done = subprocess.run(arguments, capture_output=True, timeout=EXPORT_SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{report.name}: nsys could not export it ({error}).", f"Run: {command}") from error
        if done.returncode == 0 and target.exists():
            return target
        target.unlink(missing_ok=True)
    raise InputError(f"{report.name}: nsys could not export it (exit {done.returncode}).", f"Run: {command}")
