"""What is kept of one trace when it has been read: what later stages ask for, and none of its millions of events.

A part depends on nothing but its own file and on what was asked, so that any process may read it, in any order. Numbers
that count through the whole run begin at 0 in each part; `study` shifts them when it puts the parts together.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nsysparse.analysis import DECODE, TraceFacts
from nsysparse.anchor import Anchor
from nsysparse.api.options import Options
from nsysparse.api.reading import access_of, announcements, find_standing, normalised, numbering, read
from nsysparse.arrivals import arrivals
from nsysparse.attribution import annotate
from nsysparse.frames import OF_DEVICE
from nsysparse.instants import Busy, Instants
from nsysparse.metrics.devices import placed
from nsysparse.presets.loader import Preset
from nsysparse.purpose import communicators_with_collectives, with_purpose
from nsysparse.roles import process_roles, trace_role, with_role
from nsysparse.scope_table import ScopeTable
from nsysparse.source.trace import Trace
from nsysparse.steps import find_steps

_KEPT, _KEPT_FOR_OVERLAP = ("step", "role"), ("request", "layer")
"""Kinds of ranges that are asked when all traces are together: for the order of sends and what processes say of
themselves; and for what runs at the same time, where that may tell a layer or a request."""

Mark = tuple[tuple[int, int], ...]
"""Rows and a checksum of each kind of event: equal for two exports of one recording."""


@dataclass(frozen=True, slots=True)
class Task:
    """One trace to read.

    Attributes:
        path: The export.
        trace_id: Its name in the run.
        presets: Those that may speak, strongest first.
        asked: What is known beside the traces.
        told_role: The role of all its processes, as the user says.
        is_alone: No other trace is read, which could be of the same recording.
    """

    path: Path
    trace_id: str
    presets: tuple[Preset, ...]
    asked: Options
    told_role: str | None
    is_alone: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One trace, and what its own ranges say of its transfers.

    Attributes:
        facts: What a report says of the file.
        synthetic: What a file that no GPU recorded says of itself.
        anchor: Where the zero of its clock lies.
        scopes: Its ranges that are asked later, ids of requests as asked.
        announced: From `announcements`.
        transfers: From `annotate`, with roles; `transfer_id` from 0.
        steps: Its steps, `step_id` from 0.
        held: Which requests they hold.
        arrivals: When requests came to it.
        compute: When compute ran.
        work: Columns of `Work`, as far as `_asked_later` keeps them.
        counters: Columns of `Counters`.
        heard: Name and convention of the presets that are active in it.
        finding: Names of those that know a range of it.
        anomalies: What was odd, by code.
        mark: What it is known by, where several are read.
    """

    facts: TraceFacts
    synthetic: str | None
    anchor: Anchor
    scopes: ScopeTable
    announced: pl.DataFrame
    transfers: pl.DataFrame
    steps: pl.DataFrame
    held: pl.DataFrame
    arrivals: pl.DataFrame
    compute: Busy
    work: pl.DataFrame
    counters: pl.DataFrame
    heard: tuple[tuple[str, str | None], ...]
    finding: frozenset[str]
    anomalies: Counter[str]
    mark: Mark | None

    @property
    def trace_id(self) -> str:
        """Its name in the run."""
        return self.facts.trace_id


def read_part(task: Task) -> Part:
    """Read one trace and let its ranges speak of its transfers and steps.

    Raises:
        InputError: The file cannot be used.
    """
    asked, anomalies = task.asked, Counter[str]()
    trace, recorded, heard = read(
        task.path, task.trace_id, task.presets, all_gpu_work=False, engine=True, access=access_of(asked)
    )
    scopes = normalised(recorded, asked, anomalies)
    numbered = numbering(find_standing(trace, scopes, anomalies, asked), 0)
    anomalies["groups-on-several-devices"] += numbered.filter(pl.col("device_count") > 1).height
    decided = with_purpose(numbered, scopes, communicators_with_collectives(trace))
    of_processes = process_roles(decided, scopes, task.told_role)
    transfers = with_role(annotate(decided, scopes, anomalies), of_processes)
    steps, held = find_steps(trace, scopes, of_processes, 0, anomalies)
    return Part(
        facts=_facts(trace, trace_role(of_processes, decided)),
        synthetic=trace.synthetic,
        anchor=trace.anchor,
        scopes=scopes.only((*_KEPT, *_KEPT_FOR_OVERLAP) if asked.overlap else _KEPT),
        announced=announcements(scopes, task.trace_id),
        transfers=transfers,
        steps=steps,
        held=held,
        arrivals=arrivals(scopes, of_processes, task.trace_id),
        compute=trace.compute,
        work=_asked_later(trace.work, steps),
        counters=trace.counters,
        heard=tuple((each.name, each.ttft) for each in heard),
        finding=frozenset(rule.partition("/")[0] for rule in scopes.words("rule")),
        anomalies=anomalies + trace.anomalies,
        mark=None if task.is_alone else _mark(trace),
    )


def computed(parts: Iterable[Part]) -> Busy:
    """When compute ran on the devices of all traces."""
    return {device: ran for part in parts for device, ran in part.compute.items()}


def _facts(trace: Trace, role: tuple[str | None, str | None]) -> TraceFacts:
    return TraceFacts(
        trace_id=trace.trace_id,
        file=trace.file,
        nsys_version=trace.nsys_version,
        schema_version=trace.schema_version,
        role=role[0],
        role_source=role[1],
        duration_ns=trace.duration_ns,
        gpus=trace.gpus,
        capabilities=trace.capabilities,
    )


def _mark(trace: Trace) -> Mark | None:
    """What the recording is known by; None where nothing was recorded by which two could be told apart."""
    events: tuple[pl.DataFrame, ...] = (trace.ranges, trace.gpu_ops.drop("trace_id"))
    if all(each.is_empty() for each in events):
        return None
    return tuple((each.height, int(each.hash_rows().sum())) for each in (*events, trace.labels))


def _asked_later(work: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The kernels that metrics ask for.

    Those of decode steps are compared with each other; those of processes whose steps ran on several devices tell when
    each did; of all others one for each process on a device tells that it worked there.
    """
    if work.is_empty():
        return work
    spread = steps.filter(pl.col("is_projected") & pl.col("device").is_null())["process"].unique()
    decoding = placed(steps.filter(phase=DECODE), work).partition_by(OF_DEVICE, as_dict=True)
    numbered = work.with_row_index("at")
    one = numbered.group_by(*OF_DEVICE, "device_id", "process").agg(pl.col("at").min())["at"]
    kept = [one, numbered.filter("is_compute", pl.col("process").is_in(spread.implode()))["at"]]
    for key, rows in decoding.items():
        mine = numbered.filter(
            "is_compute", pl.col("shape").is_not_null(), **dict(zip(OF_DEVICE, key, strict=True))
        ).select("at", "start_ns", "end_ns")
        inside = Instants.covered(rows).within(mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy()) > 0
        kept.append(mine["at"].filter(pl.Series(inside, dtype=pl.Boolean)))
    return work[pl.concat(kept).unique().sort()]
