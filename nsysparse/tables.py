"""Frames as files that other programs read."""

import io

import polars as pl

_FORMULA = r"^[=+\-@\t\r]"


def encode(frame: pl.DataFrame, chosen: str) -> bytes:
    """A frame as csv, parquet or ndjson.

    In CSV, text that a spreadsheet would run as a formula gets a leading apostrophe: names come from the trace.
    """
    buffer = io.BytesIO()
    if chosen == "parquet":
        frame.write_parquet(buffer, compression="zstd")
    elif chosen == "ndjson":
        frame.write_ndjson(buffer)
    else:
        texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
        frame.with_columns(_harmless(name) for name in texts).write_csv(buffer)
    return buffer.getvalue()


def _harmless(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(text.str.contains(_FORMULA)).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).alias(name)
