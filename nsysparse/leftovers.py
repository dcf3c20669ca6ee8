"""What counts beside something that other sources recorded of perhaps the same data."""

import numpy as np
import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.kinds import ANNOTATED
from nsysparse.sides import acts_as

_OPPOSITE = {"send": "recv", "recv": "send", None: None}
_PLACE = ["trace_id", "process"]


def beside_transfers(transfers: pl.DataFrame, told: pl.Series, met: pl.Series) -> int:
    """How many annotations count though a transfer that counts as well may be what they tell of.

    Args:
        transfers: `transfer_id`, `transport`, `side`, `purpose`, `is_self`, `is_movement`, `pair_id`, `trace_id`,
            `process`, `gpu`, `src_end`, `dst_end`, `start_ns`, `end_ns`, `call_start_ns`, `call_end_ns`.
        told: Ids of annotations that are known to tell of a transfer.
        met: Ids of transfers that are not counted, as their other side is, and of those that count for them.

    It may be in the annotation's own process, and is then of the same direction; or its other side, if that is not
    known. What another file recorded has no time to compare; in one file both overlap.
    """
    counted = pl.col("is_movement") | pl.col("pair_id").is_not_null()
    rows = transfers.filter(
        counted, pl.col("purpose") != "other", ~pl.col("is_self").fill_null(value=False)
    ).with_columns(
        acts_as=acts_as(),
        begin=pl.min_horizontal("start_ns", "call_start_ns").fill_null(-(2**61)),
        end=pl.max_horizontal("end_ns", "call_end_ns").fill_null(2**61),
        one_sided=pl.col("pair_id").is_null() & ~pl.col("transfer_id").is_in(met.implode()),
    )
    is_told = pl.col("transport") == ANNOTATED
    standing = rows.filter(is_told, "is_movement", ~pl.col("transfer_id").is_in(told.implode()))
    moved = rows.filter(~is_told)
    return sum(_beside(standing.filter(pl.col("side").eq_missing(side)), moved, side) for side in _OPPOSITE)


def copies_beside_posts(transfers: pl.DataFrame) -> int:
    """How many copies count that ran while another process's NIXL transfer did, which they may have carried out.

    Args:
        transfers: `transport`, `purpose`, `is_self`, `is_movement`, `trace_id`, `process`, `start_ns`, `end_ns`.
    """
    counted = transfers.filter(
        "is_movement", pl.col("purpose") != "other", ~pl.col("is_self").fill_null(value=False)
    ).drop_nulls(["start_ns", "end_ns"]).rename({"start_ns": "begin", "end_ns": "end"})  # fmt: skip
    copies, posts = (counted.filter(pl.col("transport") == name) for name in ("memcpy", "nixl"))
    if copies.is_empty() or posts.is_empty():
        return 0
    return int((_overlapping(copies, posts, _PLACE[:1]) > _overlapping(copies, posts, _PLACE)).sum())


def _beside(told: pl.DataFrame, moved: pl.DataFrame, side: str | None) -> int:
    """How many annotations of one side have something beside them."""
    if told.is_empty() or moved.is_empty():
        return 0
    own, far = (
        moved.filter((pl.col("acts_as") == one).fill_null(value=True)) if one else moved
        for one in (side, _OPPOSITE[side])
    )
    far = far.filter("one_sided")
    beside = _overlapping(told, own, _PLACE) + _overlapping(told, far, _PLACE[:1]) - _overlapping(told, far, _PLACE)
    per_trace = far.group_by("trace_id").len()
    in_trace = told.select("trace_id").join(per_trace, on="trace_id", how="left", maintain_order="left")["len"]
    elsewhere = far.height - in_trace.fill_null(0).to_numpy()
    return int(((beside > 0) | (elsewhere > 0)).sum())


def _overlapping(
    told: pl.DataFrame, moved: pl.DataFrame, lane: list[str]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row how many of the others of its lane overlap it, but for the clocks."""
    count = np.zeros(told.height, dtype=np.int64)
    lanes = dict(moved.group_by(lane))
    for key, part in told.with_row_index("row").group_by(lane, maintain_order=True):
        if key not in lanes:
            continue
        begun = np.searchsorted(lanes[key]["begin"].sort().to_numpy(), part["end"].to_numpy() + CLOCK_SLACK_NS, "right")
        ended = np.searchsorted(lanes[key]["end"].sort().to_numpy(), part["begin"].to_numpy() - CLOCK_SLACK_NS, "left")
        count[part["row"].to_numpy()] = begun - ended
    return count
