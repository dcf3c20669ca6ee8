"""Mooncake's `transfer_engine_bench`, which prints one line, and `tebench`, which prints a table.

What they print: https://github.com/kvcache-ai/Mooncake/blob/main/mooncake-transfer-engine/example/transfer_engine_bench.cpp
and https://github.com/kvcache-ai/Mooncake/tree/main/mooncake-transfer-engine/benchmark . The line is in the unit of
`--report_unit`, old builds print none and mean GB. Batches times blocks over time is not computed again: the line does
not tell the size of either.
"""

import re
from collections.abc import Sequence

from nsysparse.measured.ceilings import Ceiling, Direction, Memory
from nsysparse.measured.table import Header, rows, titled
from nsysparse.measured.text import (
    GIB,
    MIB,
    RefusedError,
    curve_of,
    excerpt,
    lines,
    number,
    rate_of,
    sentences,
    starts_as_json,
    whole,
)
from nsysparse.units import GB

NAME = "mooncake"

_COMMAND = "transfer_engine_bench --mode=initiator --operation=read --block_size=1048576"
_UNITS = {
    "GB": GB,
    "GiB": GIB,
    "Gb": GB // 8,
    "MB": 10**6,
    "MiB": MIB,
    "Mb": 10**6 // 8,
    "KB": 10**3,
    "KiB": 2**10,
    "Kb": 10**3 // 8,
}
_LINE = re.compile(
    r"Test completed: duration [\d.]{1,20}, batch count \d{1,20}, throughput ([\d.e+]{1,30})(?: ([A-Za-z]{1,9})/s)?"
)
_OPTION = re.compile(r"--(operation|op_type|block_size|seg_type)[= ](\w{1,20})")
_USED = re.compile(r"\b([VD])RAM is used\b")
_SIZE, _RATE, _TOTAL = "BlkSize (B)", "BW (GB/S)", "Total BW (GB/S)"
_WAYS: dict[str, Direction] = {"read": "read", "write": "write"}


def recognises(text: str) -> bool:
    """Whether a benchmark of Mooncake printed this."""
    if starts_as_json(text):
        return False
    return any("Test completed: duration " in line or _header(line) is not None for _, line in lines(text))


def parse(text: str) -> Ceiling:
    """The throughput of the one line, or the largest bandwidth of the table."""
    every = list(lines(text))
    options = {found.group(1): found.group(2) for _, line in every for found in _OPTION.finditer(line)}
    used = {found.group(1) for _, line in every for found in [_USED.search(line)] if found}
    memory: Memory | None = {"V": "gpu", "D": "host"}.get(used.pop()) if len(used) == 1 else None  # type: ignore[assignment]
    direction = _WAYS.get((options.get("operation") or options.get("op_type") or "").lower())
    unsaid = "" if direction else "The output does not say whether blocks were read or written."
    printed = [(at, found) for at, line in every if (found := _LINE.search(line))]
    if printed:
        return _of_line(printed, options, direction, memory, unsaid)
    return _of_table(every, direction, memory, unsaid)


def _of_line(
    printed: Sequence[tuple[int, re.Match[str]]],
    options: dict[str, str],
    direction: Direction | None,
    memory: Memory | None,
    unsaid: str,
) -> Ceiling:
    if len(printed) > 1:
        raise RefusedError(
            f"{len(printed)} runs are in one file, and which one is meant is not clear.",
            "Keep the line of one run.",
            printed[1][0],
        )
    at, found = printed[0]
    shown, unit = number(found.group(1)), found.group(2)
    if unit is not None and unit not in _UNITS:
        raise RefusedError(f"{excerpt(unit)} is no unit of --report_unit.", f"Known: {', '.join(_UNITS)}.", at)
    size = whole(options.get("block_size"))
    rate = rate_of(size, None if shown is None else shown * _UNITS[unit or "GB"])
    if rate is None:
        raise RefusedError("The throughput is no rate of a link.", f"Run {_COMMAND}", at)
    note = sentences(
        [
            "Throughput of the whole run, of all its threads and network adapters together.",
            "" if unit else "No unit is printed; builds that print none mean GB/s.",
            "" if size else "The size of a block is not told; blocks of 64 KiB, the default, do not fill a fast link.",
            unsaid,
        ]
    )
    return Ceiling(NAME, "transfer_engine_bench", rate.bytes_per_s, size, direction, None, memory, note, (rate,))


def _of_table(
    every: Sequence[tuple[int, str]], direction: Direction | None, memory: Memory | None, unsaid: str
) -> Ceiling:
    read = list(rows(every, _header))
    summed = next((row for row in read if _TOTAL in row.header.columns), None)
    if summed is not None:
        raise RefusedError(
            "The table adds up all nodes; a ceiling is of one.", "Keep the table of one initiator.", summed.line
        )
    found = [
        rate
        for row in read
        if (shown := row.number(_RATE)) is not None and (rate := rate_of(whole(row.word(_SIZE)), shown * GB))
    ]
    if not found:
        raise RefusedError("No row with a bandwidth is there.", f"Run it to its end: {_COMMAND}")
    best = max(found, key=lambda each: each.bytes_per_s)
    note = sentences(["Largest bandwidth over all block sizes and batches.", unsaid])
    return Ceiling(
        NAME, "tebench", best.bytes_per_s, best.size_bytes, direction, None, memory, note, curve_of(found, max)
    )


def _header(line: str) -> Header | None:
    at = line.find(_SIZE)
    if at < 0 or _RATE not in line:
        return None
    return Header(titled(line[at:]), line[:at])
