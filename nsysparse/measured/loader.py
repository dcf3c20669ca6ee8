"""From a file to the ceiling that it proves: which tool wrote it, and whether the link can be that fast."""

import re
from pathlib import Path
from typing import Protocol

from nsysparse.errors import InputError
from nsysparse.measured import mooncake, nccl_tests, nixlbench, nvbandwidth, p2p_bandwidth, perftest
from nsysparse.measured.ceilings import Ceiling
from nsysparse.measured.text import RefusedError, excerpt, number
from nsysparse.units import GB, human_rate

MOST_BYTES = 10_000_000
"""No benchmark prints as much; what does is another file."""
TOLERANCE = 0.01
"""By so much a measured rate may exceed a line rate: clocks and rounding."""
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}m")


class Tool(Protocol):
    """What the module of a tool has.

    Attributes:
        NAME: What it is called in reports.
    """

    NAME: str

    def recognises(self, text: str) -> bool:
        """Whether the tool printed this."""

    def parse(self, text: str) -> Ceiling:
        """The ceiling; RefusedError where the output proves none."""


TOOLS: tuple[Tool, ...] = (perftest, nccl_tests, nvbandwidth, p2p_bandwidth, nixlbench, mooncake)


def read_measured(path: Path, line_rate: float | None = None) -> Ceiling:
    """The ceiling that a benchmark's output proves.

    Args:
        path: The file, as the tool printed or wrote it.
        line_rate: Bytes per second that the link carries in one direction at most; None if unknown.

    Raises:
        InputError: The file cannot be read, no tool or several wrote it, it proves no ceiling, or one above the
            line rate. The message names the line where there is one.
    """
    text = _text(path)
    known = [tool for tool in TOOLS if tool.recognises(text)]
    if len(known) != 1:
        raise _unknown(path, text, known)
    try:
        ceiling = known[0].parse(text)
    except RefusedError as refused:
        where = f"{path}, line {refused.line}" if refused.line else f"{path}"
        raise InputError(f"{where}: {refused.message}", refused.hint) from refused
    if line_rate is not None:
        refuse_faster(ceiling, line_rate, path)
    return ceiling


def refuse_faster(ceiling: Ceiling, line_rate: float, path: Path) -> None:
    """InputError where a ceiling of the file `path` is above the bytes per second that the link carries one way."""
    if ceiling.bytes_per_s <= line_rate * (1 + TOLERANCE):
        return
    raise InputError(
        f"{path}: {ceiling.test} shows {human_rate(ceiling.bytes_per_s / GB)}, more than the link's"
        f" {human_rate(line_rate / GB)} in one direction.",
        "It is of another link, ran inside one host or as a loopback, or adds both directions up.",
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}.", "Give the file with the tool's output."
        ) from error
    if len(content) > MOST_BYTES:
        raise InputError(
            f"{path} has more than {MOST_BYTES // 10**6} MB: that is no benchmark's output.",
            "Give only what the benchmark printed.",
        )
    text = content.decode("utf-8", errors="replace").removeprefix("\ufeff")
    return _COLOUR.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _unknown(path: Path, text: str, known: list[Tool]) -> InputError:
    if known:
        names = " and ".join(tool.NAME for tool in known)
        return InputError(f"{path} holds the output of {names}.", "Give one file per tool.")
    words = text.split(None, 2)
    if words and len(words) == 1 and number(words[0]) is not None:
        return InputError(
            f"{path} holds a bare number, without unit or size.", "Run the tool without --output=bandwidth."
        )
    begins = f"; it begins {excerpt(next(iter(text.strip().splitlines())))}" if words else "; it is empty"
    return InputError(
        f"{path}: no known benchmark wrote this{begins}.",
        f"Give the whole output of one of: {', '.join(tool.NAME for tool in TOOLS)}.",
    )
