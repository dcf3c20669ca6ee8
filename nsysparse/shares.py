"""How the bytes and the time of each transfer go to the layers and requests that its texts name.

One that names several layers or requests is divided among them: by the bytes that it gives for each, else requests by
tokens, else evenly. All parts of a transfer add up to it exactly.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import polars as pl

from nsysparse.apportion import apportioned

MAX_LAYERS = 4096
MAX_REQUESTS = 1024
MAX_SHARES = 8192
"""Of one transfer."""
MAX_ALL_SHARES = 2**21
"""Of all that divide; each takes about a kilobyte while they are made."""
AMOUNTS = (
    "bytes", "time_ns", "wire_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns", "exposed_wait_ns",
)  # fmt: skip
"""What is divided among layers and requests."""
SPOKEN = {
    "layer": {"layer_text": "layer", "layer_bytes": "layer_bytes"},
    "request": {"request_text": "request", "request_bytes": "request_bytes", "request_tokens": "tokens"},
}
"""What a range says of a field, as it is called where transfers carry it and where scopes do."""
ALL = "all"
"""All layers of the model, instead of their numbers."""
ESTIMATED = "estimated"
SHARES: dict[str, pl.DataType | type[pl.DataType]] = {
    "transfer_id": pl.UInt32,
    "layer": pl.Int64,
    "layer_provenance": pl.String,
    "request_id": pl.String,
    "request_provenance": pl.String,
    **dict.fromkeys(AMOUNTS, pl.Int64),
}


@dataclass(frozen=True, slots=True)
class _Names:
    """The layers (or requests) that one text names, with their weights; `estimated` when it does not give these."""

    values: tuple[int | str, ...]
    weights: tuple[int, ...]
    estimated: bool
    misfit: bool = False


_NOBODY = _Names((), (), estimated=False)
_Texts = Mapping[tuple[Any, ...], _Names | None]


def shares(
    transfers: pl.DataFrame,
    layer_count: int | None,
    anomalies: Counter[str],
    prompts: Mapping[str, int] | None = None,
) -> pl.DataFrame:
    """Divide each transfer's bytes and time among the layers and requests it is attributed to.

    Args:
        transfers: `transfer_id`, `is_movement`, the columns `AMOUNTS`, and what is said of layers and requests: the
            columns of `SPOKEN`, `layer_provenance` and `request_provenance`.
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
        .with_columns(whole_bytes="bytes")
        .join(_table(layers, "layer"), on=list(SPOKEN["layer"]), how="left", nulls_equal=True)
        .join(_table(requests, "request"), on=list(SPOKEN["request"]), how="left", nulls_equal=True)
        .with_columns(pl.col("layer_count", "request_count").fill_null(0))
    )
    misfits = pl.col("is_movement") & (pl.col("layer_misfit") | pl.col("request_misfit")).fill_null(value=False)
    anomalies["weights-do-not-fit"] += named.filter(misfits).height
    named = _bounded(named, anomalies)
    # Nearly all name at most one layer and one request: then there is nothing to divide.
    single = (pl.col("layer_count") <= 1) & (pl.col("request_count") <= 1)
    whole = named.filter(single).with_columns(
        layer=pl.col("layer_list").list.first().cast(pl.Int64), request_id=pl.col("request_list").list.first()
    )
    divided = _divided(_divided(named.filter(~single), "layer"), "request").with_columns(
        layer=pl.col("layer_list").cast(pl.Int64), request_id=pl.col("request_list")
    )
    known = ["row", *(name for name in SHARES if name not in ("layer_provenance", "request_provenance"))]
    both = pl.concat(
        [part.select(*known, *(_how(field) for field in SPOKEN)) for part in (whole, divided)], how="vertical"
    )
    return both.sort("row", maintain_order=True).select(pl.col(name).cast(dtype) for name, dtype in SHARES.items())


def _bounded(named: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Rows without the requests, or with neither, that would make too many shares."""
    count = pl.max_horizontal("layer_count", 1) * pl.max_horizontal("request_count", 1)
    kept = pl.when(count > MAX_SHARES).then(pl.max_horizontal("layer_count", 1)).otherwise(count)
    rows = named.with_columns(
        crowded=count > MAX_SHARES, beyond=(kept > 1) & (pl.when(kept > 1).then(kept).cum_sum() > MAX_ALL_SHARES)
    )
    beyond, crowded = pl.col("beyond").fill_null(value=False), pl.col("crowded")
    anomalies += Counter({"attributions-too-many": rows.filter((beyond | crowded) & pl.col("is_movement")).height})
    return rows.with_columns(
        layer_list=pl.when(~beyond).then("layer_list"), layer_count=pl.when(~beyond).then("layer_count").otherwise(0),
        request_list=pl.when(~(beyond | crowded)).then("request_list"),
        request_count=pl.when(~(beyond | crowded)).then("request_count").otherwise(0),
    )  # fmt: skip


def settled(transfers: pl.DataFrame, divided: pl.DataFrame) -> pl.DataFrame:
    """Transfers with the layer and request of their shares; null where they divide among several.

    Args:
        transfers: What `shares` was given.
        divided: What it gave.
    """
    columns = []
    for name, how in (("layer", "layer_provenance"), ("request_id", "request_provenance")):
        one = pl.col(name).n_unique() == 1
        columns += [pl.when(one).then(pl.col(name).first()).alias(name), pl.col(how).first().alias(how)]
    return transfers.drop("layer_provenance", "request_provenance").join(
        divided.group_by("transfer_id").agg(columns), on="transfer_id", how="left", maintain_order="left"
    )


_SAID = ("transfer_id", "layer_provenance", "request_provenance", *SPOKEN["layer"], *SPOKEN["request"])


def _how(field: str) -> pl.Expr:
    """How a share's layer (or request) is known; null where it has none.

    Several are divided as the text says only where that adds up to what moved.
    """
    name = "layer" if field == "layer" else "request_id"
    unlike = (pl.col(f"{field}_sum") != pl.col("whole_bytes")).fill_null(value=False)
    how = (
        pl.when(pl.col(f"{field}_estimated") | ((pl.col(f"{field}_count") > 1) & unlike))
        .then(pl.lit(ESTIMATED))
        .otherwise(f"{field}_provenance")
    )
    return pl.when(pl.col(name).is_not_null()).then(how).alias(f"{field}_provenance")


def _table(texts: _Texts, field: str) -> pl.DataFrame:
    """Per text what it names (`_list`, as text) and with which weights, how many, and whether its weights fit."""
    rows = [
        (*said, [str(each) for each in names.values], list(names.weights), len(names.values), sum(names.weights),
         names.estimated, names.misfit)
        for said, names in ((said, found or _NOBODY) for said, found in texts.items())
    ]  # fmt: skip
    schema: dict[str, Any] = dict.fromkeys(SPOKEN[field], pl.String)
    schema |= {f"{field}_list": pl.List(pl.String), f"{field}_weights": pl.List(pl.Int64), f"{field}_count": pl.Int64}
    schema |= {f"{field}_sum": pl.Int64, f"{field}_estimated": pl.Boolean, f"{field}_misfit": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _texts(moving: pl.DataFrame, field: str) -> list[tuple[Any, ...]]:
    return moving.filter(pl.col(f"{field}_text").is_not_null()).select(*SPOKEN[field]).unique().rows()


def _divided(rows: pl.DataFrame, field: str) -> pl.DataFrame:
    """Each row once for each layer (or request) that it names, with that one's part of every amount.

    Within each part wire, waiting and what is hidden add up to its time.
    """
    whole = rows.with_row_index("group")
    named, weights = pl.col(f"{field}_list"), pl.col(f"{field}_weights")
    unnamed = named.is_null() | (named.list.len() == 0)
    lists = whole.with_columns(
        pl.when(unnamed).then(pl.lit([None], dtype=pl.List(pl.String))).otherwise(named).alias(f"{field}_list"),
        pl.when(unnamed).then(pl.lit([1], dtype=pl.List(pl.Int64))).otherwise(weights).alias(f"{field}_weights"),
    )
    parts = lists.explode(f"{field}_list", f"{field}_weights").rename({f"{field}_weights": "weight"})
    parts = _apportion(_apportion(parts, "bytes", "weight"), "time_ns", "weight")
    parts = _apportion(parts, "wire_ns", "time_ns")
    waits = pl.when(pl.col("peer_wait_ns").is_not_null()).then(pl.col("time_ns") - pl.col("wire_ns"))
    parts = _apportion(parts.with_columns(peer_wait_ns=waits), "exposed_wire_ns", "wire_ns")
    parts = _apportion(_apportion(parts, "exposed_wait_ns", "peer_wait_ns"), "overlapped_ns", "time_ns")
    hidden = pl.col("time_ns") - pl.col("exposed_wire_ns") - pl.col("exposed_wait_ns")
    return parts.with_columns(overlapped_ns=pl.coalesce(hidden, "overlapped_ns")).drop("group", "weight")


def _apportion(parts: pl.DataFrame, amount: str, weight: str) -> pl.DataFrame:
    """Replace the whole amount, which all rows of a group carry, by each row's part of it.

    Unknown amounts stay so; unknown weights make all parts unknown.
    """
    if parts["group"].n_unique() == parts.height:  # as where every transfer is of one layer and one request
        return parts.with_columns(pl.when(pl.col(weight).is_not_null()).then(amount).alias(amount))
    numbered = parts.drop("part_row", strict=False).with_row_index("part_row")
    known = numbered.filter(pl.col(amount).is_not_null() & pl.col(weight).is_not_null())
    found = apportioned(known.select("part_row", "group", total=amount, weight=weight)).select("part_row", "part")
    joined = numbered.join(found, on="part_row", how="left", maintain_order="left")
    return joined.with_columns(pl.col("part").alias(amount)).drop("part", "part_row")


def _layers(text: str, weights: str | None, *, layer_count: int | None) -> _Names | None:
    """Layers in `7`, `0-31` (inclusive), `0,2,4` or `all`; None when the text names none."""
    if text == ALL:
        values = tuple(range(layer_count)) if layer_count else ()
    else:
        spans = [_span(part) for part in text.split(",") if part]
        if not spans or any(span is None for span in spans) or sum(len(span or ()) for span in spans) > MAX_LAYERS:
            return None
        values = tuple(layer for span in spans for layer in span or ())
    return _named(values, weights) if 0 < len(values) <= MAX_LAYERS else None


def _span(text: str) -> range | None:
    first, _, last = text.partition("-")
    if not (first.isascii() and first.isdigit()) or (last and not (last.isascii() and last.isdigit())):
        return None
    if len(first) > 6 or len(last) > 6:  # noqa: PLR2004 (no model has a million layers)
        return None
    return range(int(first), int(last or first) + 1) or None


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
    numbers = [int(part) for part in parts] if parts and good and len(parts) == count else []
    return numbers if any(numbers) else None
