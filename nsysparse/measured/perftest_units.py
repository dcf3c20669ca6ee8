"""Which unit perftest's averages are in: size times rate of messages says it, whatever the label."""

from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.measured.text import MIB, RefusedError

GBIT = 125_000_000
_MB = 1_000_000
_NAMES = {MIB: "MiB/s", GBIT: "Gb/s", _MB: "MB/s"}
_LABELS = {"MB/sec": MIB, "MiB/sec": MIB, "Gb/sec": GBIT}
# Half of the last digit that is printed: six decimals of the message rate (in millions), two of the average.
_RATE_STEP, _AVERAGE_STEP = 0.5e-6, 0.005
_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Measure:
    """One row: bytes of a message, the average in an unknown unit, millions of messages per second, the label."""

    size: int
    average: float
    message_rate: float | None
    label: str | None
    line: int


def unit_of(measures: Sequence[Measure]) -> tuple[int, str]:
    """Bytes per second that one unit of the averages is, and how that is known, one sentence.

    Raises:
        RefusedError: No unit fits most of the rows, or none is told and the message rates cannot decide it.
    """
    labels = {each.label for each in measures}
    told = next(iter(labels)) if len(labels) == 1 else None
    labelled = _LABELS.get(told or "")
    if len(labels) > 1 or (told is not None and labelled is None):
        raise RefusedError(
            "The averages are in several units, or in one that perftest does not print.",
            "Keep the output of one run, as it was printed.",
            measures[-1].line,
        )
    checked = [each for each in measures if each.message_rate]
    if not checked:
        if labelled is None:
            raise RefusedError(
                "The JSON does not say whether its average is in MiB/s or Gb/s, and holds no message rate that would.",
                "Give the text that the tool prints, or measure smaller messages.",
                measures[0].line,
            )
        return labelled, f"The unit is that of the label, {_NAMES[labelled]}; no message rate confirms it."
    candidates = [labelled, MIB, GBIT, _MB] if labelled else [MIB, GBIT]
    for unit in candidates:
        if sum(_fits(each, unit) for each in checked) * 2 > len(checked):
            return unit, _said(told, labelled, unit)
    raise RefusedError(
        "The averages are not size times message rate in any unit that perftest prints.",
        "Give the output as it was printed.",
        checked[0].line,
    )


def _fits(measure: Measure, unit: int) -> bool:
    """Whether the average in this unit is size times message rate, up to what rounding may have taken."""
    rate = measure.message_rate or 0.0
    moved = measure.size * rate * 1e6
    slack = _SLACK + _RATE_STEP / rate + _AVERAGE_STEP / measure.average
    return abs(measure.average * unit - moved) <= slack * moved


def _said(told: str | None, labelled: int | None, unit: int) -> str:
    if labelled is None:
        return f"The JSON names no unit; size times message rate says {_NAMES[unit]}."
    if unit != labelled:
        return f"Labelled {told}, but size times message rate says {_NAMES[unit]}."
    also = ", of 2^20 bytes" if unit == MIB else ""
    return f"Unit {told}{also}: size times message rate agrees."
