"""A frame written piece by piece makes the file that it makes as a whole."""

import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pytest

from nsysparse.cli.place import stream
from nsysparse.errors import OutputError
from nsysparse.tables import write_pieces

FORMATS = ["csv", "ndjson", "parquet"]
FRAME = pl.DataFrame(
    {
        "id": range(1000),
        "name": ['a, "b"', "=cmd()", "two\nlines", None, "+1", "plain"] * 166 + ["é", "@x", "-", "\t"],
        "at": [1.5, None] * 500,
    }
)


def written(pieces: Iterator[pl.DataFrame], chosen: str) -> bytes:
    file = io.BytesIO()
    assert write_pieces(pieces, chosen, file) == FRAME.height
    return file.getvalue()


@pytest.mark.parametrize("chosen", FORMATS)
@pytest.mark.parametrize("rows", [1, 7, 256, 999])
def test_pieces_make_the_bytes_of_the_whole(chosen: str, rows: int) -> None:
    assert written(FRAME.iter_slices(rows), chosen) == written(iter([FRAME]), chosen)


def test_the_formats_are_those_of_polars() -> None:
    assert written(FRAME.iter_slices(100), "ndjson").decode() == FRAME.write_ndjson()
    assert pl.read_parquet(io.BytesIO(written(FRAME.iter_slices(100), "parquet"))).equals(FRAME)
    harmless = FRAME["name"].to_list()
    harmless = [f"'{name}" if name is not None and name[0] in "=+-@\t\r" else name for name in harmless]
    assert harmless.count("'=cmd()") == 166
    expected = FRAME.with_columns(name=pl.Series(harmless)).write_csv()
    assert written(FRAME.iter_slices(100), "csv").decode() == expected


@pytest.mark.parametrize("chosen", FORMATS)
def test_a_frame_without_rows_keeps_its_columns(chosen: str) -> None:
    file = io.BytesIO()
    assert write_pieces([FRAME.clear()], chosen, file) == 0
    if chosen == "parquet":
        assert pl.read_parquet(io.BytesIO(file.getvalue())).schema == FRAME.schema
    else:
        assert file.getvalue() == {"csv": b"id,name,at\n", "ndjson": b""}[chosen]


@pytest.mark.parametrize("chosen", FORMATS)
def test_a_reader_that_went_away_is_a_broken_pipe(chosen: str) -> None:
    source, sink = os.pipe()
    os.close(source)
    with pytest.raises(BrokenPipeError), os.fdopen(sink, "wb", buffering=0) as file:
        write_pieces(FRAME.iter_slices(100), chosen, file)


class LostError(Exception):
    """A trace that cannot be read any more."""


def failing() -> Iterator[pl.DataFrame]:
    yield FRAME
    raise LostError


@pytest.mark.parametrize("chosen", FORMATS)
def test_half_a_frame_replaces_nothing(chosen: str, tmp_path: Path) -> None:
    target = tmp_path / f"x.{chosen}"
    target.write_text("before")

    def fill(file: BinaryIO) -> int:
        return write_pieces(failing(), chosen, file)

    with pytest.raises(LostError):
        stream(fill, target, force=True)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


@pytest.fixture
def _heeding_ctrl_c() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heeding_ctrl_c")
@pytest.mark.parametrize("chosen", FORMATS)
def test_ctrl_c_leaves_nothing(chosen: str, tmp_path: Path) -> None:
    """Polars notices it beside Python, and one of both would come while the other is cleaned up after."""

    over = threading.Event()

    def interrupted() -> Iterator[pl.DataFrame]:
        try:
            yield FRAME
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        finally:
            over.set()

    with pytest.raises(KeyboardInterrupt):
        stream(lambda file: write_pieces(interrupted(), chosen, file), tmp_path / "x", force=True)
    assert list(tmp_path.iterdir()) == []
    assert over.wait(60)  # in a thread of polars, which must not outlive Python


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    many = pl.DataFrame({"x": pl.Series(range(300_000)).hash()})
    for chosen in FORMATS:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(OutputError, match="cannot be written"):
                stream(lambda file: write_pieces([many], chosen, file), tmp_path / "x", force=True)  # noqa: B023
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert list(tmp_path.iterdir()) == []
