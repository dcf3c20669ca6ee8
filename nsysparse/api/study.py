"""All traces of a run together: transfers paired, timed and attributed, steps and clocks; what metrics start from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nsysparse.analysis import (
    Setting,
)
from nsysparse.api.options import AFTER_READING, Options, Progress, Stage, check, each_file, roles_by_trace, silent
from nsysparse.api.reading import announcements, find_standing, merged, normalised, numbering, read
from nsysparse.arrivals import arrivals, emitting
from nsysparse.attribution import agree_between_sides, annotate
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
from nsysparse.purpose import communicators_with_collectives, with_purpose
from nsysparse.request_ids import differ_by_suffix
from nsysparse.roles import process_roles, trace_role, with_role
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import process_fact
from nsysparse.shares import settled, shares
from nsysparse.sharing import share_time
from nsysparse.source.trace import Trace
from nsysparse.steps import find_steps
from nsysparse.timing import with_times


@dataclass(frozen=True, slots=True)
class Study:
    """Traces with their transfers found, paired and attributed; what metrics and exports start from.

    `engine` is what is known of steps and of requests on their way, `convention` which side emits the first token.
    `presets` are those active in at least one of the traces, strongest first.
    """

    traces: tuple[Trace, ...]
    transfers: Frame[Transfers]
    shares: Frame[Shares]
    requests: pl.DataFrame
    engine: Seen
    clocks: Clocks
    convention: Setting
    roles: Mapping[str, tuple[str | None, str | None]]
    presets: tuple[str, ...]
    anomalies: Counter[str]


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
    anomalies: Counter[str] = Counter()
    parts: list[_Part] = []
    for path, trace_id in each_file(paths, progress, AFTER_READING):
        first = sum(part.transfers.height for part in parts), sum(part.steps.height for part in parts)
        parts.append(_part(path, trace_id, presets, asked, told_roles.get(trace_id), first, anomalies))
    _require_distinct([part.trace for part in parts])
    _note_silent(parts, presets, asked, anomalies)
    progress(Stage("pairing and attributing transfers", len(paths), len(paths) + AFTER_READING))
    layer_count = known_layers(asked) or _marked_layers(parts)
    ordered = [by_issue_order(part.transfers, part.scopes, layer_count, anomalies) for part in parts]
    paired = share_time(pair(pl.concat(ordered), anomalies))
    compute = pl.concat([part.trace.compute for part in parts])
    paired = agree_between_sides(with_times(paired, compute), anomalies)
    if asked.overlap:
        told = [by_overlap(paired.filter(trace_id=part.trace.trace_id), part.scopes, anomalies) for part in parts]
        paired = paired.select("transfer_id").join(pl.concat(told), on="transfer_id", maintain_order="left")
    announced = merged([announcements(part.scopes, part.trace.trace_id) for part in parts])
    prompts = announced.drop_nulls("prompt_tokens").select("request_id", "prompt_tokens")
    divided = shares(paired, layer_count, anomalies, dict(prompts.iter_rows()))
    if asked.normalize_request is None:
        named = paired.join(divided.drop_nulls("request_id"), on="transfer_id")
        ids = named.group_by("trace_id", maintain_order=True).agg(pl.col("request_id").unique())["request_id"]
        differ_by_suffix([set(each) for each in ids.to_list()], anomalies)
    speaking = {each.name for part in parts for each in part.heard} - {OPTION}
    transfers = Transfers.validate(settled(paired, divided).select(Transfers.column_names()))
    shared = Shares.validate(divided.join(paired.filter("is_movement"), on="transfer_id", how="semi"))
    seen = Seen(
        transfers,
        shared,
        pl.concat([part.steps for part in parts]),
        pl.concat([part.held for part in parts]),
        pl.concat([part.arrivals for part in parts]),
    )
    return Study(
        traces=tuple(part.trace for part in parts),
        transfers=transfers,
        shares=shared,
        requests=announced,
        engine=seen,
        clocks=solve(
            {part.trace.trace_id: part.trace.anchor for part in parts},
            transfers,
            asked.clock,
            asked.utc_error_ns,
            spans(seen),
            anomalies,
        ),
        convention=_convention(parts, asked),
        roles={part.trace.trace_id: part.role for part in parts},
        presets=tuple(each.shown for each in presets if each.name in speaking),
        anomalies=anomalies,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """One trace, and what its own ranges say of its transfers.

    Attributes:
        trace: The trace.
        scopes: Its ranges that a preset knows, ids of requests as asked.
        transfers: From `annotate`, with roles.
        role: Of the trace, and what says so.
        steps: Its steps, and which requests they hold.
        held: Likewise.
        arrivals: When requests came to it.
        heard: The presets that are active in it.
    """

    trace: Trace
    scopes: ScopeTable
    transfers: pl.DataFrame
    role: tuple[str | None, str | None]
    steps: pl.DataFrame
    held: pl.DataFrame
    arrivals: pl.DataFrame
    heard: tuple[Preset, ...]


def _part(
    path: Path,
    trace_id: str,
    presets: Sequence[Preset],
    asked: Options,
    told_role: str | None,
    first: tuple[int, int],
    anomalies: Counter[str],
) -> _Part:
    """Read one trace and let its ranges speak of its transfers and steps; `first` are the numbers of the first ones."""
    trace, recorded, heard = read(path, trace_id, presets, all_gpu_work=False, engine=True)
    scopes = normalised(recorded, asked, anomalies)
    numbered = numbering(find_standing(trace, scopes, anomalies, asked), first[0])
    anomalies["groups-on-several-devices"] += numbered.filter(pl.col("device_count") > 1).height
    decided = with_purpose(numbered, scopes, communicators_with_collectives(trace))
    of_processes = process_roles(decided, scopes, told_role)
    transfers = with_role(annotate(decided, scopes, anomalies), of_processes)
    steps, held = find_steps(trace, scopes, of_processes, first[1], anomalies)
    arrived = arrivals(scopes, of_processes, trace_id)
    anomalies += trace.anomalies
    return _Part(trace, scopes, transfers, trace_role(of_processes, decided), steps, held, arrived, heard)


def _convention(parts: Sequence[_Part], asked: Options) -> Setting:
    """Which side emits the first token, and who says so."""
    if asked.ttft is not None:
        return Setting(asked.ttft, asked.source("ttft", given=True))
    known = [(each.name, each.ttft) for part in parts for each in part.heard]
    return Setting(*emitting([part.scopes for part in parts], known))


def _note_silent(parts: Sequence[_Part], presets: Sequence[Preset], asked: Options, anomalies: Counter[str]) -> None:
    """Count what was asked for and finds nothing: files of presets, the pattern of requests."""
    known = {rule.partition("/")[0] for part in parts for rule in part.scopes.words("rule")}
    users = {each.name for each in presets if each.origin is not None}
    if asked.request_pattern is not None:
        users.add(OPTION)
    if silent := len(users - known):
        anomalies["presets-find-nothing"] += silent


def _marked_layers(parts: Sequence[_Part]) -> int | None:
    """How many layers the marks of all traces say the model has, where they agree."""
    told = [process_fact(part.scopes, "layers")["layers"].cast(pl.Int64, strict=False).drop_nulls() for part in parts]
    marked = pl.concat(told).unique().to_list()
    return int(marked[0]) if len(marked) == 1 else None


def _require_distinct(traces: Sequence[Trace]) -> None:
    """No two inputs may hold one recording: everything in it would count twice."""
    if len(traces) == 1:
        return
    seen: dict[tuple[object, ...], str] = {}
    for trace in traces:
        events = (trace.ranges, trace.gpu_ops.drop("trace_id"))
        if all(part.is_empty() for part in events):
            continue
        mark = tuple((part.height, int(part.hash_rows().sum())) for part in (*events, trace.labels))
        if mark in seen:
            raise InputError(f"{trace.file} and {seen[mark]} hold the same recording.", "Name each only once.")
        seen[mark] = trace.file


def known_layers(asked: Options) -> int | None:
    """Layers of the model, as asked."""
    return asked.layers or (find_model(asked.model).layers if asked.model else None)
