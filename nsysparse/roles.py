"""Whether a process, and a transfer, is of prefill or of decode, and what says so.

One process may do both, so a transfer's own surroundings come first, then what is known of its process.
"""

import polars as pl

from nsysparse.analysis import DECODE, MIXED, PREFILL, ROLES
from nsysparse.scope_table import ScopeTable

OPTION, MARK, STEPS, RANGES, DIRECTION = "option", "kv_role mark", "steps", "ranges", "direction"
"""What says which role a process has, best first."""
BY_PROCESS, BY_DIRECTION = "process", "direction"
# A decode engine also runs a step with context for a request that it was handed over.
_MOST_STEPS = 0.9
_BY_SIDE = {"send": PREFILL, "recv": DECODE}


def process_roles(transfers: pl.DataFrame, scopes: ScopeTable, told: str | None = None) -> pl.DataFrame:
    """The role of each process of one trace that transfers or says something about itself.

    Args:
        transfers: Columns of `Found` with `purpose`.
        scopes: From `find_scopes`.
        told: The role of all of them, as the user says.

    Returns:
        `process`, `process_role` and `role_source`, for processes of which anything tells it; `mixed` where what tells
        it says both.
    """
    processes = pl.concat([transfers.select("process"), scopes.select("process")]).drop_nulls().unique().sort("process")
    if told is not None:
        return processes.with_columns(process_role=pl.lit(told), role_source=pl.lit(OPTION))
    said = [
        _agreed(scopes.filter(pl.col("kind") == "role"), "role", MARK),
        _by_steps(scopes),
        _agreed(scopes.filter(pl.col("kind") != "role", pl.col("role").is_not_null()), "role", RANGES),
        _agreed(
            transfers.filter(pl.col("purpose") != "other").with_columns(
                role=pl.col("side").replace_strict(_BY_SIDE, default=None, return_dtype=pl.String)
            ),
            "role",
            DIRECTION,
        ),
    ]
    return pl.concat(said).unique("process", keep="first", maintain_order=True).sort("process")


def _agreed(rows: pl.DataFrame, field: str, source: str) -> pl.DataFrame:
    """What rows of each process say about a role; `mixed` where they differ."""
    known = rows.filter(pl.col(field).is_in(ROLES) & pl.col("process").is_not_null())
    one = pl.when(pl.col(field).n_unique() == 1).then(pl.col(field).first()).otherwise(pl.lit(MIXED))
    return (
        known.group_by("process")
        .agg(process_role=one)
        .sort("process")
        .select("process", "process_role", role_source=pl.lit(source))
    )


def _by_steps(scopes: ScopeTable) -> pl.DataFrame:
    """Prefill where nearly all steps only prefill, decode where nearly all only decode, else mixed."""
    steps = scopes.filter((pl.col("kind") == "step") & pl.col("phase").is_in(ROLES))
    shares = steps.group_by("process").agg((pl.col("phase") == role).mean().alias(role) for role in (PREFILL, DECODE))
    role = (
        pl.when(pl.col(PREFILL) >= _MOST_STEPS).then(pl.lit(PREFILL))
        .when(pl.col(DECODE) >= _MOST_STEPS).then(pl.lit(DECODE))
        .otherwise(pl.lit(MIXED))
    )  # fmt: skip
    return shares.sort("process").select("process", process_role=role, role_source=pl.lit(STEPS))


def with_role(transfers: pl.DataFrame, roles: pl.DataFrame) -> pl.DataFrame:
    """Fill `role` and `role_provenance` of transfers.

    Args:
        transfers: From `annotate`: `role` is what the range says that is the transfer or lies around its call.
        roles: From `process_roles`.

    Returns:
        The same rows in the same order. Where nothing nearer speaks, a transfer has its process's role (`process`), or
        in a mixed process, and for KV only, the role that its direction gives it (`direction`).
    """
    joined = transfers.join(roles, on="process", how="left", maintain_order="left")
    single = pl.when(pl.col("process_role").is_in([PREFILL, DECODE])).then("process_role")
    way = pl.when(pl.col("purpose") == "kv").then(
        pl.col("side").replace_strict(_BY_SIDE, default=None, return_dtype=pl.String)
    )
    return joined.with_columns(
        role=pl.coalesce("role", single, way),
        role_provenance=pl.when(pl.col("role").is_not_null())
        .then("role_provenance")
        .when(single.is_not_null())
        .then(pl.lit(BY_PROCESS))
        .when(way.is_not_null())
        .then(pl.lit(BY_DIRECTION)),
    ).drop("process_role", "role_source")


def trace_role(roles: pl.DataFrame, transfers: pl.DataFrame) -> tuple[str | None, str | None]:
    """The role of a whole trace and what says so: of its processes that transfer, if any does."""
    moving = roles.join(transfers.select("process").unique(), on="process", how="semi")
    counted = moving if moving.height else roles
    if counted.is_empty():
        return None, None
    found: list[str] = counted["process_role"].unique().sort().to_list()
    sources: list[str] = counted["role_source"].unique().sort().to_list()
    return (found[0] if len(found) == 1 else MIXED), " and ".join(sources)
