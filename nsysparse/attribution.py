"""Attribute transfers to layers and requests, and say how each is known.

Here speak the ranges around a transfer's call. Provenance, best first: `exact` (our annotation around the call names
it), `nested` (another range around the call on its own thread does), `spanning` (the only start/end range open in the
process does). What no range names may follow from the order of sends (`ordinal`) or, where asked for, from time
(`overlap`); `shares` then divides what names several. Where nothing names it, it stays unattributed: wrong is worse
than missing.

A replay of a CUDA graph has two places: the launch of the graph, whose surroundings tell the request and the step, and
the call at capture time, whose surroundings tell the layer where those of the launch name none.
"""

from collections import Counter
from collections.abc import Iterable

import polars as pl

from nsysparse.apportion import apportioned
from nsysparse.kinds import ANNOTATED, HOST_STAGED
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import at_capture, enclosing
from nsysparse.shares import ALL, SPOKEN, request_id
from nsysparse.sides import other_side
from nsysparse.source.usable import MAX_BYTES
from nsysparse.together import met_alone
from nsysparse.transports.annotated import SIDES

EXACT, NESTED, SPANNING = "exact", "nested", "spanning"
_ID = ("range_id",)
_OPPOSITE = {"send": "recv", "recv": "send"}


def annotate(transfers: pl.DataFrame, scopes: ScopeTable, anomalies: Counter[str]) -> pl.DataFrame:
    """What the ranges around each call of one trace say about it.

    Args:
        transfers: `transfer_id`, `thread`, `process`, `side`, `purpose`, `bytes`, `call_start_ns`, `call_end_ns`,
            `scope_id`, and `captured_thread`, `captured_start_ns`, `captured_end_ns`.
        scopes: From `find_scopes`, of the same trace.
        anomalies: Counts annotations that contradict the payload.

    Returns:
        The transfers, in the same order, with `layer_text`, `layer_bytes`, `request_text`, `request_bytes`,
        `request_tokens` (as written), `phase` and `role`, their `…_provenance`, and `bytes` filled from annotations
        where the payload had none.
        The layer of a replay that the launch's surroundings leave open is that of the captured call, with the
        provenance that a range around that call gives it. Nothing else is taken from there: the request and the phase
        of the capture are not those of the replay.
    """
    result = _with_annotated_bytes(transfers, scopes, anomalies)
    for field, spoken in SPOKEN.items():
        # That a program's posts carry all layers gives way to any range that names some.
        vague = scopes.filter(pl.col("kind") == "scope", pl.col("layer") == ALL, columns=_ID)["range_id"]
        silent = vague if field == "layer" else vague.clear()
        said = _said(transfers, scopes, field, spanning=True, silent=silent)
        if field == "layer":
            left = at_capture(transfers).join(said, on="transfer_id", how="anti")
            said = pl.concat([said, _said(left, scopes, field, spanning=True, silent=silent)])
            left = transfers.join(said, on="transfer_id", how="anti")
            said = pl.concat([said, _said(left, scopes, field)])
        told = _of(scopes, said["scope_id"], spoken.values()).select(pl.col("range_id").alias("scope_id"), **spoken)
        found = said.join(told, on="scope_id", how="left").select(
            "transfer_id", *spoken, _provenance().alias(f"{field}_provenance")
        )
        result = result.join(found, on="transfer_id", how="left", maintain_order="left")
    for field in ("phase", "role"):
        found = _said(transfers, scopes, field)
        told = found.select("transfer_id", field, _provenance().alias(f"{field}_provenance"))
        result = result.join(told, on="transfer_id", how="left", maintain_order="left")
    return result


def _provenance() -> pl.Expr:
    """How good it is what a range says: that which is the transfer, one of its process, or one around its call."""
    return (
        pl.when("is_own")
        .then(pl.lit(EXACT))
        .when(pl.col("style") == "start_end")
        .then(pl.lit(SPANNING))
        .when(pl.col("kind") == "transfer")
        .then(pl.lit(EXACT))
        .otherwise(pl.lit(NESTED))
    )


def _of(scopes: ScopeTable, range_ids: pl.Series, columns: Iterable[str]) -> pl.DataFrame:
    """`range_id` and these columns of some ranges."""
    asked = pl.col("range_id").is_in(range_ids.drop_nulls().unique().implode())
    return scopes.filter(asked, columns={*_ID, *columns})


def _said(
    transfers: pl.DataFrame,
    scopes: ScopeTable,
    field: str,
    *,
    spanning: bool = False,
    silent: pl.Series | None = None,
) -> pl.DataFrame:
    """What is said of each transfer: by the range that is the transfer itself, else by those around its call.

    Args:
        transfers: As in `annotate`.
        scopes: Likewise.
        field: Which field.
        spanning: Whether start/end ranges may speak that need not be about the call.
        silent: `range_id` of ranges that shall not speak.

    Returns:
        The columns of `enclosing`, and `is_own`: whether the range is the transfer.
    """
    named = _of(scopes, transfers["scope_id"], ("kind", "style", field))
    own = (
        transfers.filter(pl.col("scope_id").is_not_null())
        .select("transfer_id", "scope_id")
        .join(named.rename({"range_id": "scope_id"}), on="scope_id")
        .filter(pl.col(field).is_not_null())
    )
    others = transfers.join(own, on="transfer_id", how="anti")
    around = pl.concat(
        [
            enclosing(others.clear(), scopes, field),
            *(
                enclosing(calls, scopes, field, spanning=spanning, silent=muted)
                for calls, muted in _heard(others, transfers, scopes, silent)
            ),
        ]
    )
    parts = (own.with_columns(is_own=pl.lit(value=True)), around.with_columns(is_own=pl.lit(value=False)))
    return pl.concat(parts, how="diagonal")


def _heard(
    calls: pl.DataFrame, transfers: pl.DataFrame, scopes: ScopeTable, silent: pl.Series | None = None
) -> list[tuple[pl.DataFrame, pl.Series]]:
    """Calls, in parts, each with the ranges that say nothing of them, those that are `silent` anyway included.

    A range that is a transfer itself, or was started for one call, says nothing of what lies beside it; one of the
    other direction, as its `op` has it, nothing of a call; and one about a transfer nothing of what is known to be
    other traffic.
    """
    about_one = scopes.filter(pl.col("kind") == "transfer", columns=(*_ID, "style", "op"))
    taken = about_one.filter(style="start_end")["range_id"]
    is_own = pl.col("transport").is_in([ANNOTATED, HOST_STAGED]) | pl.col("scope_id").is_in(taken.implode())
    standing = transfers.filter(is_own.fill_null(value=False))["scope_id"].drop_nulls()
    told = about_one.select("range_id", way=pl.col("op").replace_strict(SIDES, default=None, return_dtype=pl.String))
    is_other, rest = pl.col("purpose") == "other", calls.filter(pl.col("purpose") != "other")
    parts = [(calls.filter(is_other), told["range_id"])]
    parts += [(rest.filter(side=side), told.filter(way=opposite)["range_id"]) for side, opposite in _OPPOSITE.items()]
    parts.append((rest.filter(~pl.col("side").is_in(list(_OPPOSITE)).fill_null(value=False)), told["range_id"].clear()))
    always = standing if silent is None else pl.concat([standing, silent])
    return [(part, pl.concat([always, muted]).unique()) for part, muted in parts if part.height]


def _with_annotated_bytes(transfers: pl.DataFrame, scopes: ScopeTable, anomalies: Counter[str]) -> pl.DataFrame:
    """Sizes from annotations, where no payload has them; a payload wins over an annotation that differs.

    An annotation around several calls of one side (K and V) is divided evenly among them. Around calls of both sides
    it says nothing about either. A transfer that is a range itself has its size from there, and a range that is one
    says nothing about what lies beside it.
    """
    beside = scopes.filter(pl.col("kind") != "transfer", pl.col("bytes").is_not_null(), columns=_ID)["range_id"]
    free = transfers.filter(pl.col("scope_id").is_null() & (pl.col("purpose") != "other"))
    said = pl.concat(
        [
            enclosing(free.clear(), scopes, "bytes"),
            *(
                enclosing(calls, scopes, "bytes", silent=muted)
                for calls, muted in _heard(free, transfers, scopes, beside)
            ),
        ]
    ).select("transfer_id", "scope_id", annotated=pl.col("bytes").cast(pl.Int64, strict=False))
    covered = said.filter(pl.col("annotated") <= MAX_BYTES).join(
        transfers.select("transfer_id", "side", "bytes"), on="transfer_id"
    )
    # Kernels without their calls have no side: then the annotation is about all of them alike.
    about = covered.group_by("scope_id").agg(
        two_sided=pl.col("side").n_unique() > 1,
        known=pl.col("bytes").is_not_null().all(),
        unknown=pl.col("bytes").is_null().all(),
        differs=pl.col("bytes").sum() != pl.col("annotated").first(),
    )
    anomalies["annotations-around-both-sides"] += about.filter("two_sided").height
    anomalies["annotated-bytes-differ"] += about.filter(~pl.col("two_sided"), "known", "differs").height
    silent = about.filter(~pl.col("two_sided"), "unknown")
    calls = covered.join(silent, on="scope_id", how="semi").sort("transfer_id")
    if calls.is_empty():
        return transfers
    added = apportioned(calls.select("transfer_id", group="scope_id", total="annotated", weight=1)).select(
        "transfer_id", annotated="part"
    )
    return (
        transfers.join(added, on="transfer_id", how="left", maintain_order="left")
        .with_columns(
            bytes=pl.coalesce("bytes", "annotated"),
            bytes_source=pl.when(pl.col("annotated").is_not_null())
            .then(pl.lit("annotation"))
            .otherwise("bytes_source"),
        )
        .drop("annotated")
    )


def agree_between_sides(transfers: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Let each side of a pair that surely met learn layer and request from the other, where that one knows better.

    Of a pair that nothing proves, a neighbour's names would be taken for its own, so nothing is learned: unless nothing
    else of either side ran at that time (`met_alone`).

    Args:
        transfers: Paired, with the columns of `annotate`, `pair_id`, `pairing_proof` and `is_movement`.
        anomalies: Counts movements whose sides differ, and those that would have learned if their pair were proven.
    """
    result, alone = transfers, met_alone(transfers)
    for field, spoken in SPOKEN.items():
        text, how = f"{field}_text", f"{field}_provenance"
        columns = [*spoken, how]
        met = result.join(other_side(transfers, *columns), on="transfer_id", how="left", maintain_order="left")
        told, silent = pl.col(f"far_{text}").is_not_null(), pl.col(text).is_null()
        proven = pl.col("pairing_proof").is_not_null() | pl.col("pair_id").is_in(alone.implode())
        differs = told & ~silent & (_written(text, field) != _written(f"far_{text}", field))
        better = pl.col(f"far_{how}").replace_strict(_RANK, default=len(_RANK)) < pl.col(how).replace_strict(
            _RANK, default=len(_RANK)
        )
        moving = met.filter("is_movement")
        if count := moving.filter(differs).height:
            anomalies[f"sides-disagree-on-{field}"] += count
        if count := moving.filter(silent & told & ~proven).height:
            anomalies["names-of-unproven-pairs"] += count
        learns = proven & told & (silent | (differs & better))
        result = met.with_columns(
            **{name: pl.when(learns).then(f"far_{name}").otherwise(name) for name in columns}
        ).drop(f"far_{name}" for name in columns)
    return result


_RANK = {EXACT: 0, NESTED: 1, SPANNING: 2, "ordinal": 3}


def _written(column: str, field: str) -> pl.Expr:
    """A text as two sides may have to write it for being the same: `07` is `7`, and `a%2Db` is `a-b`."""
    if field == "layer":
        return pl.col(column).str.replace_all(r"\b0+([0-9])", "$1")
    return pl.col(column).map_elements(request_id, return_dtype=pl.String, skip_nulls=True)
