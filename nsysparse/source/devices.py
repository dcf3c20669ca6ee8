"""Which devices a file names, and which of them an ordinal means."""

import polars as pl

from nsysparse.analysis import Gpu
from nsysparse.frames import pid
from nsysparse.source import schema
from nsysparse.source.export import Export


def read_gpus(export: Export, ops: pl.DataFrame) -> tuple[Gpu, ...]:
    """Devices by GPU id, or CUDA ordinal where the file has no ids: those it names, and all that ran something."""
    hardware = export.read(schema.GPUS).sort("gpu_id")
    names = dict(hardware.select("gpu_id", "name").iter_rows())
    if not export.has(schema.CUDA_DEVICES):  # older files: one CUDA ordinal per GPU
        ordinals = hardware.select(pl.coalesce("cuda_device", "gpu_id"), "name")
        names = dict(ordinals.iter_rows())
    for device in ops.select(pl.coalesce("gpu_id", "device_id"))["gpu_id"].unique().to_list():
        names.setdefault(device, None)
    return tuple(Gpu(device, names[device]) for device in sorted(names))


def with_gpu(export: Export, ops: pl.DataFrame) -> pl.DataFrame:
    """Add `gpu_id`, and that of a copy's two ends: ordinals of devices are a process's own, which the file may map."""
    mapped = export.read(schema.CUDA_DEVICES).drop_nulls(["gpu_id", "device_id", "pid"])
    one = mapped.group_by("device_id", "pid").agg(pl.col("gpu_id").unique()).filter(pl.col("gpu_id").list.len() == 1)
    one = one.with_columns(pl.col("gpu_id").list.first())
    ops = ops.with_columns(pid=pid(pl.col("process")))
    for end in ("", "src_", "dst_"):
        if f"{end}device_id" not in ops.columns:
            continue
        named = one.select("pid", pl.col("device_id", "gpu_id").name.prefix(end))
        ops = ops.join(named, on=[f"{end}device_id", "pid"], how="left", maintain_order="left")
    return ops.drop("pid")
