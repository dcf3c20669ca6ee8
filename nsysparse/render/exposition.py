"""The OpenMetrics 1.0 text format: how a family of metrics is written, whatever it counts.

What is written is valid in the older Prometheus text format too, so only types that both know are used: `UNIT` and
`EOF` lines are comments there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from nsysparse.render.names import visible
from nsysparse.units import NS_PER_S

_DECIMALS = 9
END = "# EOF\n"
"""The last line: without it a reader knows that the text was cut off."""


@dataclass(frozen=True, slots=True)
class Family:
    """What all samples of one name have in common; `unit` is the end of the name, empty where there is none.

    `help` holds no quote, backslash or line end: the two formats escape these differently.
    """

    name: str
    type: Literal["counter", "gauge", "histogram"]
    unit: str
    help: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One value. `value` None is unknown, which is no sample; a label None is not there.

    `suffix` is what the name of the family is followed by where the type asks for it.
    """

    value: str | None
    labels: tuple[tuple[str, str | None], ...] = ()
    suffix: str = ""


def seconds(ns: int | None) -> str | None:
    """Nanoseconds as seconds, exactly: binary fractions are left to the reader."""
    if ns is None:
        return None
    whole, rest = divmod(abs(ns), NS_PER_S)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:0{_DECIMALS}d}".rstrip("0").ljust(len(str(whole)) + 2, "0")


def number(value: float | None) -> str | None:
    """A number with all its digits."""
    return None if value is None else repr(value)


def family(about: Family, samples: Iterable[Sample]) -> str:
    """The lines of a family, in the order of the samples; nothing at all where none has a value."""
    lines = list(_lines(about, samples))
    if not lines:
        return ""
    unit = [f"# UNIT {about.name} {about.unit}"] if about.unit else []
    head = [f"# HELP {about.name} {about.help}", f"# TYPE {about.name} {about.type}", *unit]
    return "".join(f"{line}\n" for line in [*head, *lines])


def _lines(about: Family, samples: Iterable[Sample]) -> Iterator[str]:
    """One line a sample. Names that only differ in what cannot be shown are numbered: no two samples are alike."""
    taken: set[tuple[str, str]] = set()
    for sample in samples:
        if sample.value is None:
            continue
        shown = [(name, _shown(value)) for name, value in sample.labels if value is not None]
        labels, count = _joined(shown), 1
        while (sample.suffix, labels) in taken:
            count += 1
            labels = _joined([(shown[0][0], f"{shown[0][1]} ({count})"), *shown[1:]])
        taken.add((sample.suffix, labels))
        yield f"{about.name}{sample.suffix}{labels} {sample.value}"


def _joined(labels: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f'{name}="{value}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _shown(text: str) -> str:
    """A name as a label's value: it comes back whole, but for characters that a terminal or an editor would obey.

    Line ends have an escape of their own in the format.
    """
    lines = text.replace("\\", "\\\\").replace('"', '\\"').split("\n")
    return "\\n".join(visible(line) for line in lines)
