"""NVTX events of a copy: ranges, marks and the rows that name domains; all text as ids, payloads as known fields."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from nsysparse.frames import THREAD_BITS
from nsysparse.redaction.file import Copy
from nsysparse.redaction.names import Label, Names
from nsysparse.redaction.payloads import Rewritten
from nsysparse.redaction.texts import Texts
from nsysparse.source import nccl_domain, nccl_trace, nixl_domain, schema
from nsysparse.source.export import Export
from nsysparse.source.nvtx import STYLE_OF
from nsysparse.source.schema import ROW, TableSpec
from nsysparse.source.sql import among, quoted
from nsysparse.source.usable import MAX_TIME_NS

_DOMAIN_ROW = schema.NVTX_DOMAIN_CREATE
_WANTED = (*STYLE_OF, _DOMAIN_ROW)
_CALLED = ("thread", "domain_id", "text_id", "text")
_SPEC = TableSpec(
    schema.NVTX.table,
    {name: column for name, column in schema.NVTX.columns.items() if name != ROW and column[1] is not pl.Boolean},
)
_COLUMNS: Mapping[str, str] = {
    "start": "INTEGER", "end": "INTEGER", "eventType": "INTEGER", "globalTid": "INTEGER", "endGlobalTid": "INTEGER",
    "domainId": "INTEGER", "textId": "INTEGER", "category": "INTEGER", "jsonTextId": "INTEGER",
    "uint64Value": "INTEGER",
}  # fmt: skip
_WORDY = re.compile(rf"(?i)^(?:nccl|{re.escape(nixl_domain.POST_PREFIX)})")
_TRACED = re.compile(rf"(?i)^(?:{'|'.join(nccl_trace.SIDES)})$")
_NUMBERED = re.compile(rf"(?i)^{re.escape(nixl_domain.PREFIX)}")
_AT_ONCE = 10_000

Place = tuple[int, int] | None
"""Process and id of a domain; None: the default domain, which all processes have."""


@dataclass(slots=True)
class Called:
    """What events are called.

    Attributes:
        labels: All labels of ranges and marks.
        domains: The name of each place, where a row names it.
        strings: The registered strings that events refer to.
    """

    labels: set[Label]
    domains: dict[Place, str]
    strings: dict[int, str]

    def label(self, place: Place, text_id: int | None, text: str | None) -> Label:
        """The label of an event there."""
        return Label(self.domains.get(place), place is None, self.name(text_id, text))

    def name(self, text_id: int | None, text: str | None) -> str:
        """Its own text, or that of its id; empty if neither."""
        if text is not None:
            return text
        return "" if text_id is None else self.strings.get(text_id, "")


def read_called(export: Export) -> Called:
    """What all events are called, in one pass that keeps each distinct name once."""
    is_wanted = among("eventType", _WANTED)
    seen: dict[tuple[Place, int | None, str | None], bool] = {}
    naming: set[tuple[Place, int | None, str | None]] = set()
    for batch in export.batches(_SPEC, where=is_wanted):
        some = batch.drop_nulls("thread").select("event_type", *_CALLED).unique()
        for kind, thread, domain_id, text_id, text in some.iter_rows():
            key = (_place(thread, domain_id), text_id if text is None else None, text)
            if kind == _DOMAIN_ROW:
                naming.add(key)
            else:
                seen[key] = True
    ids = {text_id for _, text_id, _ in (*seen, *naming) if text_id is not None}
    strings = dict(export.read_strings(pl.Series(sorted(ids), dtype=pl.Int64)).iter_rows())
    called = Called(set(), {}, strings)
    for place, text_id, text in naming:
        name = called.name(text_id, text)
        if place is not None and (place not in called.domains or name < called.domains[place]):
            called.domains[place] = name
    called.labels = {called.label(*key) for key in seen}
    return called


def _place(thread: int, domain_id: int | None) -> Place:
    return (thread >> THREAD_BITS, domain_id) if domain_id else None


class Events:
    """Copies the NVTX events of one file; `has_happened` once a range, or a mark within the window, is copied.

    Args:
        export: The open file.
        called: What its events are called.
        names: What that becomes.
        payloads: What payloads become.
        texts: The strings of the copy.
    """

    def __init__(self, export: Export, called: Called, names: Names, payloads: Rewritten, texts: Texts) -> None:
        """Nothing is copied yet."""
        self._export, self._called, self._names = export, called, names
        self._payloads, self._texts = payloads, texts
        columns = export.columns(schema.NVTX.table)
        self._carrying = [theirs for theirs, _ in schema.NVTX_CARRIED.columns.values() if theirs in columns]
        self._has_category = "category" in columns
        self.has_happened = False

    def write(self, copy: Copy, at: "Moved") -> None:
        """Write all of them.

        Args:
            copy: Where to.
            at: What becomes of instants.
        """
        copy.create(schema.NVTX.table, _COLUMNS)
        carries = " OR ".join(f"{quoted(theirs)} IS NOT NULL" for theirs in self._carrying) or "0"
        extra: dict[str, tuple[str, type[pl.DataType]]] = {
            ROW: ("rowid", pl.Int64),
            "category": ("`category` IS NOT NULL" if self._has_category else "0", pl.Int64),
            "carries": (carries, pl.Int64),
        }
        for batch in self._export.batches(_SPEC, where=among("eventType", _WANTED), extra=extra):
            self.has_happened |= self._happened(batch)
            copy.add(schema.NVTX.table, list(_COLUMNS), self._rows(at.moved(batch)))
        if not copy.rows[schema.NVTX.table] and self._export.has_rows(schema.NVTX.table):
            # An event that nobody reads: that any was recorded is a fact of its own.
            copy.add(schema.NVTX.table, ["start", "end", "eventType", "globalTid"], [(0, 0, 0, 0)])

    def _happened(self, batch: pl.DataFrame) -> bool:
        """Whether anything but marks from before the window is there: those are read of all of a recording."""
        window = self._export.window
        first = None if window is None else window.start_ns
        before = pl.lit(value=False) if first is None else pl.col("start_ns") < first
        naming, mark = (pl.col("event_type") == kind for kind in (_DOMAIN_ROW, schema.NVTX_MARK))
        return not batch.select((naming | (mark & before)).all()).item()

    def _rows(self, batch: pl.DataFrame) -> Iterator[tuple[int | None, ...]]:
        labels = [self._label(*row) for row in batch.select("event_type", *_CALLED).iter_rows()]
        said = self._said(batch, labels)
        times = batch.select("start_ns", "end_ns", "event_type", "thread", "end_thread", "domain_id", "category", ROW)
        for (*where, category, row), label in zip(times.iter_rows(), labels, strict=True):
            text, number = said.get(row, (None, None))
            yield (*where, self._named(label), category or None, text, number)

    def _label(
        self, kind: int, thread: int | None, domain_id: int | None, text_id: int | None, text: str | None
    ) -> Label | str | None:
        """The label of a range or mark, the name of the domain that a row names; None where no thread has it."""
        if thread is None:
            return None
        place = _place(thread, domain_id)
        if kind == _DOMAIN_ROW:
            return self._called.domains.get(place)
        return self._called.label(place, text_id, text)

    def _named(self, label: Label | str | None) -> int | None:
        if label is None:
            return None
        name = self._names.domain(label) if isinstance(label, str) else self._names.label(label)
        return self._texts.id_of(name) if name else None

    def _said(self, batch: pl.DataFrame, labels: list[Label | str | None]) -> dict[int, tuple[int | None, int | None]]:
        """By row: the id of its payload's text, and its number; of NCCL's and NIXL's own events alone."""
        speaking: dict[int, Label] = {}
        rows = batch.select(ROW, "carries", "category").iter_rows()
        for (row, carries, category), label in zip(rows, labels, strict=True):
            if carries and isinstance(label, Label) and (_is_wordy(label, category) or _NUMBERED.match(label.name)):
                speaking[row] = label
        categories = dict(batch.select(ROW, "category").iter_rows()) if speaking else {}
        found: dict[int, tuple[int | None, int | None]] = {}
        ids = list(speaking)
        for first in range(0, len(ids), _AT_ONCE):
            for row, blob, text, text_id, unsigned, signed in self._carried(ids[first : first + _AT_ONCE]):
                label = speaking[row]
                number = (unsigned if unsigned is not None else signed) if _NUMBERED.match(label.name) else None
                written = self._written(label, categories[row], self._text(text, text_id), blob)
                found[row] = (None if written is None else self._texts.id_of(written), number)
        return found

    def _carried(self, rows: list[int]) -> Iterator[tuple[int, bytes | None, str | None, int | None, int, int]]:
        columns = {ours: column for ours, column in schema.NVTX_CARRIED.columns.items() if ours not in (ROW, "blob")}
        blob = "CAST(`binaryData` AS BLOB)" if "binaryData" in self._carrying else "NULL"
        found = self._export.batches(
            TableSpec(schema.NVTX.table, columns),
            where=among("rowid", rows),
            extra={ROW: ("rowid", pl.Int64), "blob": (blob, pl.Binary)},
        )
        order = (ROW, "blob", "json_text", "json_text_id", "unsigned_value", "signed_value")
        return (row for batch in found for row in batch.select(order).iter_rows())

    def _text(self, text: str | None, text_id: int | None) -> str | None:
        if text is not None or text_id is None:
            return text
        known = self._export.read_strings(pl.Series([text_id], dtype=pl.Int64))
        return known["value"][0] if known.height else None

    def _written(self, label: Label, category: int, text: str | None, blob: bytes | None) -> str | None:
        if not _is_wordy(label, category):
            return None
        if label.domain == nccl_domain.DOMAIN and label.name in nccl_trace.SIDES:
            return self._payloads.traced(text)
        if label.name in nixl_domain.POSTS:
            return self._payloads.of_nixl(text, blob)
        return self._payloads.of_nccl(text, blob)


def _is_wordy(label: Label, category: int) -> bool:
    """Whether a payload of an event so called is read."""
    return bool(_WORDY.match(label.name) or (category and _TRACED.match(label.name)))


@dataclass(frozen=True, slots=True)
class Moved:
    """What becomes of instants.

    Attributes:
        by_ns: Taken off those that any clock can have.
        added_ns: What the file's export added to all, which the copy says too.
    """

    by_ns: int
    added_ns: int

    def moved(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with instants as the copy has them."""
        names = [name for name in rows.columns if name in schema.INSTANTS]
        rebased = [
            pl.when(pl.col(name).is_between(-MAX_TIME_NS, MAX_TIME_NS)).then(pl.col(name) - self.by_ns).otherwise(name)
            for name in names
        ]
        return rows.with_columns(rebased).with_columns(pl.col(name) + self.added_ns for name in names)
