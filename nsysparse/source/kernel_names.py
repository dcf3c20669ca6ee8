"""Kernels by their names: a kernel has ids of two, and either may be missing."""

import numpy as np
import polars as pl

from nsysparse.source.batch import Batch, Flags
from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec

KERNEL_NAMES = ("name_id", "short_name_id")


def has_name(kernels: Batch, ids: pl.Series) -> Flags:
    """Whether either name of each kernel is one of these."""
    known = ids.to_numpy()
    named = np.zeros(kernels.height, dtype=np.bool_)
    for name in KERNEL_NAMES:
        named |= np.isin(kernels.values(name), known) & kernels.known(name)
    return named


def named_by(export: Export, spec: TableSpec) -> bool:
    """Whether a file has names of kernels at all."""
    return any(spec.columns[name][0] in export.columns(spec.table) for name in KERNEL_NAMES)
