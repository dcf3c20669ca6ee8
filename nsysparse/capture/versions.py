"""Versions of nsys: year, release of the year, patch."""

import re
import shutil
import subprocess

from nsysparse.errors import InputError, UsageError

Version = tuple[int, ...]
_PARTS = 3
_VERSION = re.compile(r"(\d{4})\.(\d{1,3})(?:\.(\d{1,4})(?:\.[\w-]+)*)?", re.ASCII)
_SECONDS = 30


def parse(text: str) -> Version:
    """The parts that are compared: `2025.6.1.190-25` is (2025, 6, 1), `2022.4` is (2022, 4).

    Raises:
        UsageError: The text is no version of nsys.
    """
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is no version of nsys.", "Write it as `nsys --version` does, such as 2025.6.1.")
    return tuple(int(part) for part in found.groups() if part is not None)


def within(version: Version, since: str, until: str | None) -> bool:
    """Whether a version lies in a span, both ends included: `2026.1` as an end includes its patches.

    A version without patch counts as the first of its release, so that nothing is promised that a patch brought.
    """
    padded = version + (0,) * (_PARTS - len(version))
    first = parse(since)
    if padded < first + (0,) * (_PARTS - len(first)):
        return False
    last = () if until is None else parse(until)
    return not last or padded[: len(last)] <= last


def shown(version: Version) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))


def installed() -> Version:
    """The version of the nsys on PATH.

    Raises:
        UsageError: There is none.
        InputError: It does not say its version.
    """
    nsys = shutil.which("nsys")
    if nsys is None:
        raise UsageError("nsys is not on PATH here.", "Name its version, such as --nsys 2025.6.1.")
    try:
        done = subprocess.run(  # noqa: S603 (the nsys of the user's own PATH)
            [nsys, "--version"], capture_output=True, text=True, check=False, timeout=_SECONDS, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"nsys did not say its version ({error}).", "Name it, such as --nsys 2025.6.1.") from error
    found = _VERSION.search(done.stdout)
    if found is None:
        raise InputError("nsys did not say its version.", "Name it, such as --nsys 2025.6.1.")
    return parse(found[0])
