"""Steps of the engine: which requests each works on, and from when to when its compute ran on the GPU.

A step is a range that says it is prefill or decode: of kind `step`, or any other that says so but is no part of a step
(a layer, a transfer). Ranges within another of the same phase and thread are about the same step. It lasts from the
first to the last compute that was launched inside, else as long as its range: kernels of NCCL that close it would make
a prefill seem to last until its KV had arrived.
"""

from collections import Counter
from collections.abc import Sequence

import polars as pl

from nsysparse.analysis import DECODE, PREFILL
from nsysparse.containing import innermost
from nsysparse.frames import StepRequests, Steps
from nsysparse.presets.loader import Rule, match
from nsysparse.projection import work_of
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import OPEN, holding
from nsysparse.shares import request_id
from nsysparse.source import nccl_domain
from nsysparse.source.trace import Trace

PARTS_OF_STEPS = ("transfer", "layer", "pack", "wait", "offload", "load", "role", "request")
"""Kinds of ranges that say a phase without being a step."""


def tells_steps(labels: pl.DataFrame, rules: Sequence[Rule]) -> bool:
    """Whether any label is that of a step, by the rules that speak in the trace."""
    of_steps = [
        rule
        for rule in rules
        if rule.kind == "step"
        or (rule.kind not in PARTS_OF_STEPS and ("phase" in rule.says or "phase" in rule.captures))
    ]
    return not match(labels.filter(~nccl_domain.is_nccl()), of_steps).is_empty()


def _is_step() -> pl.Expr:
    phased = pl.col("phase").is_not_null() & ~pl.col("kind").is_in(PARTS_OF_STEPS)
    return (pl.col("kind") == "step") | phased


def find_steps(
    trace: Trace, scopes: ScopeTable, roles: pl.DataFrame, first: int, anomalies: Counter[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The steps of one trace, and their requests.

    Args:
        trace: The trace, with its `work`.
        scopes: From `find_scopes`.
        roles: From `process_roles`: what a step is of that does not say it, or says that it is both.
        first: Number of the first step.
        anomalies: Counts steps of which is not known whether they are prefill or decode.

    Returns:
        Columns of `Steps` and of `StepRequests`, in the order of time.
    """
    ranges = _phased(pl.concat([holding(scopes, _is_step()), _last_open(trace, scopes)]), roles, anomalies)
    outer = _outermost(ranges)
    whole = _projected(trace, outer.select("step").unique().rename({"step": "range_id"}))
    whole = _at_work(whole, outer, anomalies)
    outer = outer.join(whole, left_on="step", right_on="range_id", how="semi", maintain_order="left")
    idle = outer.join(whole.filter(~pl.col("is_projected")), left_on="step", right_on="range_id", how="semi")
    named = pl.concat([_own_requests(ranges), _surrounding(ranges, scopes, idle.filter(kind="step")["range_id"])])
    steps = (
        outer.filter(pl.col("range_id") == pl.col("step"))
        .select("range_id", "process", "phase")
        .join(whole, on="range_id", maintain_order="left")
        .sort("start_ns", "end_ns", "process", "range_id")
        .with_row_index("step_id", offset=first)
        .with_columns(pl.col("step_id").cast(pl.UInt32), trace_id=pl.lit(trace.trace_id))
    )
    held = (
        named.join(outer.select("range_id", "step"), on="range_id")
        .join(steps.select("step_id", step="range_id"), on="step")
        .select("step_id", "request_id")
        .unique()
        .sort("step_id", "request_id")
    )
    return Steps.validate(steps.select(Steps.column_names())), StepRequests.validate(held)


def _last_open(trace: Trace, scopes: ScopeTable) -> pl.DataFrame:
    """Steps in which the recording ended, as far as their compute shows when they were.

    Whether a range was closed at the end of the recording or not at all, a file does not tell. What is launched after
    its begin is its own unless its pop was lost, as it was where another step of its thread begins after it. Where a
    closed one lasts beyond its begin, it is a part of that.
    """
    found = scopes.filter(_is_step(), pl.col("style") == OPEN)
    if found.is_empty():
        return found
    others = scopes.filter(_is_step(), pl.col("style") != "mark")
    latest = others.group_by("thread").agg(
        latest=pl.col("start_ns").max(), until=pl.col("end_ns").filter(pl.col("style") != OPEN).max()
    )
    found = (
        found.join(latest, on="thread", maintain_order="left")
        .filter(pl.col("start_ns") == pl.col("latest"), (pl.col("until") <= pl.col("start_ns")).fill_null(value=True))
        .unique("thread", keep="last", maintain_order=True)
        .drop("latest", "until")
    )
    launching = _projected(trace, found.select("range_id")).filter("is_projected")
    return found.join(launching, on="range_id", how="semi", maintain_order="left")


def _phased(ranges: pl.DataFrame, roles: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Steps with the phase that they, or else their process, are of."""
    known = ranges.join(roles.select("process", "process_role"), on="process", how="left", maintain_order="left")
    own = pl.when(pl.col("phase").is_in([PREFILL, DECODE])).then("phase")
    by_role = pl.when(pl.col("process_role").is_in([PREFILL, DECODE])).then("process_role")
    decided = known.with_columns(phase=pl.coalesce(own, by_role))
    undecided = decided.filter(pl.col("phase").is_null()).height
    if undecided:
        anomalies["steps-of-unknown-phase"] += undecided
    return decided.filter(pl.col("phase").is_not_null())


def _outermost(ranges: pl.DataFrame) -> pl.DataFrame:
    """Add `step`: the range that stands for each one's step, which is the outermost of its thread and phase."""
    parts = [ranges.with_columns(step="range_id").clear()]
    for _, rows in ranges.group_by("thread", "phase", maintain_order=True):
        ordered = rows.sort("start_ns", "end_ns", "range_id", descending=[False, True, False])
        # What ends later than all that began before it lies in none of them; else in the one that reaches farthest.
        opens = (pl.col("end_ns") > pl.col("end_ns").cum_max().shift(1)).fill_null(value=True)
        parts.append(ordered.with_columns(step=pl.when(opens).then("range_id").forward_fill()).select(parts[0].columns))
    return pl.concat(parts)


def _at_work(whole: pl.DataFrame, outer: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Without steps in which nothing ran, of processes and phases whose other steps compute: engines iterate idly."""
    names = (pl.coalesce("requests", "request").str.len_bytes() > 0).fill_null(value=False)
    of_step = outer.filter(pl.col("range_id") == pl.col("step")).select("range_id", "process", "phase", names=names)
    known = whole.join(of_step, on="range_id", maintain_order="left")
    kept = pl.col("is_projected") | ~pl.col("is_projected").any().over("process", "phase")
    if idle := known.filter(~kept & pl.col("names")).height:
        anomalies["steps-without-work"] += idle
    return known.filter(kept).drop("process", "phase", "names")


def _own_requests(ranges: pl.DataFrame) -> pl.DataFrame:
    """`range_id` and `request_id` for every request that a range names itself."""
    told = ranges.select("range_id", text=pl.coalesce("requests", "request")).drop_nulls()
    return _ids(told)


def _surrounding(ranges: pl.DataFrame, scopes: ScopeTable, empty: pl.Series) -> pl.DataFrame:
    """The same for ranges that name none: the request of the innermost range of their thread around them.

    Failing that, and but for `empty` ones (an engine that waits for work iterates too), of the start/end range of their
    process around them, while it is the only one open there that names a request.
    """
    silent = ranges.filter(pl.col("requests").is_null() & pl.col("request").is_null())
    naming = holding(scopes, pl.col("request").is_not_null()).select(
        "thread", "process", "style", "request", holder="range_id", begin="start_ns", end="end_ns"
    )
    inner = silent.select("thread", "process", item="range_id", begin="start_ns", end="end_ns")
    held = innermost(inner, naming.filter(style="push_pop"), "thread")
    left = inner.join(held, on="item", how="anti", maintain_order="left").filter(~pl.col("item").is_in(empty.implode()))
    alone = innermost(left, naming.filter(style="start_end"), "process", alone=True)
    told = pl.concat([held, alone]).join(naming.select("holder", "request"), on="holder")
    return _ids(told.select(range_id="item", text="request"))


def _ids(told: pl.DataFrame) -> pl.DataFrame:
    texts = {text: [request_id(each) for each in text.split(",") if each] for text in told["text"].unique()}
    lists = pl.DataFrame(
        {"text": list(texts), "request_id": list(texts.values())},
        schema={"text": pl.String, "request_id": pl.List(pl.String)},
    )
    return told.join(lists, on="text").select("range_id", "request_id").explode("request_id").drop_nulls()


def _projected(trace: Trace, wanted: pl.DataFrame) -> pl.DataFrame:
    """Where the compute ran that was launched inside ranges.

    Returns:
        `range_id`, `host_start_ns`, `host_end_ns`, `start_ns`, `end_ns`, `is_projected` and `device` (where it is one).
    """
    spans = trace.ranges.join(wanted, on="range_id", how="semi", maintain_order="left")
    parts = [
        work_of(spans, work).filter(pl.col("gpu_op_count") > 0).with_columns(device=pl.lit(device))
        for (device,), work in trace.work.filter("is_compute").group_by("device", maintain_order=True)
    ]
    found = (
        pl.concat(parts).group_by("range_id").agg(
            low=pl.col("projected_start_ns").min(), high=pl.col("projected_end_ns").max(),
            devices=pl.col("device").n_unique(), device=pl.col("device").first(),
        )
        if parts
        else pl.DataFrame(schema={"range_id": pl.UInt32, "low": pl.Int64, "high": pl.Int64, "devices": pl.UInt32,
                                  "device": pl.String})
    )  # fmt: skip
    return (
        spans.select("range_id", host_start_ns="start_ns", host_end_ns="end_ns")
        .join(found, on="range_id", how="left", maintain_order="left")
        .select(
            "range_id", "host_start_ns", "host_end_ns",
            start_ns=pl.coalesce("low", "host_start_ns"), end_ns=pl.coalesce("high", "host_end_ns"),
            is_projected=pl.col("low").is_not_null(),
            device=pl.when(pl.col("devices") == 1).then("device"),
        )
    )  # fmt: skip
