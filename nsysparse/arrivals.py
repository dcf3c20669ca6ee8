"""When requests arrived, and which side emits their first token, as ranges and presets tell."""

from collections.abc import Iterable

import polars as pl

from nsysparse.analysis import DECODE
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import process_fact
from nsysparse.shares import request_id

MARK = "kv_role mark"


def arrivals(scopes: ScopeTable, roles: pl.DataFrame, trace_id: str) -> pl.DataFrame:
    """When requests came to the side that prefills: `request_id`, `trace_id` and `at_ns`, as often as a range says so.

    Args:
        scopes: From `find_scopes`, of one trace.
        roles: From `process_roles`: where a request comes to a process that decodes, its KV does.
        trace_id: Name of the trace.
    """
    told = scopes.filter((pl.col("kind") == "request") & pl.col("request").is_not_null())
    there = told.join(roles.filter(process_role=DECODE), on="process", how="anti")
    ids = {text: request_id(text) for text in there["request"].unique()}
    return there.select(
        request_id=pl.col("request").replace_strict(ids, default=None, return_dtype=pl.String),
        trace_id=pl.lit(trace_id),
        at_ns="start_ns",
    )


def emitting(tables: Iterable[ScopeTable], presets: Iterable[tuple[str, str | None]]) -> tuple[str | None, str]:
    """Which side emits the first token, and what says so: marks of all processes, else presets; None if they differ.

    Args:
        tables: The scopes of all traces.
        presets: Name of every preset that speaks in a trace, and the convention that it knows.
    """
    marked = {text for scopes in tables for text in process_fact(scopes, "ttft")["ttft"]}
    known = {convention: name for name, convention in presets if convention is not None}
    for said, source in ((marked, MARK), (set(known), "preset ")):
        if len(said) == 1:
            (convention,) = said
            return convention, source if source == MARK else f"{source}{known[convention]}"
        if said:
            return None, "contradictory marks or presets"
    return None, "not given"
