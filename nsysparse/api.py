"""The stages, wired: the only place that knows their order."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dataframely as dy
import polars as pl

from nsysparse import __version__
from nsysparse.analysis import (
    CLOCK_MODES,
    CONVENTIONS,
    DEFAULT_PURPOSE,
    DEFAULT_THRESHOLD,
    PURPOSES,
    UTC_ERROR_NS,
    Analysis,
    Notice,
    Setting,
    TraceFacts,
)
from nsysparse.arrivals import arrivals, emitting
from nsysparse.attribution import agree_between_sides, annotate
from nsysparse.catalog.entries import Model
from nsysparse.catalog.loader import find_model, shown_model
from nsysparse.clocks import Clocks, solve
from nsysparse.errors import InputError, UsageError
from nsysparse.evidence import Surroundings, count_once, issuing
from nsysparse.exchanges import as_timed, exchanges, of_transfers
from nsysparse.frames import Shares, Transfers, exported_gpu_ops, exported_scopes, exported_transfers
from nsysparse.inspection import FORMAT_VERSION, Inspection, look
from nsysparse.measured.loader import read_measured
from nsysparse.metrics.assemble import assemble
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import select
from nsysparse.ordinal import by_issue_order
from nsysparse.overlap import by_overlap
from nsysparse.pairing import pair
from nsysparse.paths import Seen, find_paths, kv_sides, spans
from nsysparse.presets.check import Check, Uses, uses
from nsysparse.presets.loader import OPTION, Preset, active, examine, load, rules_of
from nsysparse.projection import project, work_of
from nsysparse.purpose import communicators_with_collectives, with_purpose
from nsysparse.request_ids import check_pattern, collisions, differ_by_suffix, normalise_texts
from nsysparse.roles import ROLES, process_roles, trace_role, with_role
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import enclosing, find_scopes, process_fact, wants_local_copies
from nsysparse.shares import request_id, settled, shares
from nsysparse.sharing import share_time
from nsysparse.source import nccl_domain
from nsysparse.source.extract import read_trace, shown_name
from nsysparse.source.trace import Trace
from nsysparse.steps import find_steps, tells_steps
from nsysparse.theory.critical import STEP_NS
from nsysparse.theory.dtypes import default_type
from nsysparse.theory.practical import with_measured
from nsysparse.theory.references import References, references
from nsysparse.theory.served import served
from nsysparse.timing import with_times
from nsysparse.transports import find_all
from nsysparse.transports.nccl import BUFFER_BYTES, with_buffers
from nsysparse.units import NS_PER_MS

Progress = Callable[[str], None]


def _silent(_: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user can ask of an analysis; None means not given.

    Attributes:
        link: Link id from the catalogue, perhaps `…@bidirectional`.
        peak_gb_s: One-direction peak in GB/s, instead of the catalogue's.
        box: Machine id from the catalogue, which names the links within it and between two of them.
        measured: What a bandwidth benchmark printed for the link: its practical ceiling.
        model: Model id from the catalogue, or the path of a Hugging Face `config.json` or of its folder.
        tp: Tensor-parallel ranks of the side that sends, for the bytes that its model says; 1 unless given.
        kv_dtype: Type of cached values (`nsysparse.theory.dtypes`); 16-bit unless given.
        wire_dtype: Their type while they cross; that of the cache unless given.
        ttft: Which side emits the first token, one of `CONVENTIONS`; what marks or presets say unless given.
        clock: How clocks of several traces are aligned, one of `CLOCK_MODES`.
        utc_error_ns: How far the UTC of two hosts may be apart.
        step_ns: The shortest and the longest decode step, for critical lengths.
        layers: Number of layers, for annotations that say `layer=all`.
        threshold: Share of the time to first token over which the KV gap is too much.
        nccl_buffsize: NCCL_BUFFSIZE of the run in bytes, where it was not NCCL's default.
        roles: Role (prefill, decode or mixed) by input: its file name, its stem or its trace id.
        normalize_request: A pattern whose first group is what counts of a request's id.
        overlap: Whether time alone may tell a layer or a request, where nothing else does.
        purpose: Which purposes totals, links, layers and requests cover, a key of `PURPOSES`; the rest is excluded.
        presets: Names of built-in presets, only which then speak; and preset files, which are stronger.
        request_pattern: Finds the id of a request in the text of a range: its group `request`, else its first.
    """

    link: str | None = None
    peak_gb_s: float | None = None
    box: str | None = None
    measured: Path | None = None
    model: str | None = None
    tp: int | None = None
    kv_dtype: str | None = None
    wire_dtype: str | None = None
    ttft: str | None = None
    clock: str = CLOCK_MODES[0]
    utc_error_ns: int = UTC_ERROR_NS
    step_ns: tuple[int, int] | None = None
    layers: int | None = None
    threshold: float = DEFAULT_THRESHOLD
    purpose: str = DEFAULT_PURPOSE
    nccl_buffsize: int | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    normalize_request: str | None = None
    overlap: bool = False
    presets: tuple[str, ...] = ()
    request_pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """Traces with their transfers found, paired and attributed; what metrics and exports start from.

    `engine` is what is known of steps and of requests on their way, `convention` which side emits the first token.
    `presets` are those active in at least one of the traces, strongest first.
    """

    traces: tuple[Trace, ...]
    transfers: dy.DataFrame[Transfers]
    shares: dy.DataFrame[Shares]
    requests: pl.DataFrame
    engine: Seen
    clocks: Clocks
    convention: Setting
    roles: Mapping[str, tuple[str | None, str | None]]
    presets: tuple[str, ...]
    anomalies: Counter[str]


def analyse(paths: Sequence[Path], options: Options | None = None, progress: Progress = _silent) -> Analysis:
    """Analyse one or more exports.

    Args:
        paths: The .sqlite files.
        options: What to compare with.
        progress: Is told what is being done, for people who wait.

    Raises:
        NsysparseError: A file cannot be used, or an option names something unknown.
    """
    asked = options or Options()
    _check(asked)
    model = find_model(asked.model) if asked.model else None
    as_served = served(model, asked.tp, asked.kv_dtype, asked.wire_dtype)
    references(asked.link, asked.peak_gb_s, asked.box, (), ())  # a name that is none is told before anything is read
    ceiling = None if asked.measured is None else read_measured(asked.measured)
    study = study_traces(paths, asked, progress)
    progress("computing metrics")
    facts = [_facts(trace, study.roles) for trace in study.traces]
    gpus = [gpu.name for each in facts for gpu in each.gpus]
    known = references(asked.link, asked.peak_gb_s, asked.box, gpus, [each.trace_id for each in facts])
    if ceiling is not None and asked.measured is not None:
        known = with_measured(known, ceiling, asked.measured)
    return assemble(
        select(study.transfers, study.shares, asked.purpose, pl.concat([trace.counters for trace in study.traces])),
        facts,
        _journeys(study, asked.threshold),
        _settings(asked, study, model, known),
        _notice(study.traces),
        study.anomalies,
        as_served,
        known,
    )


def study_traces(paths: Sequence[Path], options: Options | None = None, progress: Progress = _silent) -> Study:
    """Read exports and find, pair and attribute their transfers.

    Args:
        paths: The .sqlite files; together they are one run.
        options: What is known beside the traces. Layers that neither it nor its model tells are what `kv_role` marks
            agree on.
        progress: Is told what is being done.
    """
    asked = options or Options()
    _check(asked)
    presets = load(asked.presets, asked.request_pattern)
    told_roles = _told_roles(paths, asked.roles)
    anomalies: Counter[str] = Counter()
    parts: list[_Part] = []
    for path, trace_id in zip(paths, trace_ids(paths), strict=True):
        progress(f"reading {path.name}")
        first = sum(part.transfers.height for part in parts), sum(part.steps.height for part in parts)
        parts.append(_part(path, trace_id, presets, asked, told_roles.get(trace_id), first, anomalies))
    _require_distinct([part.trace for part in parts])
    _note_silent(parts, presets, asked, anomalies)
    progress("pairing and attributing transfers")
    layer_count = _layer_count(asked) or _marked_layers(parts)
    ordered = [by_issue_order(part.transfers, part.scopes, layer_count, anomalies) for part in parts]
    paired = share_time(pair(pl.concat(ordered), anomalies))
    compute = pl.concat([part.trace.compute for part in parts])
    paired = agree_between_sides(with_times(paired, compute), anomalies)
    if asked.overlap:
        told = [by_overlap(paired.filter(trace_id=part.trace.trace_id), part.scopes, anomalies) for part in parts]
        paired = paired.select("transfer_id").join(pl.concat(told), on="transfer_id", maintain_order="left")
    announced = _announced([_announcements(part.scopes, part.trace.trace_id) for part in parts])
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
    trace, recorded, heard = _read(path, trace_id, presets, all_gpu_work=False, engine=True)
    scopes = _normalised(recorded, asked, anomalies)
    numbered = _numbered(_standing(trace, scopes, anomalies, asked), first[0])
    anomalies["groups-on-several-devices"] += numbered.filter(pl.col("device_count") > 1).height
    decided = with_purpose(numbered, scopes, communicators_with_collectives(trace))
    of_processes = process_roles(decided, scopes, told_role)
    transfers = with_role(annotate(decided, scopes, anomalies), of_processes)
    steps, held = find_steps(trace, scopes, of_processes, first[1], anomalies)
    arrived = arrivals(scopes, of_processes, trace_id)
    anomalies += trace.anomalies
    return _Part(trace, scopes, transfers, trace_role(of_processes, decided), steps, held, arrived, heard)


def _journeys(study: Study, threshold: float) -> Journeys:
    """What is known of the requests' ways to their first tokens."""
    convention = study.convention.value
    return Journeys(
        announced=study.requests,
        paths=find_paths(study.engine, study.clocks),
        sides=kv_sides(study.engine),
        steps=study.engine.steps,
        held=study.engine.held,
        work=pl.concat([trace.work for trace in study.traces]),
        compute=pl.concat([trace.compute for trace in study.traces]),
        clocks=study.clocks,
        convention=convention if isinstance(convention, str) else None,
        threshold=threshold,
    )


def _convention(parts: Sequence[_Part], asked: Options) -> Setting:
    """Which side emits the first token, and who says so."""
    if asked.ttft is not None:
        return Setting(asked.ttft, "option")
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


def _read(
    path: Path, trace_id: str, presets: Sequence[Preset], *, all_gpu_work: bool, engine: bool = False
) -> tuple[Trace, ScopeTable, tuple[Preset, ...]]:
    """A trace, what presets say about its ranges, and which of them are active in it.

    With `engine` all kernels are read too, where ranges tell of steps.
    """
    heard: list[tuple[Preset, ...]] = []

    def local_copies(labels: pl.DataFrame) -> bool:
        heard.append(active(presets, labels))
        return wants_local_copies(labels, rules_of(heard[0]))

    def steps(labels: pl.DataFrame) -> bool:
        return engine and tells_steps(labels, rules_of(heard[0]))

    trace = read_trace(path, trace_id, all_gpu_work=all_gpu_work, local_copies=local_copies, steps=steps)
    speaking = heard[0] if heard else active(presets, trace.labels)
    return trace, find_scopes(trace, rules_of(speaking)), speaking


def inspect(paths: Sequence[Path], progress: Progress = _silent, presets: Sequence[str] = ()) -> Inspection:
    """Look at exports without analysing them: what was recorded, and what can be answered.

    Args:
        paths: The .sqlite files.
        progress: Is told what is being done.
        presets: As in `Options`.

    Raises:
        NsysparseError: A file cannot be used.
    """
    looked = []
    loaded = load(presets)
    for path, trace_id in zip(paths, trace_ids(paths), strict=True):
        progress(f"reading {path.name}")
        trace, scopes, heard = _read(path, trace_id, loaded, all_gpu_work=True)
        standing = _numbered(_standing(trace, scopes, Counter()), 0)
        decided = with_purpose(standing, scopes, communicators_with_collectives(trace))
        found = annotate(decided, scopes, Counter())
        looked.append(look(trace, scopes, found, [each.shown for each in heard]))
    return Inspection(FORMAT_VERSION, nsysparse=__version__, traces=tuple(looked))


def prompt_lengths(
    paths: Sequence[Path], progress: Progress = _silent, presets: Sequence[str] = ()
) -> list[int | None]:
    """Prompt tokens of every request that the ranges of the exports announce, by request id; None where not told.

    Args:
        paths: The .sqlite files; a request that several announce is one.
        progress: Is told what is being done.
        presets: As in `Options`.

    Raises:
        NsysparseError: A file cannot be used.
    """
    loaded = load(presets)
    told = []
    for path, trace_id in zip(paths, trace_ids(paths), strict=True):
        progress(f"reading {path.name}")
        _, scopes, _ = _read(path, trace_id, loaded, all_gpu_work=False)
        told.append(_announcements(scopes, trace_id))
    lengths: list[int | None] = _announced(told)["prompt_tokens"].to_list()
    return lengths


def check_preset(name: str, paths: Sequence[Path] = (), most: int = 20, progress: Progress = _silent) -> Check:
    """Whether a preset file is good, and what its rules find in traces.

    Args:
        name: The file, or the name of a built-in preset.
        paths: The .sqlite files.
        most: How many shapes of texts that no rule knows are listed, the most frequent first.
        progress: Is told what is being done.

    Raises:
        NsysparseError: A trace cannot be used, or there is no such preset. What is wrong with it is no error here.
    """
    preset, refusals = examine(name)
    if preset is None:
        return Check(None, (), tuple(refusals), ())
    beside = load(() if preset.origin is None else (name,))
    found: list[Uses] = []
    for path, trace_id in zip(paths, trace_ids(paths), strict=True):
        progress(f"reading {path.name}")
        trace = read_trace(path, trace_id, all_gpu_work=False)
        counted = trace.labels.join(trace.ranges.group_by("label_id").agg(range_count=pl.len()), on="label_id")
        speaking = [each.name for each in active(beside, trace.labels)]
        texts = counted.filter(~nccl_domain.is_nccl()).sort("label_id")
        found.append(uses(trace.file, texts, preset.name, beside, speaking, most))
    return Check(preset.name, preset.rules, (), tuple(found))


def export_frame(
    paths: Sequence[Path],
    frame: str,
    options: Options | None = None,
    progress: Progress = _silent,
) -> pl.DataFrame:
    """One frame over all exports, totally sorted; columns in docs/reference/frames.md.

    Args:
        paths: The .sqlite files.
        frame: nvtx_ranges, scopes, gpu_ops, transfers, attributions or exchanges.
        options: What is known beside the traces; of transfers, and of what is made from them, only those of its
            purposes are exported. Without options all are.
        progress: Is told what is being done.
    """
    asked = options or Options(purpose="all")
    _check(asked)
    if frame in ("transfers", "attributions", "exchanges"):
        study = study_traces(paths, asked, progress)
        wanted = study.transfers.filter(pl.col("purpose").is_in(PURPOSES[asked.purpose]))
        if frame == "exchanges":
            return of_transfers(exchanges(as_timed(study.transfers)), wanted)
        if frame == "transfers":
            return exported_transfers(wanted)
        return study.shares.join(wanted, on="transfer_id", how="semi", maintain_order="left")
    presets = load(asked.presets, asked.request_pattern)
    parts: list[pl.DataFrame] = []
    for path, trace_id in zip(paths, trace_ids(paths), strict=True):
        progress(f"reading {path.name}")
        if frame == "scopes":
            trace, scopes, _ = _read(path, trace_id, presets, all_gpu_work=True)
            parts.append(exported_scopes(_placed(trace, _normalised(scopes, asked, Counter()))))
            continue
        trace = read_trace(path, trace_id, all_gpu_work=True)
        if frame == "nvtx_ranges":
            parts.append(project(trace.ranges, trace.labels, trace.gpu_ops))
        else:
            parts.append(exported_gpu_ops(trace.gpu_ops))
    return pl.concat(parts)


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
        .with_columns(style="style_held")
    )


def _check(asked: Options) -> None:
    """Refuse, before anything is read, what no trace could make good."""
    if asked.purpose not in PURPOSES:
        raise InputError(f"There is no purpose {asked.purpose!r}.", f"Purposes are {', '.join(PURPOSES)}.")
    for name, value, known in (("--ttft", asked.ttft, CONVENTIONS), ("--clock", asked.clock, CLOCK_MODES)):
        if value is not None and value not in known:
            raise UsageError(f"{name} {value}: there is no such way.", f"Say {' or '.join(known)}.")
    if not 0 < asked.threshold < 1:
        raise UsageError(f"--threshold {asked.threshold:g}: is no share between 0 and 1.", "Say for instance 0.2.")
    if asked.normalize_request is not None:
        check_pattern(asked.normalize_request)


def trace_ids(paths: Sequence[Path]) -> list[str]:
    """A short unique name for each input: its stem, numbered where stems repeat."""
    names: list[str] = []
    for path in paths:
        stem = shown_name(path.stem)
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}#{number}"
        names.append(name)
    return names


def _standing(
    trace: Trace, scopes: ScopeTable, anomalies: Counter[str], options: Options | None = None
) -> pl.DataFrame:
    """What all transports find in one trace, each movement's best source only: columns of `Found`."""
    found = find_all(trace, scopes)
    if options and options.nccl_buffsize is not None:
        found = with_buffers(found, options.nccl_buffsize)
    numbered = _numbered(found, 0)
    return count_once(numbered, scopes, _surroundings(numbered, trace, scopes), anomalies).drop("transfer_id")


def _require_distinct(traces: Sequence[Trace]) -> None:
    """No two inputs may hold one recording: everything in it would count twice."""
    if len(traces) == 1:
        return
    seen: dict[tuple[object, ...], str] = {}
    for trace in traces:
        events = (trace.ranges.drop("trace_id"), trace.gpu_ops.drop("trace_id"))
        if all(part.is_empty() for part in events):
            continue
        mark = tuple((part.height, int(part.hash_rows().sum())) for part in (*events, trace.labels))
        if mark in seen:
            raise InputError(f"{trace.file} and {seen[mark]} hold the same recording.", "Name each only once.")
        seen[mark] = trace.file


def _told_roles(paths: Sequence[Path], roles: Mapping[str, str]) -> dict[str, str]:
    """Role by trace id, for inputs named by file, stem or id.

    Raises:
        UsageError: A name means none of the inputs, a role does not exist, or a trace is given two.
    """
    told: dict[str, str] = {}
    names = dict(zip(trace_ids(paths), paths, strict=True))
    for name, role in roles.items():
        if role not in ROLES:
            raise UsageError(f"There is no role {role!r}.", f"Roles are {', '.join(ROLES)}.")
        meant = [each for each, path in names.items() if name in (each, path.name, path.stem, str(path))]
        if not meant:
            raise UsageError(f"--role {name}: is none of the traces.", f"They are {', '.join(names)}.")
        if any(told.get(each, role) != role for each in meant):
            raise UsageError(f"--role {name}: the trace is given two roles.", "Leave one out, or say mixed.")
        told |= dict.fromkeys(meant, role)
    return told


def _normalised(scopes: ScopeTable, asked: Options, anomalies: Counter[str]) -> ScopeTable:
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


def _layer_count(asked: Options) -> int | None:
    """Layers of the model, as asked."""
    return asked.layers or (find_model(asked.model).layers if asked.model else None)


def _surroundings(found: pl.DataFrame, trace: Trace, scopes: ScopeTable) -> Surroundings:
    beside = scopes.filter(pl.col("kind") != "transfer", pl.col("purpose").is_not_null())["range_id"]
    return Surroundings(
        other=enclosing(found, scopes, "purpose").filter(pl.col("purpose") == "other")["transfer_id"],
        within=enclosing(found, scopes, "purpose", silent=beside).select("transfer_id", "scope_id"),
        threads=trace.ranges["thread"].unique(),
        issuing=issuing(found, trace),
    )


def _numbered(transfers: pl.DataFrame, first: int) -> pl.DataFrame:
    return transfers.with_row_index("transfer_id", offset=first).with_columns(pl.col("transfer_id").cast(pl.UInt32))


def _announcements(scopes: ScopeTable, trace_id: str) -> pl.DataFrame:
    """What the `kv_request` ranges of one trace say: id, start and prompt length."""
    told = scopes.filter((pl.col("kind") == "request") & pl.col("request").is_not_null())
    ids = {text: request_id(text) for text in told["request"].unique()}
    return told.select(
        request_id=pl.col("request").replace_strict(ids, return_dtype=pl.String),
        trace_id=pl.lit(trace_id),
        start_ns="start_ns",
        prompt_tokens=pl.col("prompt").cast(pl.Int64, strict=False),
    )


def _announced(announcements: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """One row per request: its earliest start, unless files with clocks of their own announce it; its prompt length."""
    one_clock = pl.col("trace_id").n_unique() == 1
    return (
        pl.concat(announcements)
        .group_by("request_id")
        .agg(start_ns=pl.when(one_clock).then(pl.col("start_ns").min()), prompt_tokens=pl.col("prompt_tokens").max())
        .sort("request_id")
    )


def _facts(trace: Trace, roles: Mapping[str, tuple[str | None, str | None]]) -> TraceFacts:
    role, source = roles.get(trace.trace_id, (None, None))
    return TraceFacts(
        trace_id=trace.trace_id,
        file=trace.file,
        nsys_version=trace.nsys_version,
        schema_version=trace.schema_version,
        role=role,
        role_source=source,
        duration_ns=trace.duration_ns,
        gpus=trace.gpus,
        capabilities=trace.capabilities,
    )


def _notice(traces: Sequence[Trace]) -> Notice | None:
    labels = sorted({trace.synthetic.removeprefix("synthetic: ") for trace in traces if trace.synthetic})
    return Notice("synthetic", "; ".join(labels)) if labels else None


def _link_setting(asked: Options, known: References) -> Setting:
    """The link as named, or what is assumed of GPUs of one trace."""
    if asked.link is not None:
        return Setting(asked.link, "option")
    if known.assumption and known.within is not None and asked.box is None:
        return Setting(known.within.link_id, f"assumed: {known.assumption}")
    return Setting(None, "not given")


def _settings(asked: Options, study: Study, model: Model | None, known: References) -> dict[str, Setting]:
    def given(value: object) -> Setting:
        return Setting(value, "option" if value is not None else "not given")

    return {
        "purpose": Setting(asked.purpose, "default" if asked.purpose == DEFAULT_PURPOSE else "option"),
        "threshold": Setting(asked.threshold, "default" if asked.threshold == DEFAULT_THRESHOLD else "option"),
        "link": _link_setting(asked, known),
        "peak_gb_s": given(asked.peak_gb_s),
        "box": Setting(asked.box, f"option: {known.assumption}") if asked.box else given(None),
        "measured": given(shown_name(asked.measured.name) if asked.measured else None),
        "model": Setting(shown_model(model), f"option{f': {model.note}' if model.note else ''}")
        if model
        else given(None),
        "tp": Setting(asked.tp or 1, "option" if asked.tp else "default"),
        "kv_dtype": Setting(asked.kv_dtype or default_type().id, "option" if asked.kv_dtype else "default"),
        "wire_dtype": given(asked.wire_dtype),
        "step_ms": Setting([step / 1e6 for step in asked.step_ns or STEP_NS], "option" if asked.step_ns else "default"),
        "presets": Setting(list(study.presets), "option" if asked.presets else "detected"),
        "request_pattern": given(asked.request_pattern),
        "normalize_request": given(asked.normalize_request),
        "overlap_attribution": Setting(asked.overlap, "option" if asked.overlap else "default"),
        "roles": given(", ".join(f"{name}={role}" for name, role in sorted(asked.roles.items())) or None),
        "layers": given(asked.layers),
        "nccl_buffsize": Setting(asked.nccl_buffsize or BUFFER_BYTES, "option" if asked.nccl_buffsize else "default"),
        "time_range": Setting(None, "not in this version"),
        "ttft": study.convention,
        "clock": Setting(asked.clock, "default" if asked.clock == CLOCK_MODES[0] else "option"),
        "utc_error_ms": Setting(
            asked.utc_error_ns / NS_PER_MS, "default" if asked.utc_error_ns == UTC_ERROR_NS else "option"
        ),
    }
