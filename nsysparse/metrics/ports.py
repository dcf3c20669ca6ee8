"""What went out of and into each device, over all links together."""

from typing import Any

import polars as pl

from nsysparse.analysis import Port
from nsysparse.intervals import union_lengths
from nsysparse.kinds import NCCL
from nsysparse.metrics.measured import Measured, known_sum_expr, names_device
from nsysparse.sides import other_side
from nsysparse.theory.links import Peak

_DEVICE = r"^(.*):(gpu(\d+)(?:/pid\d+)?)$"
_PXN = "NCCL may send by the NIC of another GPU (PXN)"


def ports(ended: pl.DataFrame, measured: Measured, peak: Peak | None) -> tuple[Port, ...]:
    """Bytes and busy time per device and direction, sorted by device.

    Args:
        ended: Movements with `src` and `dst`.
        measured: All transfers, for the times of the other side of each pair.
        peak: What the user says the links are.
    """
    far = other_side(measured.transfers, "trace_id", "start_ns", "end_ns")
    both = ended.join(far, on="transfer_id", how="left", maintain_order="left")
    rows = pl.concat([_through(both, "egress", "src", "send"), _through(both, "ingress", "dst", "recv")])
    placed = rows.with_columns(
        owner=pl.col("end").str.extract(_DEVICE, 1),
        gpu=pl.col("end").str.extract(_DEVICE, 2),
        device_id=pl.col("end").str.extract(_DEVICE, 3).cast(pl.Int64),
    ).filter(pl.col("device_id").is_not_null())
    key = ["owner", "device_id", "gpu", "direction"]
    busy = union_lengths(placed.filter(pl.col("start_ns").is_not_null()), [*key, "clock"]).group_by(key).agg(
        pl.col("union_ns").max()
    )  # fmt: skip
    sums = placed.group_by(key).agg(known_sum_expr("bytes"), by_nccl=(pl.col("transport") == NCCL).any())
    found = sums.join(busy, on=key, how="left").sort(key)
    return tuple(_port(row, peak) for row in found.iter_rows(named=True))


def _through(both: pl.DataFrame, direction: str, end: str, side: str) -> pl.DataFrame:
    """Movements at one end: bytes, and the interval of the side that is there, else of the side that was recorded."""
    own = (pl.col("side") == side) | pl.col("far_start_ns").is_null()
    return both.filter(names_device(f"{end}_end")).select(
        "transport",
        "bytes",
        direction=pl.lit(direction),
        end=pl.col(end),
        clock=pl.when(own).then("trace_id").otherwise("far_trace_id"),
        start_ns=pl.when(own).then("start_ns").otherwise("far_start_ns"),
        end_ns=pl.when(own).then("end_ns").otherwise("far_end_ns"),
    )


def _port(row: dict[str, Any], peak: Peak | None) -> Port:
    return Port(
        trace_id=row["owner"],
        device_id=row["device_id"],
        gpu=row["gpu"],
        direction=row["direction"],
        bytes=row["bytes"],
        busy_ns=row["union_ns"],
        peak_gb_s=peak.gb_s if peak else None,
        note=_PXN if row["by_nccl"] and row["direction"] == "egress" else None,
    )
