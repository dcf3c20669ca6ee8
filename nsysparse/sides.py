"""Which side of a movement a transfer is, and the other side of a pair: two transfers with one `pair_id`."""

import polars as pl

from nsysparse.kinds import NCCL


def other_side(transfers: pl.DataFrame, *facts: str) -> pl.DataFrame:
    """What the other side of each pair says.

    Args:
        transfers: Paired: `transfer_id`, `pair_id` (null for what has no other side) and the columns `facts`.
        facts: What is wanted of the other side.

    Returns:
        `transfer_id` and `far_…` for every fact, of transfers whose other side is among them.
    """
    paired = transfers.filter(pl.col("pair_id").is_not_null())
    far = paired.select("pair_id", far_id="transfer_id", **{f"far_{name}": name for name in facts})
    met = paired.select("transfer_id", "pair_id").join(far, on="pair_id")
    return met.filter(pl.col("far_id") != pl.col("transfer_id")).drop("pair_id", "far_id")


def acts_as() -> pl.Expr:
    """Whether a transfer sends or receives for its process; null where nothing says it.

    A copy has both its ends: one of which an end is the device that made it has its other end elsewhere.
    """
    own = pl.concat_str("trace_id", pl.lit(":"), "gpu")
    at_source, at_target = ((pl.col(end) == own).fill_null(value=False) for end in ("src_end", "dst_end"))
    copied = pl.when(at_source & ~at_target).then(pl.lit("send")).when(at_target & ~at_source).then(pl.lit("recv"))
    return pl.when(pl.col("side") == "copy").then(copied).otherwise("side")


def perhaps_local(transfers: pl.DataFrame) -> pl.DataFrame:
    """`transfer_id` of NCCL calls of unknown own rank whose group both sends to and receives from their peer.

    The peer may be the own rank: then both are one copy within the device, and no movement.
    """
    unknown = transfers.filter(
        (pl.col("transport") == NCCL) & pl.col("is_self").is_null() & pl.col("side").is_in(["send", "recv"])
    )
    both_ways = pl.col("side").n_unique().over("trace_id", "group_key", "communicator", "peer") > 1
    return unknown.filter(both_ways & pl.col("group_key").is_not_null()).select("transfer_id")
