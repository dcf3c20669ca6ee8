"""What there is to draw of a run: what ran from when to when, of which kind, where. Still on each trace's own clock.

Of transfers both sides are drawn, each where it ran: as wire and waiting where it is known when it did which, else as
one stretch, and where no more than a call was recorded as that call.
"""

import polars as pl

from nsysparse.exchanges import as_timed
from nsysparse.exposure import wire_parts
from nsysparse.metrics.devices import OF_DEVICE, devices, placed
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import Measured
from nsysparse.roles import DECODE, PREFILL
from nsysparse.sides import acts_as, other_side
from nsysparse.wire import windows

KINDS = (PREFILL, DECODE, "compute", "wire", "peer_wait", "transfer", "call")
"""What a mark may be: steps, compute of a device without steps, and transfers by what is known of them."""
_COMPUTE, _WIRE, _WAIT, _TRANSFER, _CALL = KINDS[2:]
LANES = ("steps", "compute", "sends", "receives", "transfers")
"""What a device may have a lane for; the last is of transfers of which it is not known which way they go."""
STRETCH = {
    "trace_id": pl.String,
    "gpu": pl.String,
    "process": pl.Int64,
    "lane": pl.String,
    "kind": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "request_id": pl.String,
}
"""The columns of what is drawn: `gpu` is null where no device is known, `process` only told there; `lane` is one of
`LANES`, `kind` of `KINDS`; times are null where none is known; `request_id` unless it is one request's alone."""
_UNIT = ["trace_id", "unit"]


def stretches(measured: Measured, journeys: Journeys, met: pl.DataFrame) -> pl.DataFrame:
    """All that there is to draw, in no particular order.

    Args:
        measured: Transfers of any purpose; those that count are drawn, but for copies to the own rank.
        journeys: Steps, the requests that they hold, and compute.
        met: From `exchanges`, over all transfers.

    Returns:
        Columns of `STRETCH`.
    """
    names = pl.DataFrame(
        [(each.trace_id, each.key, each.gpu) for each in devices(measured.transfers, journeys.work)],
        schema=dict.fromkeys((*OF_DEVICE, "gpu"), pl.String),
        orient="row",
    )
    steps = _steps(journeys, names)
    return pl.concat([steps, _compute(journeys, names, steps), _transfers(measured, met)])


def _steps(journeys: Journeys, names: pl.DataFrame) -> pl.DataFrame:
    """Steps where their compute ran, and those without any where their range was open."""
    ran = placed(journeys.steps, journeys.work).join(names, on=OF_DEVICE)
    host = journeys.steps.filter(~pl.col("is_projected")).with_columns(gpu=pl.lit(None, pl.String))
    columns = ["step_id", "trace_id", "gpu", "process", "phase", "start_ns", "end_ns"]
    requests = journeys.held.group_by("step_id").agg(
        request_id=pl.when(pl.col("request_id").n_unique() == 1).then(pl.col("request_id").first())
    )
    both = pl.concat([ran.select(columns), host.select(columns)]).join(requests, on="step_id", how="left")
    return _drawn(both.with_columns(lane=pl.lit("steps"), kind="phase"))


def _compute(journeys: Journeys, names: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Compute of the devices of which no step is known."""
    named = journeys.compute.filter(pl.col("end_ns") > pl.col("start_ns")).join(names, on=OF_DEVICE)
    stepless = named.join(steps, on=["trace_id", "gpu"], how="anti")
    return _drawn(stepless.with_columns(lane=pl.lit("compute"), kind=pl.lit(_COMPUTE)))


def _transfers(measured: Measured, met: pl.DataFrame) -> pl.DataFrame:
    """Both sides of the transfers that count."""
    every = as_timed(measured.transfers).with_columns(
        unit=pl.coalesce("group_key", -(2**62) - pl.col("transfer_id").cast(pl.Int64))
    )
    lane = pl.col("acts_as").replace_strict({"send": "sends", "recv": "receives"}, default="transfers")
    counted = every.filter(
        pl.col("purpose").is_in(measured.purposes), ~pl.col("is_self").fill_null(value=False)
    ).with_columns(acts_as=acts_as())
    known = _with_request(counted, measured).with_columns(lane=lane)
    timed = pl.all_horizontal(pl.col("start_ns", "end_ns").is_not_null())
    is_call = (pl.col("interval_kind") == "call").fill_null(value=False) | ~timed
    calls = known.filter(is_call).with_columns(
        pl.when(timed).then("start_ns").otherwise("call_start_ns").alias("start_ns"),
        pl.when(timed).then("end_ns").otherwise("call_end_ns").alias("end_ns"),
        kind=pl.lit(_CALL),
    )
    spans = known.filter(~is_call)
    parts = _parts(every, spans, met)
    whole = spans.join(parts, on=_UNIT, how="anti").with_columns(kind=pl.lit(_TRANSFER))
    split = spans.drop("start_ns", "end_ns").join(parts, on=_UNIT)
    return pl.concat([_drawn(calls), _drawn(whole), _drawn(split)])


def _with_request(counted: pl.DataFrame, measured: Measured) -> pl.DataFrame:
    """Transfers that name no request with that which their other side names, where it is proven that they met."""
    silent = counted.filter(pl.col("request_id").is_null(), pl.col("pairing_proof").is_not_null())
    pairs = measured.transfers.join(silent, on="pair_id", how="semi")
    told = other_side(pairs, "request_id")
    return counted.join(told, on="transfer_id", how="left").with_columns(
        request_id=pl.when(pl.col("request_id").is_null() & pl.col("pairing_proof").is_not_null())
        .then("far_request_id")
        .otherwise("request_id")
    )


def _parts(every: pl.DataFrame, spans: pl.DataFrame, met: pl.DataFrame) -> pl.DataFrame:
    """When each transfer, or those that share kernels, was on the wire and when it waited.

    Of none in whose interval kernels or copies leave pauses, nor of one whose wire time is not that of its windows:
    there it is known how long it was on the wire, and not when.

    Returns:
        `trace_id`, `unit`, `kind`, `start_ns`, `end_ns`: these add up to the interval.
    """
    told = spans.filter(pl.col("peer_wait_ns").is_not_null(), pl.col("end_ns") > pl.col("start_ns"))
    fused = every.join(told.filter(pl.col("kernel_ops") > 1), on=_UNIT, how="semi").group_by(_UNIT).agg(
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("time_ns").sum(),
        wire=pl.when(pl.col("wire_ns").is_not_null().all()).then(pl.col("wire_ns").sum()),
        basis=pl.col("wire_basis").first(),
    )  # fmt: skip
    alone = told.filter(pl.col("kernel_ops").fill_null(1) == 1).with_columns(wire="wire_ns", basis="wire_basis")
    units = pl.concat([alone.select(fused.columns), fused]).filter(
        pl.col("wire").is_not_null(), pl.col("time_ns") == pl.col("end_ns") - pl.col("start_ns")
    )
    length = pl.col("end_ns") - pl.col("start_ns")
    on_wire = wire_parts(units, windows(met)).filter(length > 0)
    sums = on_wire.group_by(_UNIT).agg(found=length.sum())
    exact = units.join(sums, on=_UNIT, how="left").filter(pl.col("found").fill_null(0) == pl.col("wire"))
    wire = on_wire.join(exact, on=_UNIT, how="semi").select(*_UNIT, "start_ns", "end_ns", kind=pl.lit(_WIRE))
    return pl.concat([wire, _between(exact, wire)])


def _between(units: pl.DataFrame, wire: pl.DataFrame) -> pl.DataFrame:
    """What of the interval of each unit lies before, between and after its parts on the wire: it waited."""
    edges = pl.concat(
        [
            units.select(*_UNIT, since="start_ns", until="start_ns"),
            wire.select(*_UNIT, since="end_ns", until="start_ns"),
            units.select(*_UNIT, since="end_ns", until="end_ns"),
        ]
    ).sort(*_UNIT, "until", "since")
    same = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in _UNIT)
    waits = edges.select(
        *_UNIT, start_ns=pl.when(same).then(pl.col("since").shift(1)), end_ns="until", kind=pl.lit(_WAIT)
    )
    return waits.filter(pl.col("end_ns") > pl.col("start_ns"))


def _drawn(rows: pl.DataFrame) -> pl.DataFrame:
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in STRETCH.items() if name not in rows.columns]
    whose = pl.when(pl.col("gpu").is_null()).then("process").alias("process")
    return rows.with_columns(absent).with_columns(whose).select(list(STRETCH)).cast(STRETCH)
