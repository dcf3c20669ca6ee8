"""Read when compute ran, for what transfers may hide behind."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import polars as pl

from nsysparse.frames import THREAD_BITS, device_key
from nsysparse.instants import Busy, Instants
from nsysparse.intervals import Ints, merge
from nsysparse.source import schema
from nsysparse.source.batch import Batch
from nsysparse.source.devices import with_gpu
from nsysparse.source.export import Export
from nsysparse.source.kernel_names import KERNEL_NAMES, has_name
from nsysparse.source.numbering import Numbering
from nsysparse.source.usable import are_usable

_HALF = 32  # bits of one of two numbers
_NOBODY = 1 << 62  # no process has this number: they have 40 bits


def read_compute(export: Export, trace_id: str, ops: pl.DataFrame, work: pl.DataFrame, noted: "Noted") -> Busy:
    """When compute ran on every device on which something of `ops` or `work` did.

    Args:
        export: The open file.
        trace_id: Name of this input within the command.
        ops: GPU work that transfers may be made of; without any, nothing can be hidden behind compute.
        work: All kernels, where they were read anyway (columns of `Work`).
        noted: What was noted of kernels while they were read for something else.

    Returns:
        Intervals merged at once: there can be millions of kernels. Nothing else of these is read.
    """
    if work.height:
        ran = {
            str(device): [(lane["start_ns"].to_numpy(), lane["end_ns"].to_numpy())]
            for (device,), lane in work.filter("is_compute").group_by("device")
        }
    elif ops.is_empty() or not export.has(schema.KERNEL):
        return {}
    else:
        ran = noted.by_device(export)
    # On a device without compute nothing is hidden, which is not the same as unknown.
    idle = pl.concat([ops.select(device=device_key()), work.select("device")]).unique()["device"].to_list()
    return {(trace_id, device): _joined(ran.get(device, [])) for device in sorted({*idle, *ran})}


_NONE: Ints = np.zeros(0, dtype=np.int64)
Intervals = tuple[Ints, Ints]


def _joined(parts: Sequence[Intervals]) -> Instants:
    """What any of the intervals of a device covers."""
    return Instants.of(*(np.concatenate([_NONE, *(each[edge] for each in parts)]) for edge in (0, 1)))


class Noted:
    """When kernels that are not NCCL's ran, noted while the table is read for others: it is the largest of all."""

    needs = (*KERNEL_NAMES, "start_ns", "end_ns", "device_id", "global_pid")

    def __init__(self, export: Export) -> None:
        """Look up NCCL's names; no kernel is noted yet."""
        self._of_nccl = export.ids_like("%nccl%")
        self._places = _Places(Numbering(), Numbering(), Numbering())
        self._kernels: Sequence[list[tuple[int, Intervals]]] | None = None

    def within(self, batch: Batch) -> list[tuple[int, Intervals]]:
        """What there is to note of a batch of kernels; it has the columns `needs`."""
        return self._places.busy(batch.only(~has_name(batch, self._of_nccl)))

    def take(self, kernels: Sequence[list[tuple[int, Intervals]]]) -> None:
        """Note what `within` said of all batches."""
        self._kernels = kernels

    def by_device(self, export: Export) -> dict[str, list[Intervals]]:
        """When kernels that are not NCCL's, or graphs recorded whole, ran, by the key of their device."""
        kernels = export.scan(schema.KERNEL_TIMES, self.within).parts if self._kernels is None else self._kernels
        graphs = export.scan(schema.GRAPH_TIMES, self._places.busy).parts
        keys = with_gpu(export, self._places.frame()).select(device_key()).to_series().to_list()
        found: dict[str, list[Intervals]] = {}
        for place, intervals in chain.from_iterable([*kernels, *graphs]):
            found.setdefault(keys[place], []).append(intervals)
        return found


class _Places(NamedTuple):
    """Numbers for the pairs of a process and a device."""

    processes: Numbering
    devices: Numbering
    pairs: Numbering

    def busy(self, batch: Batch) -> list[tuple[int, Intervals]]:
        """When the sane rows of a batch ran, by the number of their place: what follows on at once is one interval."""
        starts, ends = batch.values("start_ns"), batch.values("end_ns")
        sane = batch.known("start_ns", "end_ns", "device_id") & are_usable(starts, ends) & (ends > starts)
        process = np.where(batch.known("global_pid"), batch.values("global_pid") >> THREAD_BITS, _NOBODY)[sane]
        device = self.devices.of(batch.values("device_id")[sane])
        place = self.pairs.of(self.processes.of(process).astype(np.int64) << _HALF | device)
        order = np.argsort(place, kind="stable")
        place, starts, ends = place[order], starts[sane][order], ends[sane][order]
        borders = np.flatnonzero(place[1:] != place[:-1]) + 1
        lanes = zip(*(np.split(column, borders) for column in (place, starts, ends)), strict=True)
        return [(int(lane[0]), merge(begun, ended)) for lane, begun, ended in lanes if len(lane)]

    def frame(self) -> pl.DataFrame:
        """`process` (null where it is not known) and `device_id` by number."""
        process = self.processes.values[self.pairs.values >> _HALF]
        device = self.devices.values[self.pairs.values & (1 << _HALF) - 1]
        owned = pl.when(pl.col("process") != _NOBODY).then("process").alias("process")
        return pl.DataFrame({"process": process, "device_id": device}).with_columns(owned)
