"""Frames as files that other programs read, written piece by piece: no frame has to fit into memory for it."""

import io
import time
from collections.abc import Iterable, Iterator
from errno import EIO
from itertools import chain
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO

import polars as pl
from polars.io.plugins import register_io_source

_FORMULA = r"^[=+\-@\t\r]"
_ROW_GROUP = 1 << 18
"""Rows of a group of Parquet, whatever the pieces: the same frame makes the same file."""


def write_pieces(pieces: Iterable[pl.DataFrame], chosen: str, file: BinaryIO) -> int:
    """Write a frame as csv, parquet or ndjson.

    In CSV, text that a spreadsheet would run as a formula gets a leading apostrophe: names come from the trace.

    Args:
        pieces: The frame in pieces of the same columns, at least one. They may be read in another thread.
        chosen: The format.
        file: Where to.

    Returns:
        How many rows they have.
    """
    rows = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal rows
        for piece in pieces:
            rows += piece.height
            yield piece

    if chosen == "parquet":
        _parquet(counted(), file)
    else:
        _text(counted(), chosen, file)
    return rows


def _text(pieces: Iterator[pl.DataFrame], chosen: str, file: BinaryIO) -> None:
    for number, piece in enumerate(pieces):
        text = io.BytesIO()
        if chosen == "ndjson":
            piece.write_ndjson(text)
        else:
            texts = [name for name, dtype in piece.schema.items() if dtype == pl.String]
            piece.with_columns(_harmless(name) for name in texts).write_csv(text, include_header=number == 0)
        file.write(text.getbuffer())


def _parquet(pieces: Iterator[pl.DataFrame], file: BinaryIO) -> None:
    if file.seekable():
        _sink(pieces, file)
        return
    # A broken pipe is nothing that polars could tell us, and a terminal is to refuse it: it is made beside.
    with TemporaryFile() as whole:
        _sink(pieces, whole)
        whole.seek(0)
        copyfileobj(whole, file)


def _sink(pieces: Iterator[pl.DataFrame], file: BinaryIO) -> None:
    first = next(pieces)

    def source(
        _columns: list[str] | None, _predicate: pl.Expr | None, _rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        return chain([first], pieces)

    rows = register_io_source(source, schema=first.schema)
    try:
        rows.sink_parquet(file, compression="zstd", row_group_size=_ROW_GROUP)
    except KeyboardInterrupt:
        # Polars and Python both notice a Ctrl-C: the other one would end whoever cleans up.
        try:  # noqa: SIM105 (it may come before a context manager is entered)
            time.sleep(0)
        except KeyboardInterrupt:
            pass
        raise
    except pl.exceptions.ComputeError as error:  # what polars makes of a full disk
        if "IO error" not in str(error):
            raise
        raise OSError(EIO, "the disk may be full") from error


def _harmless(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(text.str.contains(_FORMULA)).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).alias(name)
