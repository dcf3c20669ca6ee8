"""Every side of the transfers that carry a request's KV from prefill to decode, and what each shows of it.

The kernel of a receive begins before anything leaves, and that of a send may end before it arrives; where only the side
that acts leaves a row, its start shows the one and its end the other. What goes to host memory has not arrived, and
what comes from there left before; where KV crosses directly, what goes to host memory is kept there.
"""

from dataclasses import dataclass

import polars as pl

from nsysparse.analysis import DECODE, PREFILL
from nsysparse.frames import GROUP
from nsysparse.kinds import HOST, NCCL, TWO_SIDED
from nsysparse.sides import acts_as, other_side

PLACE = ("trace_id", "process")


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of requests.

    Attributes:
        transfers: Columns of `Transfers`, of all traces.
        shares: Columns of `Shares`.
        steps: Columns of `Steps`.
        held: Columns of `StepRequests`.
        arrivals: `request_id`, `trace_id`, `at_ns`, as ranges of requests begin on the side that prefills.
    """

    transfers: pl.DataFrame
    shares: pl.DataFrame
    steps: pl.DataFrame
    held: pl.DataFrame
    arrivals: pl.DataFrame


def kv_sides(seen: Seen) -> pl.DataFrame:
    """Sides of transfers that are not known to be other traffic, nor KV that decode sends back.

    Returns:
        `request_id`, `transfer_id`, `trace_id`, `process`, `gpu`, `rank`, `dst_end`, `start_ns`, `end_ns`, `acts_as`,
        `wire_ns` (of all that its kernels serve; null where it is not told from waiting), `unit` (equal for those that
        share kernels), and whether its start shows when KV `leaves` and its end when it `arrives`; whether it `stages`
        KV in host memory, or brings it `from_host`; `far_id`, the other side's `transfer_id`; and whether it `spins`:
        a kernel that sends, which runs on while its receiver is not there.
    """
    own = seen.shares.select("transfer_id", "request_id").drop_nulls().unique()
    far = other_side(seen.transfers, "transfer_id").select("transfer_id", far="far_transfer_id")
    both = pl.concat([own, own.join(far, on="transfer_id").select(pl.col("far").alias("transfer_id"), "request_id")])
    forward = {"send": PREFILL, "recv": DECODE}
    way = pl.col("acts_as").replace_strict(forward, default=None, return_dtype=pl.String)
    timed = (
        both.join(seen.transfers.with_columns(acts_as=acts_as()), on="transfer_id")
        .join(_group_wire(seen.transfers), on=GROUP, how="left")
        .join(far.rename({"far": "far_id"}), on="transfer_id", how="left")
        .filter(
            pl.col("start_ns").is_not_null() & ~pl.col("is_self").fill_null(value=False),
            pl.col("purpose") != "other",
            way.is_null() | pl.col("role").is_null() | (way == pl.col("role")),
        )
    )
    acting = pl.col("is_one_sided").fill_null(value=False) & pl.col("pair_id").is_null()
    alone = ~pl.col("transport").is_in(TWO_SIDED) | acting
    is_call = (pl.col("interval_kind") == "call").fill_null(value=False)
    told_apart = pl.col("peer_wait_ns").is_not_null()
    sends, receives = ((pl.col("acts_as") == side).fill_null(value=False) for side in ("send", "recv"))
    sides = timed.select(
        "request_id", "transfer_id", *PLACE, "gpu", "rank", "src_end", "dst_end", "start_ns", "end_ns", "acts_as",
        wire_ns=pl.coalesce("group_wire_ns", pl.when(told_apart).then("wire_ns")),
        unit=pl.coalesce("group_key", -1 - pl.col("transfer_id").cast(pl.Int64)),
        leaves=(alone | sends) & pl.col("src_end").ne_missing(HOST),
        arrives=(alone | receives) & ~is_call & pl.col("dst_end").ne_missing(HOST),
        far_id="far_id",
        spins=sends & (pl.col("transport") == NCCL) & pl.col("interval_kind").eq_missing("gpu"),
    )  # fmt: skip
    return _with_staging(sides).drop("src_end")


def _with_staging(sides: pl.DataFrame) -> pl.DataFrame:
    """Tell what goes to host memory to be fetched there (`stages`) and what is fetched (`from_host`).

    What goes there is kept, and has not left, where other KV leaves and none comes from there.
    """
    to_host = pl.col("dst_end").eq_missing(HOST)
    staged = (pl.col("arrives") & pl.col("src_end").eq_missing(HOST)).any().over("request_id")
    direct = (pl.col("leaves") & ~to_host).any().over("request_id")
    return sides.with_columns(
        leaves=pl.col("leaves") & (~to_host | staged | ~direct),
        stages=pl.col("leaves") & to_host & staged,
        from_host=pl.col("arrives") & pl.col("src_end").eq_missing(HOST),
    )


def _group_wire(transfers: pl.DataFrame) -> pl.DataFrame:
    """The wire time of kernels that serve several transfers, whole: all of these have the kernels' whole interval."""
    shared = transfers.filter(pl.col("group_key").is_not_null())
    known = pl.when(pl.col("wire_ns").is_not_null().all()).then(pl.col("wire_ns").sum())
    return shared.group_by(GROUP).agg(group_wire_ns=known)
