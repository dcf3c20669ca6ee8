"""How the clocks of several files stand against each other: nothing that rests on two of them is finer than that."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, Clock
from nsysparse.document import Block, Heading, Paragraph, Table
from nsysparse.sections.cells import doubtful, names, numbers, table, texts, times
from nsysparse.units import time_scale

_METHODS = {
    "same-host-utc": "UTC of one host",
    "same-host-monotonic": "monotonic clock of one host",
    "estimated": "estimated from transfers",
    "utc-unverified": "UTC of two hosts, unverified",
    "utc": "UTC, as asked",
    "refused": "not aligned",
}


def build(analysis: Analysis) -> list[Block]:
    """One row for every file beside the first; nothing where there is one file only."""
    if not analysis.clocks:
        return []
    return [
        Heading("Clocks", "clocks", 3),
        Paragraph("What needs the clocks of two files is no finer than the ± here; all else is of one clock.", "muted"),
        _table(analysis.clocks),
    ]


def _table(clocks: Sequence[Clock]) -> Table:
    offsets, doubts = [clock.offset_ns for clock in clocks], [clock.uncertainty_ns for clock in clocks]
    scale = time_scale([*offsets, *doubts])
    columns = [
        names("File", [clock.other for clock in clocks]),
        names("Against", [clock.base for clock in clocks], minor=True),
        texts(
            "Method",
            [_METHODS.get(clock.method, clock.method) for clock in clocks],
            tones=["doubt" if clock.method in ("refused", "utc-unverified") else "plain" for clock in clocks],
            term="clocks",
        ),
        doubtful("Ahead by", offsets, doubts, scale, term="clocks"),
        times("±", doubts, time_scale(doubts), term="clocks"),
        numbers("Drift", [clock.drift_ppm for clock in clocks], unit="ppm", term="clocks", minor=True),
        texts("Direction", [_direction(clock) for clock in clocks], term="clocks", minor=True),
        numbers("Pairs", [clock.pair_count for clock in clocks], minor=True),
        texts("Note", [clock.note for clock in clocks]),
    ]
    return table("Clocks of the files", columns, "clocks-table")


def _direction(clock: Clock) -> str:
    return "" if clock.one_sided is None else "one-sided" if clock.one_sided else "both ways"
