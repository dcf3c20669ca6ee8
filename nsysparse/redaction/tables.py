"""The other tables of a copy: their known columns, the rows that are read, and nothing where nothing is."""

import polars as pl

from nsysparse.frames import THREAD_BITS
from nsysparse.redaction.columns import STRING_IDS, TEXTS, Known
from nsysparse.redaction.events import Moved
from nsysparse.redaction.file import Copy
from nsysparse.redaction.names import Names
from nsysparse.redaction.texts import Texts
from nsysparse.source import counters, schema
from nsysparse.source.export import Export
from nsysparse.source.launched import launching_pairs
from nsysparse.source.pair_index import NO_PAIR, PairIndex
from nsysparse.source.sql import Piece, among

_SQL = {pl.Int64: "INTEGER", pl.Float64: "REAL", pl.String: "TEXT"}
_KERNELS = schema.KERNEL.table
_NO_TEXT = 1 << 40
"""From here on ids are of no string: a file has fewer."""
_IN_PART = frozenset({schema.RUNTIME.table, schema.GPU_METRICS.table, schema.NIC_METRICS.table})
"""Tables of which rows are left out. That any were recorded is a fact of its own, even where none of them is read."""


class Tables:
    """Copies tables of one file.

    Args:
        export: The open file.
        names: What names of kernels and calls become.
        texts: The strings of the copy.
        moved: What becomes of instants.
    """

    def __init__(self, export: Export, names: Names, texts: Texts, moved: Moved) -> None:
        """Nothing is copied yet."""
        self._export, self._names, self._texts, self._moved = export, names, texts, moved
        self._strings: dict[tuple[str, int], int] = {}
        self._unknown: dict[int, int] = {}
        self._launching: PairIndex | None = None

    def write(self, copy: Copy, known: Known) -> None:
        """Copy a table that the file has; a text column that nobody vouched for stays empty."""
        present = self._export.columns(known.table)
        columns = {ours: column for ours, column in known.columns.items() if column[0] in present}
        if not columns:
            return
        copy.create(known.table, {theirs: _SQL[dtype] for theirs, dtype in columns.values()})
        spec = Known(known.table, columns).spec()
        order = [theirs for theirs, _ in columns.values()]
        silent = [ours for ours, (_, dtype) in columns.items()
                  if dtype is pl.String and ours not in TEXTS.get(known.table, ())]  # fmt: skip
        for batch in self._export.batches(spec, where=self._where(known.table)):
            kept = self._of_interest(known.table, batch)
            kept = kept.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in silent)
            named = kept.with_columns(self._named(known.table, kept[name]) for name in columns if name in STRING_IDS)
            copy.add(known.table, order, self._moved.moved(self._of_clock(known.table, named)).iter_rows())
        if known.table in _IN_PART and not copy.rows[known.table] and self._export.has_rows(known.table):
            copy.add(known.table, order, [tuple(0 if dtype is pl.Int64 else None for _, dtype in columns.values())])

    def _where(self, table: str) -> Piece | None:
        """Of counters those that are read."""
        read = {schema.GPU_METRICS.table: ("metricId", counters.gpu_metric_ids),
                schema.GPU_METRIC_NAMES.table: ("metricId", counters.gpu_metric_ids),
                schema.NIC_METRICS.table: ("metricsListId", counters.nic_metric_lists),
                schema.NIC_METRIC_NAMES.table: ("metricsListId", counters.nic_metric_lists)}  # fmt: skip
        if table not in read:
            return None
        column, ids = read[table]
        return among(column, ids(self._export)) if column in self._export.columns(table) else Piece("0")

    def _of_interest(self, table: str, batch: pl.DataFrame) -> pl.DataFrame:
        """Of CUDA calls those that launched something, and those that are counted because they say too little."""
        if table in (schema.GPU_METRIC_NAMES.table, schema.NIC_METRIC_NAMES.table):
            return batch.filter(counters.is_read(pl.col("metric")))
        if table != schema.RUNTIME.table or not {"thread", "correlation_id"} <= set(batch.columns):
            return batch
        if self._launching is None:
            self._launching = launching_pairs(self._export)
        thread, call = (batch[name].fill_null(0).to_numpy() for name in ("thread", "correlation_id"))
        launched = pl.Series(self._launching.find(thread >> THREAD_BITS, call) != NO_PAIR)
        told = launched & batch["correlation_id"].is_not_null()
        return batch.filter(told | batch["thread"].is_null())

    def _named(self, table: str, ids: pl.Series) -> pl.Series:
        """Ids of strings as the copy has them; one that means no string means none there too, and stays its own."""
        change = self._names.kernel if table == _KERNELS else self._names.call
        fresh = [each for each in ids.drop_nulls().unique().sort().to_list() if (table, each) not in self._strings]
        if fresh:
            known = dict(self._export.read_strings(pl.Series(fresh, dtype=pl.Int64)).iter_rows())
            for each in fresh:
                text = known.get(each)
                if text is None:
                    self._strings[table, each] = self._unknown.setdefault(each, _NO_TEXT + len(self._unknown))
                else:
                    self._strings[table, each] = self._texts.id_of(change(text))
        return pl.Series(ids.name, [None if each is None else self._strings[table, each] for each in ids], pl.Int64)

    def _of_clock(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The length of the recording counts from the zero of its clock, and moves with it."""
        if table != schema.ANALYSIS.table or not self._moved.by_ns:
            return rows
        left = pl.col("duration_ns") - self._moved.by_ns
        return rows.with_columns(duration_ns=pl.when(left > 0).then(left))
