"""How often the KV of a request was sent as a whole: engines send again when a transfer failed."""

import polars as pl

from nsysparse.metrics.measured import Measured

_LANE = ["request_id", "layer", "trace_id", "process", "communicator", "rank", "peer", "gpu"]


def attempts(measured: Measured, prefill_steps: pl.DataFrame) -> dict[str, int]:
    """How often each request was sent, where its layers tell; others are left out.

    Args:
        measured: Movements and their shares.
        prefill_steps: `request_id` and `prefill_steps`: a prompt that is computed in chunks may be sent in as many.

    Returns:
        Requests of which every layer was sent equally often between the same two ends, each time with the same size. A
        number that chunks explain is 1.
    """
    known = measured.shares.filter(pl.col("layer").is_not_null() & pl.col("request_id").is_not_null())
    moved = known.select("transfer_id", "request_id", "layer", size="bytes").join(
        measured.movements.select("transfer_id", *(name for name in _LANE if name not in ("request_id", "layer"))),
        on="transfer_id",
    )
    lanes = moved.group_by(_LANE).agg(count=pl.col("transfer_id").n_unique(), sizes=pl.col("size").n_unique())
    even = (
        lanes.group_by("request_id")
        .agg(low=pl.col("count").min(), high=pl.col("count").max(), sizes=pl.col("sizes").max())
        .filter(pl.col("low") == pl.col("high"))
        .join(prefill_steps.select("request_id", chunks=pl.max_horizontal("prefill_steps", 1)), on="request_id")
    )
    found: dict[str, int] = {}
    for request, count, _, sizes, chunks in even.sort("request_id").iter_rows():
        again = count if sizes == 1 else 1
        found[request] = again // chunks if again % chunks == 0 else again if chunks == 1 else 1
    return found
