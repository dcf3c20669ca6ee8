"""Which annotations are surely about what they paired with, because on one clock nothing else was in flight then."""

import numpy as np
import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.intervals import Ints
from nsysparse.kinds import ANNOTATED

_PLACE = ["trace_id", "process", "side"]


def met_alone(transfers: pl.DataFrame) -> pl.Series:
    """`pair_id` of pairs of one trace of which each side overlaps the other, and nothing else of that one's process.

    Only where one side is an annotation: of others the data may be gone before the receiver begins. They overlap for
    longer than the clocks of a host and its devices may be apart.

    Args:
        transfers: Paired: `transfer_id`, `pair_id`, `transport`, the columns `trace_id`, `process`, `side`, `purpose`,
            and `start_ns`, `end_ns`, or else those of the call.
    """
    timed = transfers.with_columns(
        begin=pl.coalesce("start_ns", "call_start_ns"), stop=pl.coalesce("end_ns", "call_end_ns")
    ).filter(pl.col("begin").is_not_null() & pl.col("stop").is_not_null() & (pl.col("purpose") != "other"))
    lanes = dict(timed.group_by(_PLACE))
    one = timed.filter(pl.col("pair_id").is_not_null()).select(
        "pair_id", "transfer_id", "transport", *_PLACE, "begin", "stop"
    )
    together = pl.min_horizontal("stop", "stop_far") - pl.max_horizontal("begin", "begin_far")
    both = one.join(one, on=["pair_id", "trace_id"], suffix="_far").filter(
        pl.col("transfer_id") != pl.col("transfer_id_far"),
        (pl.col("transport") == ANNOTATED) | (pl.col("transport_far") == ANNOTATED),
        together > CLOCK_SLACK_NS,
    )
    alone = [one.select("pair_id").clear()]
    for key, rows in both.group_by("trace_id", "process_far", "side_far"):
        other = [lanes[key][name].to_numpy() for name in ("begin", "stop")]
        count = _overlapping(*other, *(rows[name].to_numpy() for name in ("begin", "stop")))
        alone.append(rows.select("pair_id").filter(pl.Series(count == 1)))
    met = pl.concat(alone).group_by("pair_id").len().filter(pl.col("len") == 2)  # noqa: PLR2004 (both sides)
    return met["pair_id"].sort()


def _overlapping(starts: Ints, ends: Ints, begin: Ints, stop: Ints) -> Ints:
    """How many intervals each of the others overlaps."""
    begun = np.searchsorted(np.sort(starts), stop, side="left")
    count: Ints = begun - np.searchsorted(np.sort(ends), begin, side="right")
    return count
