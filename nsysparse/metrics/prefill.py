"""What sending KV cost each prefill device: steps that stood still, layers that were not hidden, tails."""

from collections.abc import Iterator

import polars as pl

from nsysparse.analysis import PREFILL, Distribution, PrefillDevice, PrefillLayer
from nsysparse.apportion import apportioned
from nsysparse.frames import OF_DEVICE
from nsysparse.instants import Instants
from nsysparse.metrics.devices import devices, going, named, placed
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import Measured, distribution
from nsysparse.units import NS_PER_MS


def prefill_devices(measured: Measured, journeys: Journeys) -> tuple[PrefillDevice, ...] | None:
    """The devices on which prefill steps ran and of which sends of KV were recorded, by trace, ordinal and name.

    Where others fetch KV, nothing is recorded of a device's sends, so nothing is known of their cost. All is exact, on
    the one clock of the trace.

    Args:
        measured: Transfers and their shares.
        journeys: Steps, the requests that they hold, and compute.

    Returns:
        One result for each device; None where there is none.
    """
    steps = placed(journeys.steps.filter(phase=PREFILL), journeys.work)
    of_device = steps.partition_by(OF_DEVICE, as_dict=True)
    sends = going(measured)
    layers, requests = named(measured, "layer"), named(measured, "request_id").drop_nulls()
    found = []
    for device in devices(measured.transfers, journeys.work):
        key = (device.trace_id, device.key)
        mine = sends.filter(trace_id=device.trace_id, place=device.gpu)
        if key not in of_device or key not in journeys.compute or mine.is_empty():
            continue
        step = Instants.covered(of_device[key])
        sending = Instants.covered(mine)
        exposed = sending.without(journeys.compute[key])
        stall = exposed.both(step).length
        found.append(
            PrefillDevice(
                trace_id=device.trace_id,
                device_id=device.device_id,
                gpu=device.gpu,
                step_count=of_device[key].height,
                step_ns=step.length,
                stall_ns=stall,
                stall_share=stall / step.length,
                send_ns=sending.length,
                exposed_ns=exposed.length,
                layers=tuple(_layers(mine, layers)),
                tail_ms=_tails(mine, requests, of_device[key].join(journeys.held, on="step_id")),
            )
        )
    return tuple(found) or None


def _layers(sends: pl.DataFrame, layers: pl.DataFrame) -> Iterator[PrefillLayer]:
    """The time of the sends of each layer, behind compute and outside; what names no layer is left out.

    One that carries several layers is divided among these as its bytes are, by the largest-remainder rule.
    """
    known = sends.drop_nulls(["time_ns", "overlapped_ns"]).select(
        "transfer_id", "overlapped_ns", exposed_ns=pl.col("time_ns") - pl.col("overlapped_ns")
    )
    rows = known.join(layers, on="transfer_id").sort("transfer_id", "layer", nulls_last=True)
    sums = None
    for amount in ("overlapped_ns", "exposed_ns"):
        parts = apportioned(rows.select("layer", "weight", group="transfer_id", total=amount))
        summed = parts.drop_nulls("layer").group_by("layer").agg(pl.col("part").sum().alias(amount))
        sums = summed if sums is None else sums.join(summed, on="layer")
    for layer, hidden, exposed in () if sums is None else sums.sort("layer").iter_rows():
        whole = hidden + exposed
        yield PrefillLayer(layer, whole, exposed, hidden, exposed / whole if whole else None)


def _tails(sends: pl.DataFrame, requests: pl.DataFrame, held: pl.DataFrame) -> Distribution | None:
    """Per request how long after the end of its last prefill step on the device its last send there ended, in ms."""
    prefilled = held.group_by("request_id").agg(done=pl.col("end_ns").max())
    sent = sends.select("transfer_id", "end_ns").join(requests, on="transfer_id")
    last = sent.group_by("request_id").agg(sent=pl.col("end_ns").max()).join(prefilled, on="request_id")
    return distribution((last["sent"] - last["done"]).clip(0) / NS_PER_MS)
