"""The whole analysis of a run: metrics over a study, with what was asked and assumed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from nsysparse.analysis import (
    CLOCK_MODES,
    DEFAULT_PURPOSE,
    DEFAULT_THRESHOLD,
    UTC_ERROR_NS,
    Analysis,
    Notice,
    Setting,
)
from nsysparse.api.options import AFTER_READING, Options, Progress, Stage, check, silent
from nsysparse.api.part import Part, computed
from nsysparse.api.study import Study, study_traces
from nsysparse.catalog.entries import Model
from nsysparse.catalog.loader import find_model, shown_model
from nsysparse.filenames import shown_name
from nsysparse.measured.ceilings import Ceiling
from nsysparse.metrics.assemble import assemble
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import select
from nsysparse.metrics.warnings import unreadable
from nsysparse.paths import find_paths, spans
from nsysparse.source.window import Window
from nsysparse.theory.critical import STEP_NS
from nsysparse.theory.dtypes import default_type
from nsysparse.theory.references import References, references
from nsysparse.theory.served import served
from nsysparse.transports.nccl import BUFFER_BYTES
from nsysparse.units import NS_PER_MS

_NOT_GIVEN = "not given"


def analyse(paths: Sequence[Path], options: Options | None = None, progress: Progress = silent) -> Analysis:
    """Analyse one or more exports.

    Args:
        paths: The .sqlite files.
        options: What to compare with.
        progress: Is told what is being done, for people who wait.

    Raises:
        NsysparseError: A file cannot be used, or an option names something unknown.
    """
    asked = options or Options()
    check(asked)
    model = find_model(asked.model) if asked.model else None
    as_served = served(model, asked.tp, asked.kv_dtype, asked.wire_dtype)
    references(asked.link, asked.peak_gb_s, asked.box, (), ())  # a name that is none is told before anything is read
    ceiling = None if asked.measured is None else _ceiling(asked.measured)
    study = study_traces(paths, asked, progress)
    progress(Stage("computing metrics", len(paths) + 1, len(paths) + AFTER_READING))
    facts = [trace.facts for trace in study.traces]
    gpus = [gpu.name for each in facts for gpu in each.gpus]
    known = references(asked.link, asked.peak_gb_s, asked.box, gpus, [each.trace_id for each in facts])
    if ceiling is not None and asked.measured is not None:
        from nsysparse.theory.practical import with_measured

        known = with_measured(known, ceiling, asked.measured)
    found = assemble(
        select(study.transfers, study.shares, asked.purpose, pl.concat([trace.counters for trace in study.traces])),
        facts,
        _journeys(study, asked.threshold),
        _settings(asked, study, model, known),
        _notice(study.traces),
        study.anomalies,
        as_served,
        known,
    )
    if not study.unreadable:
        return found
    # It comes first: of many warnings some formats show only those.
    missing = unreadable([shown_name(error.message) for error in study.unreadable])
    return replace(found, warnings=(missing, *found.warnings))


def _ceiling(path: Path) -> Ceiling:
    # The patterns by which all benchmarks are read are for those who name a file.
    from nsysparse.measured.loader import read_measured

    return read_measured(path)


def _journeys(study: Study, threshold: float) -> Journeys:
    """What is known of the requests' ways to their first tokens."""
    convention = study.convention.value
    paths, sides = find_paths(study.engine, study.clocks)
    return Journeys(
        announced=study.requests,
        paths=paths,
        sides=sides,
        steps=study.engine.steps,
        held=study.engine.held,
        work=pl.concat([trace.work for trace in study.traces]),
        compute=computed(study.traces),
        clocks=study.clocks,
        spans=spans(study.engine),
        convention=convention if isinstance(convention, str) else None,
        threshold=threshold,
    )


def _notice(traces: Sequence[Part]) -> Notice | None:
    labels = sorted({trace.synthetic.removeprefix("synthetic: ") for trace in traces if trace.synthetic})
    return Notice("synthetic", "; ".join(labels)) if labels else None


def _link_setting(asked: Options, known: References) -> Setting:
    """The link as named, or what is assumed of GPUs of one trace."""
    if asked.link is not None:
        return Setting(asked.link, asked.source("link", given=True))
    if known.assumption and known.within is not None and asked.box is None:
        return Setting(known.within.link_id, f"assumed: {known.assumption}")
    return Setting(None, _NOT_GIVEN)


def _settings(asked: Options, study: Study, model: Model | None, known: References) -> dict[str, Setting]:
    def of(name: str, value: object, *, given: bool) -> Setting:
        return Setting(value, asked.source(name, given=given))

    def if_given(name: str, value: object, note: str | None = None) -> Setting:
        if value is None:
            return Setting(None, _NOT_GIVEN)
        source = asked.source(name, given=True)
        return Setting(value, f"{source}: {note}" if note else source)

    kv_dtype = asked.kv_dtype or default_type().id
    steps_ms = [step / NS_PER_MS for step in asked.step_ns or STEP_NS]
    buffer = asked.nccl_buffsize or BUFFER_BYTES
    presets = asked.source("presets", given=True) if asked.presets else "detected"
    return {
        "purpose": of("purpose", asked.purpose, given=asked.purpose != DEFAULT_PURPOSE),
        "threshold": of("threshold", asked.threshold, given=asked.threshold != DEFAULT_THRESHOLD),
        "link": _link_setting(asked, known),
        "peak_gb_s": if_given("peak_gb_s", asked.peak_gb_s),
        "box": if_given("box", asked.box, known.assumption),
        "measured": if_given("measured", shown_name(asked.measured.name) if asked.measured else None),
        "model": if_given("model", shown_model(model) if model else None, model.note if model else None),
        "tp": of("tp", asked.tp or 1, given=asked.tp is not None),
        "kv_dtype": of("kv_dtype", kv_dtype, given=asked.kv_dtype is not None),
        "wire_dtype": if_given("wire_dtype", asked.wire_dtype),
        "step_ms": of("step_ms", steps_ms, given=asked.step_ns is not None),
        "presets": Setting(list(study.presets), presets),
        "request_pattern": if_given("request_pattern", asked.request_pattern),
        "normalize_request": if_given("normalize_request", asked.normalize_request),
        "overlap_attribution": of("overlap_attribution", asked.overlap, given=asked.overlap),
        "roles": if_given("roles", ", ".join(f"{name}={role}" for name, role in sorted(asked.roles.items())) or None),
        "layers": if_given("layers", asked.layers),
        "nccl_buffsize": of("nccl_buffsize", buffer, given=asked.nccl_buffsize is not None),
        "time_range": if_given("time_range", None if asked.window_ns is None else Window(*asked.window_ns).shown),
        "ttft": study.convention,
        "clock": of("clock", asked.clock, given=asked.clock != CLOCK_MODES[0]),
        "utc_error_ms": of("utc_error_ms", asked.utc_error_ns / NS_PER_MS, given=asked.utc_error_ns != UTC_ERROR_NS),
    }
