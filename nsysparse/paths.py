"""When each request came where on its way to the first token: events, each on the clock of the trace that saw it.

With tensor-parallel ranks an event is that of the rank that was first (starts, the first send) or last (ends, the last
receive). Ranks of several traces are compared where their clocks could be aligned.
"""

import polars as pl

from nsysparse.clocks import Clocks
from nsysparse.crossings import PLACE, Seen, kv_sides
from nsysparse.events import ARRIVAL, EVENT, EVENTS, agreed
from nsysparse.frames import Paths
from nsysparse.servers import on_the_way


def find_paths(seen: Seen, clocks: Clocks) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The events of every request that has a transfer or a step, and the sides of transfers that are on its way.

    Args:
        seen: What is known of them.
        clocks: Of the traces, for ranks that several of them hold.

    Returns:
        Columns of `Paths`, by request; and of `kv_sides`.
    """
    steps = seen.held.join(seen.steps, on="step_id")
    every_side = kv_sides(seen)
    way = on_the_way(steps, every_side, clocks)
    found = [
        seen.arrivals.select("request_id", "trace_id", "at_ns", event=pl.lit(ARRIVAL)),
        _times(way.prefill, "start_ns", "prefill_start"),
        _times(way.prefill, "end_ns", "prefill_end"),
        _times(way.sides.filter("leaves"), "start_ns", "first_send"),
        _times(way.sides.filter("arrives"), "end_ns", "last_recv"),
        _times(way.first, "start_ns", "decode_start"),
        _times(way.first, "end_ns", "decode_end"),
        _times(way.decode, "end_ns", "last_token"),
    ]
    told, apart = agreed(pl.concat([each.select(list(EVENT)) for each in found]), clocks)
    requests = pl.concat([every_side["request_id"], steps["request_id"]]).unique().sort()
    paths = pl.DataFrame({"request_id": requests})
    for event in EVENTS:
        mine = told.filter(event=event).select(
            "request_id",
            pl.col("at_ns").alias(f"{event}_ns"),
            pl.col("trace_id").alias(f"{event}_trace"),
            pl.col("doubt_ns").alias(f"{event}_doubt_ns"),
        )
        paths = paths.join(mine, on="request_id", how="left", maintain_order="left")
    for phase, rows in (("prefill", way.prefill), ("decode", way.decode)):
        most = rows.group_by("request_id", *PLACE).len().group_by("request_id").agg(pl.col("len").max())
        paths = paths.join(most.rename({"len": f"{phase}_steps"}), on="request_id", how="left", maintain_order="left")
    counted = paths.with_columns(
        pl.col("prefill_steps", "decode_steps").fill_null(0).cast(pl.UInt32),
        is_announced=pl.col("request_id").is_in(seen.arrivals["request_id"].implode()),
        is_apart=pl.col("request_id").is_in(apart.filter(pl.col("event") != ARRIVAL)["request_id"].implode()),
    )
    return Paths.validate(counted.select(Paths.column_names())), way.sides


def spans(seen: Seen) -> dict[str, tuple[int, int]]:
    """From when to when things happened in each trace that has transfers, steps or arrivals, on its own clock."""
    parts = [
        seen.transfers.select("trace_id", low=pl.coalesce("start_ns", "call_start_ns"),
                              high=pl.coalesce("end_ns", "call_end_ns")),
        seen.steps.select("trace_id", low="start_ns", high="end_ns"),
        seen.arrivals.select("trace_id", low="at_ns", high="at_ns"),
    ]  # fmt: skip
    edges = pl.concat(parts).drop_nulls().group_by("trace_id").agg(pl.col("low").min(), pl.col("high").max())
    return {trace: (low, high) for trace, low, high in edges.sort("trace_id").iter_rows()}


def _times(rows: pl.DataFrame, column: str, event: str) -> pl.DataFrame:
    return rows.select("request_id", "trace_id", at_ns=column, event=pl.lit(event)).drop_nulls("at_ns")
