"""What each decode device did between its first and its last decode work, and what transfers cost it."""

from collections.abc import Iterator, Mapping

import polars as pl

from nsysparse.analysis import DECODE, DecodeDevice
from nsysparse.frames import OF_DEVICE, device_key
from nsysparse.instants import Instants
from nsysparse.metrics.devices import Device, coming, devices, named, placed
from nsysparse.metrics.idle import idle
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.lives import lives
from nsysparse.metrics.measured import Measured
from nsysparse.metrics.on_clock import on_clock
from nsysparse.metrics.pace import slowdown, token_times

BY_STEPS, BY_KERNELS = "steps", "kernels"
"""What says when a device was at work: its decode steps, or all that it computed."""


def decode_devices(measured: Measured, journeys: Journeys) -> tuple[DecodeDevice, ...] | None:
    """The devices on which decode steps ran, by trace, ordinal and name.

    In a trace without decode steps that ran on a device: those of its transfers that decode made and prefill did not.
    A device is active from the start of the first to the end of the last compute of its decode steps, or without these
    of all its compute; idle is the time within in which no process computed on it, exact on its one clock.

    Args:
        measured: Transfers and their shares.
        journeys: Requests, steps, kernels and clocks.

    Returns:
        One result for each device; None where there is none.
    """
    steps = placed(journeys.steps.filter(phase=DECODE), journeys.work)
    of_device = _by_device(steps)
    work = _by_device(journeys.work.select(*OF_DEVICE, "start_ns", "end_ns", "is_compute", "shape"))
    comes = coming(measured).select("transfer_id", "trace_id", "place", "start_ns", "end_ns")
    known = named(measured, "request_id").drop_nulls("request_id")
    comes = comes.with_columns(has_name=pl.col("transfer_id").is_in(known["transfer_id"].implode()))
    paths: dict[str, pl.DataFrame] = {}
    found = []
    for device, basis in _chosen(measured, journeys, steps):
        key = (device.trace_id, device.key)
        mine = of_device.get(key, steps.clear())
        compute = journeys.compute.get(key)
        window = _window(mine, compute)
        if window is None or compute is None:
            continue
        if device.trace_id not in paths:
            paths[device.trace_id] = on_clock(journeys.paths, device.trace_id, journeys.clocks)
        here = comes.filter(pl.col("place").fill_null(device.gpu) == device.gpu, trace_id=device.trace_id)
        receives = Instants.covered(here.drop_nulls("place"))
        nameless = here.filter(~pl.col("has_name"))
        did_not = idle(window, compute, lives(device, mine, nameless, journeys, paths[device.trace_id]))
        with_transfer, without = token_times(mine, journeys.held, receives)
        ratio, kernels = (None, 0) if key not in work else slowdown(work[key], mine, receives)
        found.append(
            DecodeDevice(
                trace_id=device.trace_id,
                device_id=device.device_id,
                gpu=device.gpu,
                basis=basis,
                step_count=mine.height,
                active_ns=did_not.active_ns,
                idle_ns=did_not.idle_ns,
                idle_share=did_not.idle_ns / did_not.active_ns,
                by_reason=did_not.by_reason,
                idle_while_pending_ns=did_not.pending_ns,
                delayed_step_count=did_not.delayed_step_count,
                delayed_ns=did_not.delayed_ns,
                uncertainty_ns=did_not.uncertainty_ns,
                token_ms_with_transfer=with_transfer,
                token_ms_without_transfer=without,
                slowdown_ratio=ratio,
                slowdown_kernel_count=kernels,
            )
        )
    return tuple(found) or None


def _chosen(measured: Measured, journeys: Journeys, steps: pl.DataFrame) -> Iterator[tuple[Device, str]]:
    """The devices to report, and what says when each was at work."""
    stepping = set(steps.select(OF_DEVICE).unique().iter_rows())
    of_traces = {trace for trace, _ in stepping}
    moved = measured.transfers.filter(pl.col("purpose") != "other", pl.col("device_id").is_not_null())
    roles = moved.with_columns(device=device_key()).group_by(OF_DEVICE).agg(pl.col("role").unique())
    receiving = {(trace, device) for trace, device, role in roles.iter_rows() if role == [DECODE]}
    for device in devices(measured.transfers, journeys.work):
        key = (device.trace_id, device.key)
        if key in stepping:
            yield device, BY_STEPS
        elif key in receiving and device.trace_id not in of_traces:
            yield device, BY_KERNELS


def _by_device(rows: pl.DataFrame) -> Mapping[tuple[object, ...], pl.DataFrame]:
    return rows.partition_by(OF_DEVICE, as_dict=True)


def _window(steps: pl.DataFrame, compute: Instants | None) -> Instants | None:
    """From the first to the last compute of the steps, else of the device."""
    if steps.height:
        return Instants.covered(steps.select(pl.col("start_ns").min(), pl.col("end_ns").max()))
    if compute is None or not len(compute.starts):
        return None
    return Instants.span(int(compute.starts[0]), int(compute.ends[-1]))
