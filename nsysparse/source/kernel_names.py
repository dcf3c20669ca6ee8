"""Kernels by their names: a kernel has ids of two, and either may be missing."""

import numpy as np
import polars as pl

from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec

KERNEL_NAMES = ("name_id", "short_name_id")


def has_name(kernels: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """Whether either name of each kernel is one of these."""
    known = ids.to_numpy()
    named = np.zeros(kernels.height, dtype=np.bool_)
    for column in (kernels[name] for name in KERNEL_NAMES):
        found = np.isin(column.fill_null(0).to_numpy(), known)
        named |= found & column.is_not_null().to_numpy() if column.null_count() else found
    return pl.Series(named)


def named_by(export: Export, spec: TableSpec) -> bool:
    """Whether a file has names of kernels at all."""
    return any(spec.columns[name][0] in export.columns(spec.table) for name in KERNEL_NAMES)
