"""Kernels by their names: a kernel has ids of two, and either may be missing."""

import polars as pl

from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec

KERNEL_NAMES = ("name_id", "short_name_id")


def has_name(kernels: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """Whether either name of each kernel is one of these."""
    known = ids.unique().sort()
    return kernels.select(
        pl.any_horizontal(pl.col(name).is_in(known.implode()).fill_null(value=False) for name in KERNEL_NAMES)
    ).to_series()


def named_by(export: Export, spec: TableSpec) -> bool:
    """Whether a file has names of kernels at all."""
    return any(spec.columns[name][0] in export.columns(spec.table) for name in KERNEL_NAMES)
