"""One frame over all exports, for other tools."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from nsysparse.analysis import (
    PURPOSES,
)
from nsysparse.api.options import AS_MANY_AS_HELP, Options, Progress, check, silent, trace_ids
from nsysparse.api.reading import access_of, normalised, read
from nsysparse.api.running import is_read_here, read_each
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
    tasks = [
        RowsTask(path, trace_id, frame, presets, asked) for path, trace_id in zip(paths, trace_ids(paths), strict=True)
    ]
    if asked.jobs == AS_MANY_AS_HELP and asked.scheduler is None:
        asked = replace(asked, jobs=1)  # whole frames would wait for their turn: here pieces go as they come
    for pieces in read_each(rows_of if is_read_here(tasks, asked) else all_rows_of, tasks, asked, progress):
        yield from pieces


@dataclass(frozen=True, slots=True)
class RowsTask:
    """A frame of one trace to make.

    Attributes:
        path: The export.
        trace_id: Its name in the run.
        frame: nvtx_ranges, scopes or gpu_ops.
        presets: Those that may speak, strongest first; for scopes.
        asked: What is known beside the traces.
    """

    path: Path
    trace_id: str
    frame: str
    presets: tuple[Preset, ...]
    asked: Options


def rows_of(task: RowsTask) -> Iterable[pl.DataFrame]:
    """The rows of one trace, which is read now, while pieces are made as they are asked for.

    Raises:
        InputError: The file cannot be used.
    """
    access = access_of(task.asked)
    if task.frame == "nvtx_ranges":
        spans = read_spans(task.path, access)
        return (
            piece for ranges in spans.lanes for piece in project(task.trace_id, ranges, spans.labels, spans.launched)
        )
    if task.frame == "scopes":
        trace, scopes, _ = read(task.path, task.trace_id, task.presets, all_gpu_work=True, access=access)
        return [exported_scopes(_placed(trace, normalised(scopes, task.asked, Counter())))]
    return [exported_gpu_ops(read_trace(task.path, task.trace_id, all_gpu_work=True, access=access).gpu_ops)]


def all_rows_of(task: RowsTask) -> list[pl.DataFrame]:
    """The same with all pieces made, so that they cross between processes; errors likewise."""
    return list(rows_of(task))


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
