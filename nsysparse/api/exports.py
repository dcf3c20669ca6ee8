"""One frame over all exports, for other tools."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from nsysparse.analysis import (
    PURPOSES,
)
from nsysparse.api.options import Options, Progress, check, each_file, silent
from nsysparse.api.reading import normalised, read
from nsysparse.api.study import study_traces
from nsysparse.exchanges import as_timed, exchanges, of_transfers
from nsysparse.frames import exported_gpu_ops, exported_scopes, exported_transfers
from nsysparse.presets.loader import Preset, load
from nsysparse.projection import project, work_of
from nsysparse.scope_table import ScopeTable
from nsysparse.source.extract import read_trace
from nsysparse.source.spans import read_spans
from nsysparse.source.trace import Trace


def export_frame(
    paths: Sequence[Path],
    frame: str,
    options: Options | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """One frame over all exports, totally sorted; columns in docs/reference/frames.md.

    Args:
        paths: The .sqlite files.
        frame: nvtx_ranges, scopes, gpu_ops, transfers, attributions or exchanges.
        options: What is known beside the traces; of transfers, and of what is made from them, only those of its
            purposes are exported. Without options all are.
        progress: Is told what is being done.
    """
    return pl.concat(export_pieces(paths, frame, options, progress))


def export_pieces(
    paths: Sequence[Path],
    frame: str,
    options: Options | None = None,
    progress: Progress = silent,
) -> Iterator[pl.DataFrame]:
    """The frame that `export_frame` gives in pieces, at least one: nvtx_ranges of any number do not have to fit.

    Args:
        paths: As for `export_frame`; one is read after the other, as pieces are asked for.
        frame: Likewise.
        options: Likewise.
        progress: Likewise.
    """
    asked = options or Options(purpose="all")
    check(asked)
    if frame in ("transfers", "attributions", "exchanges"):
        study = study_traces(paths, asked, progress)
        wanted = study.transfers.filter(pl.col("purpose").is_in(PURPOSES[asked.purpose]))
        if frame == "exchanges":
            yield of_transfers(exchanges(as_timed(study.transfers)), wanted)
        elif frame == "transfers":
            yield exported_transfers(wanted)
        else:
            yield study.shares.join(wanted, on="transfer_id", how="semi", maintain_order="left")
        return
    presets = load(asked.presets, asked.request_pattern)
    for path, trace_id in each_file(paths, progress):
        yield from _of_trace(path, trace_id, frame, presets, asked)


def _of_trace(
    path: Path, trace_id: str, frame: str, presets: tuple[Preset, ...], asked: Options
) -> Iterator[pl.DataFrame]:
    """The rows of one trace; of the one before nothing is held any more."""
    if frame == "nvtx_ranges":
        spans = read_spans(path)
        for ranges in spans.lanes:
            yield from project(trace_id, ranges, spans.labels, spans.launched)
    elif frame == "scopes":
        trace, scopes, _ = read(path, trace_id, presets, all_gpu_work=True)
        yield exported_scopes(_placed(trace, normalised(scopes, asked, Counter())))
    else:
        yield exported_gpu_ops(read_trace(path, trace_id, all_gpu_work=True).gpu_ops)


def _placed(trace: Trace, scopes: ScopeTable) -> pl.DataFrame:
    """Scopes that are no marks, with their texts and what ran on the GPU inside, in the order of the trace's ranges."""
    spans = trace.ranges.filter(pl.col("style") != "mark").join(
        scopes.filter().drop("process", "thread", "start_ns", "end_ns"),
        on="range_id",
        suffix="_held",
        maintain_order="left",
    )
    return (
        work_of(spans, trace.gpu_ops)
        .join(trace.labels, on="label_id", maintain_order="left")
        .with_columns(trace_id=pl.lit(trace.trace_id), style=pl.col("style_held").cast(pl.String))
    )
