"""Layers, requests and their crossing; what none of them explains stays visible beside them."""

from typing import Any

import polars as pl

from nsysparse.analysis import Cell, Coverage, Distribution, Layer, Request, Unattributed
from nsysparse.metrics.measured import (
    DEVICE,
    WIRE_PARTS,
    Measured,
    busy,
    distribution_of,
    distributions,
    known_sum,
    known_sum_expr,
    steady,
)
from nsysparse.metrics.path import NO_PREFILL
from nsysparse.metrics.rates import kernel_rate, wire_rate
from nsysparse.theory.shipment import Shipment

NO_PROVENANCE = "none"


def layers(measured: Measured, sure: pl.DataFrame) -> tuple[Layer, ...]:
    """What each layer's transfers cost, in layer order.

    Args:
        measured: Movements and shares.
        sure: Movements from `with_sure`.
    """
    wire, kernel = (_by_layer(measured, sure, rate) for rate in (wire_rate(), kernel_rate()))
    return tuple(
        Layer(
            layer=row["layer"],
            movement_count=row["movement_count"],
            bytes=row["bytes"],
            time_ns=row["time_ns"],
            busy_ns=row["busy_ns"],
            **{name: row[name] for name in WIRE_PARTS},
            headline_gb_s=None,
            provenance=row["provenance"],
            wire_gb_s=wire.get(row["layer"]),
            kernel_gb_s=kernel.get(row["layer"]),
        )
        for row in _grouped(measured, "layer", "layer_provenance")
    )


def _by_layer(measured: Measured, sure: pl.DataFrame, rate: pl.Expr) -> dict[int, Distribution | None]:
    """Rates by layer, of movements that are of one layer alone: a rate of several says nothing of one of them."""
    whole = (
        measured.shares.group_by("transfer_id")
        .agg(pl.col("layer").first(), several=pl.col("layer").n_unique() > 1)
        .filter(~pl.col("several"))
        .drop_nulls("layer")
    )
    rows = steady(sure).select("transfer_id", rate=rate).join(whole, on="transfer_id")
    return {layer: distribution_of(marks) for layer, marks in distributions(rows, ["layer"], "rate").iter_rows()}


def requests(measured: Measured, announced: pl.DataFrame, known: Shipment | None) -> tuple[Request, ...]:
    """What each request's transfers cost, by request id.

    Args:
        measured: Movements and shares.
        announced: What request ranges say: `request_id`, `start_ns`, `prompt_tokens`, one row per id.
        known: The model as it is served, for the bytes that a prompt of known length must move.
    """
    told = {row["request_id"]: row for row in announced.iter_rows(named=True)}
    found = []
    for row in _grouped(measured, "request_id", "request_provenance"):
        said = told.get(row["request_id"], {"start_ns": None, "prompt_tokens": None})
        tokens = said["prompt_tokens"]
        found.append(
            Request(
                request_id=row["request_id"],
                start_ns=said["start_ns"],
                movement_count=row["movement_count"],
                bytes=row["bytes"],
                expected_bytes=known.sent(tokens) if known and tokens is not None else None,
                time_ns=row["time_ns"],
                busy_ns=row["busy_ns"],
                wire_ns=row["wire_ns"],
                peer_wait_ns=row["peer_wait_ns"],
                provenance=row["provenance"],
                prompt_tokens=tokens,
                verdict="unknown",
                prefill_step_count=0,
                decode_step_count=0,
                missing=NO_PREFILL,
                uncertainties={},
                **dict.fromkeys(_PATH),
            )
        )
    return tuple(found)


_PATH = (
    "span", "gap_ns", "exposed_to_request_ns", "queue_ns", "prefill_ns", "handoff_ns",
    "overlap_ns", "transfer_span_ns", "ready_to_decode_ns", "first_decode_ns", "path_ns", "kv_gap_ns", "kv_gap_share",
    "ttft_ns", "ttft_convention", "tpot_impact_ns", "uncertainty_ns", "clock", "path_basis", "tpot_ns",
    "tpot_without_gap_ns", "attempt_count", "blame", "kv_gap_share_low", "kv_gap_share_high",
)  # fmt: skip


def layer_request(measured: Measured) -> tuple[Cell, ...]:
    """The crossing of layers and requests, sparse."""
    known = measured.shares.filter(pl.col("layer").is_not_null() & pl.col("request_id").is_not_null())
    cells = known.group_by("layer", "request_id").agg(known_sum_expr("bytes"), known_sum_expr("time_ns"))
    return tuple(
        Cell(layer=layer, request_id=request, bytes=nbytes, time_ns=time)
        for layer, request, nbytes, time in cells.select("layer", "request_id", "bytes", "time_ns")
        .sort("layer", "request_id")
        .iter_rows()
    )


def unattributed(measured: Measured) -> dict[str, Unattributed]:
    """What has no layer, and what has no request."""
    missing = {}
    for name, column in (("layer", "layer"), ("request", "request_id")):
        rest = measured.shares.filter(pl.col(column).is_null())
        missing[name] = Unattributed(
            movement_count=rest["transfer_id"].n_unique(),
            bytes=known_sum(rest["bytes"]),
            time_ns=known_sum(rest["time_ns"]),
            **{part: known_sum(rest[part]) for part in WIRE_PARTS},
        )
    return missing


def coverage(measured: Measured) -> tuple[Coverage, ...]:
    """How layer, request, phase and role of what moved are known, in this order, and by provenance.

    Rows of one field add up to the totals; a movement that divides among several layers counts in `movement_count` of
    every provenance that its parts have.
    """
    parts = {
        "layer": measured.shares.select("transfer_id", "bytes", "time_ns", how="layer_provenance"),
        "request": measured.shares.select("transfer_id", "bytes", "time_ns", how="request_provenance"),
        "phase": measured.movements.select("transfer_id", "bytes", "time_ns", how="phase_provenance"),
        "role": measured.movements.select("transfer_id", "bytes", "time_ns", how="role_provenance"),
    }
    moved, took = (int(measured.movements[name].sum()) for name in ("bytes", "time_ns"))
    found = []
    for field, rows in parts.items():
        sums = rows.group_by(pl.col("how").fill_null(NO_PROVENANCE)).agg(
            pl.col("transfer_id").n_unique(), known_sum_expr("bytes"), known_sum_expr("time_ns")
        )
        for how, count, nbytes, time in sums.sort("how").iter_rows():
            found.append(
                Coverage(
                    field=field,
                    provenance=how,
                    movement_count=count,
                    bytes=nbytes,
                    bytes_share=None if nbytes is None or not moved else nbytes / moved,
                    time_ns=time,
                    time_share=None if time is None or not took else time / took,
                )
            )
    return tuple(found)


def _grouped(measured: Measured, by: str, how: str) -> list[dict[str, Any]]:
    shares = measured.shares.filter(pl.col(by).is_not_null())
    sums = shares.group_by(by).agg(
        movement_count=pl.col("transfer_id").n_unique(),
        bytes=known_sum_expr("bytes"),
        time_ns=known_sum_expr("time_ns"),
        **{name: known_sum_expr(name) for name in WIRE_PARTS},
    )
    spans = shares.select(by, "transfer_id").unique().join(
        measured.movements.select("transfer_id", *DEVICE, "start_ns", "end_ns"), on="transfer_id"
    )  # fmt: skip
    known_how: dict[object, dict[str, int]] = {}
    counts = shares.group_by(by, how).agg(pl.col("transfer_id").n_unique().alias("count"))
    for key, provenance, count in counts.sort(by, how).iter_rows():
        known_how.setdefault(key, {})[provenance] = count
    rows = sums.join(busy(spans, [by]), on=by, how="left").sort(by)
    return [{**row, "provenance": known_how[row[by]]} for row in rows.iter_rows(named=True)]
