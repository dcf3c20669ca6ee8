"""Copies one export: the tables, columns and rows that the analysis reads, the strings these refer to, nothing else."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nsysparse.anchor import Anchor
from nsysparse.presets.rules import Preset
from nsysparse.redaction.columns import OWN_WAY, known
from nsysparse.redaction.events import Events, Moved, read_called
from nsysparse.redaction.file import Copy, new_copy
from nsysparse.redaction.hashed import Hashed
from nsysparse.redaction.names import Kept, Names
from nsysparse.redaction.payloads import Rewritten
from nsysparse.redaction.tables import Tables
from nsysparse.redaction.texts import Texts
from nsysparse.source import nixl_payloads, payloads, schema
from nsysparse.source.access import Access
from nsysparse.source.anchor import read_anchor
from nsysparse.source.export import Export
from nsysparse.source.extent import extent, nothing_in

_SHIFT = "EXPORT_CONFIG_TIME_SHIFT"
_WHETHER_SET = ("EXPORT_PARAM_TABLES_TO_EXPORT", "EXPORT_PARAM_TIMES_TO_EXPORT")
_WORK = schema.EVENTS - {schema.NVTX.table}
_HOST_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Wish:
    """How a copy is to be.

    Attributes:
        key: Keys digests; None: hosts are dropped, and names cannot be hashed.
        hashed: Whether names become digests.
        rebased: Whether times count from the first event, and UTC is dropped.
        presets: Whose rules the names are to be recognised by, strongest first.
    """

    key: bytes | None
    hashed: bool
    rebased: bool
    presets: tuple[Preset, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """What was copied: rows by table, and sentences on what became of the rest."""

    rows: dict[str, int]
    said: tuple[str, ...]


def copy_export(source: Path, target: Path, wish: Wish, access: Access, tell: Callable[[str], None]) -> Made:
    """Write a copy of an export.

    Args:
        source: The export; it is not changed.
        target: An empty file.
        wish: How the copy is to be.
        access: Which part of the time is copied.
        tell: Is told what is being done.

    Raises:
        InputError: The export cannot be read.
        OSError: The copy cannot be written.
    """
    with Export(source, access) as export:
        metadata = export.read_metadata()
        anchor = read_anchor(export, metadata)
        export.shift_ns = anchor.shift_ns
        tell("reading names")
        called = read_called(export) if export.has(schema.NVTX) else None
        names: Names = Kept()
        if wish.hashed and wish.key is not None:
            names = Hashed(wish.key, wish.presets, set() if called is None else called.labels)
        first = (extent(source) or (0, 0))[0] if wish.rebased else 0
        moved = Moved(first, 0 if wish.rebased else anchor.shift_ns)
        texts = Texts()
        with new_copy(target) as copy:
            has_happened = False
            if called is not None:
                tell(f"copying {schema.NVTX.table}")
                events = Events(export, called, names, _payloads(export, names), texts)
                events.write(copy, moved)
                has_happened = events.has_happened
            tables = Tables(export, names, texts, moved)
            for table, columns in known().items():
                if (
                    table in OWN_WAY
                    or table not in export.tables
                    or (wish.rebased and table == schema.START_TIME.table)
                ):
                    continue
                tell(f"copying {table}")
                tables.write(copy, columns)
            if export.window is not None and not (has_happened or any(map(copy.rows.get, _WORK))):
                raise nothing_in(export.window, source)
            if wish.rebased:
                metadata = {key: value for key, value in metadata.items() if key != "EXPORT_PARAM_TIME_NORMALIZE"}
            _facts(export, copy, metadata, moved.added_ns, _host(anchor, wish))
            copy.create(schema.STRINGS.table, {"id": "INTEGER PRIMARY KEY", "value": "TEXT"})
            copy.add(schema.STRINGS.table, ["id", "value"], texts.rows())
            return Made(dict(copy.rows), tuple(names.said()))


def _payloads(export: Export, names: Names) -> Rewritten:
    has = export.has_rows(schema.PAYLOAD_ENTRIES.table)
    entries = export.read(schema.PAYLOAD_ENTRIES) if has else pl.DataFrame()
    return Rewritten(
        payloads.Decoder(payloads.read_schemas(entries) if has else {}),
        nixl_payloads.Decoder(nixl_payloads.read_schemas(entries) if has else {}),
        names.domain,
    )


def _facts(export: Export, copy: Copy, metadata: dict[str, str], shift_ns: int, host: str | None) -> None:
    """Metadata, whether payloads were declared, and what tells the host from others."""
    said = {key: "yes" if key in _WHETHER_SET else value for key, value in metadata.items() if value}
    if export.window is not None:
        said[_WHETHER_SET[1]] = "yes"
    said[_SHIFT] = str(shift_ns)
    copy.create(schema.META_TABLES[0].table, {"name": "TEXT", "value": "TEXT"})
    copy.add(schema.META_TABLES[0].table, ["name", "value"], sorted(said.items()))
    if export.has(schema.PAYLOAD_ENTRIES):
        entries = schema.PAYLOAD_ENTRIES.columns
        needed = [theirs for ours, (theirs, _) in entries.items() if ours in schema.PAYLOAD_ENTRIES.required]
        copy.create(
            schema.PAYLOAD_ENTRIES.table, {theirs: "INTEGER" for theirs, _ in entries.values()} | {"name": "TEXT"}
        )
        if export.has_rows(schema.PAYLOAD_ENTRIES.table):
            copy.add(schema.PAYLOAD_ENTRIES.table, needed, [tuple("" if name == "name" else 0 for name in needed)])
    if host is not None:
        copy.create(schema.HOST.table, {"name": "TEXT", "value": "TEXT"})
        copy.add(schema.HOST.table, ["name", "value"], [("Hostname", host)])


def _host(anchor: Anchor, wish: Wish) -> str | None:
    """What stands for the host's name: a digest that nobody can guess names by who lacks the key."""
    if anchor.host is None or wish.key is None:
        return None
    return hmac.new(wish.key, f"host {anchor.host}".encode(), hashlib.sha256).hexdigest()[:_HOST_DIGITS]
