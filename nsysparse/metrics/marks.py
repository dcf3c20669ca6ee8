"""What there is to draw of a run: what ran from when to when, of which kind, where. Still on each trace's own clock.

Of transfers both sides are drawn, each where it ran: as wire and waiting where it is known when it did which, else as
one stretch, and where no more than a call was recorded as that call, or as the instant in which it began.
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from nsysparse.analysis import DECODE, PREFILL
from nsysparse.exchanges import as_timed
from nsysparse.exposure import wire_parts
from nsysparse.frames import OF_DEVICE
from nsysparse.metrics.devices import devices, placed
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import Measured
from nsysparse.sides import acts_as
from nsysparse.wire import windows

KINDS = (PREFILL, DECODE, "compute", "wire", "peer_wait", "transfer", "call")
"""What a mark may be: steps, compute of a device without steps, and transfers by what is known of them."""
COMPUTE, _WIRE, _WAIT, _TRANSFER, _CALL = KINDS[2:]
LANES = ("steps", COMPUTE, "sends", "receives", "transfers")
"""What a device may have a lane for; the last is of transfers of which it is not known which way they go."""
STRETCH = pl.Schema({
    "trace_id": pl.String,
    "gpu": pl.String,
    "process": pl.Int64,
    "lane": pl.String,
    "kind": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "request_id": pl.String,
})  # fmt: skip
"""The columns of what is drawn: `gpu` is null where no device is known, `process` only told there; `lane` is one of
`LANES`, `kind` of `KINDS`; times are null where none is known; `request_id` unless it is one request's alone."""
_UNIT = ["trace_id", "unit"]
_PLACE = ["trace_id", "gpu", "process", "lane"]
_FACTS = (
    "transfer_id", "trace_id", "gpu", "process", "purpose", "is_self", "interval_kind", "start_ns", "end_ns", "time_ns",
    "call_start_ns", "wire_ns", "wire_basis", "peer_wait_ns", "kernel_ops", "request_id",
)  # fmt: skip


class Computing(NamedTuple):
    """When compute ran on a device: there can be ten million stretches, so they stand apart.

    Attributes:
        trace_id: The trace.
        gpu: The device.
        times: `start_ns` and `end_ns` of stretches in order that do not touch, on the trace's own clock.
    """

    trace_id: str
    gpu: str
    times: pl.DataFrame


def stretches(measured: Measured, journeys: Journeys, met: pl.DataFrame) -> pl.DataFrame:
    """All that there is to draw but compute, in no particular order.

    Args:
        measured: Transfers of any purpose; those that count are drawn, but for copies to the own rank.
        journeys: Steps, and the requests that they hold.
        met: From `exchanges`, over all transfers.

    Returns:
        Columns of `STRETCH`.
    """
    steps = _steps(journeys, _names(measured, journeys))
    return pl.concat([steps, _transfers(measured, met)])


def computing(measured: Measured, journeys: Journeys, drawn: pl.DataFrame) -> Iterator[Computing]:
    """Compute of the devices of which no step is drawn.

    Args:
        measured: Transfers, which name devices.
        journeys: When compute ran.
        drawn: From `stretches`.
    """
    steps = drawn.filter(pl.col("lane") == "steps").select("trace_id", "gpu").unique()
    stepful = set(steps.iter_rows())
    names = {(trace, device): gpu for trace, device, gpu in _names(measured, journeys).iter_rows()}
    for (trace, device), ran in journeys.compute.items():
        gpu = names.get((trace, device))
        if gpu is not None and len(ran.starts) and (trace, gpu) not in stepful:
            yield Computing(trace, gpu, pl.DataFrame({"start_ns": ran.starts, "end_ns": ran.ends}))


def _names(measured: Measured, journeys: Journeys) -> pl.DataFrame:
    """What each device is called: `trace_id`, `device`, `gpu`."""
    return pl.DataFrame(
        [(each.trace_id, each.key, each.gpu) for each in devices(measured.transfers, journeys.work)],
        schema=dict.fromkeys((*OF_DEVICE, "gpu"), pl.String),
        orient="row",
    )


def _steps(journeys: Journeys, names: pl.DataFrame) -> pl.DataFrame:
    """Steps where their compute ran, and those of which none is known where their range was open."""
    ran = placed(journeys.steps, journeys.work).join(names, on=OF_DEVICE)
    host = journeys.steps.join(ran, on="step_id", how="anti").with_columns(gpu=pl.lit(None, pl.String))
    columns = ["step_id", "trace_id", "gpu", "process", "phase", "start_ns", "end_ns"]
    single = journeys.held.filter(pl.len().over("step_id") == 1)
    both = pl.concat([ran.select(columns), host.select(columns)]).join(single, on="step_id", how="left")
    return _drawn(both.with_columns(lane=pl.lit("steps"), kind="phase"))


def _transfers(measured: Measured, met: pl.DataFrame) -> pl.DataFrame:
    """Both sides of the transfers that count."""
    lanes = {"send": "sends", "recv": "receives"}
    every = as_timed(measured.transfers).select(
        *_FACTS,
        unit=pl.coalesce("group_key", -(2**62) - pl.col("transfer_id").cast(pl.Int64)),
        lane=acts_as().replace_strict(lanes, default="transfers", return_dtype=pl.String),
        is_timed=pl.all_horizontal(pl.col("start_ns", "end_ns").is_not_null()),
    )
    counted = every.filter(pl.col("purpose").is_in(measured.purposes), ~pl.col("is_self").fill_null(value=False))
    is_call = (pl.col("interval_kind") == "call").fill_null(value=False) | ~pl.col("is_timed")
    # Where no interval was recorded, a call may be a range that nobody closed: then only its beginning is its own.
    calls = counted.filter(is_call).with_columns(
        *(pl.when("is_timed").then(name).otherwise("call_start_ns").alias(name) for name in ("start_ns", "end_ns")),
        kind=pl.lit(_CALL),
    )
    spans = counted.filter(~is_call)
    split = _split(every, spans, windows(met))
    whole = spans.join(split, on="transfer_id", how="anti").with_columns(kind=pl.lit(_TRANSFER))
    return pl.concat([_drawn(calls), _drawn(whole), _drawn(split)])


def _split(every: pl.DataFrame, spans: pl.DataFrame, present: pl.DataFrame) -> pl.DataFrame:
    """When each transfer, or those that share kernels, was on the wire and when it waited.

    Of none in whose interval kernels or copies leave pauses: there it is known how long it was on the wire, and not
    when.

    Returns:
        Columns of `STRETCH` and `transfer_id`: the stretches of each one add up to its interval.
    """
    facts = ["transfer_id", *_PLACE, "request_id", "unit", "start_ns", "end_ns"]
    told = spans.filter(pl.col("peer_wait_ns").is_not_null()).select(
        *facts, "time_ns", "kernel_ops", wire="wire_ns", basis="wire_basis"
    )
    alone = told.filter(pl.col("kernel_ops").fill_null(1) == 1)
    shared = told.filter(pl.col("kernel_ops") > 1)
    sums = [pl.col("time_ns").sum(), pl.when(pl.col("wire_ns").null_count() == 0).then(pl.col("wire_ns").sum())]
    units = (
        every.select(*_UNIT, "start_ns", "end_ns", "time_ns", "wire_ns", basis="wire_basis")
        .join(shared, on=_UNIT, how="semi")
        .group_by(_UNIT)
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("basis").first(), *sums)
        .rename({"wire_ns": "wire"})
    )
    of_units = _parts(units, present).join(shared.drop("start_ns", "end_ns"), on=_UNIT)
    found = [_parts(alone, present), of_units]
    return pl.concat([each.select(*facts, "kind") for each in found])


def _parts(units: pl.DataFrame, present: pl.DataFrame) -> pl.DataFrame:
    """Each unit's parts on the wire, and what of its interval lies before, between and after them: it waited.

    Args:
        units: As `wire_parts` takes them, with `time_ns`.
        present: Their `windows`.

    Returns:
        The columns of `units`, with the times of a part, and `kind`.
    """
    steady = units.filter(pl.col("time_ns") == pl.col("end_ns") - pl.col("start_ns"))
    length = pl.col("end_ns") - pl.col("start_ns")
    found = (
        wire_parts(steady.with_columns(since="start_ns", until="end_ns"), present)
        .filter(length > 0)
        .sort("unit", "trace_id", "start_ns")
        .with_columns(part=_differs(*_UNIT, by=1).cum_sum())
    )
    since = pl.when(_differs("part", by=1)).then("since").otherwise(pl.col("end_ns").shift(1))
    parts = found.with_columns(kind=pl.lit(_WIRE), since=since, is_last=_differs("part", by=-1))
    before = parts.with_columns(start_ns="since", end_ns="start_ns", kind=pl.lit(_WAIT))
    after = parts.filter("is_last").with_columns(start_ns="end_ns", end_ns="until", kind=pl.lit(_WAIT))
    waits = pl.concat([before, after]).filter(length > 0)
    return pl.concat([parts, waits]).select(*units.columns, "kind")


def _differs(*columns: str, by: int) -> pl.Expr:
    """Whether a row is of another unit than the one before it, or (`by` -1) the one after it."""
    return pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(by)) for name in columns)


def _drawn(rows: pl.DataFrame) -> pl.DataFrame:
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in STRETCH.items() if name not in rows.columns]
    whose = pl.when(pl.col("gpu").is_null()).then("process").alias("process")
    return rows.with_columns(absent).with_columns(whose).select(list(STRETCH)).cast(STRETCH)
