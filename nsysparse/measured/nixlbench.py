"""`nixlbench` of NIXL, whatever the order of its columns.

What it prints: https://github.com/ai-dynamo/nixl/blob/main/benchmark/nixlbench/src/utils/utils.cpp ; `GB` is 1e9 bytes,
`MiB` and `GiB` are binary. Of several pairs of workers `B/W` is one pair's share and `Aggregate B/W` the sum of all;
`Network Util` divides that by a fixed rate, whatever the network is.
"""

import re
from collections.abc import Iterable, Sequence

from nsysparse.measured.ceilings import Ceiling, Direction, Memory
from nsysparse.measured.table import Header, Row, rows, titled
from nsysparse.measured.text import GIB, MIB, RefusedError, curve_of, lines, rate_of, sentences, starts_as_json, whole
from nsysparse.units import GB, human_bytes

NAME = "nixlbench"

_COMMAND = "nixlbench --backend UCX --op_type READ --initiator_seg_type VRAM --target_seg_type VRAM"
# Exact first: the others are rounded from the same number.
_UNITS = {"B/W (GB/Sec)": GB, "B/W (GiB/Sec)": GIB, "B/W (MiB/Sec)": MIB}
_SIZE, _BATCH = "Block Size (B)", "Batch Size"
_OPTION = re.compile(r"\(--(\w{2,30})=[^()]{0,120}\)\s{0,60}:\s{0,9}(\w{1,40})")
_DIRECTIONS: dict[str, Direction] = {"READ": "read", "WRITE": "write"}
_ENOUGH = MIB
"""Rates of smaller blocks still grow with the block."""


def recognises(text: str) -> bool:
    """Whether nixlbench printed this."""
    return not starts_as_json(text) and any(_header(line) is not None for _, line in lines(text))


def parse(text: str) -> Ceiling:
    """The largest bandwidth of one pair of workers over all block sizes."""
    every = list(lines(text))
    options = _options(line for _, line in every)
    read = list(rows(every, _header))
    again = next((row for row in read if row.header != read[0].header), None)
    if again is not None:
        raise RefusedError(
            "Several tables are in one file, and which one is meant is not clear.", "Keep one run.", again.line
        )
    found = [(rate, row.word(_BATCH)) for row in read if (rate := rate_of(whole(row.word(_SIZE)), _bytes_per_s(row)))]
    if not found:
        raise RefusedError("nixlbench printed no row with a bandwidth.", f"Run it to its end: {_COMMAND}")
    best, batch = max(found, key=lambda each: each[0].bytes_per_s)
    largest = max(rate.size_bytes or 0 for rate, _ in found)
    told = options.get("op_type", "")
    note = sentences(
        [
            f"Largest bandwidth over all block sizes, average of its run{f', batch of {batch}' if batch else ''}.",
            f"No block is larger than {human_bytes(largest)}: larger ones may be faster." if largest < _ENOUGH else "",
            _pairs(read, options),
            "" if told else "The output does not say whether blocks were read or written.",
        ]
    )
    return Ceiling(
        tool=NAME,
        test=f"nixlbench {told}".strip(),
        bytes_per_s=best.bytes_per_s,
        size_bytes=best.size_bytes,
        direction=_DIRECTIONS.get(told),
        queue_pairs=None,
        memory=_memory(options),
        note=note,
        curve=curve_of((rate for rate, _ in found), max),
    )


def _header(line: str) -> Header | None:
    at = line.find(_SIZE)
    if at < 0 or "B/W (" not in line:
        return None
    return Header(titled(line[at:]), line[:at])


def _bytes_per_s(row: Row) -> float | None:
    for column, unit in _UNITS.items():
        shown = row.number(column)
        if shown is not None:
            return shown * unit
    return None


def _options(every: Iterable[str]) -> dict[str, str]:
    """What the list of options at its start says; RefusedError where two runs differ in one that matters."""
    told: dict[str, str] = {}
    for line in every:
        if found := _OPTION.search(line):
            name, value = found.group(1), found.group(2).upper()
            if name in {"op_type", "initiator_seg_type", "target_seg_type"} and told.get(name, value) != value:
                raise RefusedError(
                    f"Several runs are in one file, with different --{name}.", "Keep the output of one run."
                )
            told.setdefault(name, value)
    return told


def _memory(options: dict[str, str]) -> Memory | None:
    ends = {options.get("initiator_seg_type"), options.get("target_seg_type")}
    if "DRAM" in ends:
        return "host"
    return "gpu" if ends == {"VRAM"} else None


def _pairs(read: Sequence[Row], options: dict[str, str]) -> str:
    devices = max(whole(options.get(name)) or 1 for name in ("num_initiator_dev", "num_target_dev"))
    if "Aggregate B/W (GB/Sec)" in read[0].header.columns:
        return "One pair of workers; several ran at once and shared what they have in common."
    return f"{devices} devices took part in each process: the rate is of all of them together." if devices > 1 else ""
