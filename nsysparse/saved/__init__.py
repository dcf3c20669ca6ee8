"""Saved reports: what `nsysparse report -f json` wrote, back as the analysis that it was.

A saved report may come from a stranger: it is read as data, held to what later stages rely on, and refused in one
sentence with the place of what is wrong. `file` reads JSON without trusting it, `decoding` makes dataclasses of it,
`rules` says what their values may be.
"""

from pathlib import Path

from nsysparse.analysis import FORMAT_VERSION, Analysis
from nsysparse.errors import InputError
from nsysparse.saved.decoding import Wrong, decoder
from nsysparse.saved.file import is_report, is_saved, parsed
from nsysparse.saved.rules import broken, limits_of

__all__ = ["is_report", "is_saved", "read_saved"]

_AGAIN = "Make it again with `nsysparse report TRACE -f json -o NAME.json`."
_SIDES = ("base", "candidate")


def read_saved(path: Path) -> Analysis:
    """The analysis that a JSON report holds, exactly: written again it gives the same bytes.

    Keys that this version does not know are left out, as a later one may add some.

    Raises:
        InputError: The file cannot be read, is no report of format version 1, or holds what no report can.
    """
    try:
        return _analysis(parsed(path))
    except Wrong as wrong:
        raise InputError(f"{path.name}: {wrong}.", _AGAIN) from None


def _analysis(whole: object) -> Analysis:
    _check_kind(whole)
    found: Analysis = decoder(Analysis, limits_of)(whole)
    for place, what in broken(found):
        raise Wrong(what, place)
    return found


def _check_kind(whole: object) -> None:
    """Tells what else a file may be before the first missing key would say less."""
    if type(whole) is not dict:
        raise Wrong("no report of nsysparse: the file holds no JSON object")
    if all(side in whole for side in _SIDES):
        raise Wrong("this is a comparison of two runs, as `nsysparse diff` writes, where the report of one is needed")
    version = whole.get("format_version")
    if version is None:
        raise Wrong("no report of nsysparse: it names no format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        there = str(version) if type(version) is int else "none that is a number"
        raise Wrong(f"this nsysparse reads reports of format_version {FORMAT_VERSION}; the file's is {there}")
