"""Devices as prefill and decode are reported of them: their names, their steps, and the KV that came or went."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from nsysparse.analysis import DECODE, PREFILL
from nsysparse.frames import OF_DEVICE, device_key, pid
from nsysparse.intervals import run_extremes
from nsysparse.metrics.measured import Measured
from nsysparse.sides import acts_as, other_side


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a trace.

    Attributes:
        trace_id: The trace.
        key: As `device_key` names it.
        device_id: CUDA ordinal, the lowest where processes count differently.
        gpu: The name that transfers have it by.
    """

    trace_id: str
    key: str
    device_id: int
    gpu: str


def devices(transfers: pl.DataFrame, work: pl.DataFrame) -> Iterator[Device]:
    """All devices on which something ran, by trace, ordinal and name.

    A device is called as its transfers call it, else by the physical GPU, else by its ordinal; the process is added
    where two devices of a trace would be called alike.

    Args:
        transfers: Columns of `Transfers`.
        work: Columns of `Work`.
    """
    key = [*OF_DEVICE, "device_id", "process"]
    moved = transfers.filter(pl.col("device_id").is_not_null()).with_columns(device=device_key())
    ran = [work.select(*key, gpu=pl.lit(None, pl.String)), moved.select(*key, "gpu")]
    found = (
        pl.concat(ran)
        .unique()
        .sort(*key, "gpu", nulls_last=True)
        .group_by(OF_DEVICE, maintain_order=True)
        .agg(
            pl.col("device_id").min(),
            pl.col("process").drop_nulls().first(),
            own=pl.coalesce(pl.col("gpu").drop_nulls().first(), pl.col("device").filter(_is_physical()).first()),
        )
    )
    name = pl.coalesce("own", pl.concat_str(pl.lit("gpu"), "device_id"))
    clash = pl.col("own").is_null() & (pl.len().over("trace_id", "name") > 1) & pl.col("process").is_not_null()
    with_process = pl.concat_str("name", pl.lit("/pid"), pid(pl.col("process")))
    named = found.with_columns(name=name).with_columns(gpu=pl.when(clash).then(with_process).otherwise("name"))
    for row in named.sort("trace_id", "device_id", "gpu", "device").iter_rows(named=True):
        yield Device(row["trace_id"], row["device"], row["device_id"], row["gpu"])


def _is_physical() -> pl.Expr:
    return pl.col("device").str.starts_with("gpu")


def placed(steps: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """From when to when each step's compute ran on each device.

    Args:
        steps: Columns of `Steps`.
        work: Columns of `Work`.

    Returns:
        `step_id`, `trace_id`, `process`, `phase`, `device`, `start_ns`, `end_ns`: one row for each device of a step,
        none for steps without GPU work. Of a step on several devices that is the compute that its process launched
        during its range, as far as the step lasts.
    """
    columns = ["step_id", "trace_id", "process", "phase", "device", "start_ns", "end_ns"]
    known = steps.filter(pl.col("is_projected") & pl.col("device").is_not_null()).select(columns)
    spread = steps.filter(pl.col("is_projected") & pl.col("device").is_null())
    return pl.concat([known, *(rows.select(columns) for rows in _spread(spread, work))])


def _spread(steps: pl.DataFrame, work: pl.DataFrame) -> Iterator[pl.DataFrame]:
    lanes = steps.partition_by("trace_id", "process", as_dict=True)
    owners = steps.select("trace_id", "process").unique()
    compute = work.filter("is_compute", pl.col("launch_start_ns").is_not_null()).join(
        owners, on=["trace_id", "process"], how="semi"
    )
    for (trace, process, device), rows in compute.group_by("trace_id", "process", "device", maintain_order=True):
        launched, mine = rows.sort("launch_start_ns"), lanes[trace, process]
        at = launched["launch_start_ns"]
        first = at.search_sorted(mine["host_start_ns"], side="left").cast(pl.Int64).to_numpy()
        stop = at.search_sorted(mine["host_end_ns"], side="left").cast(pl.Int64).to_numpy()
        low, high = run_extremes(launched["start_ns"].to_numpy(), launched["end_ns"].to_numpy(), first, stop)
        yield mine.with_columns(
            device=pl.lit(device, pl.String),
            start_ns=pl.max_horizontal("start_ns", pl.Series(low)),
            end_ns=pl.min_horizontal("end_ns", pl.Series(high)),
        ).filter(pl.Series(stop > first) & (pl.col("end_ns") > pl.col("start_ns")))


def coming(measured: Measured) -> pl.DataFrame:
    """Transfers that may bring KV to a device: what it receives, and copies that others make to it.

    Returns:
        Columns of `Transfers`, and `place`: the name of the device, null where a receive does not tell it. Times are
        null where no interval is known to be that of the transfer.
    """
    return _moving(measured, "recv", "dst_end", PREFILL)


def going(measured: Measured) -> pl.DataFrame:
    """Transfers that may take KV from a device, likewise, but only those of which is known when they ran.

    Of copies with pauses between them it is not.
    """
    paused = pl.col("group_key").is_null() & (pl.col("time_ns") < pl.col("end_ns") - pl.col("start_ns"))
    sends = _moving(measured, "send", "src_end", DECODE).drop_nulls(["start_ns", "end_ns", "place"])
    return sends.filter(~paused.fill_null(value=False))


def _moving(measured: Measured, acts: str, end: str, not_of: str) -> pl.DataFrame:
    """Transfers at the device on that side of them."""
    prefix = pl.concat_str("trace_id", pl.lit(":"))
    elsewhere = pl.col(end).str.starts_with(prefix) & (pl.col("src_end") != pl.col("dst_end"))
    there = pl.when(elsewhere).then(pl.col(end).str.strip_prefix(prefix))
    own = (pl.col("acts_as") == acts).fill_null(value=False)
    lasts = (pl.col("end_ns") > pl.col("start_ns")) & (pl.col("interval_kind") != "call").fill_null(value=True)
    return (
        measured.transfers.with_columns(acts_as=acts_as())
        .filter(
            pl.col("purpose") != "other",
            ~pl.col("is_self").fill_null(value=False),
            (pl.col("role") != not_of).fill_null(value=True) | ~own,
        )
        .with_columns(
            pl.when(lasts).then(pl.col("start_ns", "end_ns")), place=pl.when(own).then("gpu").otherwise(there)
        )
        .filter(own | pl.col("place").is_not_null())
    )


def named(measured: Measured, field: str) -> pl.DataFrame:
    """The layers or requests of every transfer, also of the side of a pair that does not stand for it.

    Args:
        measured: Transfers and the shares of those that stand for their movement.
        field: `layer` or `request_id`.

    Returns:
        `transfer_id`, the field and `weight`, by which a transfer that has several divides among them; the field is
        null for the part that has none. What a side says itself counts; the other side speaks only where it is proven
        that they met.
    """
    own = measured.transfers.filter(pl.col(field).is_not_null()).select(
        "transfer_id", field, weight=pl.lit(1, dtype=pl.Int64)
    )
    silent = measured.transfers.filter(pl.col(field).is_null()).select("transfer_id", "pairing_proof")
    shared = measured.shares.select("transfer_id", field, weight=pl.coalesce("bytes", "time_ns"))
    far = other_side(measured.transfers, "transfer_id").select("transfer_id", far="far_transfer_id")
    told = (
        shared.join(far, on="transfer_id")
        .select(pl.col("far").alias("transfer_id"), field, "weight")
        .join(silent.drop_nulls("pairing_proof"), on="transfer_id", how="semi")
    )
    mine = shared.join(silent, on="transfer_id", how="semi")
    parts = pl.concat([own, mine, told]).group_by("transfer_id", field, maintain_order=True)
    return parts.agg(pl.col("weight").sum())
