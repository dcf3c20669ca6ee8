"""What is demanded of each figure, and whether a measured one stands: against its demand, and against the recorded one.

A figure is a ratio of two things measured in the same run, so that machines can be compared. Its name is that of the
demand and a size of trace: `reading/scan S`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

TOLERANCE = 1.25
"""A figure may be worse than the recorded one by this factor."""
CI_SLACK = 0.6
"""For shared machines: a demand of at most 1.3 is missed there above 1.3 / 0.6, one of at least 15 below 15 * 0.6."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What is held against what, and the limit by size of trace: at most, or at least where more is better."""

    what: str
    limits: Mapping[str, float | None]
    is_speedup: bool = False
    unit: str = "x"

    def limit_of(self, size: str, slack: float = 1.0) -> float | None:
        """The limit for a size, or none where only the recorded figure is held."""
        limit = self.limits[size]
        if limit is None:
            return None
        return limit * slack if self.is_speedup else limit / slack


DEMANDS: dict[str, Demand] = {
    "reading/scan": Demand(
        'reading the three big tables, against `SELECT sum("end" - start)` over them in SQLite', {"S": 1.3, "M": 1.3}
    ),
    "reading/sqlalchemy": Demand(
        "reading them, against SQLAlchemy into polars", {"S": 15, "M": 15}, is_speedup=True
    ),
    "projection/nvtxgpuproj": Demand(
        "`export --frame nvtx_ranges` minus imports, against `nsys stats -r nvtxgpuproj`", {"8k": 40, "S": 500},
        is_speedup=True,
    ),
    "projection/nvtxkernsum": Demand(
        "the same, against `nsys stats -r nvtxkernsum`, which does no more", {"M": 40}, is_speedup=True
    ),
    "projection/scans": Demand("the same, against the three bare scans in SQLite", {"S": None, "M": None}),
    "report/scans": Demand("the whole `report` minus imports, against the three bare scans", {"S": None, "M": 4}),
    "growth/report": Demand("time of `report` minus imports, against that on M", {"L": 6}),
    "growth/projection": Demand("time of `export --frame nvtx_ranges` minus imports, against that on M", {"L": 6}),
    "memory/report": Demand("peak memory of `report`, against the size of the file", {"L": 0.8}),
    "memory/projection": Demand(
        "peak memory of `export --frame nvtx_ranges`, against the size of the file", {"L": 0.8}
    ),
    "bytes/report": Demand("peak memory of `report`", {"XL": 2}, unit="GB"),
    "bytes/projection": Demand("peak memory of `export --frame nvtx_ranges`", {"XL": 2}, unit="GB"),
    "ranks/memory": Demand(
        "peak memory of the largest process of `report --jobs 2` on 64 files, against the size of all of them",
        {"64xS": 0.8},
    ),
    "start/help": Demand("`nsysparse --help`, against the help of a program with nothing but click", {"any": 2}),
    "start/tiny": Demand(
        "`report` on a tiny trace, against importing polars, SQLAlchemy and plotly", {"any": 2}
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured ratio, or why there is none.

    Attributes:
        demand: A key of `DEMANDS`.
        size: Of the trace.
        value: Ratio, or GB where the demand says so; None where it could not be measured.
        detail: Medians and rounds, for a reader.
        cpu: The same ratio in CPU seconds, which a busy machine hardly moves: what is held against the recorded one.
        answers: What both sides computed alike and was compared; empty where they compute different things.
        why: Why there is no value.
        is_lower_bound: The other side was cut off: the real ratio is greater.
        versions: Of Python and libraries.
    """

    demand: str
    size: str
    value: float | None
    detail: str = ""
    answers: str = ""
    why: str = ""
    cpu: float | None = None
    is_lower_bound: bool = False
    versions: str = ""

    @property
    def name(self) -> str:
        """Its key in the record."""
        return f"{self.demand} {self.size}"

    def shown(self) -> str:
        """The value with its unit, in three digits."""
        if self.value is None:
            return f"not measured: {self.why}"
        digits = f"{self.value:.0f}" if self.value >= 100 else f"{self.value:.3g}"
        return f"{'≥ ' * self.is_lower_bound}{digits} {DEMANDS[self.demand].unit}"

    def is_met(self, slack: float = 1.0) -> bool | None:
        """Whether the demand is met; None where there is no value or no demand."""
        limit = DEMANDS[self.demand].limit_of(self.size, slack)
        if limit is None or self.value is None:
            return None
        return self.value >= limit if DEMANDS[self.demand].is_speedup else self.value <= limit

    def is_better_than(self, other: "Figure") -> bool:
        """Whether it is the better of two measurements of one figure."""
        if self.value is None or other.value is None:
            return other.value is None
        return self.value > other.value if DEMANDS[self.demand].is_speedup else self.value < other.value

    def as_record(self) -> dict[str, Any]:
        """What is kept of it: no seconds, which are the machine's."""
        kept = {name: value for name, value in asdict(self).items() if name not in {"demand", "size", "detail"}}
        return {name: value for name, value in kept.items() if value not in {"", False, None}} | {"value": self.value}

    @classmethod
    def from_record(cls, name: str, record: Mapping[str, Any]) -> "Figure":
        """A recorded one."""
        demand, size = name.rsplit(" ", 1)
        return cls(demand, size, **record)


def demanded(demand: str, size: str) -> str:
    """The demand in words: `≤ 1.3 x`, or that there is none."""
    limit = DEMANDS[demand].limit_of(size)
    if limit is None:
        return "as recorded"
    return f"{'≥' if DEMANDS[demand].is_speedup else '≤'} {limit:g} {DEMANDS[demand].unit}"


def worsening(figure: Figure, recorded: Figure) -> float | None:
    """By which factor it is worse than recorded, below 1 where it is better; None where one is not known.

    By CPU seconds where both have them.
    """
    now, then = (figure.cpu, recorded.cpu) if figure.cpu and recorded.cpu else (figure.value, recorded.value)
    if now is None or then is None:
        return None
    return then / now if DEMANDS[figure.demand].is_speedup else now / then


def failures(figure: Figure, recorded: Figure | None, slack: float = 1.0, *, demands_only: bool = False) -> list[str]:
    """Why a figure does not stand: its demand is missed, or it is worse than recorded by more than noise.

    A demand that the recorded figure misses too is no news: the page says so, and the record holds the figure. With
    `demands_only` that is not looked at, as where a machine's load is not known.
    """
    found = []
    if figure.is_met(slack) is False and not (recorded and recorded.is_met() is False):
        limit = DEMANDS[figure.demand].limit_of(figure.size, slack)
        found.append(f"{figure.name}: {figure.shown()}, demanded {demanded(figure.demand, figure.size)}"
                     f" (with slack {limit:.3g})")  # fmt: skip
    factor = worsening(figure, recorded) if recorded and not demands_only else None
    if recorded and factor and factor > TOLERANCE:
        of = ", in CPU seconds" if figure.cpu and recorded.cpu else ""
        found.append(
            f"{figure.name}: {figure.shown()}, worse than the recorded {recorded.shown()} by {factor - 1:.0%}{of}"
        )
    return found


def missing(wanted: list[str], measured: list[Figure], recorded: Mapping[str, Figure]) -> list[str]:
    """Figures that the record has and this run should have measured, and did not."""
    got = {figure.name for figure in measured}
    return [f"{name}: not measured, though recorded" for name in wanted if name in recorded and name not in got]
