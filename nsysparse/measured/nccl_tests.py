"""`sendrecv_perf` of nccl-tests, as text of any version or the JSON of `-J`.

What it prints: https://github.com/NVIDIA/nccl-tests/blob/master/src/util.cu ; GB/s is 1e9 bytes. Each rank sends to the
next and receives from the one before at the same time, so the bus bandwidth is that of one direction, under traffic
in both (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md). The JSON holds the whole environment
of the process: nothing of it is looked at or kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from nsysparse.measured.ceilings import Ceiling, Rate
from nsysparse.measured.nccl_which import SENDRECV, Evidence, refuse_other
from nsysparse.measured.table import Header, Row, rows
from nsysparse.measured.text import (
    MIB,
    RefusedError,
    curve_of,
    find_json,
    lines,
    number,
    rate_of,
    sentences,
    starts_as_json,
    whole,
)
from nsysparse.units import GB, counted, human_bytes

NAME = "nccl-tests"
PLATEAU = 64 * MIB
"""From this size on a message no longer costs time of its own: the rate is that of the link."""

_COMMAND = f"{SENDRECV} -b 1M -e 1G -f 2 -g 2"
_RANK = re.compile(
    r"Rank\s{1,9}(\d{1,7})\s{1,9}(?:Group\s{1,9}\d{1,7}\s{1,9})?Pid\s{1,9}\d{1,12} on\s{1,60}(\S{1,255})"
)
_PROGRAM = re.compile(
    r"\b((?:all_reduce|all_gather|alltoallv?|broadcast|gather|hypercube|reduce|reduce_scatter|scatter|sendrecv)_perf)\b"
)
_STARTED = re.compile(r"#\s{0,9}nThread\s{1,9}\d")
_FAILED = re.compile(r"Out of bounds values\s{0,40}:\s{0,9}\d{1,20}\s{1,9}FAILED")
_JSON_KEYS = ("results", "average_bus_bandwidth", "out_of_bounds")


@dataclass(frozen=True, slots=True)
class _Read:
    """What the file says: rows as evidence, the names of programs, ranks with their hosts, failed checks."""

    evidence: tuple[Evidence, ...]
    programs: frozenset[str]
    hosts: tuple[str, ...]
    failed: bool


def recognises(text: str) -> bool:
    """Whether nccl-tests printed this."""
    if starts_as_json(text):
        found = find_json(text, "results")
        return found is not None and ("nccl_version" in found or all(key in found for key in _JSON_KEYS[1:]))
    return any(
        _header(line) is not None or "# nccl-tests version" in line or "Avg bus bandwidth" in line
        for _, line in lines(text)
    )


def parse(text: str) -> Ceiling:
    """The plateau of `sendrecv_perf`: the median bus bandwidth of all large messages, out of place."""
    read = _json(text) if starts_as_json(text) else _text(text)
    refuse_other(read.programs, read.evidence, len(read.hosts) or None)
    if not read.evidence:
        raise RefusedError(
            "Only the average over all sizes is there; it mixes latency with bandwidth and is no ceiling.",
            f"Keep the rows of the table, or run {_COMMAND}",
        )
    good = [each for each in read.evidence if not each.wrong]
    if not good or (read.failed and len(good) == len(read.evidence)):
        raise RefusedError(
            "The values that arrived were wrong, so the rates mean nothing.",
            f"Find out why, then run it again: {_COMMAND}",
            read.evidence[-1].line,
        )
    found = [rate_of(each.size, None if each.bus is None else each.bus * GB) for each in good]
    curve = curve_of((each for each in found if each is not None), median)
    if not curve:
        raise RefusedError("No row shows a bandwidth above zero.", f"Measure larger messages: {_COMMAND}")
    rate, size, note = _plateau(curve)
    left_out = len(read.evidence) - len(good)
    parts = [
        note,
        "Each rank sends and receives at once: one direction, under traffic in both.",
        f"Left out {counted(left_out, 'row')} with wrong values." if left_out else "",
        _between(read.hosts),
    ]
    within = len(set(read.hosts)) == 1 if read.hosts else None
    return Ceiling(NAME, SENDRECV, rate, size, "sendrecv", None, "gpu", sentences(parts), curve, within)


def _plateau(curve: Sequence[Rate]) -> tuple[float, int | None, str]:
    """Rate, the smallest size that reaches it, and which sizes it comes from."""
    large = [each for each in curve if (each.size_bytes or 0) >= PLATEAU]
    if not large:
        last = curve[-1]
        said = (
            f"Bus bandwidth of the largest message, {human_bytes(last.size_bytes)}, out of place; none reaches 64 MiB,"
            " so the link may well do more."
        )
        return last.bytes_per_s, last.size_bytes, said
    rate = median(each.bytes_per_s for each in large)
    reached = next(each.size_bytes for each in large if each.bytes_per_s >= rate)
    said = f"Median bus bandwidth of {counted(len(large), 'size')} from 64 MiB on, out of place."
    return rate, reached, said


def _between(hosts: Sequence[str]) -> str:
    """How many ranks on how many hosts; names of hosts stay in the file."""
    if not hosts:
        return ""
    return f"{counted(len(hosts), 'rank')} on {counted(len(set(hosts)), 'host')}."


def _header(line: str) -> Header | None:
    at = line.find("size")
    names = line[at:].split() if at >= 0 else []
    if names[:2] != ["size", "count"] or "busbw" not in names:
        return None
    mark = line.rfind("#", 0, at)
    # A timestamp is printed as a date and a time of day: two words below one name.
    columns = [each for name in names for each in ((name, "of day") if name == "timestamp" else (name,))]
    return Header(tuple(columns), line[: max(0, mark)])


def _text(text: str) -> _Read:
    every = list(lines(text))
    programs = {found.group(1) for _, line in every for found in _PROGRAM.finditer(line)}
    ranks = {found.group(1): found.group(2) for _, line in every for found in [_RANK.search(line)] if found}
    evidence = [found for row in rows(every, _header) for found in [_of_row(row)] if found]
    failed = any(_FAILED.search(line) for _, line in every)
    starts = [at for at, line in every if _STARTED.search(line)]
    if len(starts) > 1:
        raise RefusedError(
            "Several runs are in one file, and which one is meant is not clear.", "Keep that of one run.", starts[1]
        )
    return _Read(tuple(evidence), frozenset(programs), tuple(ranks.values()), failed)


def _of_row(row: Row) -> Evidence | None:
    size = whole(row.word("size"))
    if size is None:
        return None
    checks = "#wrong" if "#wrong" in row.header.columns else "error"
    return Evidence(
        line=row.line,
        size=size,
        algorithm=row.number("algbw"),
        bus=row.number("busbw"),
        # In place, sendrecv checks nothing: old versions print whatever is there, newer ones N/A.
        wrong=bool(row.number(checks)),
        checked=row.number(checks) is not None,
        checked_in_place=row.number(checks, 1) is not None,
        reduces="redop" in row.header.columns,
        root=row.word("root"),
    )


def _json(text: str) -> _Read:
    document = find_json(text, "results") or {}
    arguments = document.get("args")
    first = arguments[0] if isinstance(arguments, list) and arguments and isinstance(arguments[0], str) else ""
    results = document.get("results")
    evidence = [_of_result(each) for each in (results if isinstance(results, list) else []) if isinstance(each, dict)]
    config = _table(document.get("config"))
    devices = config.get("devices")
    hosts = [
        str(each.get("hostname")) for each in (devices if isinstance(devices, list) else []) if isinstance(each, dict)
    ]
    # One entry per process: with several devices in each, as many ranks as one process lists are not all.
    one_each = whole(config.get("nthreads")) == whole(config.get("ngpus")) == 1
    failed = _table(document.get("out_of_bounds")).get("okay") == "false"
    return _Read(
        tuple(each for each in evidence if each is not None),
        frozenset(_PROGRAM.findall(first[-64:])),
        tuple(hosts) if one_each else (),
        failed,
    )


def _of_result(result: dict[str, Any]) -> Evidence | None:
    size, out = whole(result.get("size")), _table(result.get("out_of_place"))
    if size is None or not out:
        return None
    inside = _table(result.get("in_place"))
    return Evidence(
        line=None,
        size=size,
        algorithm=number(out.get("alg_bw")),
        bus=number(out.get("bus_bw")),
        wrong=bool(number(out.get("nwrong"))),
        checked=number(out.get("nwrong")) is not None,
        checked_in_place=number(inside.get("nwrong")) is not None,
        reduces=True,
        root=str(result.get("root")).strip(),
    )


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
