"""What carried a library's transfer out: copies and messages inside it are evidence, as long as they carry no more."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.containing import innermost
from nsysparse.evidence.notes import MOST_SURPLUS, note
from nsysparse.intervals import Ints, innermost_container, merge
from nsysparse.kinds import NCCL
from nsysparse.sides import acts_as

LIBRARIES = (NCCL, "nixl", "ucx")
_CARRIED_BY = {
    NCCL: ("memcpy",),
    "nixl": ("ucx", "memcpy"),
    "trtllm-bounce": ("ucx", "memcpy"),
    "ucx": ("memcpy",),
}
_POSTED = ("nixl", "ucx")
_PLACE = ["process", "component"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the ranges around rows say, of rows by `transfer_id`.

    Attributes:
        other: Rows that are traffic of the model or of its weights.
        within: `transfer_id` and `scope_id`, the innermost push/pop range around the call that announces a transfer.
        threads: Threads that have ranges of their own: no service thread of NCCL has.
        issuing: From `issuing`: in which calls NCCL issued what it moves without a kernel.
    """

    other: pl.Series
    within: pl.DataFrame
    threads: pl.Series
    issuing: pl.DataFrame


def carried(found: pl.DataFrame, transport: str, around: Surroundings, anomalies: Counter[str]) -> pl.DataFrame:
    """Let transfers of a library stand for the copies or messages, of their own process, that carried them out."""
    there = set(found["transport"].unique())
    for carrier in _CARRIED_BY[transport]:
        if {transport, carrier} <= there:
            found = _carried(found, transport, carrier, around, anomalies)
    return found


def _carried(
    found: pl.DataFrame, transport: str, carrier: str, around: Surroundings, anomalies: Counter[str]
) -> pl.DataFrame:
    whole, parts = _rows(found, transport, around), _rows(found, carrier, around)
    posted = _posted(whole.filter(pl.col("start_ns").is_null()), transport, around.issuing)
    whole = whole.filter(pl.col("start_ns").is_not_null())
    # What was over inside its call has no interval of its own: it lasted no longer than that call.
    parts = parts.with_columns(
        start_ns=pl.coalesce("start_ns", "call_start_ns"), end_ns=pl.coalesce("end_ns", "call_end_ns")
    ).filter(pl.col("start_ns").is_not_null() & pl.col("end_ns").is_not_null())
    if parts.is_empty() or (whole.is_empty() and posted.is_empty()):
        return found
    submitted = _submitted(posted, parts)
    rest = parts.join(submitted, on="transfer_id", how="anti")
    within = _placed(whole, rest)
    placed = pl.concat([submitted, within])
    if transport != NCCL:  # an end that a host saw, and one of a device
        over = rest.join(within, on="transfer_id", how="anti")
        placed = pl.concat([placed, _placed(whole, _without_edges(over))])
    if transport == NCCL:
        kernels = placed.filter(pl.col("component") >= 0)
        served = _by_service_threads(kernels, whole, parts, around.threads)
        submitted = placed.filter(pl.col("component") < 0)
        left = parts.join(pl.concat([submitted, served]), on="transfer_id", how="anti")
        placed = pl.concat([submitted, served, _by_engines(posted, left, around.threads)])
    if placed.is_empty():
        return found
    if carrier == "memcpy":
        against = _other_way(placed, found)
        if len(against):
            anomalies["rows-beside-a-transfer"] += len(against)
            placed = placed.filter(~pl.col("transfer_id").is_in(against.implode()))
    kept = _fitting(placed, pl.concat([_known(whole), _alone(posted)]))
    surplus, short = placed.height - kept.height, kept.filter("is_short").height
    if surplus:
        anomalies["rows-beside-a-transfer"] += surplus
    if short and carrier == "memcpy":
        anomalies["copies-short-of-a-transfer"] += short
    notes = kept.group_by("owner").agg(
        note=pl.format("{} x{} ({} bytes)", pl.lit(carrier), pl.len(), pl.col("bytes").sum()),
        moved=pl.when(pl.col("fills").first()).then(_payload()),
    )
    noted = found.filter(~pl.col("transfer_id").is_in(kept["transfer_id"].implode())).join(
        notes, left_on="transfer_id", right_on="owner", how="left", maintain_order="left"
    )
    filled = pl.col("bytes").is_null() & (pl.col("moved") > 0)
    return noted.with_columns(
        evidence=note(pl.col("note")),
        bytes=pl.when(filled).then("moved").otherwise("bytes"),
        bytes_source=pl.when(filled).then(pl.lit(carrier)).otherwise("bytes_source"),
    ).select(found.columns)


def _without_edges(parts: pl.DataFrame) -> pl.DataFrame:
    """Parts less what of them allows for the clocks at either end, down to the middle of those that are short."""
    middle = pl.col("start_ns") + (pl.col("end_ns") - pl.col("start_ns")) // 2
    return parts.with_columns(
        start_ns=pl.min_horizontal(pl.col("start_ns") + CLOCK_SLACK_NS, middle),
        end_ns=pl.max_horizontal(pl.col("end_ns") - CLOCK_SLACK_NS, middle),
    )


def _other_way(placed: pl.DataFrame, found: pl.DataFrame) -> pl.Series:
    """Copies that go the other way than the transfer they lie in: into the device that sends, or out of it."""
    ways = found.select("transfer_id", way=acts_as())
    met = placed.select("transfer_id", "owner").join(ways, on="transfer_id")
    met = met.join(ways.rename({"transfer_id": "owner", "way": "owner_way"}), on="owner")
    return met.filter(pl.col("way") != pl.col("owner_way"))["transfer_id"]


def _rows(found: pl.DataFrame, transport: str, around: Surroundings) -> pl.DataFrame:
    """Rows of one transport, with the announcing range around each (`within`) and whether ranges call it `other`."""
    rows = found.filter(pl.col("transport") == transport)
    within = around.within.select("transfer_id", within="scope_id")
    return rows.join(within, on="transfer_id", how="left", maintain_order="left").with_columns(
        said_other=pl.col("transfer_id").is_in(around.other.implode())
    )


def _payload() -> pl.Expr:
    """Bytes without control messages."""
    return pl.col("bytes").filter(pl.col("purpose").ne_missing("other")).sum()


def _fitting(placed: pl.DataFrame, whole: pl.DataFrame) -> pl.DataFrame:
    """Parts that are no more than what they lie in, with `fills`, whether they tell its size, and `is_short`, less.

    First those that lie in one transfer only must fit that one, then all in transfers that overlap these together.
    """
    sizes = whole.select(owner="transfer_id", own_bytes="bytes")
    lone = placed.filter("sole").group_by("owner").agg(lone=_payload()).join(sizes, on="owner")
    over = lone.filter(pl.col("lone") > (1 + MOST_SURPLUS) * pl.col("own_bytes"))
    left = placed.filter(~(pl.col("sole") & pl.col("owner").is_in(over["owner"].implode())))
    limits = whole.group_by(_PLACE).agg(
        known=pl.col("bytes").sum(), count=pl.len(), unknown=pl.col("bytes").null_count()
    )
    judged = left.group_by(_PLACE).agg(carried=_payload()).join(limits, on=_PLACE)
    fits = pl.col("carried") <= (1 + MOST_SURPLUS) * pl.col("known")
    # One transfer of unknown size has the size of what carried it.
    fills = (pl.col("unknown") == 1) & (pl.col("count") == 1)
    agreed = judged.filter(pl.when(pl.col("unknown") > 0).then(fills).otherwise(fits))
    is_short = ((1 + MOST_SURPLUS) * pl.col("carried") < pl.col("known")) & (pl.col("unknown") == 0)
    return left.join(agreed.select(*_PLACE, fills=fills, is_short=is_short), on=_PLACE)


_PART = ("transfer_id", "process", "thread", "bytes", "purpose")


def _no_parts(parts: pl.DataFrame) -> pl.DataFrame:
    return parts.select(_PART).clear().with_columns(
        owner=pl.lit(0, pl.UInt32), component=pl.lit(0, pl.Int64), sole=pl.lit(value=True)
    )  # fmt: skip


def _posted(endless: pl.DataFrame, transport: str, issuing: pl.DataFrame) -> pl.DataFrame:
    """Transfers of unknown end with `begin`, `end`, the call in which they issued what carries them, and `component`.

    Those of one call, as of a group of NCCL's, are one component together, numbered below those of the others; `sole`
    tells the rest.
    """
    if transport == NCCL:
        called = endless.join(issuing, on="transfer_id")
    else:
        called = endless.filter(pl.lit(transport in _POSTED) & pl.col("call_start_ns").is_not_null()).with_columns(
            begin="call_start_ns", end="call_end_ns"
        )
    together = ["process", "thread", "begin", "end"] if transport == NCCL else ["transfer_id"]
    return called.with_columns(
        component=-1 - pl.col("transfer_id").cast(pl.Int64).min().over(together),
        sole=pl.len().over(together) == 1,
    )


def _alone(posted: pl.DataFrame) -> pl.DataFrame:
    return posted.select("transfer_id", "process", "bytes", "component")


def _submitted(posted: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Parts whose own call lies in the call of a transfer that has no end, on its thread."""
    called = parts.filter(pl.col("call_start_ns").is_not_null())
    held = innermost(
        called.select("thread", item="transfer_id", begin="call_start_ns", end="call_end_ns"),
        posted.select("thread", "begin", "end", holder="transfer_id"),
        "thread",
    ).rename({"item": "transfer_id", "holder": "owner"})
    owners = posted.select("component", "sole", owner="transfer_id")
    return (
        called.select(_PART)
        .join(held, on="transfer_id", maintain_order="left")
        .join(owners, on="owner", maintain_order="left")
        .select(*_PART, "owner", "component", "sole")
    )


def _placed(whole: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Parts that lie inside a whole of their process, with `owner`, the number of its `component`, and `sole`.

    Transfers that overlap share a component: which of them a part belongs to is then not certain, only that together
    they hold it, unless it lies in one only (`sole`). What lies in a range that announces a transfer belongs to a whole
    in the same range, and what ranges call traffic of another purpose to a whole of that purpose.
    """
    found = [_no_parts(parts)]
    edges = {key: merge(*_edges(rows))[0] for (key,), rows in whole.group_by("process")}
    announced = parts["within"].is_not_null()
    groups = (
        (whole.with_columns(pl.lit(None, dtype=pl.UInt32).alias("within")), parts.filter(~announced)),
        (whole.filter(pl.col("within").is_not_null()), parts.filter(announced)),
    )
    lane = ["process", "within"]
    for all_wholes, of_group in groups:
        for other in (False, True):
            wholes = all_wholes.filter("said_other") if other else all_wholes
            lanes = dict(wholes.group_by(lane))
            mine = of_group.filter(pl.col("said_other") == other)
            for key, rows in mine.group_by(lane, maintain_order=True):
                if key in lanes:
                    found.append(_in_lane(lanes[key], rows, edges[key[0]]))
    return pl.concat(found)


def _in_lane(wholes: pl.DataFrame, rows: pl.DataFrame, components: Ints) -> pl.DataFrame:
    held = wholes.sort("start_ns", "end_ns", "transfer_id", descending=[False, True, False])
    starts, ends = _edges(held)
    begin, end = _edges(rows)
    inside = innermost_container(starts, ends, begin, end)
    hit = inside >= 0
    # The first of all containers: where it is the innermost one too, there is no other.
    first = np.searchsorted(np.maximum.accumulate(ends), end, side="left")
    component = np.searchsorted(components, begin, side="right").astype(np.int64) - 1
    return (
        rows.filter(pl.Series(hit))
        .select(_PART)
        .with_columns(
            owner=pl.Series(held["transfer_id"].to_numpy()[inside[hit]], dtype=pl.UInt32),
            component=pl.Series(component[hit], dtype=pl.Int64),
            sole=pl.Series((first == inside)[hit]),
        )
    )


def _edges(rows: pl.DataFrame) -> tuple[Ints, Ints]:
    return rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()


def _known(whole: pl.DataFrame) -> pl.DataFrame:
    """Transfers with the component of those of their process that overlap."""
    found = [_alone(whole.with_columns(component=pl.lit(0, pl.Int64))).clear()]
    for (key,), rows in whole.group_by("process", maintain_order=True):
        starts, ends = _edges(rows)
        component = np.searchsorted(merge(starts, ends)[0], starts, side="right") - 1
        number = pl.Series(component, dtype=pl.Int64)
        found.append(rows.select("transfer_id", process=pl.lit(key, pl.Int64), bytes="bytes", component=number))
    return pl.concat(found)


def _by_service_threads(
    placed: pl.DataFrame, whole: pl.DataFrame, parts: pl.DataFrame, threads: pl.Series
) -> pl.DataFrame:
    """Copies that NCCL's own threads issued: those without ranges, that copy only while its kernels run."""
    inside = placed.group_by("thread").len("inside")
    service = (
        parts.group_by("thread").len("all").join(inside, on="thread").filter(pl.col("all") == pl.col("inside"))
    ).join(whole.select("thread").unique(), on="thread", how="anti")
    named = pl.col("thread").is_in(threads.implode())
    return placed.join(service.filter(~named), on="thread", how="semi")


def _by_engines(posted: pl.DataFrame, parts: pl.DataFrame, threads: pl.Series) -> pl.DataFrame:
    """Copies of NCCL's own threads that are as large as a call without kernel of their process that began before them.

    Each such call has one; a thread that copies anything else is none of NCCL's.
    """
    own = parts.filter(~pl.col("thread").is_in(threads.implode()), pl.col("call_start_ns").is_not_null())
    calls = posted.select("component", "begin", "process", "bytes", owner="transfer_id", sole=pl.lit(value=True))
    met = (
        own.sort("call_start_ns", "transfer_id")
        .join_asof(
            calls.drop_nulls("bytes").sort("begin", "owner"), left_on="call_start_ns", right_on="begin",
            by=["process", "bytes"], strategy="backward", check_sortedness=False,
        )
        .filter(pl.col("owner").is_not_null())
        .unique("owner", keep="first", maintain_order=True)
    )  # fmt: skip
    others = own.join(met, on="transfer_id", how="anti")
    return met.join(others, on="thread", how="anti").select(*_PART, "owner", "component", "sole")
