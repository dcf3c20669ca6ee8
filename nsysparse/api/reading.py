"""One trace, read, and what its own ranges and transports say: the first stages, in their order."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from nsysparse.api.options import Options
from nsysparse.evidence import Surroundings, count_once, issuing
from nsysparse.presets.loader import Preset, active, rules_of
from nsysparse.request_ids import collisions, normalise_texts
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import enclosing, find_scopes, said_by, wants_local_copies
from nsysparse.shares import request_id
from nsysparse.source.access import Access
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.source.window import Window
from nsysparse.steps import tells_steps
from nsysparse.transports import find_all
from nsysparse.transports.nccl import with_buffers


def read(
    path: Path,
    trace_id: str,
    presets: Sequence[Preset],
    *,
    all_gpu_work: bool,
    engine: bool = False,
    access: Access | None = None,
) -> tuple[Trace, ScopeTable, tuple[Preset, ...]]:
    """A trace, what presets say about its ranges, and which of them are active in it.

    With `engine` all kernels are read too, where ranges tell of steps.
    """
    heard: list[tuple[Preset, ...]] = []

    def speaking(labels: pl.DataFrame) -> pl.Series:
        heard.append(active(presets, labels))
        return said_by(labels, rules_of(heard[0]))["label_id"]

    trace = read_trace(
        path,
        trace_id,
        all_gpu_work=all_gpu_work,
        all_ranges=all_gpu_work,
        speaking=speaking,
        access=access,
        local_copies=lambda labels: wants_local_copies(labels, rules_of(heard[0])),
        steps=lambda labels: engine and tells_steps(labels, rules_of(heard[0])),
    )
    return trace, find_scopes(trace, rules_of(heard[0])), heard[0]


def access_of(asked: Options) -> Access:
    """How the files of a run are read."""
    return Access(asked.reader, None if asked.window_ns is None else Window(*asked.window_ns))


def find_standing(
    trace: Trace, scopes: ScopeTable, anomalies: Counter[str], options: Options | None = None
) -> pl.DataFrame:
    """What all transports find in one trace, each movement's best source only: columns of `Found`."""
    found = find_all(trace, scopes)
    if options and options.nccl_buffsize is not None:
        found = with_buffers(found, options.nccl_buffsize)
    numbered = numbering(found, 0)
    return count_once(numbered, scopes, _surroundings(numbered, trace, scopes), anomalies).drop("transfer_id")


def _surroundings(found: pl.DataFrame, trace: Trace, scopes: ScopeTable) -> Surroundings:
    beside = scopes.filter(pl.col("kind") != "transfer", pl.col("purpose").is_not_null())["range_id"]
    return Surroundings(
        other=enclosing(found, scopes, "purpose").filter(pl.col("purpose") == "other")["transfer_id"],
        within=enclosing(found, scopes, "purpose", silent=beside).select("transfer_id", "scope_id"),
        threads=pl.Series(trace.threads, dtype=pl.Int64),
        issuing=issuing(found, trace),
    )


def numbering(transfers: pl.DataFrame, first: int) -> pl.DataFrame:
    """Add `transfer_id`, from `first` on."""
    return transfers.with_row_index("transfer_id", offset=first).with_columns(pl.col("transfer_id").cast(pl.UInt32))


def normalised(scopes: ScopeTable, asked: Options, anomalies: Counter[str]) -> ScopeTable:
    """Scopes whose request ids are normalised, where that is asked for."""
    if (pattern := asked.normalize_request) is None:
        return scopes
    texts = [text for name in ("request", "requests") for text in scopes.words(name)]
    if texts and normalise_texts(pl.Series(texts), pattern).to_list() == texts:
        anomalies["normaliser-changes-nothing"] += 1
    named = (scopes.select("process", request=name) for name in ("request", "requests"))
    collided = collisions(pl.concat(named), pattern)
    if collided:
        anomalies["request-ids-collide"] += collided
    return scopes.with_words(
        lambda words: words.with_columns(normalise_texts(words[name], pattern) for name in ("request", "requests"))
    )


def announcements(scopes: ScopeTable, trace_id: str) -> pl.DataFrame:
    """What the `kv_request` ranges of one trace say: id, start and prompt length."""
    told = scopes.filter((pl.col("kind") == "request") & pl.col("request").is_not_null())
    ids = {text: request_id(text) for text in told["request"].unique()}
    return told.select(
        request_id=pl.col("request").replace_strict(ids, return_dtype=pl.String),
        trace_id=pl.lit(trace_id),
        start_ns="start_ns",
        prompt_tokens=pl.col("prompt").cast(pl.Int64, strict=False),
    )


def merged(announcements: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """One row per request: its earliest start, unless files with clocks of their own announce it; its prompt length."""
    one_clock = pl.col("trace_id").n_unique() == 1
    return (
        pl.concat(announcements)
        .group_by("request_id")
        .agg(start_ns=pl.when(one_clock).then(pl.col("start_ns").min()), prompt_tokens=pl.col("prompt_tokens").max())
        .sort("request_id")
    )
