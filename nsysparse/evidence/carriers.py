"""One movement counts once, though several sources of one trace recorded it: the best stands, the others are evidence.

Two shapes of the same thing:

- A range that announces a transfer (our annotation, TensorRT-LLM's `nixlWrite`) lies around the call that another
  source recorded. The call stands; the range says what it was for.
- A transfer of a library (NCCL, NIXL, UCX) lies around the copies or messages that carried it out. The library's row
  stands, since it knows the whole; what carried it is evidence, as long as it is not more than the whole.
"""

from collections import Counter

import numpy as np
import polars as pl

from nsysparse.intervals import Ints, innermost_container, merge

ANNOUNCED = ("annotated", "trtllm-bounce")
ORDERED = "nccl"
_CARRIED_BY = {
    "nccl": ("memcpy",),
    "nixl": ("ucx", "memcpy"),
    "trtllm-bounce": ("ucx", "memcpy"),
    "ucx": ("memcpy",),
}
# Protocol headers travel with the payload.
_MOST_SURPLUS = 0.05


def count_once(found: pl.DataFrame, scopes: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Drop rows of one trace that are evidence for others, and note on these what it was.

    Args:
        found: Rows of all transports with `transfer_id`.
        scopes: What presets say about the trace's ranges.
        anomalies: Counts rows that lie inside a transfer but carry more than it.

    Returns:
        The rows that stand, in the same order, with `evidence`; a row that an announcing start/end range lies around
        has its `scope_id`, and its size and purpose where it knew none.
    """
    standing = _nested(found, scopes)
    for transport in ANNOUNCED[::-1]:
        standing = _called(standing, transport, scopes)
    for transport, carriers in _CARRIED_BY.items():
        for carrier in carriers:
            standing = _carried(standing, transport, carrier, anomalies)
    return standing


def _nested(found: pl.DataFrame, scopes: pl.DataFrame) -> pl.DataFrame:
    """Of push/pop annotations within each other on one thread let the inner ones stand if they add up to the outer.

    Else the outer one stands: its size is the whole, of which only parts are told again.
    """
    stacked = scopes.filter(pl.col("style") == "push_pop").select(scope_id="range_id")
    ranges = found.filter(pl.col("transport") == ANNOUNCED[0]).join(stacked, on="scope_id", how="semi")
    inner = _inside(ranges, ranges, "thread", strictly=True).join(
        ranges.select("transfer_id", "bytes"), on="transfer_id"
    )
    sums = inner.group_by("owner").agg(
        inner_bytes=pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum())
    )
    outer = sums.join(ranges.select(owner="transfer_id", own_bytes="bytes"), on="owner")
    told_inside = pl.col("own_bytes").is_null() | (pl.col("inner_bytes") == pl.col("own_bytes")).fill_null(value=False)
    whole, split = outer.filter(~told_inside), outer.filter(told_inside)
    # Whatever lies within a whole is told again, however deep.
    holders = ranges.filter(pl.col("transfer_id").is_in(whole["owner"].implode()))
    silent = [*_inside(ranges, holders, "thread", strictly=True)["transfer_id"], *split["owner"]]
    return found.filter(~pl.col("transfer_id").is_in(silent)) if silent else found


def _called(found: pl.DataFrame, transport: str, scopes: pl.DataFrame) -> pl.DataFrame:
    """Let calls inside announcing ranges stand for these."""
    ranges = found.filter(pl.col("transport") == transport).join(
        scopes.select("style", "purpose", "purpose_rule", scope_id="range_id"), on="scope_id", suffix="_said"
    )
    calls = found.filter(~pl.col("transport").is_in(ANNOUNCED[: ANNOUNCED.index(transport) + 1]))
    if ranges.is_empty() or calls.is_empty():
        return found
    said = ranges.select(
        "style", owner="transfer_id", said_bytes="bytes", said_source="bytes_source", own_scope="scope_id",
        said_purpose="purpose_said", said_rule="purpose_rule_said", said_key="match_key",
    )  # fmt: skip
    sizes = calls.select("transfer_id", "bytes")
    owned = _owners(calls, ranges).join(said, on="owner").join(sizes, on="transfer_id")
    total = pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum()).over("owner")
    # A start/end range may lie around a call that is not about it: sizes that differ say so.
    apart = (pl.col("style") == "start_end") & (pl.col("said_bytes") != total).fill_null(value=False)
    owned = owned.filter(~apart).with_columns(alone=pl.len().over("owner") == 1)
    noted = found.filter(~pl.col("transfer_id").is_in(owned["owner"].implode())).join(
        owned.drop("bytes"), on="transfer_id", how="left", maintain_order="left"
    )
    # A push/pop range is found around the call anyway, and its size divided by the rule for several calls.
    spans = pl.col("style") == "start_end"
    fills = spans & pl.col("alone") & pl.col("bytes").is_null()
    # The name tells which transfer of the other side it met; NCCL's messages keep an order, which tells more.
    unnamed = pl.col("alone") & (pl.col("transport") != ORDERED)
    return noted.with_columns(
        scope_id=pl.coalesce("scope_id", pl.when(spans & pl.col("sure")).then("own_scope")),
        match_key=pl.coalesce("match_key", pl.when(unnamed & pl.col("sure")).then("said_key")),
        bytes=pl.when(fills).then("said_bytes").otherwise("bytes"),
        bytes_source=pl.when(fills).then("said_source").otherwise("bytes_source"),
        purpose=pl.coalesce("purpose", pl.when(spans).then("said_purpose")),
        purpose_rule=pl.coalesce("purpose_rule", pl.when(spans).then("said_rule")),
        evidence=_note(pl.when(pl.col("owner").is_not_null()).then(pl.lit(transport))),
    ).select(found.columns)


def _owners(calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """For each call the announcing range that is about it, where there is one.

    That is the range its source names; else the innermost push/pop range around it; else a start/end range of its own
    thread, one of its size that is about no other call or the one that began last before it; else the only start/end
    range open in its process.

    Returns:
        `transfer_id`, `owner`, and `sure`: whether another range of the same size may be meant as well.
    """
    named = calls.join(ranges.select("scope_id", owner="transfer_id"), on="scope_id").select("transfer_id", "owner")
    rest = calls.join(named, on="transfer_id", how="anti").filter(pl.col("call_start_ns").is_not_null())
    at_start = rest.with_columns(call_end_ns="call_start_ns")
    stacked, spanning = ranges.filter(pl.col("style") == "push_pop"), ranges.filter(pl.col("style") == "start_end")
    nested = _inside(rest, stacked, "thread")
    at_start = at_start.join(nested, on="transfer_id", how="anti")
    sized = _of_its_size(at_start, spanning)
    at_start = at_start.join(sized, on="transfer_id", how="anti")
    begun = _inside(at_start, spanning.join(sized, left_on="transfer_id", right_on="owner", how="anti"), "thread")
    elsewhere = _inside(at_start.join(begun, on="transfer_id", how="anti"), spanning, "process", alone=True)
    told = pl.concat([named, nested, begun, elsewhere]).with_columns(sure=pl.lit(value=True))
    return pl.concat([told, sized])


def _of_its_size(calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """One call for each range: of the same thread and size, open when the call began, the last to begin first.

    Returns:
        `transfer_id`, `owner`, `sure`: not where another such range was open and free.
    """
    lane = ["thread", "bytes"]
    lanes = dict(ranges.filter(pl.col("bytes").is_not_null()).group_by(lane))
    found: list[tuple[int, int, bool]] = []
    for key, part in calls.group_by(lane, maintain_order=True):
        if key not in lanes:
            continue
        rows = lanes[key].sort("call_start_ns", "call_end_ns", "transfer_id", descending=[False, True, False])
        spans = rows.select("transfer_id", "call_start_ns", "call_end_ns").rows()
        free: list[tuple[int, int]] = []
        ahead = doubtful = 0  # how many of the free ranges, from the bottom, may be another call's
        for ident, begin in (
            part.sort("call_start_ns", "transfer_id").select("transfer_id", "call_start_ns").iter_rows()
        ):
            while ahead < len(spans) and spans[ahead][1] <= begin:
                free.append((spans[ahead][0], spans[ahead][2]))
                ahead += 1
            _drop_ended(free, begin)
            if free:
                owner, _ = free.pop()
                sure = len(free) >= doubtful
                _drop_ended(free, begin)
                if free:
                    doubtful, sure = len(free), False
                found.append((ident, owner, sure))
            doubtful = min(doubtful, len(free))
    schema = {"transfer_id": pl.UInt32, "owner": pl.UInt32, "sure": pl.Boolean}
    return pl.DataFrame(found, schema=schema, orient="row")


def _drop_ended(free: list[tuple[int, int]], now: int) -> None:
    while free and free[-1][1] < now:
        free.pop()


def _inside(
    calls: pl.DataFrame, ranges: pl.DataFrame, lane: str, *, alone: bool = False, strictly: bool = False
) -> pl.DataFrame:
    """The range of the same lane that started last among those around each call.

    With `alone`, only if no other is open; with `strictly`, not the call itself where it is one of the ranges, nor one
    of the same start.
    """
    lanes = {key: rows for (key,), rows in ranges.group_by(lane)}
    found = [pl.DataFrame(schema={"transfer_id": pl.UInt32, "owner": pl.UInt32})]
    for (key,), part in calls.group_by(lane, maintain_order=True):
        if key not in lanes:
            continue
        rows = lanes[key].sort("call_start_ns", "call_end_ns", "transfer_id", descending=[False, True, False])
        starts, ends = rows["call_start_ns"].to_numpy(), rows["call_end_ns"].to_numpy()
        begin = part["call_start_ns"].to_numpy()
        inside = innermost_container(starts, ends, begin - int(strictly), part["call_end_ns"].to_numpy())
        hit = inside >= 0
        if alone:
            begun, ended = (np.searchsorted(edge, begin, side="right") for edge in (starts, np.sort(ends)))
            hit &= begun - ended == 1
        owner = rows["transfer_id"].to_numpy()[inside[hit]]
        found.append(pl.DataFrame({"transfer_id": part["transfer_id"].filter(pl.Series(hit)), "owner": owner}))
    return pl.concat(found)


def _carried(found: pl.DataFrame, transport: str, carrier: str, anomalies: Counter[str]) -> pl.DataFrame:
    """Let transfers of a library stand for the copies or messages, of their own process, that carried them out."""
    timed = found.filter(pl.col("start_ns").is_not_null())
    whole = timed.filter(pl.col("transport") == transport)
    parts = timed.filter((pl.col("transport") == carrier) & pl.col("scope_id").is_null())
    if whole.is_empty() or parts.is_empty():
        return found
    placed = _placed(whole, parts)
    if transport == "nccl":
        placed = _by_service_threads(placed, whole, parts)
    if placed.is_empty():
        return found
    place = ["process", "component"]
    sums = placed.group_by(place).agg(
        carried=pl.col("bytes").filter(pl.col("purpose").ne_missing("other")).sum(),
        owners=pl.col("owner").n_unique(),
    )
    limits = _limits(whole)
    judged = sums.join(limits, on=place)
    fits = pl.col("carried") <= (1 + _MOST_SURPLUS) * pl.col("known")
    # One transfer of unknown size has the size of what carried it.
    fills = (pl.col("unknown") == 1) & (pl.col("count") == 1)
    agreed = judged.filter(pl.when(pl.col("unknown") > 0).then(fills).otherwise(fits))
    surplus = placed.join(judged.join(agreed, on=place, how="anti"), on=place, how="semi").height
    if surplus:
        anomalies["rows-beside-a-transfer"] += surplus
    kept = placed.join(agreed.select(*place, fills=fills), on=place)
    notes = kept.group_by("owner").agg(
        note=pl.format("{} x{} ({} bytes)", pl.lit(carrier), pl.len(), pl.col("bytes").sum()),
        moved=pl.when(pl.col("fills").first()).then(
            pl.col("bytes").filter(pl.col("purpose").ne_missing("other")).sum()
        ),
    )
    noted = found.filter(~pl.col("transfer_id").is_in(kept["transfer_id"].implode())).join(
        notes, left_on="transfer_id", right_on="owner", how="left", maintain_order="left"
    )
    filled = pl.col("bytes").is_null() & (pl.col("moved") > 0)
    return noted.with_columns(
        evidence=_note(pl.col("note")),
        bytes=pl.when(filled).then("moved").otherwise("bytes"),
        bytes_source=pl.when(filled).then(pl.lit(carrier)).otherwise("bytes_source"),
    ).select(found.columns)


def _placed(whole: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Parts that lie inside a whole of their process, with `owner` and the number of its `component`.

    Transfers that overlap share a component: which of them a part belongs to is then not certain, only that together
    they hold it.
    """
    lanes = {key: rows for (key,), rows in whole.group_by("process")}
    columns = ["transfer_id", "process", "thread", "bytes", "purpose"]
    found = [parts.select(columns).clear().with_columns(owner=pl.lit(0, pl.UInt32), component=pl.lit(0, pl.Int64))]
    for (key,), rows in parts.group_by("process", maintain_order=True):
        if key not in lanes:
            continue
        held = lanes[key].sort("start_ns", "end_ns", "transfer_id", descending=[False, True, False])
        starts, ends = held["start_ns"].to_numpy(), held["end_ns"].to_numpy()
        begin = rows["start_ns"].to_numpy()
        inside = innermost_container(starts, ends, begin, rows["end_ns"].to_numpy())
        hit = inside >= 0
        component = np.searchsorted(merge(starts, ends)[0], begin, side="right").astype(np.int64) - 1
        found.append(
            rows.filter(pl.Series(hit))
            .select(columns)
            .with_columns(
                owner=pl.Series(held["transfer_id"].to_numpy()[inside[hit]], dtype=pl.UInt32),
                component=pl.Series(component[hit], dtype=pl.Int64),
            )
        )
    return pl.concat(found)


def _limits(whole: pl.DataFrame) -> pl.DataFrame:
    """Per component of overlapping transfers: their known bytes, how many they are, and how many of unknown size."""
    found = []
    for (key,), rows in whole.group_by("process", maintain_order=True):
        starts: Ints = rows["start_ns"].to_numpy()
        component = np.searchsorted(merge(starts, rows["end_ns"].to_numpy())[0], starts, side="right") - 1
        number = pl.Series(component, dtype=pl.Int64)
        found.append(rows.select("bytes", process=pl.lit(key, pl.Int64), component=number))
    return (
        pl.concat(found)
        .group_by("process", "component")
        .agg(known=pl.col("bytes").sum(), count=pl.len(), unknown=pl.col("bytes").null_count())
    )


def _by_service_threads(placed: pl.DataFrame, whole: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Copies that NCCL's own threads issued: those that call no NCCL, and copy only while its kernels run."""
    inside = placed.group_by("thread").len("inside")
    service = (
        parts.group_by("thread").len("all").join(inside, on="thread").filter(pl.col("all") == pl.col("inside"))
    ).join(whole.select("thread").unique(), on="thread", how="anti")
    return placed.join(service, on="thread", how="semi")


def _note(note: pl.Expr) -> pl.Expr:
    """The note behind those that are there already."""
    return pl.concat_str([pl.col("evidence"), note], separator="; ", ignore_nulls=True).replace("", None)
