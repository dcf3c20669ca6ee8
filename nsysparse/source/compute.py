"""Read when compute ran, for what transfers may hide behind."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import dataframely as dy
import numpy as np
import polars as pl

from nsysparse.frames import Compute, device_key, thread_process
from nsysparse.intervals import Ints, merge
from nsysparse.source import schema
from nsysparse.source.devices import with_gpu
from nsysparse.source.export import Export, string_ids_like
from nsysparse.source.kernel_names import KERNEL_NAMES, has_name
from nsysparse.source.scan import Keep
from nsysparse.source.usable import LONGEST_NS, MAX_TIME_NS

_PLACE = ["device_id", "process"]


def read_compute(export: Export, trace_id: str, ops: pl.DataFrame, work: pl.DataFrame) -> dy.DataFrame[Compute]:
    """When compute ran on every device on which something of `ops` or `work` did.

    Args:
        export: The open file.
        trace_id: Name of this input within the command.
        ops: GPU work that transfers may be made of; without any, nothing can be hidden behind compute.
        work: All kernels, where they were read anyway (columns of `Work`).

    Returns:
        Intervals merged at once: there can be millions of kernels. Nothing else of these is read.
    """
    if work.height:
        ran = _busy(work.filter("is_compute"), ["device"])
    elif ops.is_empty() or not export.has(schema.KERNEL):
        return Compute.create_empty()
    else:
        ran = _read(export)
    # A device without compute has an interval of no length: nothing is hidden there, which is not the same as unknown.
    devices = pl.concat([ops.select(device=device_key()), work.select("device")]).unique()["device"]
    idle = [_Busy(device, *_NONE) for device in devices.to_list()]
    lanes: dict[str, list[_Busy]] = {}
    for each in [*idle, *ran]:
        lanes.setdefault(str(each.key), []).append(each)
    parts = [_rows(trace_id, device, lanes[device]) for device in sorted(lanes)]
    return Compute.validate(pl.concat([Compute.create_empty(), *parts]))


class _Busy(NamedTuple):
    """When something ran on a device, of a process or of all."""

    key: object
    starts: Ints
    ends: Ints


_NONE: tuple[Ints, Ints] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _rows(trace_id: str, device: str, parts: Sequence[_Busy]) -> pl.DataFrame:
    """All intervals of a device, merged, after one of no length."""
    starts, ends = merge(*(np.concatenate([each[edge] for each in parts]) for edge in (1, 2)))
    names = {name: pl.lit(text).cast(pl.Categorical) for name, text in (("trace_id", trace_id), ("device", device))}
    times = {name: np.concatenate([[0], values]) for name, values in (("start_ns", starts), ("end_ns", ends))}
    return pl.DataFrame(times).sort("start_ns", "end_ns").select(**names, start_ns="start_ns", end_ns="end_ns")


def _read(export: Export) -> list[_Busy]:
    """When kernels that are not NCCL's, or graphs recorded whole, ran, by the key of their device."""
    of_nccl = export.ids(string_ids_like("%nccl%"))
    other = Keep(KERNEL_NAMES, lambda batch: ~has_name(batch, of_nccl))
    kernels = export.scan(schema.KERNEL_TIMES, _placed, keep=other)
    graphs = export.scan(schema.GRAPH_TIMES, _placed)
    lanes: dict[Any, list[_Busy]] = {}
    for each in chain.from_iterable([*kernels.parts, *graphs.parts]):
        lanes.setdefault(each.key, []).append(each)
    places = pl.DataFrame(list(lanes), schema=dict.fromkeys(_PLACE, pl.Int64), orient="row")
    devices = with_gpu(export, places).select(*_PLACE, device=device_key())
    named = {(row[0], row[1]): row[2] for row in devices.iter_rows()}
    return [each._replace(key=named[place]) for place, found in lanes.items() for each in found]


def _placed(batch: pl.DataFrame) -> list[_Busy]:
    """When the sane rows of a batch ran, by device and process."""
    sane = pl.col("start_ns").is_between(-MAX_TIME_NS, MAX_TIME_NS) & (
        pl.col("end_ns") - pl.col("start_ns")
    ).is_between(1, LONGEST_NS)
    known = batch.drop_nulls(["start_ns", "end_ns", "device_id"]).filter(sane)
    return _busy(known.with_columns(process=thread_process(pl.col("global_pid"))), _PLACE)


def _busy(rows: pl.DataFrame, place: list[str]) -> list[_Busy]:
    """Rows merged by their place: those that follow each other at once are one interval."""
    return [
        _Busy(key if len(key) > 1 else key[0], *merge(lane["start_ns"].to_numpy(), lane["end_ns"].to_numpy()))
        for key, lane in rows.group_by(place, maintain_order=True)
    ]
