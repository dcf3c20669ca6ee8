"""`nvbandwidth`, as text or the JSON of `-j`: copies between devices, and between a device and host memory.

What it prints: https://github.com/NVIDIA/nvbandwidth/blob/main/output.cpp ; GB/s is 1e9 bytes. In read tests the row
reads from the column's device (`->`), in write tests it writes (`<-`). The SUM below a table adds all pairs up and is
no rate of a link; bidirectional tests are told apart by their names and `<->`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.measured.ceilings import Ceiling, Direction, Rate
from nsysparse.measured.matrix import Matrix, Pair, middle, read_matrix, spread
from nsysparse.measured.text import RefusedError, find_json, lines, number, sentences
from nsysparse.units import significant

NAME = "nvbandwidth"

_COMMAND = "nvbandwidth -t device_to_device_memcpy_write_ce"
# Copy engines carry larger packets than kernels do, and are what cudaMemcpy uses: first choice
# (https://github.com/NVIDIA/nccl-tests/issues/149). A write is the cheaper half of a pair of requests and answers.
_BETWEEN: dict[str, tuple[Direction, str]] = {
    f"{where}device_to_device_memcpy_{way}_{by}": (way, engine)
    for by, engine in (("ce", "copy engine"), ("sm", "kernels"))
    for where in ("", "multinode_")
    for way in ("write", "read")
}
_HOST: dict[str, str] = {
    f"{way}_memcpy_{by}": said
    for by in ("ce", "sm")
    for way, said in (("host_to_device", "from host to device"), ("device_to_host", "from device to host"))
}
_HEADING = re.compile(
    r"memcpy (CE|SM) (CPU|GPU)\(row\) (<->|->|<-) (CPU|GPU)\(column\) (?:(\w{1,12}) )?bandwidth \(GB/s\)"
)
_RUNNING = re.compile(r"Running (\w{1,80})\.")
_SUM = re.compile(r"SUM (\w{1,80}) ")
_WAIVED = re.compile(r"Waiv(?:ed|ing)\b")
_LONGEST_TABLE = 4096
_TEXT_KEY = '"nvbandwidth"'


@dataclass(frozen=True, slots=True)
class _Test:
    name: str
    matrix: Matrix


def recognises(text: str) -> bool:
    """Whether nvbandwidth printed this."""
    if _TEXT_KEY in text and find_json(text, "nvbandwidth") is not None:
        return True
    return any(_HEADING.search(line) or line.startswith("nvbandwidth Version") for _, line in lines(text))


def parse(text: str) -> Ceiling:
    """The median of all pairs of devices, one direction; of copies to or from the host if there is nothing else."""
    document = find_json(text, "nvbandwidth") if _TEXT_KEY in text else None
    tests, waived = _text(text) if document is None else _json(document["nvbandwidth"])
    names = [each.name for each in tests if each.name in _BETWEEN or each.name in _HOST]
    if len(names) > len(set(names)):
        raise RefusedError(
            "Several runs are in one file, and which one is meant is not clear.", "Keep that of one run."
        )
    rates = {each.name: each.matrix.pairs() for each in tests if each.name in _BETWEEN}
    between = {name: found for name in _BETWEEN if (found := rates.get(name))}
    if between:
        return _between(between)
    rates = {each.name: each.matrix.measured() for each in tests if each.name in _HOST}
    host = {name: found for name in _HOST if (found := rates.get(name))}
    if host:
        return _host(host, waived)
    if not tests:
        why = "every test was waived: the devices cannot reach each other" if waived else "no table was printed"
        raise RefusedError(f"nvbandwidth measured nothing, {why}.", f"Run {_COMMAND}")
    other = ", ".join(dict.fromkeys(each.name for each in tests[:3]))
    raise RefusedError(
        f"No test of one direction between two devices is there, but {other}.", f"Run {_COMMAND}", tests[0].matrix.line
    )


def _between(found: dict[str, dict[Pair, float]]) -> Ceiling:
    name, rates = next(iter(found.items()))
    direction, engine = _BETWEEN[name]
    others = [f"{each} {significant(middle(more) / 1e9)}" for each, more in list(found.items())[1:]]
    note = sentences(
        [
            f"{spread(rates, 'pair')} One direction at a time, by {engine}.",
            "Pairs differ by more than a quarter: there are links of several kinds." if _uneven(rates) else "",
            f"Other medians in GB/s: {', '.join(others)}." if others else "",
        ]
    )
    return _ceiling(name, middle(rates), direction, note, host=False)


def _host(found: dict[str, dict[Pair, float]], waived: bool) -> Ceiling:  # noqa: FBT001 (a fact, not a mode)
    name = max(found, key=lambda each: (each.endswith("_ce"), middle(found[each])))
    others = [f"{each} {significant(middle(more) / 1e9)}" for each, more in found.items() if each != name]
    note = sentences(
        [
            f"{spread(found[name], 'device')} Copies {_HOST[name]}, since no test between devices is there.",
            "Tests between devices were waived: they cannot reach each other." if waived else "",
            f"Other medians in GB/s: {', '.join(others)}." if others else "",
        ]
    )
    return _ceiling(name, middle(found[name]), "copy", note, host=True)


def _ceiling(name: str, rate: float, direction: Direction, note: str, *, host: bool) -> Ceiling:
    return Ceiling(NAME, name, rate, None, direction, None, "host" if host else "gpu", note, (Rate(None, rate),), True)


def _uneven(rates: dict[Pair, float]) -> bool:
    return min(rates.values()) * 4 < max(rates.values()) * 3


def _text(text: str) -> tuple[list[_Test], bool]:
    every = list(lines(text))
    tests: list[_Test] = []
    running: str | None = None
    waived = False
    for place, (_, line) in enumerate(every):
        waived = waived or _WAIVED.match(line.lstrip()) is not None
        if started := _RUNNING.search(line):
            running = started.group(1)
        elif heading := _HEADING.search(line):
            tests.append(_Test(running or _summed(every, place) or _described(heading), read_matrix(every, place)))
    return tests, waived


def _summed(every: Sequence[tuple[int, str]], place: int) -> str | None:
    """The name in the line below a table, for output that was cut off above it."""
    for _, line in (every[at] for at in range(place + 1, min(len(every), place + _LONGEST_TABLE))):
        if found := _SUM.match(line.lstrip()):
            return found.group(1)
        if _HEADING.search(line):
            break
    return None


def _described(heading: re.Match[str]) -> str:
    """The name of the test from its heading alone."""
    engine, row, arrow, column, _ = heading.groups()
    if arrow == "<->" or row == column == "CPU":
        return "a bidirectional test"
    if row == column:
        return f"device_to_device_memcpy_{'read' if arrow == '->' else 'write'}_{engine.lower()}"
    return f"{'host_to_device' if (row == 'CPU') == (arrow == '->') else 'device_to_host'}_memcpy_{engine.lower()}"


def _json(document: object) -> tuple[list[_Test], bool]:
    cases = document.get("testcases") if isinstance(document, dict) else None
    tests: list[_Test] = []
    waived = False
    for case in cases if isinstance(cases, list) else []:
        if not isinstance(case, dict):
            continue
        waived = waived or case.get("status") == "Waived"
        name, table = str(case.get("name"))[:80], case.get("bandwidth_matrix")
        if isinstance(table, list) and re.fullmatch(r"\w+", name, re.ASCII):
            cells = {
                (row, column): number(cell)
                for row, words in enumerate(table)
                if isinstance(words, list)
                for column, cell in enumerate(words)
            }
            tests.append(_Test(name, Matrix(1, cells)))
    return tests, waived
