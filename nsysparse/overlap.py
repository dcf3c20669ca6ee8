"""Requests and layers by time alone, only where asked for: a coincidence in time is no proof."""

from collections import Counter

import numpy as np
import polars as pl

from nsysparse.intervals import Ints
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import holding

OVERLAP = "overlap"
_LANES = {"request": "trace_id", "layer": "process"}
"""A request may be told anywhere in its trace; a layer's compute only by the process that runs it."""


def by_overlap(transfers: pl.DataFrame, scopes: ScopeTable, anomalies: Counter[str]) -> pl.DataFrame:
    """Fill `layer_text` and `request_text`, with the provenance `overlap`, where one range alone overlaps a transfer.

    Args:
        transfers: From `agree_between_sides`, of one trace; of those with an interval, `start_ns` and `end_ns`, else
            the call.
        scopes: From `find_scopes`, of the same trace: ranges of the kinds `request` and `layer` speak.
        anomalies: Counts movements that are told by it.

    Returns:
        The same rows in the same order. Where more than one range overlaps a transfer nothing is said.
    """
    placed = holding(scopes, pl.col("kind").is_in(list(_LANES))).with_columns(trace_id=pl.lit(""))
    result = transfers.with_columns(
        _begin=pl.coalesce("start_ns", "call_start_ns"), _end=pl.coalesce("end_ns", "call_end_ns")
    )
    for field, lane in _LANES.items():
        ranges = placed.filter((pl.col("kind") == field) & pl.col(field).is_not_null())
        silent = result.filter(pl.col(f"{field}_text").is_null() & pl.col("_begin").is_not_null())
        found = _only(silent.with_columns(trace_id=pl.lit("")), ranges, lane, field)
        learns = pl.col("found").is_not_null()
        result = result.join(found, on="transfer_id", how="left", maintain_order="left").with_columns(
            pl.when(learns).then("found").otherwise(f"{field}_text").alias(f"{field}_text"),
            pl.when(learns).then(pl.lit(OVERLAP)).otherwise(f"{field}_provenance").alias(f"{field}_provenance"),
        ).drop("found")  # fmt: skip
    told = pl.any_horizontal(pl.col(f"{field}_provenance").eq_missing(OVERLAP) for field in _LANES)
    anomalies["told-by-time-alone"] += result.filter(told & pl.col("is_movement")).height
    return result.drop("_begin", "_end")


def _only(transfers: pl.DataFrame, ranges: pl.DataFrame, lane: str, field: str) -> pl.DataFrame:
    """`transfer_id` and `found`: the name of the only range of the lane that overlaps each transfer."""
    lanes = {key: rows for (key,), rows in ranges.group_by(lane, maintain_order=True)}
    found = [pl.DataFrame(schema={"transfer_id": transfers.schema["transfer_id"], "found": pl.String})]
    for (key,), part in transfers.group_by(lane, maintain_order=True):
        if key not in lanes:
            continue
        rows = lanes[key].sort("start_ns", "end_ns", "range_id")
        starts, ends = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
        begin, end = part["_begin"].to_numpy(), part["_end"].to_numpy()
        hit, which = _single(starts, ends, begin, end)
        found.append(
            pl.DataFrame({
                "transfer_id": part["transfer_id"].filter(pl.Series(hit)), "found": rows[field].gather(which[hit]),
            })
        )  # fmt: skip
    return pl.concat(found)


def _single(
    starts: Ints, ends: Ints, begin: Ints, end: Ints
) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Ints]:
    """Whether exactly one interval overlaps each of the others, and which: intervals sorted by start."""
    begun = np.searchsorted(starts, end, side="left")  # those that began before its end
    ended = np.searchsorted(np.sort(ends), begin, side="right")  # those that were over at its begin
    # Of those that began in time, all but one are over: that one ends last.
    latest = np.maximum.accumulate(ends) if len(ends) else ends
    order = np.searchsorted(latest, latest[np.maximum(begun - 1, 0)], side="left")
    return begun - ended == 1, order.astype(np.int64)
