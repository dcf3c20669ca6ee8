"""Scopes: the ranges that say something about layer, request, phase, role or purpose, and which of them hold a call."""

import numpy as np
import polars as pl

from nsysparse.intervals import innermost_container
from nsysparse.presets.loader import FIELDS, builtin_rules, match
from nsysparse.source import nccl_domain
from nsysparse.source.trace import Trace


def find_scopes(trace: Trace) -> pl.DataFrame:
    """Ranges and marks whose name a preset knows.

    Returns:
        `range_id`, `style`, `process`, `thread`, `crosses` (closed on another thread), `start_ns`, `end_ns`, and what
        the presets found: `kind`, `purpose`, `purpose_rule` and the fields of `FIELDS` as text.
    """
    labels = trace.labels.filter(~nccl_domain.is_nccl())
    said = match(labels, builtin_rules())
    crosses = pl.col("end_thread").is_not_null() & (pl.col("end_thread") != pl.col("thread"))
    return (
        trace.ranges.join(said, on="label_id")
        .with_columns(crosses=crosses)
        .select(
            "range_id", "style", "process", "thread", "crosses", "start_ns", "end_ns",
            "kind", "purpose", "purpose_rule", *FIELDS,
        )
        .sort("range_id")
    )  # fmt: skip


def innermost(calls: pl.DataFrame, scopes: pl.DataFrame, field: str) -> pl.DataFrame:
    """For each call, what the innermost range around it on its own thread says about one field.

    Args:
        calls: `transfer_id`, `thread`, `call_start_ns`, `call_end_ns`; rows without a call interval find nothing.
        scopes: From `find_scopes`. Ranges closed on another thread and marks hold nothing here.
        field: A column of `scopes`; ranges that are silent about it are looked through.

    Returns:
        `transfer_id`, `scope_id` (the range), `kind` and the field, for calls that have one.
    """
    speaking = scopes.filter(pl.col(field).is_not_null() & ~pl.col("crosses") & (pl.col("style") != "mark"))
    lanes = {thread: rows for (thread,), rows in speaking.group_by("thread", maintain_order=True)}
    placed = calls.filter(pl.col("call_start_ns").is_not_null() & pl.col("thread").is_not_null())
    held: list[pl.DataFrame] = []
    for (thread,), part in placed.group_by("thread", maintain_order=True):
        if thread not in lanes:
            continue
        lane = lanes[thread].sort("start_ns", "end_ns", "range_id", descending=[False, True, False])
        inside = innermost_container(
            lane["start_ns"].to_numpy(),
            lane["end_ns"].to_numpy(),
            part["call_start_ns"].to_numpy(),
            part["call_end_ns"].to_numpy(),
        )
        found = lane.select("range_id", "kind", field)[np.maximum(inside, 0).tolist()]
        held.append(
            part.select("transfer_id").with_columns(
                scope_id=found["range_id"], kind=found["kind"], value=found[field]
            ).filter(pl.Series(inside >= 0))
        )  # fmt: skip
    empty = {"transfer_id": pl.UInt32, "scope_id": pl.UInt32, "kind": pl.String, "value": pl.String}
    return pl.concat([pl.DataFrame(schema=empty), *held]).rename({"value": field})


def process_fact(scopes: pl.DataFrame, field: str) -> pl.DataFrame:
    """What the `kv_role` marks of each process say about a field: `process` and the field, where they all agree."""
    said = scopes.filter((pl.col("kind") == "role") & pl.col(field).is_not_null())
    return (
        said.group_by("process").agg(pl.col(field).unique()).filter(pl.col(field).list.len() == 1)
        .with_columns(pl.col(field).list.first())
    )  # fmt: skip
