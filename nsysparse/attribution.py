"""Attribute transfers to layers and requests, and say how each is known.

Provenance, best first: `exact` (our annotation around the call names it), `nested` (another range around the call on
its own thread does), `spanning` (the only start/end range open in the process does), `estimated` (one range names
several and not how much each: divided by tokens, or evenly). Where nothing names it, it stays unattributed: wrong is
worse than missing.

A replay of a CUDA graph has two places: the launch of the graph, whose surroundings tell the request and the step, and
the call at capture time, whose surroundings tell the layer where those of the launch name none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import polars as pl

from nsysparse.apportion import apportion
from nsysparse.kinds import ANNOTATED
from nsysparse.scopes import at_capture, enclosing
from nsysparse.sides import other_side
from nsysparse.source.usable import MAX_BYTES

MAX_LAYERS = 4096
MAX_REQUESTS = 1024
MAX_SHARES = 8192
AMOUNTS = (
    "bytes", "time_ns", "wire_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns",
)  # fmt: skip
"""What is divided among layers and requests."""
ALL = "all"
EXACT, NESTED, SPANNING, ESTIMATED = "exact", "nested", "spanning", "estimated"
_SPOKEN = {
    "layer": {"layer_text": "layer", "layer_bytes": "layer_bytes"},
    "request": {"request_text": "request", "request_bytes": "request_bytes", "request_tokens": "tokens"},
}
"""What a range says of a field, as it is called where transfers carry it and where scopes do."""


def annotate(transfers: pl.DataFrame, scopes: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
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
    for field, spoken in _SPOKEN.items():
        # That a program's posts carry all layers gives way to any range that names some.
        all_layers = ((pl.col("kind") == "scope") & (pl.col("layer") == ALL)).fill_null(value=False)
        naming = scopes.filter(~all_layers) if field == "layer" else scopes
        said = _said(transfers, naming, field, spanning=True)
        if field == "layer":
            silent = at_capture(transfers).join(said, on="transfer_id", how="anti")
            said = pl.concat([said, _said(silent, naming, field, spanning=True)])
            silent = transfers.join(said, on="transfer_id", how="anti")
            said = pl.concat([said, _said(silent, scopes.filter(all_layers), field)])
        told = scopes.select(pl.col("range_id").alias("scope_id"), **spoken)
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


def _said(transfers: pl.DataFrame, scopes: pl.DataFrame, field: str, *, spanning: bool = False) -> pl.DataFrame:
    """What is said of each transfer: by the range that is the transfer itself, else by those around its call.

    Returns:
        The columns of `enclosing`, and `is_own`: whether the range is the transfer.
    """
    own = (
        transfers.filter(pl.col("scope_id").is_not_null())
        .select("transfer_id", "scope_id")
        .join(scopes.select("kind", "style", field, scope_id="range_id"), on="scope_id")
        .filter(pl.col(field).is_not_null())
    )
    around = enclosing(transfers.join(own, on="transfer_id", how="anti"), scopes, field, spanning=spanning)
    parts = (own.with_columns(is_own=pl.lit(value=True)), around.with_columns(is_own=pl.lit(value=False)))
    return pl.concat(parts, how="diagonal")


def _with_annotated_bytes(transfers: pl.DataFrame, scopes: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Sizes from annotations, where no payload has them; a payload wins over an annotation that differs.

    An annotation around several calls of one side (K and V) is divided evenly among them. Around calls of both sides
    it says nothing about either. A transfer that is a range itself has its size from there, and a range that is one
    says nothing about what lies beside it.
    """
    # Of what is known to be other traffic, as a control message is, an annotation does not speak.
    calls_only = transfers.filter(pl.col("scope_id").is_null() & (pl.col("purpose") != "other"))
    own = transfers.filter(pl.col("transport") == ANNOTATED)["scope_id"]
    about_calls = (pl.col("kind") == "transfer") & ~pl.col("range_id").is_in(own.implode())
    said = enclosing(calls_only, scopes.filter(about_calls), "bytes").select(
        "transfer_id", "scope_id", annotated=pl.col("bytes").cast(pl.Int64, strict=False)
    )
    covered = said.filter(pl.col("annotated") <= MAX_BYTES).join(
        transfers.select("transfer_id", "side", "bytes"), on="transfer_id"
    )
    filled: dict[int, int] = {}
    for _, calls in covered.sort("transfer_id").group_by("scope_id", maintain_order=True):
        annotated, known = calls["annotated"][0], calls["bytes"].drop_nulls()
        # Kernels without their calls have no side: then the annotation is about all of them alike.
        if calls["side"].n_unique() > 1:
            anomalies["annotations-around-both-sides"] += 1
        elif known.len() == calls.height and known.sum() != annotated:
            anomalies["annotated-bytes-differ"] += 1
        elif known.len() == 0:
            parts = apportion(annotated, [1] * calls.height)
            filled |= dict(zip(calls["transfer_id"].to_list(), parts, strict=True))
    if not filled:
        return transfers
    added = pl.DataFrame(
        {"transfer_id": list(filled), "annotated": list(filled.values())},
        schema={"transfer_id": pl.UInt32, "annotated": pl.Int64},
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
    """Let the standing side of a pair learn layer and request from the other side, where it does not know them.

    Where both sides know and differ, the standing side's own word is kept and the difference counted.
    """
    result = transfers
    for field, spoken in _SPOKEN.items():
        columns = [*spoken, f"{field}_provenance"]
        far = other_side(transfers, *columns)
        met = result.join(far, on="transfer_id", how="left", maintain_order="left")
        differs = pl.col("is_movement") & (pl.col(f"{field}_text") != pl.col(f"far_{field}_text"))
        count = met.filter(differs).height
        if count:
            anomalies[f"sides-disagree-on-{field}"] += count
        learns = pl.col(f"{field}_text").is_null()
        result = met.with_columns(
            **{name: pl.when(learns).then(f"far_{name}").otherwise(name) for name in columns}
        ).drop(f"far_{name}" for name in columns)
    return result


@dataclass(frozen=True, slots=True)
class _Names:
    """The layers (or requests) that one text names, with their weights; `estimated` when it does not give these."""

    values: tuple[int | str, ...]
    weights: tuple[int, ...]
    estimated: bool
    misfit: bool = False


def shares(
    transfers: pl.DataFrame,
    layer_count: int | None,
    anomalies: Counter[str],
    prompts: Mapping[str, int] | None = None,
) -> pl.DataFrame:
    """Divide each transfer's bytes and time among the layers and requests it is attributed to.

    Args:
        transfers: From `agree_between_sides`.
        layer_count: Layers of the model, for `layer=all`.
        anomalies: Counts texts that name no layer, of movements.
        prompts: Tokens in the prompts of requests, by id: of several requests of which nothing nearer says how much is
            whose.

    Returns:
        Columns of `Shares`, for every transfer. Σ over a transfer's shares equals its bytes and time exactly.
    """
    moving = transfers.filter("is_movement")
    layers = {said: _layers(*said, layer_count=layer_count) for said in _texts(transfers, "layer")}
    requests = {said: _requests(*said, prompts=prompts or {}) for said in _texts(transfers, "request")}
    unreadable = pl.Series([text for (text, *_), names in layers.items() if names is None], dtype=pl.String)
    silent = moving.filter(pl.col("layer_text").is_in(unreadable.implode()))["layer_text"]
    all_layers = int((silent == ALL).sum())
    anomalies += Counter({"layers-need-their-number": all_layers, "layers-unreadable": len(silent) - all_layers})
    named = (
        transfers.select(*_SAID, "is_movement", *AMOUNTS)
        .with_row_index("row")
        .join(_table(layers, "layer", pl.Int64), on=list(_SPOKEN["layer"]), how="left", nulls_equal=True)
        .join(_table(requests, "request", pl.String), on=list(_SPOKEN["request"]), how="left", nulls_equal=True)
        .with_columns(pl.col("layer_count", "request_count").fill_null(0))
    )
    misfits = pl.col("is_movement") & (pl.col("layer_misfit") | pl.col("request_misfit")).fill_null(value=False)
    anomalies["weights-do-not-fit"] += named.filter(misfits).height
    # Nearly all name at most one layer and one request: then there is nothing to divide.
    single = (pl.col("layer_count") <= 1) & (pl.col("request_count") <= 1)
    whole = named.filter(single).select(
        "row",
        "transfer_id",
        "layer",
        pl.when(pl.col("layer").is_not_null()).then("layer_provenance"),
        pl.col("request").alias("request_id"),
        pl.when(pl.col("request").is_not_null()).then("request_provenance"),
        *AMOUNTS,
    )
    divided = _divided(named.filter(~single), layers, requests, anomalies)
    return pl.concat([whole, divided]).sort("row", maintain_order=True).select(list(SHARES))


_SAID = ("transfer_id", "layer_provenance", "request_provenance", *_SPOKEN["layer"], *_SPOKEN["request"])
_Texts = Mapping[tuple[Any, ...], "_Names | None"]


def _table(texts: _Texts, field: str, dtype: type[pl.DataType]) -> pl.DataFrame:
    """Per text how many layers (or requests) it names, the one if it is one, and whether its weights do not fit."""
    rows = [
        (
            *said,
            len(names.values) if names else 0,
            names.values[0] if names and len(names.values) == 1 else None,
            names.misfit if names else False,
        )
        for said, names in texts.items()
    ]
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(_SPOKEN[field], pl.String)
    schema |= {f"{field}_count": pl.Int64, field: dtype, f"{field}_misfit": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _divided(several: pl.DataFrame, layers: _Texts, requests: _Texts, anomalies: Counter[str]) -> pl.DataFrame:
    """Shares of transfers that name several layers or requests, with the `row` of each."""
    rows: list[tuple[object, ...]] = []
    of_layer = len(_SPOKEN["layer"])
    for row, counts, ident, l_how, r_how, *rest in several.select("row", "is_movement", *_SAID, *AMOUNTS).iter_rows():
        said, amounts = rest[: -len(AMOUNTS)], rest[-len(AMOUNTS) :]
        named_layers = layers.get(tuple(said[:of_layer])) or _NOBODY
        named_requests = requests.get(tuple(said[of_layer:])) or _NOBODY
        if len(named_layers.values) * len(named_requests.values) > MAX_SHARES:
            anomalies["attributions-too-many"] += counts
            named_requests = _NOBODY
        rows += [(row, *part) for part in _divide(ident, named_layers, l_how, named_requests, r_how, amounts)]
    return pl.DataFrame(rows, schema={"row": several.schema["row"], **SHARES}, orient="row")


def settled(transfers: pl.DataFrame, divided: pl.DataFrame) -> pl.DataFrame:
    """Transfers with the layer and request of their shares; null, and `estimated`, where they divide among several.

    Args:
        transfers: From `agree_between_sides`.
        divided: Their `shares`.
    """
    columns = []
    for name, how in (("layer", "layer_provenance"), ("request_id", "request_provenance")):
        one = pl.col(name).n_unique() == 1
        columns += [pl.when(one).then(pl.col(name).first()).alias(name), pl.col(how).first().alias(how)]
    return transfers.drop("layer_provenance", "request_provenance").join(
        divided.group_by("transfer_id").agg(columns), on="transfer_id", how="left", maintain_order="left"
    )


SHARES: dict[str, pl.DataType | type[pl.DataType]] = {
    "transfer_id": pl.UInt32,
    "layer": pl.Int64,
    "layer_provenance": pl.String,
    "request_id": pl.String,
    "request_provenance": pl.String,
    **dict.fromkeys(AMOUNTS, pl.Int64),
}
_NOBODY = _Names((), (), estimated=False)


def _texts(moving: pl.DataFrame, field: str) -> list[tuple[Any, ...]]:
    return moving.filter(pl.col(f"{field}_text").is_not_null()).select(*_SPOKEN[field]).unique().rows()


def _divide(
    ident: int,
    layers: _Names,
    layer_how: str | None,
    requests: _Names,
    request_how: str | None,
    amounts: Sequence[int | None],
) -> list[tuple[object, ...]]:
    over_layers = layers.values or (None,)
    over_requests = requests.values or (None,)
    how_layer = (ESTIMATED if layers.estimated else layer_how) if layers.values else None
    how_request = (ESTIMATED if requests.estimated else request_how) if requests.values else None
    if len(over_layers) == 1 and len(over_requests) == 1:
        return [(ident, over_layers[0], how_layer, over_requests[0], how_request, *amounts)]
    weights = [w * v for w in layers.weights or (1,) for v in requests.weights or (1,)]
    pairs = [(layer, request) for layer in over_layers for request in over_requests]
    return [
        (ident, layer, how_layer, request, how_request, *parts)
        for (layer, request), parts in zip(pairs, _parts(amounts, weights), strict=True)
    ]


def _parts(amounts: Sequence[int | None], weights: Sequence[int]) -> Iterator[tuple[int | None, ...]]:
    """Each amount in parts that add up to it, and within each part wire, waiting and what is hidden to its time."""
    nbytes, time, wire, wait, hidden, open_wire, open_wait = amounts

    def parts(total: int | None, by: Sequence[int] | None) -> list[int] | None:
        return None if total is None or by is None else apportion(total, by)

    times = parts(time, weights)
    wires = parts(wire, times)
    waits = _less(times, wires) if wait is not None else None
    open_wires, open_waits = parts(open_wire, wires), parts(open_wait, waits)
    if open_wires is not None and open_waits is not None:
        hiddens = _less(_less(times, open_wires), open_waits)
    else:
        hiddens = parts(hidden, times)
    unknown: list[int | None] = [None] * len(weights)
    columns = (parts(nbytes, weights), times, wires, waits, hiddens, open_wires, open_waits)
    return zip(*(unknown if column is None else column for column in columns), strict=True)


def _less(whole: Sequence[int] | None, part: Sequence[int] | None) -> list[int] | None:
    return None if whole is None or part is None else [a - b for a, b in zip(whole, part, strict=True)]


def _layers(text: str, weights: str | None, *, layer_count: int | None) -> _Names | None:
    """Layers in `7`, `0-31` (inclusive), or `all`; None when the text names none."""
    if text == ALL:
        values = range(layer_count) if layer_count else range(0)
    else:
        first, _, last = text.partition("-")
        if not (first.isascii() and first.isdigit()) or (last and not (last.isascii() and last.isdigit())):
            return None
        if len(first) > 6 or len(last) > 6:  # noqa: PLR2004 (no model has a million layers)
            return None
        values = range(int(first), int(last or first) + 1)
    if not 0 < len(values) <= MAX_LAYERS:
        return None
    return _named(tuple(values), weights)


def _requests(text: str, weights: str | None, tokens: str | None, *, prompts: Mapping[str, int]) -> _Names | None:
    """Requests in a comma list; of several, by the bytes of each, else by tokens, else by their whole prompts."""
    ids = tuple(request_id(part) for part in text.split(",") if part)
    if not 0 < len(ids) <= MAX_REQUESTS:
        return None
    named = _named(ids, weights)
    if not named.estimated:
        return named
    known = [prompts.get(each) or 0 for each in ids]
    given = _numbers(tokens, len(ids)) or (known if all(known) else None)
    return replace(_weighed(ids, given), misfit=named.misfit) if given else named


def request_id(text: str) -> str:
    """The id of a request as its server knows it; ranges name it percent-encoded."""
    return unquote(text, errors="backslashreplace")


def _named(values: tuple[int | str, ...], weights: str | None) -> _Names:
    """The named layers or requests, each once: one that is named twice gets both its parts."""
    given = _numbers(weights, len(values))
    named = _weighed(values, given or [1] * len(values))
    return replace(named, estimated=named.estimated and given is None, misfit=bool(weights) and given is None)


def _weighed(values: Sequence[int | str], weights: Sequence[int]) -> _Names:
    parts: dict[int | str, int] = {}
    for value, weight in zip(values, weights, strict=True):
        parts[value] = parts.get(value, 0) + weight
    return _Names(tuple(parts), tuple(parts.values()), estimated=len(parts) > 1)


def _numbers(text: str | None, count: int) -> list[int] | None:
    """So many numbers in a comma list; None where it is none of them."""
    parts = [part for part in (text or "").split(",") if part]
    good = all(part.isascii() and part.isdigit() and len(part) <= 15 for part in parts)  # noqa: PLR2004 (a petabyte)
    return [int(part) for part in parts] if parts and good and len(parts) == count else None
