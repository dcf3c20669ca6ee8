"""How often the KV of a request was sent as a whole: engines send again when a transfer failed.

Several messages of one size per layer are no proof: K and V, or blocks, are sent so. A repetition shows in the order,
all layers once and then all again, and in that other requests have fewer messages per layer.
"""

import polars as pl

from nsysparse.metrics.measured import Measured

_LANE = ["request_id", "trace_id", "process", "communicator", "rank", "peer", "gpu"]
_LEAST_LAYERS = 2
_LEAST_REQUESTS = 3
"""So many must be known before their fewest messages per layer count as what one attempt takes."""


def attempts(measured: Measured, prefill_steps: pl.DataFrame, sides: pl.DataFrame) -> dict[str, int]:
    """How often each request was sent, where its layers tell; others are left out.

    Args:
        measured: Movements and their shares.
        prefill_steps: `request_id` and `prefill_steps`: a prompt that is computed in chunks may be sent in as many.
        sides: From `kv_sides`: only what carries KV to decode counts.

    Returns:
        Requests whose layers, two at least, crossed equally often between the same two ends. What one attempt takes is
        the fewest messages per layer of any request that was prefilled in one step, where three of them are known, else
        the fewest per layer and step of any, likewise, else 1; as many for each prefill step are one attempt too. More
        are several only where order and known sizes show it, else nothing is said.
    """
    rounds = _rounds(measured, sides["transfer_id"].unique())
    if rounds.is_empty():
        return {}
    told = rounds.join(prefill_steps.select("request_id", "prefill_steps"), on="request_id", maintain_order="left")
    least = _fewest(told)
    found: dict[str, int] = {}
    columns = ("request_id", "count", "repeats", "prefill_steps")
    for request, count, repeats, steps in told.select(columns).iter_rows():
        if count in (least, least * steps):
            found[request] = 1
        elif count % least == 0 and repeats:
            again, chunks = count // least, max(steps, 1)
            found[request] = again // chunks if again % chunks == 0 else again
    return found


def _fewest(told: pl.DataFrame) -> int:
    """How many messages per layer one attempt takes."""
    whole = pl.col("count") % pl.col("prefill_steps") == 0
    per_step = pl.when(whole).then(pl.col("count") // pl.col("prefill_steps")).otherwise("count")
    known = told.filter(pl.col("prefill_steps") > 0)
    for counts in (known.filter(prefill_steps=1)["count"], known.select(per_step).to_series()):
        fewest = counts.min()
        if len(counts) >= _LEAST_REQUESTS and isinstance(fewest, int):
            return fewest
    return 1


def _rounds(measured: Measured, forward: pl.Series) -> pl.DataFrame:
    """Per request how often each of its layers crossed, and whether all did so once before any did again, in one size.

    Only requests whose layers crossed equally often: `request_id`, `count`, `repeats`.
    """
    named = pl.col("layer").is_not_null() & pl.col("request_id").is_not_null()
    known = measured.shares.filter(named, pl.col("transfer_id").is_in(forward.implode()))
    moved = known.select("transfer_id", "request_id", "layer", size="bytes").join(
        measured.movements.select("transfer_id", *_LANE[1:], "call_start_ns", "start_ns"), on="transfer_id"
    )
    issued = pl.coalesce("call_start_ns", "start_ns")
    numbered = moved.sort(*_LANE, issued, "transfer_id").with_columns(
        turn=pl.int_range(pl.len()).over(*_LANE, "layer"), place=pl.int_range(pl.len()).over(_LANE)
    )
    layers = numbered.group_by(*_LANE, "layer").agg(
        count=pl.len(), same=(pl.col("size").n_unique() == 1) & (pl.col("size").null_count() == 0)
    )
    turns = numbered.group_by(*_LANE, "turn").agg(first=pl.col("place").min(), last=pl.col("place").max())
    ordered = turns.sort(*_LANE, "turn").with_columns(
        after=(pl.col("first") > pl.col("last").shift(1).over(_LANE)).fill_null(value=True)
    )
    tally = (
        layers.group_by("request_id")
        .agg(
            low=pl.col("count").min(),
            high=pl.col("count").max(),
            same=pl.col("same").all(),
            layer_count=pl.col("layer").n_unique(),
        )
        .join(ordered.group_by("request_id").agg(in_order=pl.col("after").all()), on="request_id")
        .filter(pl.col("low") == pl.col("high"), pl.col("layer_count") >= _LEAST_LAYERS)
    )
    repeats = pl.col("in_order") & pl.col("same")
    return tally.select("request_id", repeats=repeats, count=pl.col("low").cast(pl.Int64)).sort("request_id")
