"""Totals over all movements, and the traffic that was left out."""

from dataclasses import fields, replace
from typing import Any

import polars as pl

from nsysparse.analysis import Excluded, PurposeTotals, Totals
from nsysparse.exchanges import of_transfers, sure_to_meet
from nsysparse.metrics.measured import WIRE_PARTS, Measured, busy_total, known_sum

_COUNTS = ("movement_count", "transfer_count", "paired_count", "kernel_count", "fused_kernel_count")


def totals(measured: Measured, met: pl.DataFrame, *, looked: bool) -> Totals:
    """Sums over movements of the counted purposes.

    Args:
        measured: Movements and transfers.
        met: From `exchanges`, over all transfers.
        looked: Whether the traces would show transfers if there were any: without, none found means unknown, not zero.
    """
    movements = measured.movements
    counted = measured.counted
    firsts = movements.filter(pl.col("is_first_use"))
    first_use_known = movements["is_first_use"].null_count() < movements.height or not movements.height
    self_known = counted["is_self"].null_count() < counted.height or not counted.height
    sends = counted.filter(pl.col("side") == "send")["time_ns"]
    sides_known = counted["side"].null_count() == 0
    met = of_transfers(sure_to_meet(met), counted)
    found = Totals(
        movement_count=movements.height,
        transfer_count=counted.height,
        paired_count=counted.filter(pl.col("pair_id").is_not_null() & pl.col("is_movement")).height,
        kernel_count=kernel_count(counted),
        fused_kernel_count=kernel_count(counted.filter(pl.col("kernel_ops") > 1)),
        bytes=known_sum(movements["bytes"]),
        bytes_known_share=1 - movements["bytes"].null_count() / movements.height if movements.height else None,
        time_ns=known_sum(movements["time_ns"]),
        send_time_ns=known_sum(sends) if len(sends) or sides_known else None,
        busy_ns=busy_total(movements) if movements.height else 0,
        **{name: known_sum(movements[name]) for name in WIRE_PARTS},
        exposed_ns=known_sum(movements["time_ns"] - movements["overlapped_ns"]),
        wire_known_share=_known_share(movements, "wire_ns"),
        wait_known_share=_known_share(movements, "peer_wait_ns"),
        exposure_known_share=_known_share(movements, "overlapped_ns"),
        exchange_count=met.height,
        longer_kernel_ns=int(met["longer_ns"].sum()),
        shorter_kernel_ns=int(met["shorter_ns"].sum()),
        both_present_ns=int(met["both_present_ns"].sum()),
        self_copy_bytes=known_sum(counted.filter(pl.col("is_self") & pl.col("is_movement"))["bytes"])
        if self_known
        else None,
        first_use_count=firsts.height if first_use_known else None,
        first_use_ns=known_sum(firsts["time_ns"]) if first_use_known else None,
        by_purpose={
            purpose: _purpose_totals(movements.filter(pl.col("purpose") == purpose)) for purpose in measured.purposes
        },
    )
    if measured.transfers.height or looked:
        return found
    # Nothing was found where nothing could be seen: only what counts rows of this analysis is zero.
    unknown: dict[str, Any] = {field.name: None for field in fields(found) if field.name not in _COUNTS}
    unseen = PurposeTotals(movement_count=0, bytes=None, time_ns=None)
    return replace(found, **{**unknown, "by_purpose": dict.fromkeys(found.by_purpose, unseen)})


def _known_share(movements: pl.DataFrame, part: str) -> float | None:
    """Share of the time of which a part is known."""
    whole = int(movements["time_ns"].sum())
    known = int(movements.filter(pl.col(part).is_not_null())["time_ns"].sum())
    return known / whole if whole else None


def kernel_count(transfers: pl.DataFrame) -> int:
    """Kernels that served these transfers, each once however many transfers share it."""
    groups = transfers.filter(pl.col("group_key").is_not_null()).unique(["trace_id", "group_key"])
    return int(groups["kernel_count"].sum())


def excluded(measured: Measured) -> tuple[Excluded, ...]:
    """Traffic of purposes that do not count, by the rule that said so.

    A kernel that also serves what counts is there and not here; one that several rules exclude counts with the first.
    """
    shared, rule = ["trace_id", "group_key"], ["purpose_rule", "purpose"]
    left_out = measured.left_out.sort(rule)
    kernels = (
        left_out.filter(pl.col("group_key").is_not_null())
        .join(measured.counted, on=shared, how="anti")
        .unique(shared, keep="first", maintain_order=True)
    )
    found = []
    for (by, purpose), transfers in left_out.group_by(rule, maintain_order=True):
        same = (pl.col("purpose_rule") == by) & (pl.col("purpose") == purpose)
        movements = measured.excluded.filter(same)
        found.append(
            Excluded(
                purpose=str(purpose),
                rule=str(by),
                transfer_count=transfers.height,
                movement_count=movements.height,
                kernel_count=int(kernels.filter(same)["kernel_count"].sum()),
                bytes=known_sum(movements["bytes"]),
                time_ns=known_sum(movements["time_ns"]),
            )
        )
    return tuple(found)


def _purpose_totals(movements: pl.DataFrame) -> PurposeTotals:
    return PurposeTotals(
        movement_count=movements.height,
        bytes=known_sum(movements["bytes"]),
        time_ns=known_sum(movements["time_ns"]),
    )
