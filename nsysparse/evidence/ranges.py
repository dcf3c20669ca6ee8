"""Ranges that announce transfers, and what other sources recorded inside them: each movement counts once."""

import polars as pl

from nsysparse.containing import innermost
from nsysparse.evidence.notes import MOST_SURPLUS, note
from nsysparse.kinds import ANNOTATED, NCCL
from nsysparse.scope_table import ScopeTable

ANNOUNCED = (ANNOTATED, "trtllm-bounce")
_DIRECTED = ("send", "recv")
_STYLES = ("push_pop", "start_end")


def nested(found: pl.DataFrame, scopes: ScopeTable) -> pl.DataFrame:
    """Of annotations within each other on one thread let the inner ones stand if they add up to the outer.

    Else, of push/pop ranges, the outer one stands: its size is the whole, of which only parts are told again. Start/end
    ranges may lie within each other and be about different transfers, so there only sizes that agree say that one is
    told twice, and only where no name differs.
    """
    annotated = found.filter(pl.col("transport") == ANNOTATED)
    own = pl.col("range_id").is_in(annotated["scope_id"].implode())
    styled = scopes.filter(pl.col("style").is_in(_STYLES), own).select("style", "layer", "request", scope_id="range_id")
    ranges = annotated.join(styled, on="scope_id")
    silent = _stacked(ranges.filter(pl.col("style") == "push_pop"))
    rest = ranges.filter(~pl.col("transfer_id").is_in(silent))
    silent += _told_twice(rest)
    silent += _told_elsewhere(ranges.filter(~pl.col("transfer_id").is_in(silent)))
    return found.filter(~pl.col("transfer_id").is_in(silent)) if silent else found


def _stacked(ranges: pl.DataFrame) -> list[int]:
    """Which of the push/pop ranges others of them tell again."""
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
    return [*_inside(ranges, holders, "thread", strictly=True)["transfer_id"], *split["owner"]]


def _told_twice(ranges: pl.DataFrame) -> list[int]:
    """Which ranges others of their thread tell again, where at least one of the two is a start/end range.

    Of two that tell the same whole the start/end range stands: it lasts as long as the transfer. Two start/end ranges
    of one size are two transfers in flight, unless one `xfer` names both.
    """
    if ranges.filter(pl.col("style") == "start_end").is_empty():
        return []
    said = ("style", "bytes", "layer", "request", "match_key", "side")
    met = (
        _inside(ranges, ranges, "thread", strictly=True)
        .join(ranges.select("transfer_id", *said), on="transfer_id")
        .join(ranges.select(*(pl.col(name).alias(f"{name}_outer") for name in said), owner="transfer_id"), on="owner")
        .filter((pl.col("style") == "start_end") | (pl.col("style_outer") == "start_end"))
        .filter(_may_be_of("layer", "-|^all$"), _may_be_of("request", ","), _may_be_of("side", "^copy$"))
    )
    sums = met.with_columns(
        count=pl.len().over("owner"), total=pl.col("bytes").sum().over("owner"),
        sized=pl.col("bytes").is_not_null().all().over("owner"),
    ).filter("sized", pl.col("total") == pl.col("bytes_outer"))  # fmt: skip
    several, alone = sums.filter(pl.col("count") > 1), sums.filter(pl.col("count") == 1)
    lasting, held = pl.col("style") == "start_end", pl.col("style_outer") == "push_pop"
    shared = pl.any_horizontal(
        (pl.col(name) == pl.col(f"{name}_outer")).fill_null(value=False) for name in ("layer", "request", "match_key")
    )
    same_name = (pl.col("match_key") == pl.col("match_key_outer")).fill_null(value=False)
    # What began and ended inside one call is that call's; a call while something is in flight need not be about it.
    outer = alone.filter(lasting & (held | same_name))
    inner = alone.filter(~lasting & shared)
    return [*several["owner"].unique(), *outer["owner"], *inner["transfer_id"]]


def _told_elsewhere(ranges: pl.DataFrame) -> list[int]:
    """Start/end ranges of a request whose parts other threads of the process tell: they add up to it, exactly."""
    said = ("bytes", "request", "side")
    lasting = ranges.filter(pl.col("style") == "start_end", pl.col("request").is_not_null())
    met = (
        _inside(ranges, lasting, "process", strictly=True)
        .join(ranges.select("transfer_id", *said), on="transfer_id")
        .join(lasting.select(*(pl.col(name).alias(f"{name}_outer") for name in said), owner="transfer_id"), on="owner")
        .filter(pl.col("request") == pl.col("request_outer"), _may_be_of("side", "^copy$"))
    )
    sums = met.group_by("owner", "bytes_outer").agg(
        count=pl.len(), total=pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum())
    )
    return sums.filter(pl.col("count") > 1, pl.col("total") == pl.col("bytes_outer"))["owner"].to_list()


def _may_be_of(field: str, spans: str) -> pl.Expr:
    """Whether what the inner range says of a field does not contradict the outer one, which may name several."""
    inner, outer = pl.col(field), pl.col(f"{field}_outer")
    return (inner == outer).fill_null(value=True) | outer.str.contains(spans).fill_null(value=True)


def called(found: pl.DataFrame, transport: str, scopes: ScopeTable, other: pl.Series) -> pl.DataFrame:
    """Let calls inside announcing ranges stand for these.

    Control messages stand for nothing, nor does what ranges call `other` traffic (`transfer_id`). A copy that stays on
    its device, or may, is preparation beside anything else, and stands for the range only where it is alone there with
    others like it and their sizes agree.
    """
    ranges = found.filter(pl.col("transport") == transport).join(
        scopes.select("style", "purpose", "purpose_rule", scope_id="range_id"), on="scope_id", suffix="_said"
    )
    calls = found.filter(
        ~pl.col("transport").is_in(ANNOUNCED[: ANNOUNCED.index(transport) + 1])
        & pl.col("purpose").ne_missing("other")
        & ~pl.col("transfer_id").is_in(other.implode())
    )
    if ranges.is_empty() or calls.is_empty():
        return found
    said = ranges.select(
        "style", owner="transfer_id", said_bytes="bytes", said_source="bytes_source", own_scope="scope_id",
        said_purpose="purpose_said", said_rule="purpose_rule_said", said_key="match_key", said_side="side",
    )  # fmt: skip
    facts = calls.select("transfer_id", "bytes", "scope_id", is_local=_is_local(), is_own=_is_own())
    owned, beside = _settled(_owners(calls, ranges).join(said, on="owner").join(facts, on="transfer_id"))
    owned = owned.with_columns(alone=pl.len().over("owner") == 1)
    notes = beside.group_by(owner_beside="owner").agg(
        beside=pl.format("memcpy x{} ({} bytes)", pl.len(), pl.col("bytes").sum())
    )
    gone = [*owned["owner"].unique(), *beside["transfer_id"]]
    noted = (
        found.filter(~pl.col("transfer_id").is_in(gone))
        .join(owned.drop("bytes", "scope_id"), on="transfer_id", how="left", maintain_order="left")
        .join(notes, left_on="transfer_id", right_on="owner_beside", how="left", maintain_order="left")
    )
    # A push/pop range is found around the call anyway, and its size divided by the rule for several calls.
    spans = pl.col("style") != "push_pop"
    fills = spans & pl.col("alone") & pl.col("bytes").is_null()
    # The name tells what of the other side they met, several together; NCCL's messages keep an order: that tells more.
    unnamed = pl.col("transport") != NCCL
    return noted.with_columns(
        scope_id=pl.coalesce("scope_id", pl.when(spans & pl.col("sure")).then("own_scope")),
        told_id=pl.coalesce(pl.when("sure").then("own_scope"), "told_id"),
        # A kernel without its call has the side that the range around its launch says.
        side=pl.coalesce("side", pl.when(pl.col("said_side").is_in(_DIRECTED)).then("said_side")),
        match_key=pl.coalesce("match_key", pl.when(unnamed & pl.col("sure")).then("said_key")),
        bytes=pl.when(fills).then("said_bytes").otherwise("bytes"),
        bytes_source=pl.when(fills).then("said_source").otherwise("bytes_source"),
        purpose=pl.coalesce("purpose", pl.when(spans).then("said_purpose")),
        purpose_rule=pl.coalesce("purpose_rule", pl.when(spans).then("said_rule")),
        evidence=note(pl.when(pl.col("owner").is_not_null()).then(pl.lit(transport)).otherwise("beside")),
    ).select(found.columns)


def _is_local() -> pl.Expr:
    """A copy within its device, or one that looks like it: it may be a peer's memory (CUDA IPC), or a pack."""
    endless = pl.col("src_end").is_null() & pl.col("dst_end").is_null()
    return (pl.col("transport") == "memcpy") & (pl.col("is_self").fill_null(value=False) | endless)


def _is_own() -> pl.Expr:
    """A copy that is known to stay on its device moves nothing to another one."""
    return pl.col("is_self").fill_null(value=False)


def _settled(owned: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The calls that stand for their ranges, and the copies that only prepared what these or the ranges tell."""
    placed = ~pl.col("is_local")
    whole, rest = (
        pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum()),
        pl.when(pl.col("bytes").filter(placed).is_not_null().all()).then(pl.col("bytes").filter(placed).sum()),
    )
    owned = owned.with_columns(
        whole=whole.over("owner"), rest=rest.over("owner"), has_rest=placed.any().over("owner"),
        is_own=pl.col("is_own").any().over("owner"),
        # Found through this very range, it is what the range is about.
        through=(placed & (pl.col("scope_id") == pl.col("own_scope")).fill_null(value=False)).any().over("owner"),
    )  # fmt: skip
    all_fit, rest_fit = _agrees("whole"), _agrees("rest")
    # What stays on its device is a transfer only to whoever asked for a copy.
    local_fits = all_fit & (~pl.col("is_own") | (pl.col("said_side") == "copy").fill_null(value=False))
    spared = pl.col("is_local") & pl.col("has_rest") & rest_fit & ~(all_fit & (pl.col("whole") != pl.col("rest")))
    lies = pl.col("through") | (pl.col("style") == "push_pop") | pl.when("has_rest").then(all_fit | rest_fit)
    stands = pl.when("has_rest").then(lies & ~spared).otherwise(local_fits).fill_null(value=False)
    # Copies known to be local count nowhere, so they stay as they are.
    prepares = pl.col("is_local") & ~stands & ~pl.col("is_own") & (spared | ~pl.col("has_rest"))
    return owned.filter(stands), owned.filter(prepares)


def _agrees(total: str) -> pl.Expr:
    """Whether a size is the range's, but for headers; one that is not known contradicts nothing."""
    apart = (pl.col(total) - pl.col("said_bytes")).abs() > MOST_SURPLUS * pl.col("said_bytes")
    return ~apart.fill_null(value=False)


def _owners(calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """For each call the announcing range that is about it, where there is one: none that says the other direction.

    Returns:
        `transfer_id`, `owner`, and `sure`: whether no other range of the same size may be meant as well.
    """
    found: list[pl.DataFrame] = []
    taken = pl.Series([], dtype=pl.UInt32)
    for side in (*_DIRECTED, None):
        directed = pl.col("side").is_in(_DIRECTED).fill_null(value=False)
        part = calls.filter((pl.col("side") == side).fill_null(value=False) if side else ~directed)
        if part.is_empty():
            continue
        fitting = ranges.filter(~directed | (pl.col("side") == side)) if side else ranges
        told, sized = _owners_of(part, fitting, taken)
        taken = pl.concat([taken, sized["owner"]])
        found += [told, sized]
    return pl.concat(found)


def _owners_of(calls: pl.DataFrame, ranges: pl.DataFrame, taken: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Owners of calls of one side: as their place tells, and as their size tells.

    The owner is the range its source names; else the innermost push/pop range around it; else a start/end range of its
    own thread, one of its size that is about no other call or the one that began last before it; else one of its size
    in its process, or the only start/end range open there. A range that nobody closed may be about the call of its
    size that follows, not about all that do.
    """
    named = calls.join(ranges.select("scope_id", owner="transfer_id"), on="scope_id").select("transfer_id", "owner")
    rest = calls.join(named, on="transfer_id", how="anti").filter(pl.col("call_start_ns").is_not_null())
    at_start = rest.with_columns(call_end_ns="call_start_ns")
    stacked, spanning = ranges.filter(pl.col("style") == "push_pop"), ranges.filter(pl.col("style") == "start_end")
    free = ranges.filter((pl.col("style") != "push_pop") & ~pl.col("transfer_id").is_in(taken.implode()))
    inside = _inside(rest, stacked, "thread")
    at_start = at_start.join(inside, on="transfer_id", how="anti")
    own = _of_its_size(at_start, free, "thread")
    at_start = at_start.join(own, on="transfer_id", how="anti")
    sized = pl.concat([own.select("owner"), taken.alias("owner").to_frame()])
    begun = _inside(at_start, spanning.join(sized, left_on="transfer_id", right_on="owner", how="anti"), "thread")
    at_start = at_start.join(begun, on="transfer_id", how="anti")
    about = pl.concat([sized, begun.select("owner"), named.select("owner")])
    free = free.join(about, left_on="transfer_id", right_on="owner", how="anti").filter(pl.col("style") == "start_end")
    workers = _of_its_size(at_start, free, "process")
    at_start = at_start.join(workers, on="transfer_id", how="anti")
    elsewhere = _inside(at_start, spanning, "process", alone=True).join(
        pl.concat([sized, workers.select("owner")]), on="owner", how="anti"
    )
    told = pl.concat([named, inside, begun, elsewhere]).with_columns(sure=pl.lit(value=True))
    return told, pl.concat([own, workers])


def _of_its_size(calls: pl.DataFrame, ranges: pl.DataFrame, within: str) -> pl.DataFrame:
    """One call for each range: of the same lane (`within`) and size, open when it began, the last to begin first.

    Returns:
        `transfer_id`, `owner`, `sure`: not where another such range was open and free.
    """
    lane = [within, "bytes"]
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
    """`innermost`, of rows by `transfer_id` in ranges that are transfers themselves (`owner`)."""
    edges = {"begin": "call_start_ns", "end": "call_end_ns"}
    inner, outer = calls.select(lane, item="transfer_id", **edges), ranges.select(lane, holder="transfer_id", **edges)
    held = innermost(inner, outer, lane, alone=alone, strictly=strictly)
    return held.rename({"item": "transfer_id", "holder": "owner"})
