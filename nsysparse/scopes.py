"""Scopes: the ranges that say something about layer, request, phase, role or purpose, and which of them hold a call."""

from collections.abc import Sequence

import polars as pl

from nsysparse.containing import innermost
from nsysparse.frames import STYLES
from nsysparse.presets.loader import FIELDS, Rule, active, builtin, match, rules_of
from nsysparse.presets.rules import PHASES, ROLES, SCOPE
from nsysparse.scope_table import ScopeTable
from nsysparse.source import nccl_domain
from nsysparse.source.trace import Trace

MOVING_KINDS = ("transfer", "offload", "load")
"""Kinds of ranges that are about moving KV: to another worker, to a store, from a store."""

_WORDS = {"phase": PHASES, "role": ROLES}
OPEN, CROSSED = "open", "crossed"
"""Styles of ranges that hold nothing: never closed, so that their end is not known; or crossing another of their thread
and domain, so that a push or pop between them was lost."""
SCOPE_STYLES = pl.Enum([*STYLES.categories, OPEN, CROSSED])


def find_scopes(trace: Trace, rules: Sequence[Rule] | None = None) -> ScopeTable:
    """Ranges and marks of which a preset says something.

    Args:
        trace: The trace.
        rules: Those that speak in it, strongest first; without them those built in that do.

    Returns:
        Their ranges, whose `style` is push_pop, start_end, mark, `OPEN` or `CROSSED`, and what the presets found:
        `rule`, `kind`, `purpose`, `purpose_rule` and the fields of `FIELDS` as text.
    """
    said = said_by(trace.labels, _speaking(trace.labels) if rules is None else rules)
    ranges = (
        _announced(trace, said)
        .join(said.select("label_id", "kind"), on="label_id")
        .with_columns(
            style=pl.when(_never_ended())
            .then(pl.lit(OPEN, dtype=SCOPE_STYLES))
            .when("is_crossed")
            .then(pl.lit(CROSSED, dtype=SCOPE_STYLES))
            .otherwise(pl.col("style").cast(SCOPE_STYLES))
        )
        .select("range_id", "label_id", "style", "process", "thread", "start_ns", "end_ns")
        .sort("range_id")
    )
    return ScopeTable(ranges, said)


def _announced(trace: Trace, said: pl.DataFrame) -> pl.DataFrame:
    """Ranges and marks, but none from before a window that was asked for but what processes are: that lasts."""
    if trace.window is None or trace.window.start_ns is None:
        return trace.ranges
    lasting = pl.col("label_id").is_in(said.filter(kind="role")["label_id"].implode())
    return trace.ranges.filter((pl.col("style") != "mark") | (pl.col("start_ns") >= trace.window.start_ns) | lasting)


def said_by(labels: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """What rules say of labels, a row for each of which they say something: `label_id` and the words of scopes."""
    said = match(labels.filter(~nccl_domain.is_nccl()), rules)
    silent = pl.all_horizontal(pl.col("purpose", *FIELDS).is_null()) & (pl.col("kind") == SCOPE)
    said = said.filter(~silent)  # a name that is merely known, as every operation of torch is
    return said.with_columns(
        pl.when(pl.col(field).is_in(words)).then(field).alias(field) for field, words in _WORDS.items()
    )


def holding(scopes: ScopeTable, *conditions: pl.Expr) -> pl.DataFrame:
    """Ranges of which it is known where they begin and end: no marks, and none that is `OPEN` or `CROSSED`."""
    return scopes.filter(pl.col("style").is_in(["push_pop", "start_end"]), *conditions)


def _never_ended() -> pl.Expr:
    """Ranges that nobody closed, of which it is unknown where they ended: what comes later need not be inside.

    Push/pop ranges that a lost pop left open, and all about one transfer. A request may well outlast the recording.
    """
    about_one = pl.col("kind").is_in(MOVING_KINDS) | (pl.col("style") == "push_pop")
    return pl.col("is_open") & about_one & (pl.col("style") != "mark")


def wants_local_copies(labels: pl.DataFrame, rules: Sequence[Rule] | None = None) -> bool:
    """Whether a range announces transfers that copies to the host or within a device may carry; rules as above."""
    asked = _speaking(labels) if rules is None else rules
    own = labels.filter(~nccl_domain.is_nccl())
    announcing = match(own, [rule for rule in asked if rule.kind in MOVING_KINDS])
    # Of several rules that know a range the strongest says what it is.
    said = match(own.join(announcing, on="label_id", how="semi"), asked)
    return not said.filter(pl.col("kind").is_in(MOVING_KINDS)).is_empty()


def _speaking(labels: pl.DataFrame) -> tuple[Rule, ...]:
    return rules_of(active(builtin(), labels))


def enclosing(
    calls: pl.DataFrame,
    scopes: ScopeTable,
    field: str,
    *,
    spanning: bool = False,
    silent: pl.Series | None = None,
) -> pl.DataFrame:
    """For each call, what the ranges around it say about one field.

    The innermost push/pop range of the call's own thread speaks first. Failing that, with `spanning`, a start/end range
    of the process, of any thread: but only while it is the only one open there that has the field, since of several
    nothing says which.

    Args:
        calls: `transfer_id`, `process`, `thread`, `call_start_ns`, `call_end_ns`; rows without interval find nothing.
        scopes: From `find_scopes`; marks hold nothing.
        field: A column of `scopes`; ranges that are silent about it are looked through.
        spanning: Whether a start/end range may speak too: it need not be about this call.
        silent: `range_id` of ranges that say nothing of these calls. Where one is open, another start/end range is not
            the only one.

    Returns:
        `transfer_id`, `scope_id` (the range), its `kind` and `style`, and the field, for calls that have one.
    """
    if calls.is_empty():
        types = {name: scopes.dtype(name) for name in ("kind", "style", field)}
        return pl.DataFrame(schema={"transfer_id": calls.schema["transfer_id"], "scope_id": pl.UInt32, **types})
    muted = pl.Series([], dtype=pl.UInt32) if silent is None else silent
    columns = ("range_id", "thread", "process", "style", "kind", field, "start_ns", "end_ns")
    speaking = scopes.filter(pl.col(field).is_not_null(), columns=columns).rename(
        {"range_id": "holder", "start_ns": "begin", "end_ns": "end"}
    )
    placed = calls.filter(pl.col("call_start_ns").is_not_null() & pl.col("thread").is_not_null())
    calls_within = placed.select("thread", "process", item="transfer_id", begin="call_start_ns", end="call_end_ns")
    on_stack = speaking.filter(pl.col("style") == "push_pop", ~pl.col("holder").is_in(muted.implode()))
    found = [innermost(calls_within, on_stack, "thread")]
    if spanning:
        rest = calls_within.join(found[0], on="item", how="anti", maintain_order="left")
        lasting = innermost(rest, speaking.filter(pl.col("style") == "start_end"), "process", alone=True)
        found.append(lasting.filter(~pl.col("holder").is_in(muted.implode())))
    held = pl.concat(found).rename({"item": "transfer_id", "holder": "scope_id"})
    said = speaking.select("kind", "style", field, scope_id="holder")
    return held.join(said, on="scope_id", maintain_order="left")


def at_capture(transfers: pl.DataFrame) -> pl.DataFrame:
    """Replays of CUDA graphs, with the call at capture time as their call: for `enclosing`.

    Args:
        transfers: `transfer_id`, `transport`, `side`, `purpose`, `process`, `scope_id`, `captured_thread`,
            `captured_start_ns`, `captured_end_ns`.
    """
    return transfers.filter(pl.col("captured_start_ns").is_not_null()).select(
        "transfer_id",
        "transport",
        "side",
        "purpose",
        "process",
        "scope_id",
        thread="captured_thread",
        call_start_ns="captured_start_ns",
        call_end_ns="captured_end_ns",
    )


def process_fact(scopes: ScopeTable, field: str) -> pl.DataFrame:
    """What the `kv_role` marks of each process say about a field: `process` and the field, where they all agree."""
    said = scopes.filter((pl.col("kind") == "role") & pl.col(field).is_not_null())
    return (
        said.group_by("process").agg(pl.col(field).unique()).filter(pl.col(field).list.len() == 1)
        .with_columns(pl.col(field).list.first())
    )  # fmt: skip
