"""All traces of a run together: transfers paired, timed and attributed, steps and clocks; what metrics start from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nsysparse.analysis import (
    Setting,
)
from nsysparse.api.options import AFTER_READING, Options, Progress, Stage, check, roles_by_trace, silent, trace_ids
from nsysparse.api.part import Mark, Part, Task, computed, read_part
from nsysparse.api.reading import merged
from nsysparse.api.running import read_all
from nsysparse.arrivals import emitting
from nsysparse.attribution import agree_between_sides
from nsysparse.catalog.loader import find_model
from nsysparse.clocks import Clocks, solve
from nsysparse.crossings import Seen
from nsysparse.errors import InputError
from nsysparse.frames import Frame, Shares, Transfers
from nsysparse.ordinal import by_issue_order
from nsysparse.overlap import by_overlap
from nsysparse.pairing import pair
from nsysparse.paths import spans
from nsysparse.presets.loader import OPTION, Preset, load
from nsysparse.request_ids import differ_by_suffix
from nsysparse.scopes import process_fact
from nsysparse.shares import settled, shares
from nsysparse.sharing import share_time
from nsysparse.timing import with_times


@dataclass(frozen=True, slots=True)
class Study:
    """Traces with their transfers found, paired and attributed; what metrics and exports start from.

    `engine` is what is known of steps and of requests on their way, `convention` which side emits the first token.
    `presets` are those active in at least one of the traces, strongest first; `unreadable` says why files are missing.
    """

    traces: tuple[Part, ...]
    transfers: Frame[Transfers]
    shares: Frame[Shares]
    requests: pl.DataFrame
    engine: Seen
    clocks: Clocks
    convention: Setting
    roles: Mapping[str, tuple[str | None, str | None]]
    presets: tuple[str, ...]
    anomalies: Counter[str]
    unreadable: tuple[InputError, ...] = ()


def study_traces(paths: Sequence[Path], options: Options | None = None, progress: Progress = silent) -> Study:
    """Read exports and find, pair and attribute their transfers.

    Args:
        paths: The .sqlite files; together they are one run.
        options: What is known beside the traces. Layers that neither it nor its model tells are what `kv_role` marks
            agree on.
        progress: Is told what is being done.
    """
    asked = options or Options()
    check(asked)
    presets = load(asked.presets, asked.request_pattern)
    told_roles = roles_by_trace(paths, asked.roles, typed=asked.is_typed("roles"))
    tasks = [
        Task(path, trace_id, presets, asked, told_roles.get(trace_id), is_alone=len(paths) == 1)
        for path, trace_id in zip(paths, trace_ids(paths), strict=True)
    ]
    found = read_all(read_part, tasks, asked, progress, AFTER_READING)
    parts = found.results
    progress(Stage("pairing and attributing transfers", len(paths), len(paths) + AFTER_READING))
    _require_distinct(parts)
    anomalies = Counter[str]()
    for part in parts:
        anomalies += part.anomalies
    _note_silent(parts, presets, asked, anomalies)
    layer_count = known_layers(asked) or _marked_layers(parts)
    transfers_of, steps_of, held_of = _numbered(parts)
    ordered = [
        by_issue_order(transfers, part.scopes, layer_count, anomalies)
        for transfers, part in zip(transfers_of, parts, strict=True)
    ]
    paired = share_time(pair(pl.concat(ordered), anomalies))
    paired = agree_between_sides(with_times(paired, computed(parts)), anomalies)
    if asked.overlap:
        told = [by_overlap(paired.filter(trace_id=part.trace_id), part.scopes, anomalies) for part in parts]
        paired = paired.select("transfer_id").join(pl.concat(told), on="transfer_id", maintain_order="left")
    announced = merged([part.announced for part in parts])
    prompts = announced.drop_nulls("prompt_tokens").select("request_id", "prompt_tokens")
    divided = shares(paired, layer_count, anomalies, dict(prompts.iter_rows()))
    if asked.normalize_request is None:
        named = paired.join(divided.drop_nulls("request_id"), on="transfer_id")
        ids = named.group_by("trace_id", maintain_order=True).agg(pl.col("request_id").unique())["request_id"]
        differ_by_suffix([set(each) for each in ids.to_list()], anomalies)
    speaking = {name for part in parts for name, _ in part.heard} - {OPTION}
    transfers = Transfers.validate(settled(paired, divided).select(Transfers.column_names()))
    shared = Shares.validate(divided.join(paired.filter("is_movement"), on="transfer_id", how="semi"))
    seen = Seen(
        transfers,
        shared,
        pl.concat(steps_of),
        pl.concat(held_of),
        pl.concat([part.arrivals for part in parts]),
    )
    return Study(
        traces=tuple(parts),
        transfers=transfers,
        shares=shared,
        requests=announced,
        engine=seen,
        clocks=solve(
            {part.trace_id: part.anchor for part in parts},
            transfers,
            asked.clock,
            asked.utc_error_ns,
            spans(seen),
            anomalies,
        ),
        convention=_convention(parts, asked),
        roles={part.trace_id: (part.facts.role, part.facts.role_source) for part in parts},
        presets=tuple(each.shown for each in presets if each.name in speaking),
        anomalies=anomalies,
        unreadable=tuple(found.unreadable),
    )


def _numbered(parts: Sequence[Part]) -> tuple[list[pl.DataFrame], list[pl.DataFrame], list[pl.DataFrame]]:
    """Transfers, steps and the requests of steps, with numbers that count on from part to part."""
    transfers, steps, held = [], [], []
    first_transfer, first_step = 0, 0
    for part in parts:
        transfers.append(part.transfers.with_columns(pl.col("transfer_id") + pl.lit(first_transfer, pl.UInt32)))
        step = pl.col("step_id") + pl.lit(first_step, pl.UInt32)
        steps.append(part.steps.with_columns(step))
        held.append(part.held.with_columns(step))
        first_transfer += part.transfers.height
        first_step += part.steps.height
    return transfers, steps, held


def _convention(parts: Sequence[Part], asked: Options) -> Setting:
    """Which side emits the first token, and who says so."""
    if asked.ttft is not None:
        return Setting(asked.ttft, asked.source("ttft", given=True))
    known = [each for part in parts for each in part.heard]
    return Setting(*emitting([part.scopes for part in parts], known))


def _note_silent(parts: Sequence[Part], presets: Sequence[Preset], asked: Options, anomalies: Counter[str]) -> None:
    """Count what was asked for and finds nothing: files of presets, the pattern of requests."""
    known = {name for part in parts for name in part.finding}
    users = {each.name for each in presets if each.origin is not None}
    if asked.request_pattern is not None:
        users.add(OPTION)
    if silent := len(users - known):
        anomalies["presets-find-nothing"] += silent


def _marked_layers(parts: Sequence[Part]) -> int | None:
    """How many layers the marks of all traces say the model has, where they agree."""
    told = [process_fact(part.scopes, "layers")["layers"].cast(pl.Int64, strict=False).drop_nulls() for part in parts]
    marked = pl.concat(told).unique().to_list()
    return int(marked[0]) if len(marked) == 1 else None


def _require_distinct(parts: Sequence[Part]) -> None:
    """No two inputs may hold one recording: everything in it would count twice."""
    seen: dict[Mark, str] = {}
    for part in parts:
        if part.mark is None:
            continue
        if part.mark in seen:
            raise InputError(
                f"{part.facts.file} and {seen[part.mark]} hold the same recording.", "Name each only once."
            )
        seen[part.mark] = part.facts.file


def known_layers(asked: Options) -> int | None:
    """Layers of the model, as asked."""
    return asked.layers or (find_model(asked.model).layers if asked.model else None)
