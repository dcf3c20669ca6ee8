"""`ib_write_bw`, `ib_read_bw` and `ib_send_bw` of perftest, as text or JSON.

What it prints: https://github.com/linux-rdma/perftest/blob/master/src/perftest_parameters.c . `MB/sec` and `MiB/sec`
are both 2^20 bytes (the label changed in 2024, the divisor never did), `Gb/sec` is 1e9 bits, and the JSON does not say
which of them it holds: size times message rate does. With `-b` each row adds both directions up.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nsysparse.measured.ceilings import Ceiling, Direction, Memory
from nsysparse.measured.perftest_units import Measure, unit_of
from nsysparse.measured.table import Header, rows
from nsysparse.measured.text import RefusedError, curve_of, lines, number, rate_of, sentences, starts_as_json, whole

NAME = "perftest"
LEAST = 65_536
"""Smaller messages are bound by the message rate, not by the link."""

_SAME = 0.02
_COMMAND = "ib_write_bw -s 1048576 -q 4 --report_gbits -D 10"
_VERBS: dict[str, tuple[Direction, str]] = {
    "RDMA_Write": ("write", "ib_write_bw"),
    "RDMA_Write_imm": ("write", "ib_write_bw"),
    "RDMA_Read": ("read", "ib_read_bw"),
    "Send": ("send", "ib_send_bw"),
}
_COLUMN = re.compile(r"#\w+|[A-Za-z_]+(?: [A-Za-z0-9]+)?\[[^\]\[]{1,12}\]")
_TITLE = re.compile(
    r"(Send|RDMA_Write_imm|RDMA_Write|RDMA_Read|Atomic)[ _]"
    r"(?:(?:CMP_AND_SWAP|FETCH_AND_ADD|Bidirectional|Post|List)[ _]){0,6}"
    r"(BW|Latency)[ _](?:(?:forwarding|Multicast)[ _]){0,2}Test\b"
)
_QUEUE_PAIRS = re.compile(r"Number[ _]of[ _]qps\"?\s{0,20}:\s{0,20}(\d{1,6})")
_ADDRESS = re.compile(r"(local|remote) address: LID (?:0x)?0*(\w{0,10})")
_GID = re.compile(r"^\W*GID: ([\d:]{1,80})$")
_ON_GPU = re.compile(
    r'GPU buffer|Use[ _]ROCm[ _]memory"?\s{0,20}:\s{0,20}"?ON|"?cuda_device"?\s{0,9}:|Using ROCm Device'
)
_WIRE = re.compile(r'Link[ _]type"?\s{0,20}:\s{0,20}"?(IB|Ethernet)')
_WIRES = {"IB": "infiniband", "Ethernet": "ethernet"}
_TWO_PORTS = re.compile(r'Dual[-_]port"?\s{0,20}:\s{0,20}"?ON')
_PAIR = re.compile(r'\s*"?([A-Za-z_]\w{0,40})"?\s{0,9}:\s{0,9}"?([^"\s]{1,40})"?\s*$')


@dataclass(slots=True)
class _Run:
    """What the lines around the rows say."""

    titles: Counter[str] = field(default_factory=Counter)
    wires: set[str] = field(default_factory=set)
    queue_pairs: set[int] = field(default_factory=set)
    addresses: dict[str, set[str]] = field(default_factory=lambda: {"local": set(), "remote": set()})
    gids: dict[str, set[str]] = field(default_factory=lambda: {"local": set(), "remote": set()})
    on_gpu: bool = False
    two_ports: bool = False


def recognises(text: str) -> bool:
    """Whether perftest printed this."""
    if starts_as_json(text):
        return any(name in text for name in ('"test_info"', "test_info:"))
    return any(_header(line) is not None or _TITLE.search(line) is not None for _, line in lines(text))


def parse(text: str) -> Ceiling:
    """The largest average of messages of at least `LEAST` bytes, of one direction."""
    kept, dropped = _without_each_side(lines(text))
    run = _told(line for _, line in kept)
    verb, both_ways = _test(run)
    measures = list(_json(kept) if starts_as_json(text) else _text(kept))
    if not measures:
        raise RefusedError("perftest printed no row with a size and an average.", f"Run it to its end: {_COMMAND}")
    if sum(run.titles.values()) > 1 and (odd := _differing(measures)):
        raise RefusedError(
            "Several perftest runs are in one file, with different rates for one size.",
            "Keep the output of one run.",
            odd.line,
        )
    if _loop(run):
        raise RefusedError(
            "Both ends have the same address: a loopback through one adapter, over no wire.",
            f"Run it between two hosts: {_COMMAND}",
        )
    unit, unit_note = unit_of(measures)
    share = 2 if both_ways else 1
    found = [rate_of(each.size, each.average * unit / share) for each in measures]
    curve = curve_of((each for each in found if each is not None), max)
    large = [each for each in curve if (each.size_bytes or 0) >= LEAST]
    if not large:
        raise RefusedError(
            "No message of at least 64 KiB was measured; smaller ones show the message rate, not the link.",
            f"Measure larger ones: {_COMMAND}",
        )
    best = max(large, key=lambda each: each.bytes_per_s)
    queue_pairs = run.queue_pairs.pop() if run.queue_pairs else None
    direction, test = _VERBS[verb] if verb else (None, "bandwidth test")
    memory: Memory | None = "gpu" if run.on_gpu else None
    note = sentences(
        [
            "Largest average of messages of at least 64 KiB.",
            unit_note,
            "Halved, since -b adds both directions up." if both_ways else "",
            "With --report-both the JSON would hold one direction only, and the rate be twice this."
            if both_ways and starts_as_json(text)
            else "",
            "What each side reported on its own was left out." if dropped else "",
            "" if verb else "The title of the test is missing, so whether both directions were added up is not known.",
            _undershoot(direction, queue_pairs),
            "Two ports were used together." if run.two_ports else "",
            "" if memory else "No GPU buffer is mentioned, so the memory was probably the host's.",
        ]
    )
    return Ceiling(
        NAME, test, best.bytes_per_s, best.size_bytes, direction, queue_pairs, memory, note, curve,
        wire=run.wires.pop() if len(run.wires) == 1 else None,
    )  # fmt: skip


def _without_each_side(every: Iterable[tuple[int, str]]) -> tuple[list[tuple[int, str]], bool]:
    """The lines without what `--report-both` adds below the sums: one direction each, under the same title."""
    kept: list[tuple[int, str]] = []
    skip = dropped = False
    for at, line in every:
        if "Local results:" in line or "Remote results:" in line:
            skip = dropped = True
        elif _TITLE.search(line):
            skip = False
        if not skip:
            kept.append((at, line))
    return kept, dropped


def _told(every: Iterable[str]) -> _Run:
    run, end = _Run(), ""
    for line in every:
        if title := _TITLE.search(line):
            verb, kind = title.groups()
            run.titles[f"{verb} {kind}{' both ways' if 'Bidirectional' in title.group() else ''}"] += 1
        if pairs := _QUEUE_PAIRS.search(line):
            run.queue_pairs.add(int(pairs.group(1)))
        if address := _ADDRESS.search(line):
            end = address.group(1)
            run.addresses[end] |= {address.group(2)} - {""}  # on Ethernet every LID is 0
        elif end and (gid := _GID.match(line.rstrip())):
            run.gids[end].add(gid.group(1))
        if wire := _WIRE.search(line):
            run.wires.add(_WIRES[wire.group(1)])
        run.on_gpu = run.on_gpu or _ON_GPU.search(line) is not None
        run.two_ports = run.two_ports or _TWO_PORTS.search(line) is not None
    return run


def _test(run: _Run) -> tuple[str | None, bool]:
    """Which verb was measured, and whether both ways at once; client and server may both have printed it."""
    if len(run.titles) > 1 or len(run.queue_pairs) > 1:
        said = ", ".join(sorted(run.titles) or ["no title"])
        raise RefusedError(
            f"Several perftest runs are in one file ({said}), and which one is meant is not clear.",
            "Keep the output of one run: one test, one number of queue pairs.",
        )
    if not run.titles:
        return None, False
    verb, kind, *ways = next(iter(run.titles)).split(" ", 2)
    if kind != "BW" or verb not in _VERBS:
        raise RefusedError(
            f"This is perftest's {kind.lower() if kind != 'BW' else verb} test, which measures no transfer rate.",
            f"Run the bandwidth test: {_COMMAND}",
        )
    return verb, bool(ways)


def _header(line: str) -> Header | None:
    at = line.find("#bytes")
    if at < 0 or "BW average[" not in line:
        return None
    return Header(tuple(_COLUMN.findall(line[at:])), line[:at])


def _text(kept: Iterable[tuple[int, str]]) -> Iterator[Measure]:
    for row in rows(kept, _header):
        column = next(name for name in row.header.columns if name.startswith("BW average["))
        size, average = whole(row.word("#bytes")), row.number(column)
        if size and average:
            yield Measure(size, average, row.number("MsgRate[Mpps]"), column[len("BW average[") : -1], row.line)


def _json(kept: Iterable[tuple[int, str]]) -> Iterator[Measure]:
    """The results of JSON, also of versions that quoted no key: https://github.com/linux-rdma/perftest/issues/216 ."""
    size: int | None = None
    values: dict[str, float | None] = {}
    for at, piece in ((at, piece) for at, line in kept for piece in re.split(r"[,{}]", line)):
        if pair := _PAIR.match(piece):
            key, value = pair.groups()
            if key == "MsgSize":
                size, values = whole(value), {}
            elif key in {"BW_average", "MsgRate"}:
                values[key] = number(value)
        if size and {"BW_average", "MsgRate"} <= values.keys():
            if values["BW_average"]:
                yield Measure(size, values["BW_average"], values["MsgRate"], None, at)
            size, values = None, {}


def _differing(measures: Iterable[Measure]) -> Measure | None:
    """A row whose average is not about that of an earlier row of its size; client and server print the same."""
    first: dict[int, float] = {}
    for each in measures:
        earlier = first.setdefault(each.size, each.average)
        if abs(each.average - earlier) > _SAME * earlier:
            return each
    return None


def _undershoot(direction: Direction | None, queue_pairs: int | None) -> str:
    if queue_pairs != 1:
        return "" if queue_pairs else "The number of queue pairs is not told."
    if direction == "read":
        return "RDMA reads with one queue pair undershoot: measure with -q 4."
    return "One queue pair may undershoot."


def _loop(run: _Run) -> bool:
    """Whether both ends have one address, and the same; in the output of client and server each end has two."""
    return any(len(ends["local"]) == 1 and ends["local"] == ends["remote"] for ends in (run.addresses, run.gids))
