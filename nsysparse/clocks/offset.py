"""How far one trace's clock is ahead of another's: a line, converted without losing a nanosecond."""

import math
from dataclasses import dataclass

import polars as pl

SAME, SAME_HOST_UTC, SAME_HOST_MONOTONIC = "same-trace", "same-host-utc", "same-host-monotonic"
ESTIMATED, UTC_UNVERIFIED, REFUSED = "estimated", "utc-unverified", "refused"
METHODS = (SAME, SAME_HOST_UTC, SAME_HOST_MONOTONIC, ESTIMATED, UTC_UNVERIFIED)
"""How clocks are aligned, the surest first; of several in a row the last of these is named."""


@dataclass(frozen=True, slots=True)
class Offset:
    """The clock of `other` less that of `base`, each counting from its own zero; ns.

    Attributes:
        at_ns: An instant of `base`'s clock.
        offset_ns: The offset at that instant.
        slope: By how much the offset grows in a ns of `base`'s clock.
        uncertainty_ns: How far the true offset may be from the line, anywhere in the run.
        method: One of `METHODS`.
        one_sided: Whether it rests on transfers of one direction, and so on an assumption; None without transfers.
        pair_count: Paired transfers that it rests on.
        knows_drift: Whether `slope` was estimated; else it is 0 because the run is short or the clock is one.
    """

    base: str
    other: str
    at_ns: int
    offset_ns: int
    slope: float
    uncertainty_ns: int
    method: str
    one_sided: bool | None = None
    pair_count: int = 0
    knows_drift: bool = False

    def at(self, base_ns: int) -> int:
        """The offset at an instant of `base`'s clock."""
        return self.offset_ns + math.floor((base_ns - self.at_ns) * self.slope + 0.5)

    def to_base(self, other_ns: int) -> int:
        """The same instant on `base`'s clock; halves of a ns round up."""
        since = other_ns - self.offset_ns - self.at_ns
        return since + self.at_ns - math.floor(since * self._shrinks + 0.5)

    def expr_to_base(self, other_ns: pl.Expr) -> pl.Expr:
        """`to_base` of a column of Int64; null stays null."""
        since = other_ns - (self.offset_ns + self.at_ns)
        return since + self.at_ns - (since.cast(pl.Float64) * self._shrinks + 0.5).floor().cast(pl.Int64)

    @property
    def _shrinks(self) -> float:
        return self.slope / (1.0 + self.slope)

    def reversed(self) -> "Offset":
        """The same seen from `other`."""
        return Offset(
            self.other, self.base, self.at_ns + self.offset_ns, -self.offset_ns, -self._shrinks, self.uncertainty_ns,
            self.method, self.one_sided, self.pair_count, self.knows_drift,
        )  # fmt: skip

    def then(self, onward: "Offset") -> "Offset":
        """The offset of `onward.other`, whose base is this one's other; the uncertainties add up."""
        sided = [each for each in (self.one_sided, onward.one_sided) if each is not None]
        return Offset(
            base=self.base,
            other=onward.other,
            at_ns=self.at_ns,
            offset_ns=self.offset_ns + onward.at(self.at_ns + self.offset_ns),
            slope=self.slope + onward.slope + self.slope * onward.slope,
            uncertainty_ns=self.uncertainty_ns + onward.uncertainty_ns,
            method=max(self.method, onward.method, key=METHODS.index),
            one_sided=any(sided) if sided else None,
            pair_count=self.pair_count + onward.pair_count,
            knows_drift=self.knows_drift or onward.knows_drift,
        )


def itself(trace_id: str) -> Offset:
    """A trace's clock and itself."""
    return Offset(trace_id, trace_id, 0, 0, 0.0, 0, SAME)
